//! One check and its result.

use serde_json::{Value, json};

use super::super::output;

/// Result of one check.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    result: Result<String, String>,
    /// The check passes, but its text is about something that may be a slip.
    is_warning: bool,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, result: Result<String, String>) -> Self {
        Self {
            name: name.into(),
            result,
            is_warning: false,
        }
    }

    pub(super) fn warning(name: &str, text: String) -> Self {
        Self {
            is_warning: true,
            ..Self::new(name, Ok(text))
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns it as a line for people.
    pub(super) fn line(&self) -> String {
        let (mark, text) = match &self.result {
            Ok(text) if self.is_warning => ("warn", text),
            Ok(text) => ("ok  ", text),
            Err(text) => ("FAIL", text),
        };
        // Text of upstreams and sources is in it, which must not command the terminal.
        format!("{mark}  {}: {}", self.name, output::clean(text))
    }

    /// Returns it as an object for programs.
    pub(super) fn object(&self) -> Value {
        let (text, ok) = match &self.result {
            Ok(text) => (text, true),
            Err(text) => (text, false),
        };
        json!({"check": self.name, "ok": ok, "warning": self.is_warning, "text": text})
    }
}

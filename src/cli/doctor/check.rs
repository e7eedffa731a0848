//! One check and what came of it.

use serde_json::{Value, json};

use super::super::output;

/// Result of one check.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    result: Result<String, String>,
    /// The text is of something that may be meant, and may be a slip.
    is_doubtful: bool,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, result: Result<String, String>) -> Self {
        Self {
            name: name.into(),
            result,
            is_doubtful: false,
        }
    }

    pub(super) fn doubt(name: &str, text: String) -> Self {
        Self {
            is_doubtful: true,
            ..Self::new(name, Ok(text))
        }
    }

    pub(super) fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns it as a line for people.
    pub(super) fn line(&self) -> String {
        let (mark, text) = match &self.result {
            Ok(text) if self.is_doubtful => ("warn", text),
            Ok(text) => ("ok  ", text),
            Err(text) => ("FAIL", text),
        };
        format!("{mark}  {}: {}", self.name, output::clean(text))
    }

    /// Returns it as an object for programs.
    pub(super) fn object(&self) -> Value {
        let (text, ok) = match &self.result {
            Ok(text) => (text, true),
            Err(text) => (text, false),
        };
        json!({"check": self.name, "ok": ok, "warning": self.is_doubtful, "text": text})
    }
}

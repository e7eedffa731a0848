//! One check and its result.

use serde_json::{Value, json};

use super::super::output;
use crate::app::{self, SiteRobotSettings};
use crate::config::{Loaded, SiteLoaded};

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

/// Name of the site that has no table of its own.
const DEFAULT: &str = "default";

/// Site that `serve` serves.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ServedSite {
    /// Which of the tables it is, from 0; `None`: it has none of its own.
    pub(in crate::cli) number: Option<usize>,
    /// `None` where it is the only one.
    name: Option<String>,
    pub(in crate::cli) loaded: Loaded,
}

/// Returns the sites that `serve` would serve.
pub(in crate::cli) fn sites(loaded: &Loaded) -> Vec<ServedSite> {
    let tables = loaded.sites();
    let has_others = !tables.is_empty();
    let of_table = |(number, table): (usize, &SiteLoaded)| ServedSite {
        number: Some(number),
        name: Some(table.name().to_owned()),
        loaded: table.loaded().clone(),
    };
    let mut sites: Vec<_> = tables.iter().enumerate().map(of_table).collect();
    // As `serve` has it: beside sites there is one for all other hosts only with an upstream.
    if !has_others || !loaded.settings().server.upstream.is_empty() {
        sites.push(ServedSite {
            number: None,
            name: has_others.then(|| DEFAULT.to_owned()),
            loaded: loaded.clone(),
        });
    }
    sites
}

impl ServedSite {
    /// Returns the site of a robot that only fills the database, for other instances to serve.
    pub(super) fn unserved(robot: &SiteRobotSettings, loaded: &Loaded) -> Self {
        Self {
            number: None,
            name: Some(robot.site().to_owned()),
            loaded: loaded.clone(),
        }
    }

    pub(in crate::cli) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT)
    }

    /// Returns the name of a check that is about this site.
    pub(super) fn label(&self, what: &str) -> String {
        match &self.name {
            Some(name) => format!("{what} of {name}"),
            None => what.to_owned(),
        }
    }

    /// Returns the settings of its robot, if it has one and they are right.
    pub(in crate::cli) fn robot(&self, whole: &Loaded) -> Option<SiteRobotSettings> {
        let robots = app::site_robots(whole).ok()?;
        robots.into_iter().find(|robot| robot.site() == self.name())
    }
}

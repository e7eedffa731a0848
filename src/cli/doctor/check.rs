//! A doctor check and its result.

use serde_json::{Value, json};

use super::super::output;
use crate::app::{self, ServerSettings, SiteRobotSettings};
use crate::config::{Loaded, Settings, SiteLoaded};
use crate::store::Store;

/// The settings to check, with the server settings and the database that they specify.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) settings: &'a Settings,
    /// The server settings; `None` if they are invalid, which the configuration check reports.
    pub(super) server: Option<&'a ServerSettings>,
    /// The database; `None` if it is unavailable, which the database check reports.
    pub(super) store: Option<Store>,
}

/// The result of a check that `doctor` makes.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    result: Result<String, String>,
    /// Whether the check passed with a warning.
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

    /// Returns the result of the check as a line of text.
    pub(super) fn line(&self) -> String {
        let (mark, text) = match &self.result {
            Ok(text) if self.is_warning => ("warn", text),
            Ok(text) => ("ok  ", text),
            Err(text) => ("FAIL", text),
        };
        // Text from upstreams and sources may contain terminal control characters.
        format!("{mark}  {}: {}", self.name, output::clean(text))
    }

    /// Returns the result of the check as a JSON object.
    pub(super) fn object(&self) -> Value {
        let (text, ok) = match &self.result {
            Ok(text) => (text, true),
            Err(text) => (text, false),
        };
        json!({"check": self.name, "ok": ok, "warning": self.is_warning, "text": text})
    }
}

/// The name of the default site, which has no `[[site]]` table.
const DEFAULT: &str = "default";

/// A site that `serve` serves.
#[derive(Clone, Debug)]
pub(in crate::cli) struct ServedSite {
    /// The index of the site's `[[site]]` table, from 0; `None` for the default site.
    pub(in crate::cli) number: Option<usize>,
    /// The name of the site; `None` if there is only one site.
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
    // As in `serve`, if there are `[[site]]` tables, a default site exists only if it has an
    // upstream.
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
    /// Returns the site of a site robot that only writes to the database, for other instances to
    /// serve.
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

    /// Returns the name of a check, with the site's name appended.
    pub(super) fn label(&self, what: &str) -> String {
        match &self.name {
            Some(name) => format!("{what} of {name}"),
            None => what.to_owned(),
        }
    }

    /// Returns the settings of the site robot, if configured and valid.
    pub(in crate::cli) fn robot(&self, whole: &Loaded) -> Option<SiteRobotSettings> {
        let robots = app::site_robots(whole).ok()?;
        robots.into_iter().find(|robot| robot.site() == self.name())
    }
}

//! The sites that are served, each with its settings.

use crate::app::{self, SiteRobotSettings};
use crate::config::Loaded;

/// Name of the site that has no table of its own.
const DEFAULT: &str = "default";

/// Site that `serve` serves.
#[derive(Clone, Debug)]
pub(super) struct ServedSite {
    /// `None` where it is the only one.
    name: Option<String>,
    pub(super) loaded: Loaded,
}

/// Returns the sites that `serve` would serve.
pub(super) fn sites(loaded: &Loaded) -> Vec<ServedSite> {
    let tables = loaded.sites();
    let has_others = !tables.is_empty();
    let of_table = |name: &str, loaded: &Loaded| ServedSite {
        name: Some(name.to_owned()),
        loaded: loaded.clone(),
    };
    let mut sites: Vec<_> = tables
        .iter()
        .map(|table| of_table(table.name(), table.loaded()))
        .collect();
    // As `serve` has it: beside sites there is one for all other hosts only with an upstream.
    if !has_others || !loaded.settings().server.upstream.is_empty() {
        sites.push(ServedSite {
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
            name: Some(robot.site().to_owned()),
            loaded: loaded.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
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
    pub(super) fn robot(&self, whole: &Loaded) -> Option<SiteRobotSettings> {
        let robots = app::site_robots(whole).ok()?;
        robots.into_iter().find(|robot| robot.site() == self.name())
    }
}

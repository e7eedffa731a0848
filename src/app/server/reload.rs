//! Applies a configuration to a running process.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::assembly::{alerts, bans, replace_texts, sources, wanted_origins};
use crate::config::{ConfigErrors, Loaded};

use super::{
    RobotDetection, assemble::shown, plan::Plan, server::AllListenerSettings, serving::Serving,
    verification,
};

/// The result of a reload, with the applied changes and the changes that need a restart.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Names of all sites that are served after the reload.
    pub sites: Vec<String>,
    /// Names of the sites that the reload added.
    pub added: Vec<String>,
    /// Names of the sites that the reload removed.
    pub removed: Vec<String>,
    /// Changed settings that require a restart to take effect.
    pub need_restart: Vec<&'static str>,
    /// Warnings about robot IDs in rules that the registry does not contain.
    pub warnings: Vec<String>,
}

/// Applies a configuration, with its sites, rules, upstreams, robots.txt and heavens.
///
/// No connection is lost: active requests finish with the old settings, and an upstream with
/// unchanged settings keeps its connections. Requires a Tokio runtime if a server is running.
///
/// # Errors
///
/// Returns an error that shows the place of each invalid value; in this case, nothing is changed.
pub fn reload(robots: &RobotDetection, loaded: &Loaded) -> Result<Reloaded, ConfigErrors> {
    // Settings that need a restart are checked too: otherwise the reload would announce a restart
    // that fails.
    sources(loaded)?;
    replace_texts(loaded)?;
    let serving = robots.serving();
    if serving.is_some() {
        AllListenerSettings::new(loaded)?;
    }
    let mut effective = loaded.clone();
    let need_restart = match robots.initial_settings() {
        Some(started) => effective.keep(started, |key| !key.is_reloaded()),
        None => Vec::new(),
    };
    let serving = serving.as_deref();
    let mut upstreams = serving.map(Serving::upstreams).unwrap_or_default();
    let is_demo = serving.is_some_and(|serving| serving.is_demo);
    let plan = Plan::new(&effective, is_demo, &mut upstreams)?;
    let site_robots = robots.build_site_robots(&effective)?;
    let alerts = alerts(&effective)?;
    let bans = bans(&effective)?;
    let wanted = wanted_origins(&effective)?;
    let verification = verification(&effective.settings().verify);

    // All settings have been checked: the following steps cannot fail.
    effective.origins().set_wanted(wanted);
    let before = names(robots);
    let Plan { common, sites } = plan;
    let put_common = || robots.main_site().replace(common);
    match serving {
        Some(serving) => serving.put(robots, sites, put_common),
        None => put_common(),
    }
    robots.schedules().replace(site_robots);
    robots.alerts().replace(alerts);
    robots.replace_bans(bans);
    robots.configure_orders(&effective);
    robots.proving().replace(verification);
    let recognise = effective.settings().general.unlisted_robots;
    robots.detector().recognise_unlisted(recognise);
    robots.shown_settings().replace(shown(&effective));
    let now = names(robots);
    let of = |names: &BTreeSet<String>, others: &BTreeSet<String>| {
        names.difference(others).cloned().collect()
    };
    Ok(Reloaded {
        added: of(&now, &before),
        removed: of(&before, &now),
        sites: now.into_iter().collect(),
        need_restart,
        warnings: robots.unknown_robots(),
    })
}

fn names(robots: &RobotDetection) -> BTreeSet<String> {
    let sites: Arc<_> = robots.sites();
    sites.iter().map(|site| site.name().to_owned()).collect()
}

/// Describes the result of the reload in one or more sentences.
impl fmt::Display for Reloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "reloaded sites, filter and redirect settings, rules, upstreams and robots.txt",
        )?;
        if !self.added.is_empty() {
            write!(f, "; added {}", self.added.join(", "))?;
        }
        if !self.removed.is_empty() {
            write!(f, "; removed {}", self.removed.join(", "))?;
        }
        if !self.need_restart.is_empty() {
            write!(
                f,
                "; changes that need a restart: {}",
                self.need_restart.join(", ")
            )?;
        }
        for warning in &self.warnings {
            write!(f, "; warning: {warning}")?;
        }
        Ok(())
    }
}

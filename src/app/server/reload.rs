//! Puts a configuration in force in a running process.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::assembly::{alerts, bans, sources, wanted_origins};
use crate::config::{ConfigErrors, Loaded};

use super::{
    RobotDetection, assemble::shown, plan::Plan, server::Listens, serving::Serving, verification,
};

/// What a reload has changed, and what it could not.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Names of the sites that are served now.
    pub sites: Vec<String>,
    /// Names of those that were not before.
    pub added: Vec<String>,
    /// Names of those that are no more.
    pub removed: Vec<String>,
    /// Settings that were changed, and need a restart.
    pub need_restart: Vec<&'static str>,
}

/// Applies a configuration: sites, rules, upstreams, robots.txt, heavens.
///
/// No connection is lost: requests under way end as they began, and an upstream
/// whose settings are the same keeps its connections. Needs a Tokio runtime
/// where a server runs.
///
/// # Errors
///
/// Fails with the place of each wrong value; then nothing changes.
pub fn reload(robots: &RobotDetection, loaded: &Loaded) -> Result<Reloaded, ConfigErrors> {
    // What only a restart takes over is judged all the same: a reload that says nothing of it would
    // promise a restart that fails.
    sources(loaded)?;
    let serving = robots.serving();
    if serving.is_some() {
        Listens::new(loaded)?;
    }
    let mut effective = loaded.clone();
    let need_restart = match robots.started() {
        Some(started) => effective.keep(started, |key| !key.is_reloaded()),
        None => Vec::new(),
    };
    let serving = serving.as_deref();
    let mut upstreams = serving.map(Serving::upstreams).unwrap_or_default();
    let is_demo = serving.is_some_and(|serving| serving.is_demo);
    let plan = Plan::new(&effective, is_demo, &mut upstreams)?;
    let site_robots = robots.made_site_robots(&effective)?;
    let alerts = alerts(&effective)?;
    let bans = bans(&effective)?;
    let wanted = wanted_origins(&effective)?;
    let verification = verification(&effective.settings().verify);

    // All is judged: from here on nothing fails.
    effective.origins().want(wanted);
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
    robots.follow_orders_by(&effective);
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
    })
}

fn names(robots: &RobotDetection) -> BTreeSet<String> {
    let sites: Arc<_> = robots.sites();
    sites.iter().map(|site| site.name().to_owned()).collect()
}

/// Writes what came of it, as one sentence or several.
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
                "; changed, but needs a restart: {}",
                self.need_restart.join(", ")
            )?;
        }
        Ok(())
    }
}

//! The state of the serving process, to which all operations refer.

use std::sync::Arc;

use robot_detection_layer::clock::Clock;
use robot_detection_layer::detect::SharedDetector;
use robot_detection_layer::policy::{Enforcer, SharedPolicy};
use robot_detection_store::refresh::Refresher;
use robot_detection_store::store::Store;
use robot_detection_store::verify::{RangesRefresher, Verifier};
use robot_detection_traffic::traffic::Traffic;
use tokio_util::task::TaskTracker;

use crate::{
    Caller, Certificates, DEFAULT_SITE, LiveRules, Notices, Reloads, RobotRuns, SharedSettings,
    SharedSites,
    live_rules::{self, Surroundings},
};

/// The state of a serving process that operations read and change.
#[derive(Clone, Debug)]
pub struct Operations {
    /// Database that the operations use.
    pub store: Store,
    /// Detector of known robots that is in force.
    pub detector: SharedDetector,
    /// Policy in force.
    pub policy: SharedPolicy,
    /// Enforcer of robots.txt.
    pub enforcer: Enforcer,
    /// Sites that have their own policies; empty if `policy` and `enforcer` serve the only site.
    pub sites: SharedSites,
    /// Live rules in force.
    pub live_rules: LiveRules,
    /// Interface for reloading the configuration.
    pub reloads: Reloads,
    /// Runs of the site robots.
    pub robot_runs: RobotRuns,
    /// Certificates that the listeners serve.
    pub certificates: Certificates,
    /// Other problems that require an administrator's attention.
    pub notices: Notices,
    /// Refresher that keeps the registry up to date.
    pub refresher: Refresher,
    /// Traffic counters.
    pub traffic: Traffic,
    /// Verifier of robots' claims.
    pub verifier: Verifier,
    /// Refresher that keeps the address lists of robots up to date.
    pub ranges: RangesRefresher,
    /// Settings in force; settings that have an old name come first.
    pub settings: SharedSettings,
    /// Clock that the operations use.
    pub clock: Clock,
    /// Tracker for the tasks of refreshes that operations start; the tasks end at shutdown.
    pub tasks: TaskTracker,
}

impl Operations {
    /// Returns the name and policy of each site; an embedding application has only one site.
    pub fn site_policies(&self) -> Vec<(String, SharedPolicy)> {
        let sites = self.sites.load();
        let named = sites
            .iter()
            .map(|site| (site.name.clone(), site.policy.clone()));
        let named: Vec<_> = named.collect();
        if named.is_empty() {
            return vec![(DEFAULT_SITE.to_owned(), self.policy.clone())];
        }
        named
    }

    /// Returns the context in which rules are evaluated for the caller.
    pub fn surroundings<'c>(&self, caller: Caller<'c>) -> Surroundings<'c> {
        let sites = self.site_policies().into_iter();
        let sites = sites.map(|(name, policy)| (name, Arc::clone(&policy.load())));
        Surroundings {
            caller,
            detector: self.detector.load_full(),
            sites: sites.collect(),
        }
    }

    /// Applies the live rules in the database immediately, so that the author of a change sees its
    /// effect.
    pub async fn take_over_live_rules(&self) {
        live_rules::load(&self.live_rules, &self.store, &self.clock, None).await;
    }

    /// Returns the current time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}

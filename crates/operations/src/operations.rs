//! Handle for all operations.

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

/// State of a serving process that operations read and change.
#[derive(Clone, Debug)]
pub struct Operations {
    /// Database.
    pub store: Store,
    /// Detector in force.
    pub detector: SharedDetector,
    /// Policy in force.
    pub policy: SharedPolicy,
    /// Holds robots to robots.txt.
    pub enforcer: Enforcer,
    /// Sites of the process, each with a policy of its own; none: policy and enforcer are of the only one.
    pub sites: SharedSites,
    /// Live rules.
    pub live_rules: LiveRules,
    /// Reloads of the configuration.
    pub reloads: Reloads,
    /// Runs of the site robots.
    pub robot_runs: RobotRuns,
    /// Certificates of the listeners.
    pub certificates: Certificates,
    /// Other problems that need an administrator.
    pub notices: Notices,
    /// Keeps the registry up to date.
    pub refresher: Refresher,
    /// Traffic counters.
    pub traffic: Traffic,
    /// Proves robots' claims.
    pub verifier: Verifier,
    /// Keeps the lists of robots' addresses up to date.
    pub ranges: RangesRefresher,
    /// Parameters in force; those with an old name come first.
    pub settings: SharedSettings,
    /// The time.
    pub clock: Clock,
    /// Refreshes that are started run on it and end at shutdown.
    pub tasks: TaskTracker,
}

impl Operations {
    /// Returns name and policy of each site; of an application, that of its only one.
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

    /// Returns what rules are judged by, and their caller.
    pub fn surroundings<'c>(&self, caller: Caller<'c>) -> Surroundings<'c> {
        let sites = self.site_policies().into_iter();
        let sites = sites.map(|(name, policy)| (name, Arc::clone(&policy.load())));
        Surroundings {
            caller,
            detector: self.detector.load_full(),
            sites: sites.collect(),
        }
    }

    /// Puts the live rules of the database in force here at once, where who changed them looks next.
    pub async fn take_over_live_rules(&self) {
        live_rules::load(&self.live_rules, &self.store, &self.clock, None).await;
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}

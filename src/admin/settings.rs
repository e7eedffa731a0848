//! Settings and shared state that the pages are made from.

use std::{fmt, net::IpAddr, sync::Arc};

use arc_swap::ArcSwap;
use axum::http::Extensions;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::live_rules::LiveRules;
use crate::policy::{Enforcer, SharedPolicy};
use crate::refresh::Refresher;
use crate::store::Store;
use crate::traffic::Traffic;
use crate::verify::{RangesRefresher, Verifier};

use super::{Certificates, Notices, Reloads, RobotRuns, SharedSites, TimeZone};

/// Parameter in force and where it came from.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Key as the configuration file spells it, such as `filter_pattern`.
    pub key: String,
    /// The original package's name, such as `FilterPattern`.
    pub old_name: Option<String>,
    /// Value in force.
    pub value: String,
    /// "default", "robot-detection.toml line 3", "environment `ROBOT_DETECTION_…`", "--listen".
    pub origin: String,
    /// What the parameter does, in one sentence.
    pub help: String,
}

/// Parameters in force; they are exchanged as a whole when settings are reloaded.
///
/// Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings {
    current: Arc<ArcSwap<Vec<Setting>>>,
}

impl SharedSettings {
    /// Creates them with the parameters in force now.
    #[must_use]
    pub fn new(settings: Vec<Setting>) -> Self {
        Self {
            current: Arc::new(ArcSwap::from_pointee(settings)),
        }
    }

    /// Returns the parameters in force.
    #[must_use]
    pub fn load(&self) -> Arc<Vec<Setting>> {
        self.current.load_full()
    }

    /// Shows other parameters from now on.
    pub fn replace(&self, settings: Vec<Setting>) {
        self.current.store(Arc::new(settings));
    }
}

impl From<Vec<Setting>> for SharedSettings {
    fn from(settings: Vec<Setting>) -> Self {
        Self::new(settings)
    }
}

/// Who may see the pages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Access {
    /// Password and session, or bearer token.
    Login {
        /// Sends the session's cookie over https only.
        secure_cookies: bool,
    },
    /// The application has put the router behind a login of its own.
    Open,
}

/// Function that finds the address of a client among the extensions of its request.
#[derive(Clone)]
pub struct ClientAddress {
    find: Arc<Find>,
}

type Find = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

impl ClientAddress {
    /// Creates it from a function that finds the address.
    pub fn new(find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self {
            find: Arc::new(find),
        }
    }

    /// Returns the address, where it is known.
    #[must_use]
    pub fn find(&self, extensions: &Extensions) -> Option<IpAddr> {
        (self.find)(extensions)
    }
}

impl fmt::Debug for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAddress").finish_non_exhaustive()
    }
}

/// Everything that the pages show and control.
#[derive(Clone, Debug)]
pub struct Admin {
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
    /// Rules that are made on the pages.
    pub live_rules: LiveRules,
    /// Reloads of the configuration.
    pub reloads: Reloads,
    /// Runs of the site robots.
    pub robot_runs: RobotRuns,
    /// Certificates of the listeners.
    pub certificates: Certificates,
    /// Sentences about what needs an administrator besides.
    pub notices: Notices,
    /// Keeps the registry up to date.
    pub refresher: Refresher,
    /// What is counted and kept of visitors.
    pub traffic: Traffic,
    /// Proves robots' claims.
    pub verifier: Verifier,
    /// Keeps the lists of robots' addresses up to date.
    pub ranges: RangesRefresher,
    /// Parameters in force; those with an old name come first on the page.
    pub settings: SharedSettings,
    /// The time.
    pub clock: Clock,
    /// Zone in which pages show times.
    pub time_zone: TimeZone,
    /// Who may see the pages.
    pub access: Access,
    /// How the address is found from which somebody logs in.
    pub client_address: ClientAddress,
    /// Names under which the site is reached; empty allows any Host.
    ///
    /// Loopback names are always allowed. A name without a port allows all
    /// ports.
    pub hosts: Vec<String>,
    /// Refreshes started from the page run on it and end at shutdown.
    pub tasks: TaskTracker,
    /// Ends streams of live decisions, for which a shutdown does not wait.
    pub stop: CancellationToken,
}

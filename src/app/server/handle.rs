//! The server state stored in a handle.

use std::{net::IpAddr, sync::Arc};

use arc_swap::ArcSwapOption;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use crate::alerts::{Alert, SharedAlerts, Watcher};
use crate::bans::{BanExemptions, BanKeeper, BanRule, Bans};
use crate::config::Loaded;
use crate::confirmation::ConfirmationKeys;
use crate::layer::RobotDetectionLayer;
use crate::listen::{CertificateState, Listener, Tls, TrustedProxies, Validity};
use crate::operations::{AdminSite, Operations, ServedCertificate, sessions};
use crate::origins::{Keeper, Origins, WantedOrigins};
use crate::site_robots::{Orders, Schedules};
use crate::store::StoredSession;
use crate::traffic::Traffic;
use crate::verify::RangeSet;

use super::{
    Common, Detection, Proving, RobotDetection, RobotDetectionBuilder, Site,
    process_services::UntrustedProxies, serving::Serving,
};

/// Settings that the process started with, if they came from a configuration.
pub(in crate::app) type Started = Option<Loaded>;

/// The server state stored in a handle.
#[derive(Debug)]
pub(in crate::app) struct ServerParts {
    started: Started,
    /// The sites of the running server.
    pub(super) serving: ArcSwapOption<Serving>,
    /// A token that is cancelled when a server starts serving.
    pub(super) begun: CancellationToken,
    /// The site robots that run on a schedule.
    pub(super) schedules: Schedules,
    /// Runs that commands have handed over to this server.
    pub(super) orders: Orders,
    /// Alerts of the running server.
    pub(super) alerts: SharedAlerts,
    /// Bans of the running server.
    bans: ArcSwapOption<Bans>,
}

impl ServerParts {
    pub(in crate::app) fn new(started: Started, operations: &Operations, common: &Common) -> Self {
        let runs = (&operations.robot_runs, &operations.reloads);
        Self {
            started,
            serving: ArcSwapOption::empty(),
            begun: CancellationToken::new(),
            schedules: Schedules::new(operations.robot_runs.clone()),
            alerts: SharedAlerts::default(),
            bans: ArcSwapOption::empty(),
            orders: Orders::new(&operations.store, &common.clock, &common.own_robot, runs),
        }
    }
}

impl RobotDetectionBuilder {
    /// Stores the initial settings; reloads compare the new settings with them.
    pub(super) fn with_initial_settings(mut self, loaded: Loaded) -> Self {
        self.started = Some(loaded);
        self
    }
}

impl RobotDetection {
    pub(super) fn traffic(&self) -> &Traffic {
        &self.inner.operations.traffic
    }

    pub(super) fn schedules(&self) -> &Schedules {
        &self.inner.server.schedules
    }

    pub(super) fn orders(&self) -> &Orders {
        &self.inner.server.orders
    }

    pub(super) fn alerts(&self) -> &SharedAlerts {
        &self.inner.server.alerts
    }

    /// Reports the address of health checks and metrics to the other instances.
    pub(super) fn announce_address(&self, operations: &Listener) {
        let address = operations.addr().to_string();
        self.inner.address.send_replace(address);
    }

    /// Starts the alert watcher, which ends with the handle's other jobs.
    ///
    /// A reload replaces the alerts. The job also watches the listeners' certificates.
    pub(super) fn watch_alerts(&self, alerts: Vec<Alert>, listeners: &[Listener]) {
        // Shared by all listeners.
        let tls = listeners.iter().find_map(|found| found.tls().cloned());
        self.inner.operations.certificates.set_source(move || {
            let states = tls.as_ref().map(Tls::states).unwrap_or_default();
            states.iter().map(served_certificate).collect()
        });
        self.alerts().replace(alerts);
        let watcher = Watcher::new(
            self.store().clone(),
            self.clock().clone(),
            self.alerts().clone(),
            self.refresher().clone(),
            self.inner.operations.certificates.clone(),
        );
        self.tasks().spawn(watcher.run(self.stop()));
    }

    /// Reports untrusted proxies in the console and at `/readyz`.
    pub(super) fn report_untrusted_proxies(&self, proxies: Arc<UntrustedProxies>) {
        // A weak reference, because the handle owns the report.
        let inner = Arc::downgrade(&self.inner);
        self.inner.operations.notices.set_source(move || {
            let Some(inner) = inner.upgrade() else {
                return Vec::new();
            };
            let sites = inner.sites.load();
            let requests = sites.iter().map(|site| site.stats().requests());
            proxies.sentences(requests.sum())
        });
    }

    /// Starts the job that stores bans and returns the bans; the job ends with the handle's other
    /// jobs.
    pub(super) fn start_ban_job(&self, rules: Vec<BanRule>, trusted: TrustedProxies) -> Bans {
        let robots = self.clone();
        let why = move |address: IpAddr| {
            let is_friend = |site: &Site| site.policy().load().allows_address(address);
            if trusted.contains(address) {
                Some("the client is a trusted proxy")
            } else if robots.sites().iter().any(is_friend) {
                Some("a rule allows its network")
            } else {
                None
            }
        };
        let spared = BanExemptions {
            addresses: Box::new(why),
            is_from,
        };
        let (store, clock) = (self.store().clone(), self.clock().clone());
        let (bans, keeper) = BanKeeper::new(store, clock, spared);
        bans.replace(rules);
        self.inner.server.bans.store(Some(Arc::new(bans.clone())));
        self.tasks().spawn(keeper.run(self.stop()));
        bans
    }

    /// Starts the job that renews the confirmation keys; the job ends with the handle.
    pub(super) fn start_confirmation_keys(&self) -> ConfirmationKeys {
        let way_out = ConfirmationKeys::new(self.clock());
        let follow = way_out.clone().run(self.store().clone(), self.stop());
        self.tasks().spawn(follow);
        way_out
    }

    /// Replaces the running server's ban rules.
    pub(super) fn replace_bans(&self, rules: Vec<BanRule>) {
        if let Some(bans) = &*self.inner.server.bans.load() {
            bans.replace(rules);
        }
    }

    /// Loads address lists and files, and refreshes them as long as the handle exists.
    pub(super) async fn start_origins(&self, origins: &Origins, wanted: WantedOrigins) {
        origins.set_wanted(wanted);
        let keeper = match Keeper::new(origins, self.store()) {
            Ok(keeper) => keeper,
            Err(error) => {
                warn!("cannot refresh address lists: {error}");
                return;
            }
        };
        keeper.prepare().await;
        let stop = self.stop();
        self.tasks().spawn(async move {
            stop.run_until_cancelled(keeper.run()).await;
        });
    }

    /// Returns a warning for each untrusted proxy that was detected.
    pub(super) fn notices(&self) -> Vec<String> {
        self.inner.operations.notices.load()
    }

    /// Returns a warning for each problem with an address list or file.
    pub(super) fn origin_problems(&self) -> Vec<String> {
        let started = self.initial_settings();
        started.map_or_else(Vec::new, |loaded| loaded.origins().problems())
    }

    /// Returns the handle's own site.
    pub(super) fn main_site(&self) -> &Site {
        &self.inner.main
    }

    pub(super) fn proving(&self) -> &Proving {
        &self.inner.common.proving
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.inner.operations.tasks
    }

    /// Returns the token that is cancelled at shutdown.
    pub(super) fn stop(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    /// Returns the settings that the process started with, if they came from a configuration.
    pub(super) fn list_sites(&self, sites: Vec<Site>, shown: Vec<AdminSite>) {
        self.inner.sites.store(Arc::new(sites));
        self.inner.operations.sites.replace(shown);
    }

    pub(super) fn initial_settings(&self) -> Option<&Loaded> {
        self.inner.server.started.as_ref()
    }

    /// Returns the sites of the running server.
    pub(super) fn serving(&self) -> Option<Arc<Serving>> {
        self.inner.server.serving.load_full()
    }

    pub(super) fn set_serving(&self, serving: Option<Arc<Serving>>) {
        let has_begun = serving.is_some();
        self.inner.server.serving.store(serving);
        if has_begun {
            self.inner.server.begun.cancel();
        }
    }

    /// Returns `true` once a server has started serving; earlier reloads have no effect.
    pub(crate) fn has_started_serving(&self) -> bool {
        self.inner.server.begun.is_cancelled()
    }

    /// Waits until a server has started serving.
    pub(crate) async fn wait_until_serving(&self) {
        self.inner.server.begun.cancelled().await;
    }
}

impl Site {
    /// Returns the layer for a server; the server handles admin page requests before the layer.
    pub(super) fn bare_layer(&self) -> RobotDetectionLayer {
        self.layer.clone()
    }

    /// Replaces the policy and enforcement of the handle's own site; its counters are kept.
    pub(super) fn replace(&self, detection: Detection) {
        self.policy().replace(detection.policy);
        self.served_robots_txt().replace_all(detection.robots_txt);
        self.enforcer().replace_settings(detection.enforcement);
    }
}

/// Returns `true` if a session was started from the same network as an address.
fn is_from(session: &StoredSession, address: IpAddr) -> bool {
    let network = sessions::network(session);
    let set = RangeSet::parse(network.as_deref());
    set.is_ok_and(|set| set.contains(address))
}

fn served_certificate(state: &CertificateState) -> ServedCertificate {
    let names = match &*state.names.join(", ") {
        "" => state.file.display().to_string(),
        names => names.to_owned(),
    };
    let not_after = |validity: Validity| i64::try_from(validity.not_after).unwrap_or(i64::MAX);
    ServedCertificate {
        names,
        not_after: state.validity.map(not_after),
        failures: state.failures,
    }
}

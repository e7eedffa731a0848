//! Builds the handle: policy, database, registry, and background jobs.

use std::{net::IpAddr, path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use axum::http::Extensions;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use crate::admin::ClientAddress;
use crate::clock::Clock;
use crate::detect::{Detector, SharedDetector};
use crate::fetch::{FetchError, FetchLimits, Fetcher};
use crate::instances::set_clock;
use crate::live_rules::{self, LiveRules, StateFile};
use crate::operations::{
    Certificates, DEFAULT_SITE, Notices, Operations, PasswordError, Reloads, RobotRuns, Setting,
    SharedSettings, SharedSites, TimeZone, own_robot,
};
use crate::policy::{Enforcement, Policy, PolicyBuilder, PolicyError, RuleBuilder};
use crate::refresh::{Refresher, SourceSpec};
use crate::robots_file::{LIMITS, START_WAIT};
use crate::store::{AddressRetention, Store, StoreError};
use crate::suspicion::Suspicion;
use crate::traffic::{EvidenceSettings, Traffic};

use super::{
    RobotDetection, RobotsTxtPlan, Site,
    handle::Inner,
    server::{ServerParts, Started},
    site::{Common, Detection},
    verification::{Proving, Verification, client},
};

/// The last known URL of the Web Robots Database, a flat text file.
const WEB_ROBOTS_DB: &str = "http://www.robotstxt.org/db/all.txt";

/// A builder for a [`RobotDetection`].
///
/// The original package's defaults apply. The order of calls does not matter: calls for a list add
/// to it; for any other value, the last call takes effect.
///
/// # Example
///
/// ```
/// use robot_detection::RobotDetection;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let robots = RobotDetection::builder()
///     .database_url("sqlite::memory:")
///     .web_robots_db("") // the bundled registry alone
///     .build()
///     .await?;
/// let claim = robots.detector().load().identify(b"Googlebot/2.1").map(|claim| claim.id().to_owned());
/// assert_eq!(claim.as_deref(), Some("googlebot"));
/// robots.shutdown().await;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate setting"
)]
pub struct RobotDetectionBuilder {
    policy: PolicyBuilder,
    enforcement: Enforcement,
    database_url: String,
    database_connections: u32,
    web_robots_db: String,
    interval_days: u32,
    sources: Vec<SourceSpec>,
    bundled: bool,
    unlisted: bool,
    secure_cookies: bool,
    time_zone: TimeZone,
    admin_password: Option<String>,
    client_address: ClientAddress,
    hosts: Vec<String>,
    settings: Vec<Setting>,
    clock: Clock,
    limits: FetchLimits,
    robots_txt: RobotsTxtPlan,
    verification: Verification,
    waits_for_database: bool,
    keeps_traffic: bool,
    finds_fleets: bool,
    live_rules: bool,
    state_dir: Option<PathBuf>,
    keeps_paths: bool,
    evidence: EvidenceSettings,
    pub(super) started: Started,
}

/// An error that occurs when building a handle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A pattern, the redirect URL or another rule is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The HTTP client for downloads cannot be created.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The administrator's password has too few characters.
    #[error("the administrator's password has fewer than {0} characters: choose a longer password")]
    ShortPassword(usize),
    /// The administrator's password cannot be read, written or hashed.
    #[error(transparent)]
    Password(#[from] PasswordError),
}

impl RobotDetection {
    /// Returns a builder with the original package's defaults.
    pub fn builder() -> RobotDetectionBuilder {
        RobotDetectionBuilder::new()
    }
}

impl RobotDetectionBuilder {
    pub(super) fn new() -> Self {
        Self {
            policy: Policy::builder(),
            enforcement: Enforcement::default(),
            database_url: "sqlite://robot-detection.db".to_owned(),
            database_connections: 10,
            web_robots_db: WEB_ROBOTS_DB.to_owned(),
            interval_days: 30,
            sources: Vec::new(),
            bundled: true,
            unlisted: true,
            secure_cookies: false,
            time_zone: TimeZone::default(),
            admin_password: None,
            client_address: ClientAddress::new(client),
            hosts: Vec::new(),
            settings: Vec::new(),
            clock: Clock::system(),
            limits: FetchLimits::default(),
            robots_txt: RobotsTxtPlan::default(),
            verification: Verification::new(),
            waits_for_database: false,
            keeps_traffic: true,
            finds_fleets: false,
            live_rules: true,
            state_dir: None,
            keeps_paths: true,
            evidence: EvidenceSettings::default(),
            started: Started::default(),
        }
    }

    /// Adds glob patterns for the paths from which robots are redirected (`FilterPattern`).
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.filter_patterns(patterns);
        self
    }

    /// Sets the redirect target for robots: a path or an http(s) URL (`RedirectURL`).
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.policy = self.policy.redirect_url(url);
        self
    }

    /// Appends a rule; the first matching rule determines the decision.
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.policy = self.policy.rule(rule);
        self
    }

    /// Changes any other setting of the policy; earlier changes are kept.
    pub fn policy(mut self, change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Self {
        self.policy = change(self.policy);
        self
    }

    /// Changes the enforcement of robots.txt; violations are only reported by default.
    pub fn enforcement(mut self, change: impl FnOnce(Enforcement) -> Enforcement) -> Self {
        self.enforcement = change(self.enforcement);
        self
    }

    /// Sets the database URL: `sqlite://FILE`, `sqlite::memory:` or `postgres://…`.
    pub fn database_url(mut self, url: impl Into<String>) -> Self {
        self.database_url = url.into();
        self
    }

    /// Sets the maximum number of connections to a `PostgreSQL` server, which applies with
    /// [`wait_for_database`](Self::wait_for_database); default 10.
    #[cfg(feature = "server")]
    pub(super) fn database_connections(mut self, max: u32) -> Self {
        self.database_connections = max;
        self
    }

    /// Sets whether the handle is built even if the database cannot be opened; default `false`.
    ///
    /// Until the database is available, the bundled registry is used. The handle keeps trying to
    /// reach a server that is down; a damaged SQLite file is not changed. By default,
    /// [`build`](Self::build) fails instead, so that the application can report the error or start
    /// later.
    pub fn wait_for_database(mut self, waits: bool) -> Self {
        self.waits_for_database = waits;
        self
    }

    /// Sets the URL or path of the Web Robots Database (`WebRobotsDB`); an empty string disables
    /// it.
    pub fn web_robots_db(mut self, url: impl Into<String>) -> Self {
        self.web_robots_db = url.into();
        self
    }

    /// Sets the number of days between registry refreshes (`RefreshIntervalDays`); default 30.
    pub fn refresh_interval_days(mut self, days: u32) -> Self {
        self.interval_days = days.max(1);
        self
    }

    /// Adds a registry in addition to the Web Robots Database.
    pub fn source(mut self, source: SourceSpec) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets whether robots that no registry lists are detected; default `true`.
    ///
    /// See [`detect`](crate::detect#unlisted-robots) for the rule.
    pub fn unlisted_robots(mut self, recognise: bool) -> Self {
        self.unlisted = recognise;
        self
    }

    /// Sets whether the bundled registry is used; default `true`.
    pub fn bundled_registry(mut self, bundled: bool) -> Self {
        self.bundled = bundled;
        self
    }

    /// Sets whether the admin pages' cookies are sent only over https; default `false`.
    ///
    /// Enable this setting if the application uses https.
    pub fn secure_cookies(mut self, secure: bool) -> Self {
        self.secure_cookies = secure;
        self
    }

    /// Sets the time zone for times on the admin pages; default UTC.
    pub fn time_zone(mut self, zone: TimeZone) -> Self {
        self.time_zone = zone;
        self
    }

    /// Sets the administrator's password, which must have at least 12 characters.
    ///
    /// The password is stored in the database when the handle is built. If the database contained
    /// another password, the sessions started with that password end. Without this setting,
    /// [`RobotDetection::admin_router`] generates a password if none is stored.
    pub fn admin_password(mut self, password: impl Into<String>) -> Self {
        self.admin_password = Some(password.into());
        self
    }

    /// Sets the function that finds the client's address in a request's extensions.
    ///
    /// The default is axum's `ConnectInfo<SocketAddr>`; behind a proxy, this is the proxy's
    /// address. The client's address is needed for verdicts and for the admin login, which counts
    /// wrong passwords by address.
    ///
    /// # Example
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use robot_detection::RobotDetection;
    ///
    /// /// Client address that an outer layer read from `X-Forwarded-For`.
    /// #[derive(Clone)]
    /// struct Client(IpAddr);
    ///
    /// let builder = RobotDetection::builder()
    ///     .client_address(|extensions| extensions.get::<Client>().map(|client| client.0));
    /// ```
    pub fn client_address(
        mut self,
        find: impl Fn(&Extensions) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        self.client_address = ClientAddress::new(find);
        self
    }

    /// Sets the host names on which the admin pages are served; an empty list allows any host name.
    pub fn admin_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the settings shown on the admin page, each with the place where it was set.
    pub fn shown_settings(mut self, settings: Vec<Setting>) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the contents of `/robots.txt`; by default, the application serves its own file.
    ///
    /// The file is served by [`RobotDetection::robots_txt_router`]. Its rules are enforced for
    /// robots whether or not that router is used.
    pub fn robots_txt(mut self, plan: RobotsTxtPlan) -> Self {
        self.robots_txt = plan;
        self
    }

    /// Sets how robots' claims are verified; by default, all methods are used.
    ///
    /// The client's address comes from axum's `ConnectInfo`. Behind a proxy, this is the proxy's
    /// address: set [`client_address`](Self::client_address) to use the client's address instead.
    pub fn verification(mut self, settings: Verification) -> Self {
        self.verification = settings;
        self
    }

    /// Sets whether traffic counters are stored in the database; default `true`.
    ///
    /// Counters are summed by minute, hour and day, and contain no client addresses. The counters
    /// of `/metrics` do not depend on this setting.
    pub fn keep_traffic(mut self, keep: bool) -> Self {
        self.keeps_traffic = keep;
        self
    }

    /// Sets whether fleets of robots are detected among human visitors; default `false`.
    ///
    /// The caller must pass the addresses of clients, as the server does.
    #[cfg(feature = "server")]
    pub(super) fn find_fleets(mut self, find: bool) -> Self {
        self.finds_fleets = find;
        self
    }

    /// Sets whether live rules can be added and enforcement paused at run time; default `true`.
    ///
    /// Administrators use the admin pages, their JSON API, or `robot-detection rules` for this. If
    /// `false`, existing live rules are ignored.
    pub fn live_rules(mut self, enable: bool) -> Self {
        self.live_rules = enable;
        self
    }

    /// Sets the directory for the instance's local files.
    ///
    /// The files are a copy of the live rules, used at startup if the database is unavailable, and
    /// the initial administrator password. The default is the directory of the `SQLite` database;
    /// with `PostgreSQL`, there is no copy by default.
    pub fn state_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(directory.into());
        self
    }

    /// Sets whether the most requested pages are stored with the traffic counters; default `true`.
    ///
    /// Full paths are stored for robots; for human visitors, only patterns without IDs
    /// (`/docs/guide/*`).
    pub fn keep_paths(mut self, keep: bool) -> Self {
        self.keeps_paths = keep;
        self
    }

    /// Sets the number of days for which evidence is stored; default 30, 0 stores no evidence.
    ///
    /// Evidence consists of at most 18,000 single requests: redirects, refusals, spoofed robots and
    /// robots.txt violations. Storing evidence requires
    /// [`traffic_layer`](RobotDetection::traffic_layer) and [`keep_traffic`](Self::keep_traffic).
    pub fn evidence_days(mut self, days: u32) -> Self {
        self.evidence.days = days;
        self
    }

    /// Sets the part of each client address that is stored in the evidence.
    pub fn kept_addresses(mut self, addresses: AddressRetention) -> Self {
        self.evidence.addresses = addresses;
        self
    }

    /// Sets the clock that the handle uses; tests can use a clock with other times.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the limits for downloads, such as the maximum size and the timeout.
    pub fn fetch_limits(mut self, limits: FetchLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens the database, loads the registry and starts the background jobs.
    ///
    /// Requires a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid, or if the database cannot be opened and
    /// [`wait_for_database`](Self::wait_for_database) is not set. An unavailable source is not an
    /// error. If the database becomes unavailable later, requests are served from memory, and
    /// operations that need the database fail immediately.
    pub async fn build(mut self) -> Result<RobotDetection, BuildError> {
        let (bundled, password) = (self.bundled, self.admin_password.take());
        let robots = Box::pin(self.open()).await?;
        if let Some(password) = password {
            robots.want_password(password).await?;
        }
        // The database was opened: losing it now must not prevent the application from starting.
        if let Err(error) = robots.refresher().prepare(bundled).await {
            warn!(%error, "database unavailable, using the bundled registry until it is available");
        }
        for unknown in robots.unknown_robots() {
            warn!("{unknown}");
        }
        let parts = robots.parts();
        let live = &parts.common.live_rules;
        live_rules::load(
            live,
            &parts.operations.store,
            robots.clock(),
            parts.live_rules_file.as_ref(),
        )
        .await;
        // Prepared after the registry, which provides the robots that our robots.txt names.
        robots.served_robots_txt().prepare(START_WAIT).await;
        robots.start_jobs();
        robots.load_own_robot().await;
        Ok(robots)
    }

    /// Opens the database and loads the registry, but starts no background jobs.
    ///
    /// Intended for commands: the data of a server that uses the same database is not changed,
    /// except that an empty robots table is filled from the bundled registry.
    ///
    /// # Errors
    ///
    /// Returns an error if a setting is invalid, or if the database cannot be opened or read.
    pub async fn build_idle(self) -> Result<RobotDetection, BuildError> {
        let bundled = self.bundled;
        let robots = Box::pin(self.open()).await?;
        // The registry bundled with a newer program must not replace the server's rows.
        if robots.store().robots().counts().await?.is_empty() {
            robots.refresher().prepare(bundled).await?;
        } else {
            robots.refresher().reload().await?;
        }
        Ok(robots)
    }

    async fn open(self) -> Result<RobotDetection, BuildError> {
        let (sources, detector) = (self.all_sources(), self.detector());
        let policy = self.policy.clone().build()?;
        let fetcher = Fetcher::new(self.limits.clone())?;
        let store = self.open_store().await?;
        let clock = self.clock.clone();
        let refresher = Refresher::new(store.clone(), fetcher, detector.clone(), clock, sources);
        let kept = self.keeps_traffic.then(|| store.clone());
        let suspicion = suspicion(self.finds_fleets, &store, &self.clock).await;
        let traffic = Traffic::new(kept, self.keeps_paths, self.evidence, &self.clock)
            .with_suspicion(suspicion);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let proving = Proving::new(
            self.verification,
            store.clone(),
            self.clock.clone(),
            tasks.clone(),
            stop.clone(),
        )?;
        let common = Common {
            detector,
            fetcher: Fetcher::new(LIMITS)?,
            clock: self.clock,
            // Until the key is read from the database, no client passes as our site robot.
            own_robot: own_robot::unknown_key(),
            proving,
            client_address: self.client_address,
            visits: traffic.visits().clone(),
            live_rules: LiveRules::new(self.live_rules),
        };
        let detection = Detection {
            policy,
            enforcement: self.enforcement,
            robots_txt: self.robots_txt,
        };
        let main = Site::new(DEFAULT_SITE, detection, &common);
        let settings = self.settings.into();
        let operations = operations(
            &store,
            refresher,
            traffic,
            settings,
            (&main, &common),
            tasks,
        );
        Ok(RobotDetection::new(Arc::new(Inner {
            sites: ArcSwap::from_pointee(vec![main.clone()]),
            main,
            server: ServerParts::new(self.started, &operations, &common),
            common,
            live_rules_file: StateFile::in_directory(self.state_dir, &operations.store),
            operations,
            bundled: self.bundled,
            secure_cookies: self.secure_cookies,
            time_zone: self.time_zone,
            hosts: self.hosts,
            address: watch::Sender::default(),
            stop,
        })))
    }

    async fn open_store(&self) -> Result<Store, StoreError> {
        let store = if self.waits_for_database {
            let (max, now_ms) = (self.database_connections, self.clock.now_ms());
            Store::connect_or_wait(&self.database_url, max, now_ms).await?
        } else {
            Store::connect(&self.database_url).await?
        };
        // The clock is set before any scheduled work; the heartbeat sets it again.
        let _ = set_clock(&self.clock, &store).await;
        Ok(store)
    }

    fn detector(&self) -> SharedDetector {
        SharedDetector::new(Detector::default().recognise_unlisted(self.unlisted))
    }

    fn all_sources(&self) -> Vec<SourceSpec> {
        let web_robots_db = (!self.web_robots_db.is_empty())
            .then(|| SourceSpec::web_robots_db(&self.web_robots_db, self.interval_days));
        web_robots_db
            .into_iter()
            .chain(self.sources.iter().cloned())
            .collect()
    }
}

/// Returns the state that administrators can view and change.
fn operations(
    store: &Store,
    refresher: Refresher,
    traffic: Traffic,
    settings: SharedSettings,
    (main, common): (&Site, &Common),
    tasks: TaskTracker,
) -> Operations {
    Operations {
        detector: common.detector.clone(),
        policy: main.policy().clone(),
        enforcer: main.enforcer().clone(),
        sites: SharedSites::default(),
        live_rules: common.live_rules.clone(),
        reloads: Reloads::default(),
        robot_runs: RobotRuns::default(),
        certificates: Certificates::default(),
        notices: Notices::default(),
        refresher,
        traffic,
        verifier: common.proving.verifier().clone(),
        ranges: common.proving.refresher(),
        settings,
        clock: common.clock.clone(),
        tasks,
        store: store.clone(),
    }
}

/// Returns the fleet detection, if enabled, with the seed shared by all instances.
async fn suspicion(is_on: bool, store: &Store, clock: &Clock) -> Option<Suspicion> {
    if !is_on {
        return None;
    }
    let own = [fastrand::u64(..), fastrand::u64(..)];
    // Without the database, an instance uses its own seed and shares no findings.
    let [seed, _] = store.pace().seed(own).await.unwrap_or(own);
    Some(Suspicion::new(clock, seed))
}

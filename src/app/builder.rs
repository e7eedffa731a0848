//! Builds the handle: policy, database, registry, jobs.

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
use crate::store::{KeptAddresses, Store, StoreError};
use crate::suspicion::Suspicion;
use crate::traffic::{EvidenceSettings, Traffic};

use super::{
    RobotDetection, RobotsTxtPlan, Site,
    handle::Inner,
    server::{ServerParts, Started},
    site::{Common, Detection},
    verification::{Proving, Verification, client},
};

/// Flat file of the Web Robots Database at its last known address.
const WEB_ROBOTS_DB: &str = "http://www.robotstxt.org/db/all.txt";

/// Builder of a [`RobotDetection`].
///
/// The defaults are those of the original package. Calls may come in any order: a list is extended by
/// each call, and of other values the last one counts.
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
    reason = "each is a setting of its own"
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

/// Error of a handle that cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A pattern, the redirect URL or another rule is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The client for downloads cannot be made.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The administrator's password has too few characters.
    #[error("the administrator's password has fewer than {0} characters: take a longer one")]
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

    /// Adds paths on which robots are redirected: globs (`FilterPattern`).
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.filter_patterns(patterns);
        self
    }

    /// Sets where robots are sent: a path or an http(s) URL (`RedirectURL`).
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.policy = self.policy.redirect_url(url);
        self
    }

    /// Adds a rule after the others; the first that matches decides.
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.policy = self.policy.rule(rule);
        self
    }

    /// Changes any other setting of the policy; what was set before stays.
    pub fn policy(mut self, change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Self {
        self.policy = change(self.policy);
        self
    }

    /// Changes how robots are held to robots.txt; violations are reported by default.
    pub fn enforcement(mut self, change: impl FnOnce(Enforcement) -> Enforcement) -> Self {
        self.enforcement = change(self.enforcement);
        self
    }

    /// Sets the database: `sqlite://FILE`, `sqlite::memory:` or `postgres://…`.
    pub fn database_url(mut self, url: impl Into<String>) -> Self {
        self.database_url = url.into();
        self
    }

    /// Sets the most connections to a `PostgreSQL` server that is [waited
    /// for](Self::wait_for_database); default 10.
    #[cfg(feature = "server")]
    pub(super) fn database_connections(mut self, max: u32) -> Self {
        self.database_connections = max;
        self
    }

    /// Sets whether it is built without a database that cannot be opened; default `false`.
    ///
    /// The registry that comes with the program serves until there is one: a server that
    /// is down is waited for, and a damaged SQLite file is left as it is. By default
    /// [`build`](Self::build) fails then: an application that starts without the
    /// database that it was told to use says so itself, or starts later.
    pub fn wait_for_database(mut self, waits: bool) -> Self {
        self.waits_for_database = waits;
        self
    }

    /// Sets URL or path of the flat file; empty: not used (`WebRobotsDB`).
    pub fn web_robots_db(mut self, url: impl Into<String>) -> Self {
        self.web_robots_db = url.into();
        self
    }

    /// Sets the days between two refreshes (`RefreshIntervalDays`); default 30.
    pub fn refresh_interval_days(mut self, days: u32) -> Self {
        self.interval_days = days.max(1);
        self
    }

    /// Adds a registry beside the Web Robots Database.
    pub fn source(mut self, source: SourceSpec) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets whether robots that no registry lists are recognised; default `true`.
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

    /// Sets whether the admin pages' cookies are sent over https only; default `false`.
    ///
    /// Set it where the application has https.
    pub fn secure_cookies(mut self, secure: bool) -> Self {
        self.secure_cookies = secure;
        self
    }

    /// Sets the zone in which the admin pages show times; default UTC.
    pub fn time_zone(mut self, zone: TimeZone) -> Self {
        self.time_zone = zone;
        self
    }

    /// Sets the administrator's password, of 12 characters or more.
    ///
    /// It is put into the database when the handle is built, unless it is there already;
    /// sessions of another password end then. By default
    /// [`RobotDetection::admin_router`] makes one where there is none.
    pub fn admin_password(mut self, password: impl Into<String>) -> Self {
        self.admin_password = Some(password.into());
        self
    }

    /// Sets how the address of a client is found among a request's extensions.
    ///
    /// By default it is what axum's `ConnectInfo<SocketAddr>` says, which behind a proxy is
    /// the proxy's. Verdicts need it, and so does the login of the admin pages, which counts
    /// wrong passwords by it.
    ///
    /// # Example
    ///
    /// ```
    /// use std::net::IpAddr;
    ///
    /// use robot_detection::RobotDetection;
    ///
    /// /// What a layer outside of ours makes of `X-Forwarded-For`.
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

    /// Sets the names under which the admin pages may be asked for; empty: any.
    pub fn admin_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the parameters that the admin page shows, with their origins.
    pub fn shown_settings(mut self, settings: Vec<Setting>) -> Self {
        self.settings = settings;
        self
    }

    /// Sets what `/robots.txt` is; by default the application answers itself.
    ///
    /// It is served by [`RobotDetection::robots_txt_router`], and robots are held
    /// to it whether that router is used or not.
    pub fn robots_txt(mut self, plan: RobotsTxtPlan) -> Self {
        self.robots_txt = plan;
        self
    }

    /// Sets how robots' claims are proven; by default with all methods.
    ///
    /// The address of a client is what axum's `ConnectInfo` says. Behind a proxy that is
    /// the proxy's: say with [`client_address`](Self::client_address) how it is found.
    pub fn verification(mut self, settings: Verification) -> Self {
        self.verification = settings;
        self
    }

    /// Sets whether what is counted of visitors is kept in the database; default `true`.
    ///
    /// Sums by minute, hour and day, without addresses. What `/metrics` shows is counted
    /// in any case.
    pub fn keep_traffic(mut self, keep: bool) -> Self {
        self.keeps_traffic = keep;
        self
    }

    /// Sets whether fleets of robots are looked for among people; by default not.
    ///
    /// Who hands requests over has to know the addresses of clients, as the server does.
    #[cfg(feature = "server")]
    pub(super) fn find_fleets(mut self, find: bool) -> Self {
        self.finds_fleets = find;
        self
    }

    /// Sets whether rules may be made, and enforcement paused, while it runs; default `true`.
    ///
    /// On the admin pages, by their JSON, and by `robot-detection rules`. Otherwise those
    /// that were made before are not judged.
    pub fn live_rules(mut self, enable: bool) -> Self {
        self.live_rules = enable;
        self
    }

    /// Sets the directory of what an instance keeps for itself.
    ///
    /// That is a copy of the live rules, with which it starts while the database is away, and
    /// the first password of the administrator. By
    /// default it is the directory of an `SQLite` database; with `PostgreSQL` there is no
    /// copy then.
    pub fn state_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(directory.into());
        self
    }

    /// Sets whether the pages that are asked for most are kept with it; default `true`.
    ///
    /// Of robots their paths, of people patterns such as `/docs/guide/*` without ids.
    pub fn keep_paths(mut self, keep: bool) -> Self {
        self.keeps_paths = keep;
        self
    }

    /// Sets for how many days evidence is kept; default 30, 0 for none.
    ///
    /// Evidence is what was not simply passed, request by request, at most 18,000 of them:
    /// redirects, refusals, impostors, violations of robots.txt. It takes
    /// [`traffic_layer`](RobotDetection::traffic_layer), and is kept where
    /// [traffic](Self::keep_traffic) is.
    pub fn evidence_days(mut self, days: u32) -> Self {
        self.evidence.days = days;
        self
    }

    /// Sets how much is kept of the addresses in the evidence.
    pub fn kept_addresses(mut self, addresses: KeptAddresses) -> Self {
        self.evidence.addresses = addresses;
        self
    }

    /// Sets the clock; tests move it.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets limits of downloads.
    pub fn fetch_limits(mut self, limits: FetchLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens the database, loads the registry and starts the jobs.
    ///
    /// Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails when a setting is wrong or the database cannot be opened, unless it is
    /// [waited for](Self::wait_for_database). A source that cannot be reached is no
    /// error; nor is a database that goes away after it was opened: what memory has
    /// serves until it is back, and what needs the database fails at once.
    pub async fn build(mut self) -> Result<RobotDetection, BuildError> {
        let (bundled, password) = (self.bundled, self.admin_password.take());
        let robots = Box::pin(self.open()).await?;
        if let Some(password) = password {
            robots.want_password(password).await?;
        }
        // The database was opened: one that goes away now must not keep the application from
        // starting.
        if let Err(error) = robots.refresher().prepare(bundled).await {
            warn!(%error, "the database does not answer, the bundled registry serves until it does");
        }
        for unknown in robots
            .policy()
            .load()
            .unknown_robots(&robots.detector().load())
        {
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
        // Behind the registry, which says which robots a robots.txt of ours names.
        robots.served_robots_txt().prepare(START_WAIT).await;
        robots.start_jobs();
        robots.load_own_robot().await;
        Ok(robots)
    }

    /// Opens the database and loads the registry, but starts no job.
    ///
    /// It is for commands: the rows of a server on the same database stay as
    /// they are, only an empty table gets the bundled registry.
    ///
    /// # Errors
    ///
    /// Fails when a setting is wrong, or the database cannot be opened or read.
    pub async fn build_idle(self) -> Result<RobotDetection, BuildError> {
        let bundled = self.bundled;
        let robots = Box::pin(self.open()).await?;
        // What comes with a newer program than the server's must not replace the server's rows.
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
            // Until the database tells the key nobody passes as our robot.
            own_robot: own_robot::unknown(),
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
            live_rules_file: StateFile::of(self.state_dir, &operations.store),
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
        // Before any scheduled work; the heartbeat tries again.
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

/// Returns the state that administrators read and change.
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

/// Returns what finds fleets, where it is on, with the seed that instances share.
async fn suspicion(is_on: bool, store: &Store, clock: &Clock) -> Option<Suspicion> {
    if !is_on {
        return None;
    }
    let own = [fastrand::u64(..), fastrand::u64(..)];
    // While the database is away an instance has a seed of its own, and hears of no other.
    let [seed, _] = store.pace().seed(own).await.unwrap_or(own);
    Some(Suspicion::new(clock, seed))
}

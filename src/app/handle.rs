//! The handle that an application keeps.

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::{
    body::Body,
    http::{Request, Response},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::instances::Heartbeat;
use crate::layer::{OwnRobot, RobotDetectionLayer};
use crate::live_rules::{self, LiveRules, StateFile};
use crate::operations::own_robot;
use crate::operations::{DEFAULT_SITE, Operations, Reloads, RobotRuns, SharedSettings, TimeZone};
use crate::pace::Exchange;
use crate::policy::{Enforcer, SharedPolicy};
use crate::refresh::Refresher;
use crate::store::Store;
use crate::traffic::TrafficLayer;
use crate::verify::{RangesRefresher, Verifier};

use super::{
    ServedRobotsTxt, Site,
    database::watch_database,
    server::ServerParts,
    site::{Common, Detection},
};

/// Handle on a running robot detection; clones share it.
///
/// Its jobs end at [`RobotDetection::shutdown`], or when the last clone is gone.
#[derive(Clone, Debug)]
pub struct RobotDetection {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    /// What administrators read and change.
    pub(super) operations: Operations,
    /// What further sites are made with.
    pub(super) common: Common,
    /// The site that the handle itself is for.
    pub(super) main: Site,
    pub(super) sites: ArcSwap<Vec<Site>>,
    pub(super) live_rules_file: Option<StateFile>,
    /// Whether the bundled registry is used.
    pub(super) bundled: bool,
    /// Whether the session's cookie is sent over https only.
    pub(super) secure_cookies: bool,
    /// Zone in which the pages show times.
    pub(super) time_zone: TimeZone,
    pub(super) hosts: Vec<String>,
    #[cfg_attr(
        not(feature = "server"),
        expect(dead_code, reason = "there is no server to ask for them")
    )]
    pub(super) server: ServerParts,
    /// Where health, metrics and console are; empty until it is known, or where they have no listener.
    pub(super) address: watch::Sender<String>,
    pub(super) stop: CancellationToken,
}

impl RobotDetection {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Returns the Tower layer; put it outside of the application's own login.
    ///
    /// Below `/robot-detection/admin` nobody is a visitor; admin pages that are nested
    /// elsewhere want [`own_path`](RobotDetectionLayer::own_path).
    #[must_use]
    pub fn layer(&self) -> RobotDetectionLayer {
        self.inner.main.layer()
    }

    /// Returns a layer that counts the requests of the application; put it outside of [`layer`](Self::layer).
    ///
    /// What it counts is kept in the database, as what a server of ours counts.
    ///
    /// # Example
    ///
    /// ```no_run
    /// # async fn example(site: axum::Router) -> Result<(), Box<dyn std::error::Error>> {
    /// let robots = robot_detection::RobotDetection::builder().build().await?;
    /// let site = site.layer(robots.layer()).layer(robots.traffic_layer());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn traffic_layer(&self) -> TrafficLayer {
        self.inner.operations.traffic.layer(self.inner.main.name())
    }

    /// Returns a router that answers for `/robots.txt`, to be merged into the application's.
    ///
    /// It answers GET and HEAD as
    /// [`robots_txt`](super::RobotDetectionBuilder::robots_txt) planned it, with `ETag` and
    /// `Last-Modified`; caches keep it for five minutes. Where the plan is that
    /// the application answers itself, it answers 404: leave it out then.
    ///
    /// # Example
    ///
    /// ```no_run
    /// use robot_detection::app::{RobotDetection, RobotsTxtContent, RobotsTxtPlan, RobotsTxtRules};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let rules = RobotsTxtRules::new().disallow(["/search"])?;
    /// let robots = RobotDetection::builder()
    ///     .robots_txt(RobotsTxtPlan::new(RobotsTxtContent::Settings(rules)))
    ///     .build()
    ///     .await?;
    /// let site: axum::Router = axum::Router::new()
    ///     .merge(robots.robots_txt_router())
    ///     .layer(robots.layer());
    /// # Ok(())
    /// # }
    /// ```
    pub fn robots_txt_router(&self) -> axum::Router {
        self.inner.main.robots_txt_router()
    }

    /// Returns what `/robots.txt` is on each host, and the rules in force there.
    #[must_use]
    pub fn served_robots_txt(&self) -> &ServedRobotsTxt {
        self.inner.main.served_robots_txt()
    }

    /// Returns all sites, each with its name and counters; that of the handle comes first.
    ///
    /// Where a server runs, they are those that it serves at the moment.
    #[must_use]
    pub fn sites(&self) -> Arc<Vec<Site>> {
        self.inner.sites.load_full()
    }

    /// Returns what asks for a reload, and what came of the last one.
    #[must_use]
    pub fn reloads(&self) -> &Reloads {
        &self.inner.operations.reloads
    }

    /// Returns what asks for runs of site robots, and what the pages show of them.
    #[must_use]
    pub fn robot_runs(&self) -> &RobotRuns {
        &self.inner.operations.robot_runs
    }

    /// Returns the detector alone.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.inner.common.detector
    }

    /// Returns the policy in force; replacing it takes effect at once.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        self.inner.main.policy()
    }

    /// Returns what holds robots to robots.txt: settings, files and violations.
    #[must_use]
    pub fn enforcer(&self) -> &Enforcer {
        self.inner.main.enforcer()
    }

    /// Returns the rules that are made while it runs, and whether enforcement is paused.
    #[must_use]
    pub fn live_rules(&self) -> &LiveRules {
        &self.inner.common.live_rules
    }

    /// Returns the database.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.operations.store
    }

    /// Returns the job that keeps the registry up to date.
    #[must_use]
    pub fn refresher(&self) -> &Refresher {
        &self.inner.operations.refresher
    }

    /// Returns what proves robots' claims: verdicts, their counters, and the last impostors.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        self.inner.common.proving.verifier()
    }

    /// Returns what keeps the lists of robots' addresses up to date.
    #[must_use]
    pub fn ranges_refresher(&self) -> RangesRefresher {
        self.inner.common.proving.refresher()
    }

    /// Returns the parameters that the admin page shows.
    #[must_use]
    pub fn shown_settings(&self) -> &SharedSettings {
        &self.inner.operations.settings
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.common.clock
    }

    /// Begins a site robot that asks the application itself, as whom `prepare` logs in.
    ///
    /// Give it the whole application, this handle's layer included: the layer lets its
    /// own robot pass. The closure puts into each request whom the application
    /// takes for logged in, such as an extension; no password is needed, and no
    /// network. Descriptions go to this handle's database, from which
    /// [`heaven`](crate::heaven) is made.
    ///
    /// # Example
    ///
    /// ```
    /// use axum::{Router, extract::Extension, routing::get};
    /// use robot_detection::RobotDetection;
    ///
    /// #[derive(Clone)]
    /// struct Member(&'static str);
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let robots = RobotDetection::builder()
    ///     .filter_patterns(["/members-only-stuff/*"])
    ///     .database_url("sqlite::memory:")
    ///     .web_robots_db("")
    ///     .build()
    ///     .await?;
    /// let page = |Extension(member): Extension<Member>| async move {
    ///     axum::response::Html(format!("<title>For {}</title>Salt", member.0))
    /// };
    /// let app: Router = Router::new()
    ///     .route("/members-only-stuff/a", get(page))
    ///     .layer(robots.layer());
    ///
    /// let summary = robots
    ///     .site_robot(app, |request| {
    ///         request.extensions_mut().insert(Member("site robot"));
    ///     })
    ///     .start_at("http://www.example.com/members-only-stuff/a")
    ///     .build()?
    ///     .run()
    ///     .await?;
    /// assert_eq!(summary.counts.added, 1);
    /// # robots.shutdown().await;
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn site_robot<S, E>(
        &self,
        app: S,
        prepare: impl Fn(&mut Request<Body>) + Send + Sync + 'static,
    ) -> crate::site_robot::SiteRobotBuilder
    where
        S: tower::Service<Request<Body>, Response = Response<Body>, Error = E>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        E: Into<tower::BoxError> + 'static,
    {
        use crate::site_robot::{SiteRobot, source::ApplicationSource};
        let own = self.own_robot().clone();
        let source = ApplicationSource::new(app, move |request| {
            request.extensions_mut().insert(own.clone());
            prepare(request);
        });
        SiteRobot::builder(DEFAULT_SITE, self.store().clone(), source).clock(self.clock().clone())
    }

    /// Ends the jobs, waits for them, closes the database.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.operations.tasks.close();
        // The database is last: jobs that end store what they have.
        self.inner.operations.tasks.wait().await;
        self.inner.operations.traffic.flush().await;
        self.inner.operations.store.close().await;
    }

    pub(super) fn parts(&self) -> &Inner {
        &self.inner
    }

    pub(super) fn start_jobs(&self) {
        let refresher = self.inner.operations.refresher.clone();
        let stop = self.inner.stop.clone();
        self.inner
            .operations
            .tasks
            .spawn(async move { refresher.run(stop).await });
        let watching = Box::pin(watch_database(
            self.inner.operations.store.clone(),
            self.inner.operations.refresher.clone(),
            self.clock().clone(),
            self.inner.bundled,
        ));
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(async move {
            stop.run_until_cancelled(watching).await;
        });
        let lists = self.inner.common.proving.clone();
        let lists = Box::pin(lists.keep_lists(self.detector().clone()));
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(async move {
            stop.run_until_cancelled(lists).await;
        });
        let live_rules = Box::pin(live_rules::follow(
            self.inner.common.live_rules.clone(),
            self.inner.operations.store.clone(),
            self.clock().clone(),
            self.inner.live_rules_file.clone(),
        ));
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(async move {
            stop.run_until_cancelled(live_rules).await;
        });
        let live_rules = self.inner.common.live_rules.clone();
        let exchange = Exchange::new(
            self.inner.operations.store.clone(),
            self.clock().clone(),
            move || live_rules.policies_in_force(),
        );
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(exchange.run(stop));
        let address = self.inner.address.subscribe();
        let heartbeat = Heartbeat::new(
            self.inner.operations.store.clone(),
            address,
            self.clock().clone(),
        );
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(heartbeat.run(stop));
        let (traffic, stop) = (
            self.inner.operations.traffic.clone(),
            self.inner.stop.clone(),
        );
        self.inner.operations.tasks.spawn(traffic.run(stop));
        self.follow(&self.inner.main);
    }

    /// Starts a site; its job ends with it, or with the handle.
    pub(super) fn start_site(&self, name: &str, detection: Detection) -> Site {
        let site = Site::new(name, detection, &self.inner.common);
        self.follow(&site);
        site
    }

    /// Lists a site, in place of one of the same name.
    pub(super) fn list_site(&self, site: &Site) {
        // Two sites may be built at a time: the loser of the exchange tries again with both.
        self.inner.sites.rcu(|sites| {
            let others = sites.iter().filter(|other| other.name() != site.name());
            let mut sites: Vec<_> = others.cloned().collect();
            sites.push(site.clone());
            sites
        });
    }

    /// Applies the key by which all layers of the database know our site robot.
    pub(super) async fn load_own_robot(&self) {
        let (own, store, clock) = (self.own_robot(), self.store(), self.clock());
        let Err(error) = own_robot::load(own, store, clock).await else {
            return;
        };
        tracing::warn!(%error, "site robots of other processes are redirected until the database answers: {error}");
        let later = own_robot::load_later(own.clone(), store.clone(), clock.clone());
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(async move {
            stop.run_until_cancelled(later).await;
        });
    }

    /// Returns what our own site robot is known by.
    pub(super) fn own_robot(&self) -> &OwnRobot {
        &self.inner.common.own_robot
    }

    fn follow(&self, site: &Site) {
        let robots_txt = site.served_robots_txt().clone();
        let (stop, site_stop) = (self.inner.stop.clone(), site.stop());
        self.inner.operations.tasks.spawn(async move {
            // Of the two tokens one ends with the site, the other with the handle.
            site_stop.run_until_cancelled(robots_txt.run(stop)).await;
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

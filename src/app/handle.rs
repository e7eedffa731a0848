//! The handle that an application uses.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use axum::{
    body::Body,
    http::{Request, Response},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::instances::Heartbeat;
use crate::layer::{RobotDetectionLayer, SiteRobotKey};
use crate::live_rules::{self, LiveRules, StateFile};
use crate::operations::own_robot;
use crate::operations::{DEFAULT_SITE, Operations, Reloads, RobotRuns, SharedSettings, TimeZone};
use crate::pace::Exchange;
use crate::policy::{Enforcer, Policy, SharedPolicy};
use crate::refresh::Refresher;
use crate::store::Store;
use crate::traffic::TrafficLayer;
use crate::verify::Verifier;

use super::{
    ServedRobotsTxt, Site,
    database::watch_database,
    server::ServerParts,
    site::{Common, Detection},
};

/// A handle to a running robot detection; clones share the handle's state.
///
/// The background jobs end at [`RobotDetection::shutdown`], or when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct RobotDetection {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    /// The state that administrators can view and change.
    pub(super) operations: Operations,
    /// The state shared by all sites.
    pub(super) common: Common,
    /// The handle's own site.
    pub(super) main: Site,
    pub(super) sites: ArcSwap<Vec<Site>>,
    pub(super) live_rules_file: Option<StateFile>,
    /// Whether the bundled registry is used.
    pub(super) bundled: bool,
    /// Whether session cookies are sent only over https.
    pub(super) secure_cookies: bool,
    /// The time zone for times on the admin pages.
    pub(super) time_zone: TimeZone,
    pub(super) hosts: Vec<String>,
    #[cfg_attr(
        not(feature = "server"),
        expect(dead_code, reason = "only the server uses this field")
    )]
    pub(super) server: ServerParts,
    /// The base URL of health checks, metrics and console; empty while unknown or if no listener
    /// serves them.
    pub(super) address: watch::Sender<String>,
    pub(super) stop: CancellationToken,
}

impl RobotDetection {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Returns the Tower layer; apply it outside the application's own login layer.
    ///
    /// Requests below `/robot-detection/admin` are not counted as visitors; for admin pages nested
    /// elsewhere, set [`internal_path`](RobotDetectionLayer::internal_path).
    #[must_use]
    pub fn layer(&self) -> RobotDetectionLayer {
        self.inner.main.layer()
    }

    /// Returns a layer that counts requests; apply it outside [`layer`](Self::layer).
    ///
    /// The counters are stored in the database, as in the standalone server.
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

    /// Returns a router that serves `/robots.txt`, for merging into the application's router.
    ///
    /// The router answers GET and HEAD according to
    /// [`robots_txt`](super::RobotDetectionBuilder::robots_txt), with `ETag` and `Last-Modified`;
    /// responses may be cached for five minutes. If the application serves its own file, the router
    /// returns 404 and is not needed.
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

    /// Returns the `/robots.txt` served on each host, and its rules.
    #[must_use]
    pub fn served_robots_txt(&self) -> &ServedRobotsTxt {
        self.inner.main.served_robots_txt()
    }

    /// Returns all sites, each with its name and counters; the handle's site comes first.
    ///
    /// If a server is running, these are the sites currently served.
    #[must_use]
    pub fn sites(&self) -> Arc<Vec<Site>> {
        self.inner.sites.load_full()
    }

    /// Returns warnings about robot IDs in the sites' rules that the registry does not contain.
    pub(super) fn unknown_robots(&self) -> Vec<String> {
        let (detector, sites) = (self.detector().load(), self.sites());
        let policies = sites.iter().map(|site| site.policy().load());
        let unknown = |policy: Guard<Arc<Policy>>| {
            let unknown = policy.unknown_robots(&detector);
            unknown
                .map(|unknown| unknown.to_string())
                .collect::<Vec<_>>()
        };
        policies.flat_map(unknown).collect()
    }

    /// Returns the pending reload requests and the result of the last reload.
    #[must_use]
    pub fn reloads(&self) -> &Reloads {
        &self.inner.operations.reloads
    }

    /// Returns the requests for site robot runs, and the runs shown on the admin pages.
    #[must_use]
    pub fn robot_runs(&self) -> &RobotRuns {
        &self.inner.operations.robot_runs
    }

    /// Returns the detector, which identifies robots by their User-Agents.
    #[must_use]
    pub fn detector(&self) -> &SharedDetector {
        &self.inner.common.detector
    }

    /// Returns the current policy; replacing it takes effect immediately.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        self.inner.main.policy()
    }

    /// Returns the enforcement of robots.txt, with its settings, files and violations.
    #[must_use]
    pub fn enforcer(&self) -> &Enforcer {
        self.inner.main.enforcer()
    }

    /// Returns the live rules, and whether enforcement is paused.
    #[must_use]
    pub fn live_rules(&self) -> &LiveRules {
        &self.inner.common.live_rules
    }

    /// Returns the database that the handle uses.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.operations.store
    }

    /// Returns the job that refreshes the registry.
    #[must_use]
    pub fn refresher(&self) -> &Refresher {
        &self.inner.operations.refresher
    }

    /// Returns the verifier of robots' claims, with verdicts, counters and the latest spoofed
    /// robots.
    #[must_use]
    pub fn verifier(&self) -> &Verifier {
        self.inner.common.proving.verifier()
    }

    /// Returns the settings shown on the admin page.
    #[must_use]
    pub fn shown_settings(&self) -> &SharedSettings {
        &self.inner.operations.settings
    }

    /// Returns the clock that the handle uses.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.inner.common.clock
    }

    /// Returns a builder for a site robot that calls the application; `prepare` adds a login to
    /// each request.
    ///
    /// Pass the whole application, including this handle's layer: the layer allows its own robot.
    /// The closure adds the logged-in user to each request, for example as an extension; neither a
    /// password nor a network is needed. Page descriptions are stored in this handle's database;
    /// [`heaven`](crate::heaven) generates its pages from them.
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

    /// Ends the background jobs, waits until they have ended, and closes the database.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.operations.tasks.close();
        // The database is closed last, because the jobs store their data when they end.
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
            move || live_rules.active_policies(),
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

    /// Starts a site; its background job ends when the site or the handle is dropped.
    pub(super) fn start_site(&self, name: &str, detection: Detection) -> Site {
        let site = Site::new(name, detection, &self.inner.common);
        self.follow(&site);
        site
    }

    /// Adds a site to the list, replacing a site with the same name.
    pub(super) fn list_site(&self, site: &Site) {
        // Two sites may be added at the same time: the update that comes second is retried with
        // both sites.
        self.inner.sites.rcu(|sites| {
            let others = sites.iter().filter(|other| other.name() != site.name());
            let mut sites: Vec<_> = others.cloned().collect();
            sites.push(site.clone());
            sites
        });
    }

    /// Loads the key by which all layers that use this database recognise our site robot.
    pub(super) async fn load_own_robot(&self) {
        let (own, store, clock) = (self.own_robot(), self.store(), self.clock());
        let Err(error) = own_robot::load(own, store, clock).await else {
            return;
        };
        tracing::warn!(%error, "cannot load the site robot's key; until the database is available, site robots run by other processes are treated as other robots: {error}");
        let later = own_robot::load_later(own.clone(), store.clone(), clock.clone());
        let stop = self.inner.stop.clone();
        self.inner.operations.tasks.spawn(async move {
            stop.run_until_cancelled(later).await;
        });
    }

    /// Returns the key that identifies our own site robot.
    pub(super) fn own_robot(&self) -> &SiteRobotKey {
        &self.inner.common.own_robot
    }

    fn follow(&self, site: &Site) {
        let robots_txt = site.served_robots_txt().clone();
        let (stop, site_stop) = (self.inner.stop.clone(), site.stop());
        self.inner.operations.tasks.spawn(async move {
            // One of the two tokens is cancelled with the site, the other with the handle.
            site_stop.run_until_cancelled(robots_txt.run(stop)).await;
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

//! The sites of a process, each with its own policy and counters.

use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{RobotDetection, RobotsTxtPlan, ServedRobotsTxt, verification::Proving};
use crate::admin::ClientAddress;
use crate::clock::Clock;
use crate::detect::SharedDetector;
use crate::fetch::Fetcher;
use crate::layer::{RobotDetectionLayer, SiteRobotKey, Stats, VisitSwitch};
use crate::live_rules::LiveRules;
use crate::policy::{Enforcement, Enforcer, Policy, PolicyBuilder, PolicyError, SharedPolicy};

/// The path at which applications nest the admin pages.
pub(super) const ADMIN_PATH: &str = "/robot-detection/admin";

/// A site with its own policy, robots.txt and counters.
///
/// Sites of one [`RobotDetection`](super::RobotDetection) share its registry and detector. Clones
/// share all state; the site's job ends with the last clone.
#[derive(Clone, Debug)]
pub struct Site {
    inner: Arc<Inner>,
    pub(super) layer: RobotDetectionLayer,
}

#[derive(Debug)]
struct Inner {
    name: String,
    policy: SharedPolicy,
    enforcer: Enforcer,
    robots_txt: ServedRobotsTxt,
    stop: CancellationToken,
    _ends: DropGuard,
}

/// The policy and enforcement of a site.
#[derive(Clone, Debug)]
pub(super) struct Detection {
    pub(super) policy: Policy,
    pub(super) enforcement: Enforcement,
    pub(super) robots_txt: RobotsTxtPlan,
}

/// The state shared by all sites of a handle.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) detector: SharedDetector,
    pub(super) fetcher: Fetcher,
    pub(super) clock: Clock,
    /// The key that identifies our own site robot on these sites, whichever process runs it.
    pub(super) own_robot: SiteRobotKey,
    pub(super) proving: Proving,
    pub(super) client_address: ClientAddress,
    /// A switch that selects which visits are described for the evidence and for observers.
    pub(super) visits: VisitSwitch,
    /// Live rules, applied on top of each site's policy.
    pub(super) live_rules: LiveRules,
}

impl Site {
    pub(super) fn new(name: &str, detection: Detection, common: &Common) -> Self {
        let Common {
            detector,
            fetcher,
            clock,
            own_robot,
            proving,
            client_address,
            visits,
            live_rules,
        } = common.clone();
        let robots_txt = ServedRobotsTxt::new(
            detection.robots_txt,
            detector.clone(),
            fetcher,
            clock.clone(),
        );
        let policy = SharedPolicy::new(detection.policy);
        live_rules.attach(name, &policy);
        let enforcer = Enforcer::new(robots_txt.files().clone(), detection.enforcement);
        let layer = RobotDetectionLayer::new(detector, policy.clone())
            .enforcer(enforcer.clone())
            .clock(clock)
            .visit_switch(visits)
            .own_robot(own_robot);
        let layer = proving
            .connect_layer(layer)
            .client_address(move |extensions| client_address.find(extensions));
        let stop = CancellationToken::new();
        let inner = Inner {
            name: name.to_owned(),
            policy,
            enforcer,
            robots_txt,
            // The site's job holds clones of the parts, never of the site: otherwise the job would
            // not end.
            _ends: stop.clone().drop_guard(),
            stop,
        };
        Self {
            inner: Arc::new(inner),
            layer,
        }
    }

    /// Returns the site's name; `default` for the handle's own site.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the Tower layer of this site.
    ///
    /// Requests below `/robot-detection/admin` are not counted as visitors; for admin pages nested
    /// elsewhere, set [`internal_path`](RobotDetectionLayer::internal_path).
    #[must_use]
    pub fn layer(&self) -> RobotDetectionLayer {
        // Outcomes are reported for the traffic counters outside of the layer.
        self.layer
            .clone()
            .internal_path(ADMIN_PATH)
            .report_outcome(true)
    }

    /// Returns the site's counters.
    #[must_use]
    pub fn stats(&self) -> &Arc<Stats> {
        self.layer.stats()
    }

    /// Returns the current policy; replacing it takes effect immediately.
    #[must_use]
    pub fn policy(&self) -> &SharedPolicy {
        &self.inner.policy
    }

    /// Returns the enforcement of robots.txt: settings, files and violations.
    #[must_use]
    pub fn enforcer(&self) -> &Enforcer {
        &self.inner.enforcer
    }

    /// Returns the `/robots.txt` served on the site's hosts, and the current rules.
    #[must_use]
    pub fn served_robots_txt(&self) -> &ServedRobotsTxt {
        &self.inner.robots_txt
    }

    /// Returns a router that serves `/robots.txt`, for merging into the application's router.
    ///
    /// See [`RobotDetection::robots_txt_router`](super::RobotDetection::robots_txt_router).
    pub fn robots_txt_router(&self) -> axum::Router {
        self.inner.robots_txt.router()
    }

    /// Returns the token that is cancelled when the last clone is dropped.
    pub(super) fn stop(&self) -> CancellationToken {
        self.inner.stop.clone()
    }
}

impl RobotDetection {
    /// Returns a builder for an additional site next to the handle's own site.
    ///
    /// An application that serves several hosts must apply the layer of the matching site to each
    /// host; the registry, detector and admin page are shared.
    pub fn site(&self, name: impl Into<String>) -> SiteBuilder {
        SiteBuilder::new(self.clone(), name.into())
    }
}

/// A builder for an additional [`Site`] next to the handle's own site.
///
/// # Example
///
/// ```
/// use robot_detection::{app::RobotDetection, policy::Policy};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let robots = RobotDetection::builder()
///     .database_url("sqlite::memory:")
///     .web_robots_db("")
///     .build()
///     .await?;
/// let shop = robots
///     .site("shop")
///     .policy(Policy::builder().filter_patterns(["/cart/*"]))
///     .build()?;
/// let app: axum::Router = axum::Router::new().layer(shop.layer());
/// assert_eq!(robots.sites().len(), 2);
/// # robots.shutdown().await;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SiteBuilder {
    robots: RobotDetection,
    name: String,
    policy: PolicyBuilder,
    enforcement: Enforcement,
    robots_txt: RobotsTxtPlan,
}

impl SiteBuilder {
    pub(super) fn new(robots: RobotDetection, name: String) -> Self {
        Self {
            robots,
            name,
            policy: Policy::builder(),
            enforcement: Enforcement::default(),
            robots_txt: RobotsTxtPlan::default(),
        }
    }

    /// Sets the redirect policy; the default is the original package's policy.
    pub fn policy(mut self, policy: PolicyBuilder) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the enforcement of robots.txt; violations are only reported by default.
    pub fn enforcement(mut self, settings: Enforcement) -> Self {
        self.enforcement = settings;
        self
    }

    /// Sets the contents of `/robots.txt`; by default, the application serves its own file.
    pub fn robots_txt(mut self, plan: RobotsTxtPlan) -> Self {
        self.robots_txt = plan;
        self
    }

    /// Builds the site and adds it to [`RobotDetection::sites`], replacing a site with the same
    /// name.
    ///
    /// Requires a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if a policy setting is invalid.
    pub fn build(self) -> Result<Site, PolicyError> {
        let detection = Detection {
            policy: self.policy.build()?,
            enforcement: self.enforcement,
            robots_txt: self.robots_txt,
        };
        let site = self.robots.start_site(&self.name, detection);
        self.robots.list_site(&site);
        Ok(site)
    }
}

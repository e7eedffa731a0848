//! Further sites of a handle.

use crate::policy::{Enforcement, Policy, PolicyBuilder, PolicyError};

use super::{RobotDetection, RobotsTxtPlan, Site, site::Detection};

impl RobotDetection {
    /// Begins a further site beside the one that the handle is for.
    ///
    /// An application that serves several hosts gives each the layer of its
    /// site; registry, detector and admin page are one for all.
    pub fn site(&self, name: impl Into<String>) -> SiteBuilder {
        SiteBuilder::new(self.clone(), name.into())
    }
}

/// Builder of a further [`Site`] beside the one that the handle is for.
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

    /// Sets what is redirected, and where to; by default as the original package does.
    pub fn policy(mut self, policy: PolicyBuilder) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how robots are held to robots.txt; violations are reported by default.
    pub fn enforcement(mut self, settings: Enforcement) -> Self {
        self.enforcement = settings;
        self
    }

    /// Sets what `/robots.txt` is; by default the application answers itself.
    pub fn robots_txt(mut self, plan: RobotsTxtPlan) -> Self {
        self.robots_txt = plan;
        self
    }

    /// Builds the site and lists it among [`RobotDetection::sites`]; one of the same name goes.
    ///
    /// Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails when a setting of the policy is wrong.
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

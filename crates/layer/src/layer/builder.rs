//! From settings to a layer, for an application that uses nothing else.

use std::sync::Arc;

use http::HeaderName;

use crate::detect::{BuildError, Detector, SharedDetector};
use crate::policy::{
    Enforce, Enforcement, Enforcer, Policy, PolicyBuilder, PolicyError, Refusal, RobotsFiles,
    SharedPolicy, SharedRobotsFiles, TagRuleBuilder,
};
use crate::registry::{Purpose, Robot, bundled};

use super::RobotDetectionLayer;

/// Builder of a [`RobotDetectionLayer`] with a registry and a policy of its own.
///
/// The settings and their defaults are those of [`PolicyBuilder`]; the robots
/// are those of the bundled registry.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{
///     layer::RobotDetectionLayer,
///     registry::{Pattern, PatternKind, Robot, Source},
/// };
///
/// let mut robot = Robot::new("examplebot", Source::manual());
/// robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
/// let layer = RobotDetectionLayer::builder()
///     .filter_patterns(["/members-only-stuff/*"])
///     .robots([robot])
///     .build()?;
/// # Ok::<(), robot_detection_layer::layer::LayerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LayerBuilder {
    policy: PolicyBuilder,
    robots: Option<Vec<Robot>>,
    ignores_unlisted: bool,
    robots_files: Option<RobotsFiles>,
    enforcement: Enforcement,
    identification_header: Option<HeaderName>,
}

/// Error of settings that make no layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A setting of the policy is wrong.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The robots do not fit a detector.
    #[error(transparent)]
    Detector(#[from] BuildError),
}

impl LayerBuilder {
    /// Replaces the patterns of filtered paths, `/members-only-stuff/*` by default (`FilterPattern`).
    #[must_use]
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.filter_patterns(patterns);
        self
    }

    /// Sets where robots are sent, `/robot-heaven/` by default (`RedirectURL`).
    #[must_use]
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.policy = self.policy.redirect_url(url);
        self
    }

    /// Sets the status of the redirect, 302 by default.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.policy = self.policy.status(status);
        self
    }

    /// Replaces the methods that are redirected, GET and HEAD by default.
    #[must_use]
    pub fn methods<S: AsRef<str>>(mut self, methods: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.methods(methods);
        self
    }

    /// Replaces the purposes of the robots that are redirected.
    #[must_use]
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.policy = self.policy.purposes(purposes);
        self
    }

    /// Adds a path that is never redirected, nor is anything below it.
    #[must_use]
    pub fn never(mut self, path: impl Into<String>) -> Self {
        self.policy = self.policy.never(path);
        self
    }

    /// Replaces the names under which this site is reached; none by default.
    #[must_use]
    pub fn own_hosts<S: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.own_hosts(hosts);
        self
    }

    /// Adds a rule about `X-Robots-Tag` headers; none by default.
    #[must_use]
    pub fn x_robots_tag(mut self, rule: TagRuleBuilder) -> Self {
        self.policy = self.policy.x_robots_tag(rule);
        self
    }

    /// Replaces the whole policy, with its rules and lists of robots.
    #[must_use]
    pub fn policy(mut self, policy: PolicyBuilder) -> Self {
        self.policy = policy;
        self
    }

    /// Replaces the robots that are known; by default those of the bundled registry.
    #[must_use]
    pub fn robots(mut self, robots: impl IntoIterator<Item = Robot>) -> Self {
        self.robots = Some(robots.into_iter().collect());
        self
    }

    /// Sets whether robots that no registry lists are recognised too, as they are by default.
    ///
    /// See [`detect`](crate::detect#unlisted-robots) for the rule.
    #[must_use]
    pub fn unlisted_robots(mut self, recognise: bool) -> Self {
        self.ignores_unlisted = !recognise;
        self
    }

    /// Sets the robots.txt that robots are held to; none by default.
    ///
    /// It is a [`RobotsTxt`](robot_detection_robots_txt::RobotsTxt) for every host, or the
    /// [`RobotsFiles`] of several. The layer does not serve them.
    #[must_use]
    pub fn robots_txt(mut self, files: impl Into<RobotsFiles>) -> Self {
        self.robots_files = Some(files.into());
        self
    }

    /// Sets whether robots are held to robots.txt; violations are reported by default.
    #[must_use]
    pub fn enforce_robots_txt(mut self, mode: Enforce) -> Self {
        self.enforcement = self.enforcement.rules(mode);
        self
    }

    /// Sets how a robot is answered that asks for what is disallowed; 403 by default.
    #[must_use]
    pub fn robots_txt_refusal(mut self, refusal: Refusal) -> Self {
        self.enforcement = self.enforcement.refusal(refusal);
        self
    }

    /// Sets whether robots are held to `Crawl-delay`; violations are reported by default.
    #[must_use]
    pub fn enforce_crawl_delay(mut self, mode: Enforce) -> Self {
        self.enforcement = self.enforcement.crawl_delay(mode);
        self
    }

    /// Names a request header that tells an upstream the robot's id; none by default.
    ///
    /// See [`RobotDetectionLayer::identification_header`].
    #[must_use]
    pub fn identification_header(mut self, name: HeaderName) -> Self {
        self.identification_header = Some(name);
        self
    }

    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// Fails when a setting of the policy is wrong, as
    /// [`PolicyBuilder::build`] does, or when the robots do not fit a detector.
    pub fn build(self) -> Result<RobotDetectionLayer, LayerError> {
        let policy: Policy = self.policy.build()?;
        let robots = self.robots.unwrap_or_else(|| bundled().robots);
        let detector = Detector::new(robots.into_iter().map(Arc::new))?
            .recognise_unlisted(!self.ignores_unlisted);
        let files = SharedRobotsFiles::default();
        files.replace(self.robots_files.unwrap_or_default());
        let layer =
            RobotDetectionLayer::new(SharedDetector::new(detector), SharedPolicy::new(policy))
                .enforcer(Enforcer::new(files, self.enforcement));
        Ok(match self.identification_header {
            Some(name) => layer.identification_header(name),
            None => layer,
        })
    }
}

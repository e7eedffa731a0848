//! A builder of the layer, for applications that use only the layer.

use std::{collections::HashSet, fmt, sync::Arc};

use http::HeaderName;

use crate::detect::{BuildError, Detector, SharedDetector};
use crate::policy::{
    Enforcement, EnforcementMode, Enforcer, Policy, PolicyBuilder, PolicyError, Refusal,
    RobotsFiles, RuleBuilder, SharedPolicy, SharedRobotsFiles, UnknownRobot,
};
use crate::registry::Robot;

use super::RobotDetectionLayer;

/// A builder that creates a [`RobotDetectionLayer`] with its own registry and policy.
///
/// The builder has the settings and defaults of [`PolicyBuilder`], and the robots of the bundled
/// registry. Methods can be called in any order: each call extends a list or replaces a single
/// value.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{
///     layer::RobotDetectionLayer,
///     policy::{Action, Rule},
///     registry::{Pattern, PatternKind, Robot, Source},
/// };
///
/// let mut robot = Robot::new("examplebot", Source::manual());
/// robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
/// let layer = RobotDetectionLayer::builder()
///     .filter_patterns(["/members-only-stuff/*"])
///     .rule(Rule::builder(Action::Refuse).robots(["examplebot", "gptbot"]).status(402))
///     .add_robots([robot])
///     .build()?;
/// # Ok::<(), robot_detection_layer::layer::LayerError>(())
/// ```
#[derive(Clone, Default)]
pub struct LayerBuilder {
    policy: PolicyBuilder,
    robots: Vec<Robot>,
    leaves_out_bundled: bool,
    ignores_unlisted: bool,
    robots_files: Option<RobotsFiles>,
    enforcement: Enforcement,
    identification_header: Option<HeaderName>,
}

/// Error returned when the settings of a layer are invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A policy setting is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The robots cannot be compiled into a detector.
    #[error(transparent)]
    Detector(#[from] BuildError),
    /// A rule or a list contains a robot ID that is not in the registry.
    #[error(transparent)]
    UnknownRobot(#[from] UnknownRobot),
}

impl LayerBuilder {
    /// Adds patterns of filtered paths (`FilterPattern`); defaults to `/members-only-stuff/*`.
    #[must_use]
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.policy = self.policy.filter_patterns(patterns);
        self
    }

    /// Sets the redirect target for robots (`RedirectURL`); defaults to `/robot-heaven/`.
    #[must_use]
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.policy = self.policy.redirect_url(url);
        self
    }

    /// Adds a rule after the existing rules; the first matching rule decides.
    #[must_use]
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.policy = self.policy.rule(rule);
        self
    }

    /// Adds a path that is never redirected, and neither is any path below it.
    #[must_use]
    pub fn never(mut self, path: impl Into<String>) -> Self {
        self.policy = self.policy.never(path);
        self
    }

    /// Changes other policy settings; earlier settings are preserved.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::{layer::RobotDetectionLayer, policy::Spoofed};
    ///
    /// let layer = RobotDetectionLayer::builder()
    ///     .filter_patterns(["/members-only-stuff/*"])
    ///     .policy(|policy| policy.spoofed(Spoofed::Refuse).dry_run(true))
    ///     .build()?;
    /// # Ok::<(), robot_detection_layer::layer::LayerError>(())
    /// ```
    #[must_use]
    pub fn policy(mut self, change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Self {
        self.policy = change(self.policy);
        self
    }

    /// Adds robots to the registry; a robot with the ID of a bundled robot replaces the bundled
    /// one.
    #[must_use]
    pub fn add_robots(mut self, robots: impl IntoIterator<Item = Robot>) -> Self {
        self.robots.extend(robots);
        self
    }

    /// Sets whether the bundled registry is used; enabled by default.
    #[must_use]
    pub fn bundled_registry(mut self, bundled: bool) -> Self {
        self.leaves_out_bundled = !bundled;
        self
    }

    /// Sets whether robots that are not in the registry are detected; enabled by default.
    ///
    /// See [`detect`](crate::detect#unlisted-robots) for the criteria.
    #[must_use]
    pub fn unlisted_robots(mut self, recognise: bool) -> Self {
        self.ignores_unlisted = !recognise;
        self
    }

    /// Sets the robots.txt that robots must obey; by default, there is no robots.txt.
    ///
    /// Accepts one [`RobotsTxt`](robot_detection_robots_txt::RobotsTxt) for all hosts, or
    /// [`RobotsFiles`] with one file per host. The layer does not serve the files.
    #[must_use]
    pub fn robots_txt(mut self, files: impl Into<RobotsFiles>) -> Self {
        self.robots_files = Some(files.into());
        self
    }

    /// Sets how robots.txt rules are enforced; by default, violations are only reported.
    #[must_use]
    pub fn enforce_robots_txt(mut self, mode: EnforcementMode) -> Self {
        self.enforcement = self.enforcement.rules(mode);
        self
    }

    /// Sets the response to a request for a disallowed path; defaults to 403.
    #[must_use]
    pub fn robots_txt_refusal(mut self, refusal: Refusal) -> Self {
        self.enforcement = self.enforcement.refusal(refusal);
        self
    }

    /// Sets how `Crawl-delay` is enforced; by default, violations are only reported.
    #[must_use]
    pub fn enforce_crawl_delay(mut self, mode: EnforcementMode) -> Self {
        self.enforcement = self.enforcement.crawl_delay(mode);
        self
    }

    /// Sets how preferences about AI training are enforced; by default, violations are only
    /// reported.
    #[must_use]
    pub fn enforce_usage(mut self, mode: EnforcementMode) -> Self {
        self.enforcement = self.enforcement.usage(mode);
        self
    }

    /// Sets the request header that sends the robot's ID to an upstream; by default, no ID is sent.
    ///
    /// See [`RobotDetectionLayer::identification_header`].
    #[must_use]
    pub fn identification_header(mut self, name: HeaderName) -> Self {
        self.identification_header = Some(name);
        self
    }

    /// Builds the layer.
    ///
    /// Building the first layer with the bundled registry takes a fraction of a second; later
    /// layers share the registry's tables unless robots are [added](Self::add_robots).
    ///
    /// # Errors
    ///
    /// Returns an error if a policy setting is invalid (see [`PolicyBuilder::build`]), if a setting
    /// contains an unknown robot ID, or if the robots cannot be compiled into a detector.
    pub fn build(self) -> Result<RobotDetectionLayer, LayerError> {
        let policy: Policy = self.policy.build()?;
        let detector = detector(self.robots, !self.leaves_out_bundled)?
            .recognise_unlisted(!self.ignores_unlisted);
        if let Some(unknown) = policy.unknown_robots(&detector).next() {
            return Err(unknown.into());
        }
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

/// Returns a detector for the given robots and for the bundled robots with other IDs.
fn detector(robots: Vec<Robot>, with_bundled: bool) -> Result<Detector, BuildError> {
    if with_bundled && robots.is_empty() {
        return Ok(Detector::bundled().clone());
    }
    let ids: HashSet<_> = robots.iter().map(|robot| robot.id.clone()).collect();
    let bundled = with_bundled.then(|| Detector::bundled().robots());
    let bundled = bundled.into_iter().flatten();
    let bundled = bundled.filter(|robot| !ids.contains(&robot.id)).cloned();
    Detector::new(robots.into_iter().map(Arc::new).chain(bundled))
}

/// Prints the number of robots instead of the robots.
impl fmt::Debug for LayerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerBuilder")
            .field("policy", &self.policy)
            .field("added_robots", &self.robots.len())
            .field("bundled_registry", &!self.leaves_out_bundled)
            .finish_non_exhaustive()
    }
}

//! From settings to a layer, for an application that uses nothing else.

use std::{collections::HashSet, fmt, sync::Arc};

use http::HeaderName;

use crate::detect::{BuildError, Detector, SharedDetector};
use crate::policy::{
    Enforce, Enforcement, Enforcer, Policy, PolicyBuilder, PolicyError, Refusal, RobotsFiles,
    RuleBuilder, SharedPolicy, SharedRobotsFiles, UnknownRobot,
};
use crate::registry::Robot;

use super::RobotDetectionLayer;

/// Builder of a [`RobotDetectionLayer`] with a registry and a policy of its own.
///
/// The settings and their defaults are those of [`PolicyBuilder`]; the robots are those of the bundled
/// registry. Calls may come in any order: a list is extended by each call, and of other values
/// the last one counts.
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
    /// A rule or a list names robots that the registry does not list.
    #[error(transparent)]
    UnknownRobot(#[from] UnknownRobot),
}

impl LayerBuilder {
    /// Adds patterns of filtered paths; without any they are `/members-only-stuff/*` (`FilterPattern`).
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

    /// Adds a rule after the others; the first that matches decides.
    #[must_use]
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.policy = self.policy.rule(rule);
        self
    }

    /// Adds a path that is never redirected, nor is anything below it.
    #[must_use]
    pub fn never(mut self, path: impl Into<String>) -> Self {
        self.policy = self.policy.never(path);
        self
    }

    /// Changes any other setting of the policy; what was set before stays.
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

    /// Adds robots to those of the bundled registry; one with the id of a bundled robot replaces it.
    #[must_use]
    pub fn add_robots(mut self, robots: impl IntoIterator<Item = Robot>) -> Self {
        self.robots.extend(robots);
        self
    }

    /// Sets whether the bundled registry is used, as it is by default.
    #[must_use]
    pub fn bundled_registry(mut self, bundled: bool) -> Self {
        self.leaves_out_bundled = !bundled;
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
    /// The first layer with the bundled registry takes a fraction of a second; later ones share its
    /// tables unless robots are [added](Self::add_robots).
    ///
    /// # Errors
    ///
    /// Fails when a setting of the policy is wrong, as [`PolicyBuilder::build`] does, when it names a
    /// robot that the registry does not list, or when the robots do not fit a detector.
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

/// Returns a detector of robots, and of those of the bundled registry whose ids they leave.
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

/// Shows numbers instead of the robots.
impl fmt::Debug for LayerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerBuilder")
            .field("policy", &self.policy)
            .field("added_robots", &self.robots.len())
            .field("bundled_registry", &!self.leaves_out_bundled)
            .finish_non_exhaustive()
    }
}

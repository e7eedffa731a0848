//! Settings for the enforcement of robots.txt.

use crate::policy::RobotsFiles;
use robot_detection_robots_txt::RobotsTxt;

crate::words! {
    /// The enforcement mode of robots.txt.
#[derive(Default, Hash)]
    pub enum EnforcementMode {
        /// Enforcement is off: requests are not checked against robots.txt.
        Off = "off",
        /// Violations are counted and displayed; all requests pass.
        #[default]
        Report = "report",
        /// Violations are counted and displayed, and the requests are refused.
        On = "on",
    }
}

crate::words! {
    /// The response to a robot that requests a disallowed path.
#[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Refusal {
        /// The request passes, and the violation is counted.
        Pass = "pass",
        /// The request is refused with 403; the text states the violated rule.
        #[default]
        Forbidden = "403",
        /// The request is refused with 429 and `Retry-After`; the text states the violated rule.
        TooManyRequests = "429",
        /// The robot is redirected to robot heaven, or refused with 403 if there is no redirect
        /// URL.
        Redirect = "redirect",
    }
}

/// Settings for the enforcement of robots.txt.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{EnforcementMode, Enforcement, Refusal};
///
/// let strict = Enforcement::default()
///     .rules(EnforcementMode::On)
///     .refusal(Refusal::TooManyRequests)
///     .crawl_delay(EnforcementMode::On);
/// assert_ne!(strict, Enforcement::default());
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Enforcement {
    /// The enforcement mode of `Disallow`; defaults to report.
    pub rules: EnforcementMode,
    /// The response to requests for disallowed paths; defaults to 403.
    pub refusal: Refusal,
    /// The enforcement mode of `Crawl-delay` (with 429); defaults to report.
    pub crawl_delay: EnforcementMode,
    /// The enforcement mode of preferences about AI training; defaults to report.
    pub usage: EnforcementMode,
}

impl Enforcement {
    /// Sets the enforcement mode of `Disallow`; defaults to report.
    #[must_use]
    pub fn rules(mut self, mode: EnforcementMode) -> Self {
        self.rules = mode;
        self
    }

    /// Sets the response to requests for disallowed paths; defaults to 403.
    #[must_use]
    pub fn refusal(mut self, refusal: Refusal) -> Self {
        self.refusal = refusal;
        self
    }

    /// Sets the enforcement mode of `Crawl-delay` (with 429); defaults to report.
    #[must_use]
    pub fn crawl_delay(mut self, mode: EnforcementMode) -> Self {
        self.crawl_delay = mode;
        self
    }

    /// Sets the enforcement mode of groups with a [policy
    /// token](robot_detection_robots_txt::PolicyToken); defaults to report.
    ///
    /// Such groups are only enforced for robots whose operators document AI training as their only
    /// purpose.
    #[must_use]
    pub fn usage(mut self, mode: EnforcementMode) -> Self {
        self.usage = mode;
        self
    }

    /// Returns `true` if no request is checked against robots.txt.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let modes = [self.rules, self.crawl_delay, self.usage];
        modes.iter().all(|mode| *mode == EnforcementMode::Off)
    }
}

/// Uses the same file on every host.
impl From<RobotsTxt> for RobotsFiles {
    fn from(file: RobotsTxt) -> Self {
        Self::everywhere(file)
    }
}

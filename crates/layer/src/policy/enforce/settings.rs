//! Settings for the enforcement of robots.txt.

use crate::policy::RobotsFiles;
use robot_detection_robots_txt::RobotsTxt;

crate::words! {
    /// Mode of the enforcement of robots.txt.
#[derive(Default, Hash)]
    pub enum EnforcementMode {
        /// Requests are not checked against robots.txt.
        Off = "off",
        /// Violations are counted and shown; all requests pass.
        #[default]
        Report = "report",
        /// Violations are counted, shown and refused.
        On = "on",
    }
}

crate::words! {
    /// Response to a robot that requests a disallowed path.
#[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Refusal {
        /// The request passes; the violation is counted.
        Pass = "pass",
        /// Refusal with 403, with the violated rule in the text.
        #[default]
        Forbidden = "403",
        /// Refusal with 429 and `Retry-After`, with the violated rule in the text.
        TooManyRequests = "429",
        /// Redirect to robot heaven, or 403 without a redirect URL.
        Redirect = "redirect",
    }
}

/// Settings for the enforcement of robots.txt.
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{Enforce, Enforcement, Refusal};
///
/// let strict = Enforcement::default()
///     .rules(Enforce::On)
///     .refusal(Refusal::TooManyRequests)
///     .crawl_delay(Enforce::On);
/// assert_ne!(strict, Enforcement::default());
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Enforcement {
    /// Enforcement of `Disallow`; report by default.
    pub rules: EnforcementMode,
    /// Response to requests for disallowed paths; 403 by default.
    pub refusal: Refusal,
    /// Enforcement of `Crawl-delay`, by 429; report by default.
    pub crawl_delay: EnforcementMode,
}

impl Enforcement {
    /// Sets the enforcement of `Disallow`; report by default.
    #[must_use]
    pub fn rules(mut self, mode: EnforcementMode) -> Self {
        self.rules = mode;
        self
    }

    /// Sets the response to requests for disallowed paths; 403 by default.
    #[must_use]
    pub fn refusal(mut self, refusal: Refusal) -> Self {
        self.refusal = refusal;
        self
    }

    /// Sets the enforcement of `Crawl-delay`, by 429; report by default.
    #[must_use]
    pub fn crawl_delay(mut self, mode: EnforcementMode) -> Self {
        self.crawl_delay = mode;
        self
    }

    /// Returns `true` if no request is checked against robots.txt.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.rules == EnforcementMode::Off && self.crawl_delay == EnforcementMode::Off
    }
}

/// Uses the same file on every host.
impl From<RobotsTxt> for RobotsFiles {
    fn from(file: RobotsTxt) -> Self {
        Self::everywhere(file)
    }
}

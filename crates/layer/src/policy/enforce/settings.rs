//! How strictly robots are held to robots.txt.

use crate::policy::RobotsFiles;
use robot_detection_robots_txt::RobotsTxt;

crate::words! {
    /// Whether what robots.txt refuses is looked at, and whether it is answered.
#[derive(Default, Hash)]
    pub enum Enforce {
        /// Nobody looks.
        Off = "off",
        /// Violations are counted and shown; everything passes.
        #[default]
        Report = "report",
        /// Violations are counted, shown and answered.
        On = "on",
    }
}

crate::words! {
    /// Answer to a robot that asks for what its rules of robots.txt refuse.
#[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Refusal {
        /// The request passes; the violation is counted.
        Pass = "pass",
        /// 403 with the rule that was broken.
        #[default]
        Forbidden = "403",
        /// 429 with the rule that was broken, and `Retry-After`.
        TooManyRequests = "429",
        /// The redirect to robot heaven; without a redirect URL: 403.
        Redirect = "redirect",
    }
}

/// Settings of how robots are held to robots.txt.
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
    /// Whether `Disallow` is enforced; reported by default.
    pub rules: Enforce,
    /// How what is disallowed is answered; 403 by default.
    pub refusal: Refusal,
    /// Whether `Crawl-delay` is enforced, by 429; reported by default.
    pub crawl_delay: Enforce,
}

impl Enforcement {
    /// Sets whether `Disallow` is enforced; reported by default.
    #[must_use]
    pub fn rules(mut self, mode: Enforce) -> Self {
        self.rules = mode;
        self
    }

    /// Sets how what is disallowed is answered; 403 by default.
    #[must_use]
    pub fn refusal(mut self, refusal: Refusal) -> Self {
        self.refusal = refusal;
        self
    }

    /// Sets whether `Crawl-delay` is enforced, by 429; reported by default.
    #[must_use]
    pub fn crawl_delay(mut self, mode: Enforce) -> Self {
        self.crawl_delay = mode;
        self
    }

    /// Returns `true` if nobody looks at robots.txt.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.rules == Enforce::Off && self.crawl_delay == Enforce::Off
    }
}

/// The same file on every host.
impl From<RobotsTxt> for RobotsFiles {
    fn from(file: RobotsTxt) -> Self {
        Self::everywhere(file)
    }
}

//! How strictly robots are held to robots.txt.

use std::fmt;

use crate::policy::RobotsFiles;
use robot_detection_robots_txt::RobotsTxt;

/// Whether what robots.txt refuses is looked at, and whether it is answered.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Enforce {
    /// Nobody looks.
    Off,
    /// Violations are counted and shown; everything passes.
    #[default]
    Report,
    /// Violations are counted, shown and answered.
    On,
}

/// Answer to a robot that asks for what its rules of robots.txt refuse.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request passes; the violation is counted.
    Pass,
    /// 403 with the rule that was broken.
    #[default]
    Forbidden,
    /// 429 with the rule that was broken, and `Retry-After`.
    TooManyRequests,
    /// The redirect to robot heaven; without a redirect URL: 403.
    Redirect,
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

impl Enforce {
    /// Every mode.
    pub const ALL: &'static [Self] = &[Self::Off, Self::Report, Self::On];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Report => "report",
            Self::On => "on",
        }
    }

    /// Returns the mode that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == word)
    }
}

impl Refusal {
    /// Every answer.
    pub const ALL: &'static [Self] = &[
        Self::Pass,
        Self::Forbidden,
        Self::TooManyRequests,
        Self::Redirect,
    ];

    /// Returns the word for it: a status, "redirect" or "pass".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Forbidden => "403",
            Self::TooManyRequests => "429",
            Self::Redirect => "redirect",
        }
    }

    /// Returns the answer that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|refusal| refusal.as_str() == word)
    }
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

impl fmt::Display for Enforce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! Reasons why a URL is not visited, or not described.

use std::fmt;

use robot_detection_store::store::Loss;

/// Step at which a URL or its page is judged.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The URL itself: can it be fetched?
    Url,
    /// Hosts and paths that were asked for.
    Scope,
    /// Links from a starting point.
    Depth,
    /// Endless paths, and links that change something.
    Trap,
    /// The site's robots.txt.
    RobotsTxt,
    /// Filters, before it is fetched.
    MetaData,
    /// The server's answer.
    Answer,
    /// `X-Robots-Tag` and META tags.
    RobotsMeta,
    /// Filters, after it is fetched.
    Data,
    /// Filters, as it is described.
    Generate,
}

/// Step at which a URL was rejected, and the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rejection {
    /// The step.
    pub step: Step,
    /// The reason, for people.
    pub reason: String,
}

impl Step {
    /// Returns the loss that a rejection at this step means, where nothing else is known.
    pub(super) fn loss(self) -> Loss {
        match self {
            Self::RobotsTxt | Self::RobotsMeta => Loss::Told,
            Self::Answer => Loss::Gone,
            Self::Url
            | Self::Scope
            | Self::Depth
            | Self::Trap
            | Self::MetaData
            | Self::Data
            | Self::Generate => Loss::Excluded,
        }
    }

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Scope => "scope",
            Self::Depth => "depth",
            Self::Trap => "trap",
            Self::RobotsTxt => "robots.txt",
            Self::MetaData => "metadata",
            Self::Answer => "answer",
            Self::RobotsMeta => "robots meta",
            Self::Data => "data",
            Self::Generate => "generate",
        }
    }
}

impl Rejection {
    pub(super) fn new(step: Step, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { step, reason }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.reason)
    }
}

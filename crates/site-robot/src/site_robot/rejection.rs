//! Reasons why a URL is not visited or not described.

use std::fmt;

use robot_detection_store::store::Loss;

robot_detection_layer::words! {
    /// Step at which a URL or its page is evaluated.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum Step {
        /// Check whether the URL can be fetched.
        Url = "url",
        /// Check of hosts and paths in scope.
        Scope = "scope",
        /// Check of the link depth from a starting point.
        Depth = "depth",
        /// Check for endless paths and links with side effects.
        Trap = "trap",
        /// Check of the site's robots.txt.
        RobotsTxt = "robots.txt",
        /// Filters before the page is fetched.
        MetaData = "metadata",
        /// Evaluation of the server's response.
        Answer = "answer",
        /// Evaluation of `X-Robots-Tag` and META tags.
        RobotsMeta = "robots meta",
        /// Filters after the page is fetched.
        Data = "data",
        /// Filters while the page is described.
        Generate = "generate",
    }
}

/// Step at which a URL was rejected, with the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rejection {
    /// Check that rejected the URL.
    pub step: Step,
    /// Human-readable reason for the rejection.
    pub reason: String,
}

impl Step {
    /// Returns the loss that a rejection at this step means by default.
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
}

impl Rejection {
    pub(super) fn new(step: Step, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { step, reason }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.reason)
    }
}

//! Reasons why a URL is not visited or not described.

use std::fmt;

use robot_detection_store::store::Loss;

robot_detection_layer::words! {
    /// Step in which a URL or its page is evaluated.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum Step {
        /// Checks whether the URL can be fetched.
        Url = "url",
        /// Checks whether the host and path are in scope.
        Scope = "scope",
        /// Checks the link depth from a starting point.
        Depth = "depth",
        /// Checks for endless paths, and for links with side effects.
        Trap = "trap",
        /// Checks the site's robots.txt.
        RobotsTxt = "robots.txt",
        /// Runs the filters before the page is fetched.
        MetaData = "metadata",
        /// Evaluates the server's response.
        Answer = "answer",
        /// Evaluates `X-Robots-Tag` and META tags.
        RobotsMeta = "robots meta",
        /// Runs the filters after the page has been fetched.
        Data = "data",
        /// Runs the filters while the page is being described.
        Generate = "generate",
    }
}

/// Step in which a URL was rejected, and the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Rejection {
    /// Step that rejected the URL.
    pub step: Step,
    /// Human-readable reason for the rejection.
    pub reason: String,
}

impl Step {
    /// Returns the kind of loss that a rejection in this step causes by default.
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

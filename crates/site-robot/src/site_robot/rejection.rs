//! Reasons why a URL is not visited, or not described.

use std::fmt;

use robot_detection_store::store::Loss;

robot_detection_layer::words! {
    /// Step at which a URL or its page is judged.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum Step {
        /// The URL itself: can it be fetched?
        Url = "url",
        /// Hosts and paths that were asked for.
        Scope = "scope",
        /// Links from a starting point.
        Depth = "depth",
        /// Endless paths, and links that change something.
        Trap = "trap",
        /// The site's robots.txt.
        RobotsTxt = "robots.txt",
        /// Filters, before it is fetched.
        MetaData = "metadata",
        /// The server's answer.
        Answer = "answer",
        /// `X-Robots-Tag` and META tags.
        RobotsMeta = "robots meta",
        /// Filters, after it is fetched.
        Data = "data",
        /// Filters, as it is described.
        Generate = "generate",
    }
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

//! Errors of a run.

use robot_detection_store::store::StoreError;

/// Error of the site robot; pages that cannot be fetched are none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteRobotError {
    /// The database failed; the run can be resumed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A starting point is no URL that can be fetched.
    #[error(
        "the starting point {url:?} cannot be used: {reason}: write it as http://… or https://…"
    )]
    BadStartingPoint {
        /// The starting point as given.
        url: String,
        /// Reason.
        reason: String,
    },
    /// A page is outside of what the robot visits.
    #[error("{url} is not asked for again: {reason}: see to site_robot.starting_points")]
    NotVisited {
        /// The page.
        url: String,
        /// Reason.
        reason: String,
    },
    /// There is none.
    #[error("no starting point: name a URL at which the site robot begins")]
    NoStartingPoint,
    /// The name of the site is empty or too long.
    #[error("the site's name {name:?} cannot be used: it takes 1 to 100 bytes")]
    BadSite {
        /// The name as given.
        name: String,
    },
    /// A page could not be worked on; the run can be resumed.
    #[error("a page could not be worked on: {reason}: run again to resume")]
    Worker {
        /// What happened.
        reason: String,
    },
    /// It runs already, in this process.
    #[error("the site robot of {site:?} runs already: wait until it has ended, or stop it")]
    RunsAlready {
        /// Name of the site.
        site: String,
    },
}

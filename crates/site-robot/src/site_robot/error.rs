//! Errors of the site robot.

use robot_detection_store::store::StoreError;

/// Error of the site robot; pages that cannot be fetched are not considered errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteRobotError {
    /// The database failed; the run can be resumed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A starting point is not a URL that can be fetched.
    #[error("invalid starting point {url:?}: {reason}; write it as http://… or https://…")]
    BadStartingPoint {
        /// URL of the starting point, as specified.
        url: String,
        /// Reason why the starting point is invalid.
        reason: String,
    },
    /// A page is outside the scope of the site robot.
    #[error("cannot revisit {url}: {reason}; check site_robot.starting_points")]
    NotVisited {
        /// URL of the page.
        url: String,
        /// Reason why the page is not visited.
        reason: String,
    },
    /// No starting point is specified.
    #[error("no starting point: specify a URL at which the site robot starts")]
    NoStartingPoint,
    /// The name of the site is empty or too long.
    #[error("invalid site name {name:?}: use 1 to 100 bytes")]
    BadSite {
        /// Name of the site as specified.
        name: String,
    },
    /// A page could not be processed; the run can be resumed.
    #[error("a page could not be processed: {reason}; start the site robot again to resume")]
    Worker {
        /// Reason why processing the page failed.
        reason: String,
    },
    /// The site robot is already running in this process.
    #[error(
        "the site robot of {site:?} is already running: wait until the run has finished, or stop it"
    )]
    RunsAlready {
        /// Name of the site.
        site: String,
    },
}

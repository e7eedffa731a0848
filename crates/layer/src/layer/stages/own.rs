//! The stage that recognises requests from the program's own site robot and requests for the
//! program's own pages, which do not count as visits.

use http::Request;

use crate::clock::Clock;
use crate::policy::is_own_path;

use super::Stage;

/// The cause reported for requests for the program's own pages.
pub const INTERNAL_PAGE: &str = "own-page";

/// The header that contains the signature of our site robot.
pub(crate) const OWN_ROBOT_HEADER: &str = "x-robot-detection-own";

/// The key of our own site robot, and the paths of the program's own pages.
#[derive(Clone, Default)]
pub(crate) struct InternalRequests {
    #[cfg(feature = "verify")]
    pub(crate) robot: Option<super::SiteRobotKey>,
    paths: Vec<Box<str>>,
}

impl InternalRequests {
    /// Adds a path of the program's own pages, such as the admin page, and everything below the
    /// path.
    pub(crate) fn add_path(&mut self, path: &str) {
        self.paths.push(path.trim_end_matches('/').into());
    }
}

impl Stage for InternalRequests {
    #[cfg_attr(
        not(feature = "verify"),
        expect(unused_variables, reason = "used for signatures")
    )]
    fn own<B>(&self, request: &Request<B>, clock: &Clock) -> Option<&'static str> {
        #[cfg(feature = "verify")]
        if let Some(robot) = &self.robot
            && robot.has_sent(request, || clock.now_ms())
        {
            return Some("own-robot");
        }
        let path = request.uri().path();
        let is_own = self.paths.iter().any(|own| is_own_path(path, own));
        is_own.then_some(INTERNAL_PAGE)
    }
}

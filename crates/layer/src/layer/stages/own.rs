//! Requests of the program itself, which are no visits: of its site robot, and for its pages.

use http::Request;

use crate::clock::Clock;
use crate::policy::is_own_path;

use super::Stage;

/// Why whoever looks at a page of the program is no visitor.
pub const OWN_PAGE: &str = "own-page";

/// Header by which our site robot signs its requests.
pub(crate) const OWN_ROBOT_HEADER: &str = "x-robot-detection-own";

/// The site robot of our own sites, and paths of the program's pages.
#[derive(Clone, Default)]
pub(crate) struct OwnRequests {
    #[cfg(feature = "verify")]
    pub(crate) robot: Option<super::OwnRobot>,
    paths: Vec<Box<str>>,
}

impl OwnRequests {
    /// Adds a path of pages of the program, such as the admin page, and all below it.
    pub(crate) fn add_path(&mut self, path: &str) {
        self.paths.push(path.trim_end_matches('/').into());
    }
}

impl Stage for OwnRequests {
    #[cfg_attr(
        not(feature = "verify"),
        expect(unused_variables, reason = "no site robot signs")
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
        is_own.then_some(OWN_PAGE)
    }
}

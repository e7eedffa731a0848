//! Keys and counts for requested paths.

use std::ops::AddAssign;

use super::pattern::{parent_pattern, path_pattern};

/// The robot ID under which robots beyond the limit are combined.
const OTHER: &str = "other";

columns! {
    /// The visitor and the requested path by which requests are counted.
    #[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
    pub struct PathKey {
        /// The name of the site.
        pub site: String,
        /// The ID of the robot; empty for human visitors.
        pub robot: String,
        /// The path that was requested, or a pattern of paths.
        pub path: String,
    }
}

columns! {
    /// The number of requests for a path.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub struct PathCount {
        /// The number of requests for the path.
        pub requests: u64,
        /// The number of responses with a status from 300 to 399.
        pub redirects: u64,
        /// The number of responses with a status from 400 to 499.
        pub client_errors: u64,
        /// The number of responses with a status from 500 to 599.
        pub server_errors: u64,
    }
}

columns! {
    /// The maximum errors in a site's path counts that are due to omitted rows.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub struct PathOmissions {
        /// The maximum number of requests that are missing from a visitor's path because they were
        /// counted under patterns.
        pub paths: u64,
        /// The maximum number of requests that are missing from any pattern of one visitor.
        pub patterns: u64,
        /// The number of requests with an unknown path; each count may be too low by this number.
        pub skipped: u64,
    }
}

/// Path counts of one minute, or of the hour or day that starts at this minute.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CountedPaths {
    /// The minute, as the number of minutes since the Unix epoch.
    pub minute: i64,
    /// Counts of paths; each key occurs only once.
    pub rows: Vec<(PathKey, PathCount)>,
    /// The counts of omitted rows, by site name.
    pub cuts: Vec<(String, PathOmissions)>,
}

impl PathKey {
    /// Returns `true` if the key contains a path rather than a pattern.
    pub(super) fn is_path(&self) -> bool {
        path_pattern(self.path.as_bytes(), false) != self.path
    }

    /// Returns the key under which an omitted row is counted; `None` for the most general key.
    pub(super) fn generalised(&self) -> Option<Self> {
        if let Some(path) = parent_pattern(&self.path) {
            return Some(Self {
                path,
                ..self.clone()
            });
        }
        // Human visitors are never combined with robots.
        let is_last = self.robot.is_empty() || self.robot == OTHER;
        (!is_last).then(|| Self {
            robot: OTHER.to_owned(),
            ..self.clone()
        })
    }

    /// Returns the number of patterns that are more general than this key, at most 3.
    pub(super) fn depth(&self) -> u8 {
        let above = std::iter::successors(parent_pattern(&self.path), |path| parent_pattern(path));
        u8::try_from(above.count()).unwrap_or(u8::MAX)
    }
}

impl PathCount {
    /// Creates the path count for one request whose HTTP status has the given first digit.
    pub fn for_class(class: u8) -> Self {
        Self {
            requests: 1,
            redirects: u64::from(class == 3),
            client_errors: u64::from(class == 4),
            server_errors: u64::from(class == 5),
        }
    }
}

impl AddAssign for PathCount {
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.redirects = self.redirects.saturating_add(other.redirects);
        self.client_errors = self.client_errors.saturating_add(other.client_errors);
        self.server_errors = self.server_errors.saturating_add(other.server_errors);
    }
}

impl AddAssign for PathOmissions {
    fn add_assign(&mut self, other: Self) {
        self.paths = self.paths.saturating_add(other.paths);
        self.patterns = self.patterns.saturating_add(other.patterns);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }
}

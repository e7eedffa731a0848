//! Who asked for which path, and how often.

use std::ops::AddAssign;

use super::pattern::{path_above, path_pattern};

/// Robot that stands for those of which there are too many.
const OTHER: &str = "other";

columns! {
    /// Who asked, and for what.
    #[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
    pub struct PathKey {
        /// Name of the site.
        pub site: String,
        /// Id of the robot; empty for people.
        pub robot: String,
        /// Path or pattern.
        pub path: String,
    }
}

columns! {
    /// How often it was asked for.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub struct PathCount {
        /// Requests.
        pub requests: u64,
        /// Those whose status is 300 to 399.
        pub redirects: u64,
        /// Those whose status is 400 to 499.
        pub client_errors: u64,
        /// Those whose status is 500 to 599.
        pub server_errors: u64,
    }
}

columns! {
    /// How much higher numbers of a site may be than what is kept.
    #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
    pub struct PathCut {
        /// Most that any path may be higher, of one visitor: so much was counted with patterns.
        pub paths: u64,
        /// Most that any pattern may be higher, of one visitor.
        pub patterns: u64,
        /// Requests of which nobody knows the path; any number may be higher by all of them.
        pub skipped: u64,
    }
}

/// Paths that were counted in one minute, or in the hour or day that it begins.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CountedPaths {
    /// Minutes since 1970.
    pub minute: i64,
    /// The paths; each key once.
    pub rows: Vec<(PathKey, PathCount)>,
    /// What is left out, by the names of sites.
    pub cuts: Vec<(String, PathCut)>,
}

impl PathKey {
    /// Returns `true` if it is a path; a pattern is its own pattern.
    pub(super) fn is_path(&self) -> bool {
        path_pattern(self.path.as_bytes(), false) != self.path
    }

    /// Returns what it is counted with where it has no place of its own; `None` for the last.
    pub(super) fn folded(&self) -> Option<Self> {
        if let Some(path) = path_above(&self.path) {
            return Some(Self {
                path,
                ..self.clone()
            });
        }
        // People are never counted with robots.
        let is_last = self.robot.is_empty() || self.robot == OTHER;
        (!is_last).then(|| Self {
            robot: OTHER.to_owned(),
            ..self.clone()
        })
    }

    /// Returns how many patterns are above it: 3 at most.
    pub(super) fn depth(&self) -> u8 {
        let above = std::iter::successors(path_above(&self.path), |path| path_above(path));
        u8::try_from(above.count()).unwrap_or(u8::MAX)
    }
}

impl PathCount {
    /// Creates the count of one request, answered with a status of a class.
    pub fn one(class: u8) -> Self {
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

impl AddAssign for PathCut {
    fn add_assign(&mut self, other: Self) {
        self.paths = self.paths.saturating_add(other.paths);
        self.patterns = self.patterns.saturating_add(other.patterns);
        self.skipped = self.skipped.saturating_add(other.skipped);
    }
}

//! Robots that are refused everything, whatever robots.txt calls them.

use std::{collections::BTreeSet, fmt};

use crate::registry::{Purpose, Robot};

/// Robots that a site refuses everything, by their purposes or ids.
///
/// A robots.txt can ask only those away that it can name; all are refused where robots
/// are held to it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct RefusedRobots {
    purposes: Vec<Purpose>,
    ids: BTreeSet<String>,
}

/// What a robot is refused for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RefusedFor {
    /// The site refuses all robots of this purpose.
    Purpose(Purpose),
    /// The site refuses this robot.
    Itself,
}

impl RefusedRobots {
    /// Creates a set of none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the purposes whose robots are refused.
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes = purposes.into_iter().collect();
        self
    }

    /// Sets the ids of robots that are refused.
    pub fn ids<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Returns `true` if nobody is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.purposes.is_empty() && self.ids.is_empty()
    }

    /// Returns what a robot is refused for, if it is.
    #[must_use]
    pub fn reason(&self, robot: &Robot) -> Option<RefusedFor> {
        if self.ids.contains(&robot.id) {
            return Some(RefusedFor::Itself);
        }
        let is_refused = self.purposes.contains(&robot.purpose);
        is_refused.then_some(RefusedFor::Purpose(robot.purpose))
    }
}

/// Writes the setting that refuses it.
impl fmt::Display for RefusedFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Purpose(purpose) => write!(f, "refuse_purposes: {purpose}"),
            Self::Itself => f.write_str("refuse_robots"),
        }
    }
}

//! Robots that a site refuses completely, regardless of robots.txt.

use std::{collections::BTreeSet, fmt};

use crate::registry::{Purpose, Robot};

/// The robots that a site refuses completely, by purpose or ID.
///
/// A robots.txt can only exclude robots by name. If robots.txt is enforced, the robots in this set
/// are refused even if the file does not list them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct RefusedRobots {
    purposes: Vec<Purpose>,
    ids: BTreeSet<String>,
}

/// The reason why a site refuses a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The site refuses all robots with this purpose.
    Purpose(Purpose),
    /// The site refuses this robot by its ID.
    Itself,
}

impl RefusedRobots {
    /// Creates an empty set of refused robots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the purposes of the refused robots.
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes = purposes.into_iter().collect();
        self
    }

    /// Sets the IDs of the refused robots.
    pub fn ids<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.ids = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Returns `true` if all robots with a purpose are refused.
    #[must_use]
    pub fn has_purpose(&self, purpose: Purpose) -> bool {
        self.purposes.contains(&purpose)
    }

    /// Returns `true` if no robots are refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.purposes.is_empty() && self.ids.is_empty()
    }

    /// Returns the reason why a robot is refused, or `None` if the robot is not refused.
    #[must_use]
    pub fn reason(&self, robot: &Robot) -> Option<RefusalReason> {
        if self.ids.contains(&robot.id) {
            return Some(RefusalReason::Itself);
        }
        let is_refused = self.purposes.contains(&robot.purpose);
        is_refused.then_some(RefusalReason::Purpose(robot.purpose))
    }
}

/// Displays the setting that refuses the robot.
impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Purpose(purpose) => write!(f, "refuse_purposes: {purpose}"),
            Self::Itself => f.write_str("refuse_robots"),
        }
    }
}

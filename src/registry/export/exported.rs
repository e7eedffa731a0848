//! What an export says, and what it leaves out.

use std::{borrow::Borrow, collections::BTreeMap};

use crate::registry::{Purpose, Robot, Status};

/// Registry as a text for other programs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// The text, which ends in a line feed.
    pub text: String,
    /// Robots that stand in it.
    pub robots: usize,
    /// Robots that do not, or not with all of their patterns.
    pub left_out: Vec<LeftOut>,
}

/// Robot, or a pattern of it, that an export leaves out.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The robot's id.
    pub id: String,
    /// Why, in a few words.
    pub reason: &'static str,
}

impl Exported {
    /// Counts what was left out by its reason, in the order of the words.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for left_out in &self.left_out {
            *reasons.entry(left_out.reason).or_default() += 1;
        }
        reasons
    }

    pub(crate) fn leave_out(&mut self, robot: &Robot, reason: &'static str) {
        self.left_out.push(LeftOut {
            id: robot.id.clone(),
            reason,
        });
    }

    /// Returns the robots that take part in detection, and leaves the others out.
    pub(crate) fn active<'r, R: Borrow<Robot>>(&mut self, robots: &'r [R]) -> Vec<&'r R> {
        let mut active = Vec::with_capacity(robots.len());
        for item in robots {
            let robot: &Robot = item.borrow();
            match robot.status {
                Status::Quarantined { .. } => self.leave_out(robot, "in quarantine"),
                _ if robot.purpose == Purpose::Shared => self.leave_out(robot, "shared by people"),
                _ if robot.is_active() => active.push(item),
                _ => self.leave_out(robot, "without a pattern"),
            }
        }
        active
    }
}

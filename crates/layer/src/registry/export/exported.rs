//! The result of an export, including the robots that are left out.

use std::{borrow::Borrow, collections::BTreeMap, fmt::Write as _};

use crate::registry::{
    Purpose, Robot, Status,
    text::{cut, tidy},
};

/// Maximum number of characters in a line of IDs.
const MAX_LINE_CHARS: usize = 100;

/// A registry exported as text for other programs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// The exported text, ending with a line feed.
    pub text: String,
    /// The number of robots in the exported text.
    pub robots: usize,
    /// The robots that are missing from the text, either completely or with some of their patterns.
    pub left_out: Vec<OmittedRobot>,
}

/// A robot, or a pattern of a robot, that an export leaves out.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OmittedRobot {
    /// The ID of the robot that is left out.
    pub id: String,
    /// The reason why the robot is left out, in a few words.
    pub reason: &'static str,
}

impl Exported {
    /// Returns the number of omissions by reason, in alphabetical order.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for left_out in &self.left_out {
            *reasons.entry(left_out.reason).or_default() += 1;
        }
        reasons
    }

    /// Returns the IDs of the omitted robots for each reason, without duplicates.
    #[must_use]
    pub fn ids_by_reason(&self) -> BTreeMap<&'static str, Vec<&str>> {
        let mut ids: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for left_out in &self.left_out {
            let ids = ids.entry(left_out.reason).or_default();
            if ids.last() != Some(&left_out.id.as_str()) {
                ids.push(&left_out.id);
            }
        }
        ids
    }

    /// Appends comments about the omitted robots to the text.
    pub(crate) fn with_comments(mut self) -> Self {
        let mut remarks = String::new();
        for (reason, ids) in self.ids_by_reason() {
            // Writing to a string cannot fail.
            let _ = write!(remarks, "# Omitted, {reason}: {}", ids.len());
            let mut width = MAX_LINE_CHARS;
            for id in ids {
                let id = plain_id(id);
                if width + id.len() + 2 > MAX_LINE_CHARS {
                    remarks.push_str("\n#  ");
                    width = 3;
                }
                width += id.len() + 1;
                let _ = write!(remarks, " {id}");
            }
            remarks.push('\n');
        }
        self.text.push_str(&remarks);
        self
    }

    pub(crate) fn omit(&mut self, robot: &Robot, reason: &'static str) {
        self.left_out.push(OmittedRobot {
            id: robot.id.clone(),
            reason,
        });
    }

    /// Returns the robots that take part in detection, and records all other robots as left out.
    pub(crate) fn active<'r, R: Borrow<Robot>>(&mut self, robots: &'r [R]) -> Vec<&'r R> {
        let mut active = Vec::with_capacity(robots.len());
        for item in robots {
            let robot: &Robot = item.borrow();
            match robot.status {
                Status::Quarantined { .. } => self.omit(robot, "in quarantine"),
                _ if robot.purpose == Purpose::Shared => self.omit(robot, "shared by people"),
                _ if robot.is_active() => active.push(item),
                _ => self.omit(robot, "without a pattern"),
            }
        }
        active
    }
}

/// Maximum number of bytes in a text on one line.
const MAX_BYTES: usize = 2048;

/// Returns a text on one line, truncated to 2,048 bytes.
pub(super) fn one_line(text: &str) -> String {
    cut(&tidy(text), MAX_BYTES).trim_end().to_owned()
}

/// Replaces all characters of an ID with `-` except letters, digits, `.`, `_`, `:` and `-`.
///
/// Only IDs of manually added robots may contain other characters.
pub(super) fn plain_id(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._:-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

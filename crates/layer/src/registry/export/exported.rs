//! What an export says, and what it leaves out.

use std::{borrow::Borrow, collections::BTreeMap, fmt::Write as _};

use crate::registry::{
    Purpose, Robot, Status,
    text::{cut, tidy},
};

/// Characters of a line of ids.
const MAX_LINE_CHARS: usize = 100;

/// Registry as a text for other programs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// The text, which ends in a line feed.
    pub text: String,
    /// Robots that stand in it.
    pub robots: usize,
    /// Robots that do not, or not with all of their patterns.
    pub left_out: Vec<OmittedRobot>,
}

/// Robot, or a pattern of it, that an export leaves out.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OmittedRobot {
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

    /// Returns the ids of what was left out by its reason, each once.
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

    /// Adds to the end of the text what it leaves out, on lines that begin with `#`.
    pub(crate) fn remarked(mut self) -> Self {
        let mut remarks = String::new();
        for (reason, ids) in self.ids_by_reason() {
            // Writing to a string cannot fail.
            let _ = write!(remarks, "# Left out, {reason}: {}", ids.len());
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

    pub(crate) fn leave_out(&mut self, robot: &Robot, reason: &'static str) {
        self.left_out.push(OmittedRobot {
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

/// Bytes of the longest text.
const MAX_BYTES: usize = 2048;

/// Returns text on one line, without control characters.
pub(super) fn one_line(text: &str) -> String {
    cut(&tidy(text), MAX_BYTES).trim_end().to_owned()
}

/// Returns an id in which only letters, digits, `.`, `_`, `:` and `-` are left.
///
/// Ids of registries have no others; those added by hand may.
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

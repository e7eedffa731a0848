//! Gathers robots and what was skipped, with ids unique and memory bounded.

use std::collections::HashSet;

use super::{
    Parsed, Robot, Skipped,
    text::{clean, cut},
};

/// Robots that one file may hold.
pub(super) const MAX_ROBOTS: usize = 50_000;
/// Skipped records that are told one by one; the rest are summed up.
const MAX_SKIPPED: usize = 1_000;
/// Bytes of a skipped record's first words.
const MAX_WHAT_BYTES: usize = 100;

/// Result in the making.
#[derive(Debug, Default)]
pub(super) struct Collector {
    parsed: Parsed,
    ids: HashSet<String>,
    untold: usize,
}

impl Collector {
    /// Adds a robot; one whose id is taken is skipped.
    pub(super) fn push(&mut self, robot: Robot, line: usize) {
        if self.ids.contains(&robot.id) {
            self.skip(
                line,
                &robot.id,
                "duplicate: the id is taken by an earlier record",
            );
        } else if self.parsed.robots.len() >= MAX_ROBOTS {
            self.skip(
                line,
                &robot.id,
                "too many: a registry holds at most 50,000 robots",
            );
        } else {
            self.parsed.records += 1;
            self.ids.insert(robot.id.clone());
            self.parsed.robots.push(robot);
        }
    }

    /// Adds a robot whose id is a slug; a taken id gets `-2`, `-3` and so on.
    pub(super) fn push_numbered(&mut self, mut robot: Robot, line: usize, taken: &mut Numbers) {
        let slug = robot.id.clone();
        while self.ids.contains(&robot.id) {
            let number = taken.entry(slug.clone()).or_insert(1);
            *number += 1;
            robot.id = format!("{slug}-{number}");
        }
        self.push(robot, line);
    }

    /// Records what makes no robot as skipped.
    pub(super) fn skip(&mut self, line: usize, what: &str, reason: impl Into<String>) {
        self.parsed.records += 1;
        if self.parsed.skipped.len() < MAX_SKIPPED {
            self.parsed.skipped.push(Skipped {
                line,
                // Cut before it is cleaned, as a record may be as long as its file; entities grow
                // shorter.
                what: cut(&clean(cut(what, 4 * MAX_WHAT_BYTES)), MAX_WHAT_BYTES).to_owned(),
                reason: reason.into(),
            });
        } else {
            self.untold += 1;
        }
    }

    /// Counts a line that is a comment.
    pub(super) fn comment(&mut self) {
        self.parsed.comment_lines += 1;
    }

    /// Returns the result.
    pub(super) fn finish(mut self) -> Parsed {
        if self.untold > 0 {
            self.parsed.skipped.push(Skipped {
                line: 0,
                what: "…".to_owned(),
                reason: format!("{} more were skipped", self.untold),
            });
        }
        self.parsed
    }
}

/// Last number given to each slug that was taken, so that none is tried twice.
pub(super) type Numbers = std::collections::HashMap<String, usize>;

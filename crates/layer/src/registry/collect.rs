//! A collector of robots with unique IDs, and of skipped records, in bounded memory.

use std::collections::HashSet;

use super::{
    Parsed, Robot, Skipped,
    text::{clean, cut},
};

/// Maximum number of robots in a file.
pub(super) const MAX_ROBOTS: usize = 50_000;
/// Maximum number of skipped records that are reported individually; further records are counted.
const MAX_SKIPPED: usize = 1_000;
/// Maximum number of bytes quoted from the start of a skipped record.
const MAX_WHAT_BYTES: usize = 100;

/// A collector of robots and skipped records, used while a registry is parsed.
#[derive(Debug, Default)]
pub(super) struct Collector {
    parsed: Parsed,
    ids: HashSet<String>,
    untold: usize,
}

impl Collector {
    /// Adds a robot, or skips it if its ID is already used.
    pub(super) fn push(&mut self, robot: Robot, line: usize) {
        if self.ids.contains(&robot.id) {
            self.skip(
                line,
                &robot.id,
                "duplicate: an earlier record has the same ID",
            );
        } else if self.parsed.robots.len() >= MAX_ROBOTS {
            self.skip(
                line,
                &robot.id,
                "too many: a registry can contain at most 50,000 robots",
            );
        } else {
            self.parsed.records += 1;
            self.ids.insert(robot.id.clone());
            self.parsed.robots.push(robot);
        }
    }

    /// Adds a robot whose ID is a slug. If the ID is already used, appends `-2`, `-3` and so on.
    pub(super) fn push_numbered(&mut self, mut robot: Robot, line: usize, taken: &mut Numbers) {
        let slug = robot.id.clone();
        while self.ids.contains(&robot.id) {
            let number = taken.entry(slug.clone()).or_insert(1);
            *number += 1;
            robot.id = format!("{slug}-{number}");
        }
        self.push(robot, line);
    }

    /// Adds a skipped record, with the reason.
    pub(super) fn skip(&mut self, line: usize, what: &str, reason: impl Into<String>) {
        self.parsed.records += 1;
        if self.parsed.skipped.len() < MAX_SKIPPED {
            self.parsed.skipped.push(Skipped {
                line,
                // The text is truncated before it is cleaned, because a record may be as long as
                // its file, and decoding makes entities shorter.
                what: cut(&clean(cut(what, 4 * MAX_WHAT_BYTES)), MAX_WHAT_BYTES).to_owned(),
                reason: reason.into(),
            });
        } else {
            self.untold += 1;
        }
    }

    /// Counts a comment line.
    pub(super) fn comment(&mut self) {
        self.parsed.comment_lines += 1;
    }

    /// Returns the robots and skipped records collected so far.
    pub(super) fn finish(mut self) -> Parsed {
        if self.untold > 0 {
            self.parsed.skipped.push(Skipped {
                line: 0,
                what: "…".to_owned(),
                reason: format!("skipped {} more records", self.untold),
            });
        }
        self.parsed
    }
}

/// The last number used for each duplicate slug, so that no number is tried twice.
pub(super) type Numbers = std::collections::HashMap<String, usize>;

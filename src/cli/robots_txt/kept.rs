//! The file of the line before, parsed: many lines in a row ask the same one.

use std::collections::{HashMap, hash_map};

use crate::robots_txt::{Dialect, ForRobot, RobotsTxt};

/// Robots that are kept for one file.
const MAX_ROBOTS: usize = 256;

/// A file and the robots that have asked it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) file: RobotsTxt,
    url: Option<String>,
    robots: HashMap<String, ForRobot>,
}

impl Kept {
    pub(super) fn new(url: Option<&str>, body: &[u8], dialect: Dialect) -> Self {
        let file = match url {
            Some(url) => RobotsTxt::parse_from(url, body, dialect),
            None => RobotsTxt::parse(body, dialect),
        };
        Self {
            file,
            url: url.map(str::to_owned),
            robots: HashMap::new(),
        }
    }

    /// Returns `true` if parsing would give the same file again.
    pub(super) fn is(&self, url: Option<&str>, body: &[u8], dialect: &Dialect) -> bool {
        self.url.as_deref() == url && self.file.dialect() == dialect && self.file.as_bytes() == body
    }

    /// Returns what the file says to a robot.
    pub(super) fn robot(&mut self, name: &str) -> &ForRobot {
        if self.robots.len() >= MAX_ROBOTS && !self.robots.contains_key(name) {
            self.robots.clear();
        }
        match self.robots.entry(name.to_owned()) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => entry.insert(self.file.for_robot(name)),
        }
    }
}

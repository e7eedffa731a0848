//! Most requested pages of a log.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use robot_detection_fleets::PathKind;

use crate::access_log::Record;
use crate::traffic::Class;

use super::counter::Hour;

/// The maximum number of pages in memory.
const MAX_PAGES: usize = 100_000;

/// The maximum length of a path in bytes; the rest of a longer path is omitted.
const MAX_PATH_BYTES: usize = 200;

/// Counts of the most requested pages; if there are too many pages, the rarest are dropped.
#[derive(Debug, Default)]
pub struct Pages {
    counts: HashMap<Box<[u8]>, Hour, RandomState>,
    /// The maximum number of requests missing from each count.
    pub missing: u64,
    /// Whether paths are cut behind their second segment.
    is_by_folder: bool,
}

impl Pages {
    /// Creates a counter for folders.
    pub(super) fn folders() -> Self {
        Self {
            is_by_folder: true,
            ..Self::default()
        }
    }

    /// Counts a request, unless the path is that of an asset, a feed or robots.txt.
    pub(super) fn add(&mut self, record: &Record<'_>, class: Class, with_query: bool) {
        if PathKind::from_target(record.target) != PathKind::Page {
            return;
        }
        let end = memchr::memchr2(b'?', b'#', record.target).filter(|_| !with_query);
        let end = end.unwrap_or(record.target.len()).min(MAX_PATH_BYTES);
        let mut path = record.target.get(..end).unwrap_or_default();
        if self.is_by_folder {
            let end = memchr::memchr_iter(b'/', path).nth(2);
            path = end.and_then(|end| path.get(..=end)).unwrap_or(path);
        }
        let count = if let Some(count) = self.counts.get_mut(path) {
            count
        } else {
            self.make_room();
            self.counts.entry(path.into()).or_default()
        };
        *count.requests_mut(class) += 1;
        count.bytes = count.bytes.saturating_add(record.bytes.unwrap_or(0));
    }

    /// Drops the pages with the fewest requests until half of the places are free.
    fn make_room(&mut self) {
        if self.counts.len() < MAX_PAGES {
            return;
        }
        while self.counts.len() > MAX_PAGES / 2 {
            self.missing += 1;
            let missing = self.missing;
            self.counts.retain(|_, count| count.requests() > missing);
        }
    }

    /// Returns the most requested pages, and the number of all pages.
    pub fn top(&self, top: usize) -> (Vec<(&[u8], Hour)>, usize) {
        let counts = self.counts.iter();
        let mut counts: Vec<_> = counts.map(|(path, count)| (&**path, *count)).collect();
        counts.sort_by(|(path, count), (other_path, other)| {
            (other.requests().cmp(&count.requests())).then_with(|| path.cmp(other_path))
        });
        let all = counts.len();
        counts.truncate(if top == 0 { all } else { top });
        (counts, all)
    }
}

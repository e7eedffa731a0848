//! Most requested pages of a log.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use robot_detection_fleets::PathKind;

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
}

/// Returns the path of a page; `None` for an asset, a feed or robots.txt.
pub(super) fn page(target: &[u8], with_query: bool) -> Option<&[u8]> {
    if PathKind::from_target(target) != PathKind::Page {
        return None;
    }
    let end = memchr::memchr2(b'?', b'#', target).filter(|_| !with_query);
    target.get(..end.unwrap_or(target.len()).min(MAX_PATH_BYTES))
}

/// Returns the first two segments of a page's path, without a query.
pub(super) fn folder(page: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b'?', b'#', page).unwrap_or(page.len());
    let path = page.get(..end).unwrap_or_default();
    let end = memchr::memchr_iter(b'/', path).nth(2);
    end.and_then(|end| path.get(..=end)).unwrap_or(path)
}

impl Pages {
    /// Counts a request for a page or folder.
    pub(super) fn add(&mut self, path: &[u8], class: Class, bytes: u64) {
        let count = if let Some(count) = self.counts.get_mut(path) {
            count
        } else {
            self.make_room();
            self.counts.entry(path.into()).or_default()
        };
        count.hit(class, bytes);
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

//! The state of a filter during a run.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// State of one filter during one run: the hosts, objects and checksums seen so far.
///
/// Each filter has its own state, which all workers share. A resumable run saves
/// [`FilterRun::state`] and continues with [`FilterRun::restore`].
#[derive(Debug, Default)]
pub struct FilterRun {
    memory: Mutex<Memory>,
}

/// State of a [`FilterRun`] as plain data, which can be stored.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct FilterRunState {
    /// Number of resources counted by `filter-by-max src=objects`.
    pub objects: u64,
    /// Hosts counted by `filter-by-max src=hosts`, sorted.
    pub hosts: Vec<String>,
    /// Sorted checksums seen by `filter-by-md5`, each with its best URL and that URL's preference.
    pub checksums: Vec<(String, String, u8)>,
}

#[derive(Debug, Default)]
struct Memory {
    objects: u64,
    hosts: HashSet<Box<str>>,
    /// Checksums are stored as numbers to save memory, because a large site has one checksum per
    /// page.
    checksums: HashMap<u128, (u8, Box<str>)>,
}

impl FilterRun {
    /// Creates the state of a new run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the state of a resumed run.
    pub fn restore(state: FilterRunState) -> Self {
        let hosts = state.hosts.into_iter().map(String::into_boxed_str);
        let checksums = state.checksums.into_iter();
        let checksums = checksums
            .map(|(md5, url, preference)| (number(&md5), (preference, url.into_boxed_str())));
        let memory = Memory {
            objects: state.objects,
            hosts: hosts.collect(),
            checksums: checksums.collect(),
        };
        Self {
            memory: Mutex::new(memory),
        }
    }

    /// Returns the state, so that it can be saved.
    pub fn state(&self) -> FilterRunState {
        let memory = self.memory.lock();
        let mut hosts: Vec<_> = memory.hosts.iter().map(ToString::to_string).collect();
        let checksums = memory.checksums.iter();
        let mut checksums: Vec<_> = checksums
            .map(|(md5, (preference, url))| (format!("{md5:032x}"), url.to_string(), *preference))
            .collect();
        hosts.sort_unstable();
        checksums.sort_unstable();
        FilterRunState {
            objects: memory.objects,
            hosts,
            checksums,
        }
    }

    /// Records the checksum of a resource, and returns the better URL with the same checksum, if
    /// any.
    ///
    /// The URL with the lowest preference wins, then the shortest URL, regardless of the order of
    /// arrival, so that every run has the same result; see [`url_rank`]. The same URL may be
    /// recorded again after a crash or when its content changes. Call this function also for
    /// resources that are unchanged since the previous run.
    pub fn register_checksum(&self, md5: &str, url: &str, preference: u8) -> Option<String> {
        let mut memory = self.memory.lock();
        let best = memory.checksums.entry(number(md5));
        let best = best.or_insert_with(|| (preference, url.into()));
        if url_rank(preference, url) < url_rank(best.0, &best.1) {
            *best = (preference, url.into());
        }
        (*best.1 != *url).then(|| best.1.to_string())
    }

    /// Counts a resource unless the maximum has been reached.
    pub(super) fn count_object(&self, max: u64) -> bool {
        let mut memory = self.memory.lock();
        // The limit is checked and the count increased under one lock, so that two workers cannot
        // both use the last slot.
        let is_room = memory.objects < max;
        memory.objects += u64::from(is_room);
        is_room
    }

    /// Counts a host unless it has already been counted or the maximum has been reached.
    pub(super) fn count_host(&self, host: &str, max: u64) -> bool {
        let mut memory = self.memory.lock();
        if memory.hosts.contains(host) {
            return true;
        }
        let is_room = (memory.hosts.len() as u64) < max;
        if is_room {
            memory.hosts.insert(host.into());
        }
        is_room
    }
}

/// Returns the sort key of a URL among URLs with the same content; the first URL represents all of
/// them.
///
/// URLs are sorted by preference, then by length, so that `/` wins over `/index.html`; URLs of
/// equal length are sorted alphabetically.
pub fn url_rank(preference: u8, url: &str) -> (u8, usize, &str) {
    (preference, url.len(), url)
}

/// Converts a checksum to a number; any text that is not a checksum is hashed.
fn number(md5: &str) -> u128 {
    use md5::Digest as _;
    let is_number = md5.len() == 32 && md5.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_number.then(|| u128::from_str_radix(md5, 16).ok());
    number.flatten().unwrap_or_else(|| {
        let digest = md5::Md5::digest(md5.as_bytes());
        u128::from_be_bytes(digest.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_stored_as_numbers() {
        let md5 = "00112233445566778899aabbccddeeff";
        assert_eq!(number(md5), 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(format!("{:032x}", number(md5)), md5);
        for other in ["", "0f", "+0112233445566778899aabbccddeeff", &md5.repeat(2)] {
            let saved = format!("{:032x}", number(other));
            assert_ne!(saved, other);
            assert_eq!(number(&saved), number(other), "{other}");
        }
    }

    #[test]
    fn run_continues_from_its_saved_state() {
        let run = FilterRun::new();
        assert!(run.count_object(2) && run.count_host("a:80", 1));
        assert!(run.register_checksum("0f", "http://a/", 0).is_none());
        let saved = serde_json::to_string(&run.state()).unwrap();
        let again = FilterRun::restore(serde_json::from_str(&saved).unwrap());
        assert_eq!(again.state(), run.state());
        assert!(again.count_object(2) && !again.count_object(2));
        assert!(again.count_host("a:80", 1) && !again.count_host("b:80", 1));
        assert!(again.register_checksum("0f", "http://a/", 0).is_none());
        assert!(again.register_checksum("0f", "http://a/b", 0).is_some());
    }

    #[test]
    fn shortest_url_represents_the_same_content() {
        let run = FilterRun::new();
        assert!(
            run.register_checksum("0f", "http://a/index.html", 0)
                .is_none()
        );
        assert!(run.register_checksum("0f", "http://a/", 0).is_none());
        assert!(
            run.register_checksum("0f", "http://a/index.html", 0)
                .is_some()
        );
        assert!(run.register_checksum("10", "http://a/y", 0).is_none());
        assert!(run.register_checksum("10", "http://a/x", 0).is_none());
        assert!(run.register_checksum("10", "http://a/z", 0).is_some());
        assert!(run.register_checksum("20", "http://a/", 1).is_none());
        assert!(run.register_checksum("20", "http://a/long", 0).is_none());
        let better = run.register_checksum("20", "http://a/", 1);
        assert_eq!(better.as_deref(), Some("http://a/long"));
    }
}

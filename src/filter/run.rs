//! What a filter remembers from one resource to the next.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

/// Memory of one filter during one run: hosts, objects and checksums seen.
///
/// Each filter has its own, shared by all workers. A run that is to be resumed
/// saves [`FilterRun::state`] and starts again with [`FilterRun::restore`].
#[derive(Debug, Default)]
pub struct FilterRun {
    memory: Mutex<Memory>,
}

/// What a [`FilterRun`] knows, as plain data that can be saved.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct FilterRunState {
    /// Resources counted by `filter-by-max src=objects`.
    pub objects: u64,
    /// Hosts counted by `filter-by-max src=hosts`, in order.
    pub hosts: Vec<String>,
    /// Checksums seen by `filter-by-md5`, in order, each with the resource that had it first.
    pub checksums: Vec<(String, u64)>,
}

#[derive(Debug, Default)]
struct Memory {
    objects: u64,
    hosts: HashSet<Box<str>>,
    checksums: HashMap<Box<str>, u64>,
}

impl FilterRun {
    /// Creates the memory of a run that begins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the memory of a run that goes on.
    #[must_use]
    pub fn restore(state: FilterRunState) -> Self {
        let hosts = state.hosts.into_iter().map(String::into_boxed_str);
        let checksums = state.checksums.into_iter();
        let checksums = checksums.map(|(md5, first)| (md5.into_boxed_str(), first));
        let memory = Memory {
            objects: state.objects,
            hosts: hosts.collect(),
            checksums: checksums.collect(),
        };
        Self {
            memory: Mutex::new(memory),
        }
    }

    /// Returns what is known, to be saved.
    #[must_use]
    pub fn state(&self) -> FilterRunState {
        let memory = self.memory();
        let mut hosts: Vec<_> = memory.hosts.iter().map(ToString::to_string).collect();
        let checksums = memory.checksums.iter();
        let mut checksums: Vec<_> = checksums
            .map(|(md5, first)| (md5.to_string(), *first))
            .collect();
        hosts.sort_unstable();
        checksums.sort_unstable();
        FilterRunState {
            objects: memory.objects,
            hosts,
            checksums,
        }
    }

    /// Notes that a resource has a checksum; tells whether it is the first with it.
    ///
    /// The same URL may come again, after a crash or with its next version.
    /// Call it too for resources that did not change since the last run.
    pub fn is_first_with(&self, md5: &str, url: &str) -> bool {
        let url = fingerprint(url);
        let mut memory = self.memory();
        *memory.checksums.entry(md5.into()).or_insert(url) == url
    }

    /// Counts a resource unless there are `max` already.
    pub(super) fn count_object(&self, max: u64) -> bool {
        let mut memory = self.memory();
        let is_room = memory.objects < max;
        memory.objects += u64::from(is_room);
        is_room
    }

    /// Counts a host unless it is known or there are `max` already.
    pub(super) fn count_host(&self, host: &str, max: u64) -> bool {
        let mut memory = self.memory();
        if memory.hosts.contains(host) {
            return true;
        }
        let is_room = (memory.hosts.len() as u64) < max;
        if is_room {
            memory.hosts.insert(host.into());
        }
        is_room
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a number that stands for a URL, the same in every process.
fn fingerprint(url: &str) -> u64 {
    use md5::Digest as _;
    let digest = md5::Md5::digest(url.as_bytes());
    let first = digest.iter().take(8);
    first.fold(0, |number, octet| (number << 8) | u64::from(*octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_where_its_state_was_saved() {
        let run = FilterRun::new();
        assert!(run.count_object(2) && run.count_host("a:80", 1));
        assert!(run.is_first_with("0f", "http://a/"));
        let saved = serde_json::to_string(&run.state()).unwrap();
        let again = FilterRun::restore(serde_json::from_str(&saved).unwrap());
        assert_eq!(again.state(), run.state());
        assert!(again.count_object(2) && !again.count_object(2));
        assert!(again.count_host("a:80", 1) && !again.count_host("b:80", 1));
        assert!(again.is_first_with("0f", "http://a/"));
        assert!(!again.is_first_with("0f", "http://b/"));
    }
}

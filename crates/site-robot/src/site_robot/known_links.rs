//! Cache of resolved links, which is useful because menus repeat on every page of a site.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Maximum number of links in each of the two generations.
const MAX: usize = 4_096;

/// Maximum length of a host and link that are cached, in bytes.
const MAX_BYTES: usize = 200;

/// Cache of links and their targets during a run.
///
/// A link that starts with a slash has the same target on every page of its host. If there are more
/// than 4,096 links, the oldest links may be dropped.
#[derive(Debug, Default)]
pub(super) struct KnownLinks {
    known: Mutex<LinkTable>,
}

#[derive(Debug, Default)]
struct LinkTable {
    new: HashMap<String, Option<String>>,
    old: HashMap<String, Option<String>>,
}

impl KnownLinks {
    /// Returns the target URL of a link if it may be visited; calls `decide` for unknown links.
    pub(super) fn get_or_decide(
        &self,
        host: &str,
        link: &str,
        decide: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        if !link.starts_with('/') || host.len() + link.len() > MAX_BYTES {
            return decide();
        }
        let mut key = String::with_capacity(host.len() + link.len());
        key.push_str(host);
        key.push_str(link);
        let known = self.known.lock();
        if let Some(decided) = known.new.get(&key).or_else(|| known.old.get(&key)) {
            return decided.clone();
        }
        // The lock is released while the decision is made.
        drop(known);
        let decided = decide();
        self.known.lock().insert(key, decided.clone());
        decided
    }
}

impl LinkTable {
    fn insert(&mut self, key: String, decided: Option<String>) {
        if self.new.len() >= MAX {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, decided);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_decided_once_per_host() {
        let known = KnownLinks::default();
        let decided = |host: &str, link: &str, to: Option<&str>| {
            known.get_or_decide(host, link, || to.map(str::to_owned))
        };
        assert_eq!(decided("http://a", "/x", Some("1")).as_deref(), Some("1"));
        assert_eq!(decided("http://a", "/x", Some("2")).as_deref(), Some("1"));
        assert_eq!(decided("http://b", "/x", None), None);
        assert_eq!(decided("http://b", "/x", Some("2")), None);
        // The targets of these links depend on the page that contains them.
        for link in ["x", "?x", "#x", ""] {
            assert_eq!(decided("http://a", link, Some("1")).as_deref(), Some("1"));
            assert_eq!(decided("http://a", link, None), None, "{link}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let known = KnownLinks::default();
        for number in 0..20_000 {
            known.get_or_decide("http://a", &format!("/{number}"), || None);
        }
        known.get_or_decide("http://a", &format!("/{}", "x".repeat(MAX_BYTES)), || None);
        let known = known.known.lock();
        assert!(known.new.len() <= MAX && known.old.len() <= MAX);
        assert!(known.new.contains_key("http://a/19999"));
    }
}

//! URLs that this process has entered already: the database is not asked again.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

/// URLs that are remembered in each of two generations.
const MAX: usize = 200_000;

/// Memory of URLs, with the least depth that they were found at.
///
/// It is bounded: of more than 200,000 URLs, the oldest may be forgotten, which
/// costs a question to the database. Of a URL it keeps a keyed hash of 64 bits.
#[derive(Debug)]
pub(super) struct SeenUrls {
    hasher: RandomState,
    new: HashMap<u64, u32>,
    old: HashMap<u64, u32>,
    max: usize,
}

impl Default for SeenUrls {
    fn default() -> Self {
        Self {
            // Keyed at random: no site can make two URLs that share a hash.
            hasher: RandomState::new(),
            new: HashMap::new(),
            old: HashMap::new(),
            max: MAX,
        }
    }
}

impl SeenUrls {
    /// Notes a URL; returns `true` if it is new, or was found at a greater depth before.
    pub(super) fn is_new(&mut self, url: &str, depth: u32) -> bool {
        let hash = self.hasher.hash_one(url);
        let known = self.new.get(&hash).or_else(|| self.old.get(&hash));
        // Nearer than before is new: links that were too deep may be within reach now.
        if known.is_some_and(|known| *known <= depth) {
            return false;
        }
        // Two generations bound memory without a time for each URL: the older one is dropped as
        // a whole.
        if self.new.len() >= self.max {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(hash, depth);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_news_once_for_each_lesser_depth() {
        let mut seen = SeenUrls::default();
        assert!(seen.is_new("http://a/", 3));
        assert!(!seen.is_new("http://a/", 3) && !seen.is_new("http://a/", 4));
        assert!(seen.is_new("http://a/", 2));
        assert!(!seen.is_new("http://a/", 3));
        assert!(seen.is_new("http://b/", 3));
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = SeenUrls {
            max: 10,
            ..SeenUrls::default()
        };
        for number in 0..1_000 {
            assert!(seen.is_new(&number.to_string(), 0));
            assert!(seen.new.len() <= 10 && seen.old.len() <= 10);
        }
        assert!(!seen.is_new("999", 0) && !seen.is_new("990", 0));
    }
}

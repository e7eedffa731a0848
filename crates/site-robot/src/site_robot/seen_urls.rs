//! Memory, bounded in size, of the URLs that this process has seen.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

/// Maximum number of seen URLs in each of the two generations.
const MAX_SEEN: usize = 200_000;

/// Maximum number of chained URLs in each of the two generations.
const MAX_CHAINS: usize = 50_000;

/// Maximum number of redirects, frames and list entries followed in a chain.
const MAX_LENGTH: u8 = 10;

/// Maximum chain length of a sitemap or feed whose entries are followed.
const MAX_LENGTH_OF_LISTS: u8 = 3;

/// A map from URLs to values that is bounded in size.
///
/// Two generations limit the size without timestamps: the older generation is dropped as a whole.
#[derive(Debug)]
struct UrlMemory<V> {
    /// The hash is randomly keyed, so that a site cannot generate collisions.
    hasher: RandomState,
    new: HashMap<u64, V>,
    old: HashMap<u64, V>,
    max: usize,
}

impl<V: Copy> UrlMemory<V> {
    fn new(max: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            new: HashMap::new(),
            old: HashMap::new(),
            max,
        }
    }

    fn get(&self, url: &str) -> Option<V> {
        let hash = self.hasher.hash_one(url);
        let known = self.new.get(&hash).or_else(|| self.old.get(&hash));
        known.copied()
    }

    fn set(&mut self, url: &str, value: V) {
        if self.new.len() >= self.max {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(self.hasher.hash_one(url), value);
    }
}

/// Memory of URLs, with the smallest depth at which each URL was found.
///
/// The size is bounded: if there are more than 200,000 URLs, the oldest may be dropped, which only
/// costs a database query. For each URL, a keyed 64-bit hash is stored.
#[derive(Debug)]
pub(super) struct SeenUrls(UrlMemory<u32>);

impl Default for SeenUrls {
    fn default() -> Self {
        Self(UrlMemory::new(MAX_SEEN))
    }
}

impl SeenUrls {
    /// Records a URL; returns `true` if it is new, or if it was previously found only at a greater
    /// depth.
    pub(super) fn is_new(&mut self, url: &str, depth: u32) -> bool {
        // A smaller depth is treated as new, because links that were too deep may now be within
        // reach.
        let is_new = self.0.get(url).is_none_or(|known| depth < known);
        if is_new {
            self.0.set(url, depth);
        }
        is_new
    }
}

/// Memory of URLs that were found without a link (redirects, frames, list entries), each with its
/// chain length.
///
/// The size is bounded: a dropped URL is treated as found by a link. For each URL, a keyed 64-bit
/// hash is stored.
#[derive(Debug)]
pub(super) struct Chains(UrlMemory<u8>);

impl Default for Chains {
    fn default() -> Self {
        Self(UrlMemory::new(MAX_CHAINS))
    }
}

impl Chains {
    /// Returns the number of steps from the last link to a URL.
    pub(super) fn length(&self, url: &str) -> u8 {
        self.0.get(url).unwrap_or(0)
    }

    /// Records a URL that was found one step after a URL with this chain length.
    pub(super) fn record(&mut self, url: &str, length: u8) {
        self.0.set(url, length.saturating_add(1));
    }

    /// Returns `true` if a chain of this length may be followed further.
    pub(super) fn may_continue(length: u8, is_list: bool) -> bool {
        length < MAX_LENGTH && (!is_list || length <= MAX_LENGTH_OF_LISTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_new_once_for_each_smaller_depth() {
        let mut seen = SeenUrls::default();
        assert!(seen.is_new("http://a/", 3));
        assert!(!seen.is_new("http://a/", 3) && !seen.is_new("http://a/", 4));
        assert!(seen.is_new("http://a/", 2));
        assert!(!seen.is_new("http://a/", 3));
        assert!(seen.is_new("http://b/", 3));
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = SeenUrls(UrlMemory::new(10));
        for number in 0..1_000 {
            assert!(seen.is_new(&number.to_string(), 0));
            assert!(seen.0.new.len() <= 10 && seen.0.old.len() <= 10);
        }
        assert!(!seen.is_new("999", 0) && !seen.is_new("990", 0));
    }

    #[test]
    fn chain_is_limited_and_restarts_at_a_link() {
        let mut chains = Chains::default();
        let mut followed = 0;
        for number in 0..1_000 {
            let length = chains.length(&number.to_string());
            if !Chains::may_continue(length, false) {
                break;
            }
            chains.record(&(number + 1).to_string(), length);
            followed += 1;
        }
        assert_eq!(followed, 10);
        assert_eq!(chains.length("linked"), 0);
        assert!(Chains::may_continue(3, true) && !Chains::may_continue(4, true));
    }
}

//! URLs that this process remembers, in bounded memory.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

/// URLs that are remembered in each of two generations.
const MAX_SEEN: usize = 200_000;

/// URLs that are remembered in each of two generations.
const MAX_CHAINS: usize = 50_000;

/// Redirects, frames and entries of lists that are followed one behind the other.
const MAX_LENGTH: u8 = 10;

/// How far from a link a sitemap or feed may be whose entries are taken.
const MAX_LENGTH_OF_LISTS: u8 = 3;

/// A value for each URL.
///
/// Two generations bound memory without a time for each URL: the older one is dropped as a whole.
#[derive(Debug)]
struct UrlMemory<V> {
    /// Keyed at random: no site can make two URLs that share a hash.
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

/// Memory of URLs, with the least depth that they were found at.
///
/// It is bounded: of more than 200,000 URLs, the oldest may be forgotten, which
/// costs a question to the database. Of a URL it keeps a keyed hash of 64 bits.
#[derive(Debug)]
pub(super) struct SeenUrls(UrlMemory<u32>);

impl Default for SeenUrls {
    fn default() -> Self {
        Self(UrlMemory::new(MAX_SEEN))
    }
}

impl SeenUrls {
    /// Notes a URL; returns `true` if it is new, or was found at a greater depth before.
    pub(super) fn is_new(&mut self, url: &str, depth: u32) -> bool {
        // Nearer than before is new: links that were too deep may be within reach now.
        let is_new = self.0.get(url).is_none_or(|known| depth < known);
        if is_new {
            self.0.set(url, depth);
        }
        is_new
    }
}

/// Memory of URLs that were found at the cost of no link, and how many steps away.
///
/// It is bounded: what is forgotten counts as found by a link. Of a URL it keeps
/// a keyed hash of 64 bits.
#[derive(Debug)]
pub(super) struct Chains(UrlMemory<u8>);

impl Default for Chains {
    fn default() -> Self {
        Self(UrlMemory::new(MAX_CHAINS))
    }
}

impl Chains {
    /// Returns the number of steps from a link at which a URL was found.
    pub(super) fn length(&self, url: &str) -> u8 {
        self.0.get(url).unwrap_or(0)
    }

    /// Notes a URL that was found one step behind another of this length.
    pub(super) fn note(&mut self, url: &str, length: u8) {
        self.0.set(url, length.saturating_add(1));
    }

    /// Returns `true` if anything is followed one step behind a URL of this length.
    pub(super) fn goes_on(length: u8, is_list: bool) -> bool {
        length < MAX_LENGTH && (!is_list || length <= MAX_LENGTH_OF_LISTS)
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
        let mut seen = SeenUrls(UrlMemory::new(10));
        for number in 0..1_000 {
            assert!(seen.is_new(&number.to_string(), 0));
            assert!(seen.0.new.len() <= 10 && seen.0.old.len() <= 10);
        }
        assert!(!seen.is_new("999", 0) && !seen.is_new("990", 0));
    }

    #[test]
    fn a_chain_ends_and_what_is_linked_begins_another() {
        let mut chains = Chains::default();
        let mut followed = 0;
        for number in 0..1_000 {
            let length = chains.length(&number.to_string());
            if !Chains::goes_on(length, false) {
                break;
            }
            chains.note(&(number + 1).to_string(), length);
            followed += 1;
        }
        assert_eq!(followed, 10);
        assert_eq!(chains.length("linked"), 0);
        assert!(Chains::goes_on(3, true) && !Chains::goes_on(4, true));
    }
}

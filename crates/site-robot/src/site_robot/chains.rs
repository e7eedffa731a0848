//! Chains of redirects, frames and sitemaps, which cost no depth and may be endless.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

/// Redirects, frames and entries of lists that are followed one behind the other.
const MAX_LENGTH: u8 = 10;

/// How far from a link a sitemap or feed may be whose entries are taken.
const MAX_LENGTH_OF_LISTS: u8 = 3;

/// URLs that are remembered in each of two generations.
const MAX: usize = 50_000;

/// Memory of URLs that were found at the cost of no link, and how many steps away.
///
/// It is bounded: what is forgotten counts as found by a link. Of a URL it keeps
/// a keyed hash of 64 bits.
#[derive(Debug)]
pub(super) struct Chains {
    hasher: RandomState,
    new: HashMap<u64, u8>,
    old: HashMap<u64, u8>,
}

impl Default for Chains {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            new: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

impl Chains {
    /// Returns the number of steps from a link at which a URL was found.
    pub(super) fn length(&self, url: &str) -> u8 {
        let hash = self.hasher.hash_one(url);
        let known = self.new.get(&hash).or_else(|| self.old.get(&hash));
        known.copied().unwrap_or(0)
    }

    /// Notes a URL that was found one step behind another of this length.
    pub(super) fn note(&mut self, url: &str, length: u8) {
        if self.new.len() >= MAX {
            self.old = std::mem::take(&mut self.new);
        }
        self.new
            .insert(self.hasher.hash_one(url), length.saturating_add(1));
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

    #[test]
    fn memory_is_bounded() {
        let mut chains = Chains::default();
        for number in 0..3 * MAX {
            chains.note(&number.to_string(), 0);
        }
        assert!(chains.new.len() <= MAX && chains.old.len() <= MAX);
        assert_eq!(chains.length(&(3 * MAX - 1).to_string()), 1);
    }
}

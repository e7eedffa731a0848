//! Senders with a fleet's User-Agent that do not behave like the fleet.

use std::sync::Arc;

/// Size of the bit set in words: 64 KiB.
const WORDS: usize = 1 << 13;

/// Maximum number of senders. With this number, one bit in sixteen is set, so that one in sixteen
/// other senders is mistaken for one of these.
const MOST: u32 = 1 << 15;

/// The senders that loaded assets with the User-Agent and fingerprint of a fleet that loads no
/// assets.
///
/// Clones share the bits until one of the clones changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct NonMembers {
    /// The bits of the set; empty while there are no senders.
    words: Arc<Vec<u64>>,
    senders: u32,
}

impl NonMembers {
    /// Adds a sender, given the hash of fleet and sender. A full set is cleared first.
    pub(crate) fn add(&mut self, hash: u64) {
        if self.contains(hash) {
            return;
        }
        let words = Arc::make_mut(&mut self.words);
        if words.is_empty() || self.senders >= MOST {
            words.clear();
            words.resize(WORDS, 0);
            self.senders = 0;
        }
        let (at, bit) = place(hash);
        if let Some(word) = words.get_mut(at) {
            *word |= bit;
            self.senders += 1;
        }
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        let (at, bit) = place(hash);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        8 * self.words.capacity()
    }
}

fn place(hash: u64) -> (usize, u64) {
    let at = usize::try_from(hash >> 6).unwrap_or_default() % WORDS;
    (at, 1 << (hash & 63))
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use foldhash::quality::FixedState;

    use super::*;

    #[test]
    fn added_senders_are_found_with_few_false_positives() {
        let (mut released, hasher) = (NonMembers::default(), FixedState::with_seed(1));
        assert!(!released.contains(7));
        let before = released.clone();
        for number in 0..100_000_u32 {
            released.add(hasher.hash_one(number));
            assert!(released.contains(hasher.hash_one(number)));
        }
        let others =
            (1_000_000..1_100_000_u32).filter(|number| released.contains(hasher.hash_one(number)));
        let others = others.count();
        assert!(others < 100_000 / 15, "{others}");
        assert!(
            !before.contains(hasher.hash_one(0_u32)),
            "a cloned set does not change"
        );
    }
}

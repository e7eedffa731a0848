//! Hash keys that identify User-Agents.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
};

/// Random secrets of this process, which make keys unpredictable.
static SECRETS: LazyLock<[u64; 3]> = LazyLock::new(|| {
    let random = RandomState::new();
    [0, 1, 2].map(|number: u8| random.hash_one(number))
});

const BLOCK_BYTES: usize = 16;

/// Hash of a User-Agent, computed once per request and used as a key in tables.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct AgentKey(u64);

impl AgentKey {
    /// Returns the key of a text. Hashing costs one multiplication per sixteen bytes.
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self::keyed(*SECRETS, text)
    }

    fn keyed([first, second, third]: [u64; 3], text: &[u8]) -> Self {
        let mixed = |state: u64, block: [u8; BLOCK_BYTES]| {
            let (low, high) = halves(u128::from_le_bytes(block));
            folded(state ^ low ^ first, high ^ second)
        };
        let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
        let state = blocks
            .iter()
            .fold(third ^ text.len() as u64, |state, block| {
                mixed(state, *block)
            });
        let last = match text.last_chunk::<BLOCK_BYTES>() {
            // This block overlaps the previous one, which is harmless.
            Some(block) => *block,
            None => padded(rest),
        };
        // 0 is reserved for empty slots.
        Self(folded(mixed(state, last) ^ third, first).max(1))
    }

    /// Returns the key combined with two more numbers that distinguish visitors.
    pub(crate) fn mix(self, one: u64, other: u64) -> u64 {
        let [first, second, third] = *SECRETS;
        folded(folded(self.0 ^ one ^ first, other ^ second) ^ third, second).max(1)
    }

    /// Returns the key as a number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// Returns a text that is shorter than a block, padded with zeros.
fn padded(text: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    for (to, from) in block.iter_mut().zip(text) {
        *to = *from;
    }
    block
}

/// Returns the upper and lower halves of a number.
pub(crate) fn halves(number: u128) -> (u64, u64) {
    let half = |half: u128| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default();
    (half(number >> 64), half(number))
}

/// Returns the XOR of the upper and lower halves of the product of two numbers.
fn folded(one: u64, other: u64) -> u64 {
    let (high, low) = halves(u128::from(one) * u128::from(other));
    high ^ low
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_byte_and_the_length_count() {
        let text = b"Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
        let mut seen = HashSet::new();
        for length in 0..=text.len() {
            let text = &text[..length];
            assert_eq!(AgentKey::parse(text), AgentKey::parse(text));
            assert!(
                seen.insert(AgentKey::parse(text).number()),
                "{length} bytes"
            );
            for place in 0..length {
                let mut other = text.to_vec();
                other[place] ^= 1;
                assert!(
                    seen.insert(AgentKey::parse(&other).number()),
                    "{place} of {length}"
                );
            }
        }
        assert_ne!(
            AgentKey::parse(b"a").number(),
            AgentKey::parse(b"a\0").number()
        );
    }

    #[test]
    fn other_secrets_give_other_keys() {
        let text = b"Chrome/156";
        let [first, second, third] = *SECRETS;
        for secrets in [
            [!first, second, third],
            [first, !second, third],
            [first, second, !third],
        ] {
            assert_ne!(AgentKey::keyed(secrets, text), AgentKey::parse(text));
        }
    }

    #[test]
    fn mixed_numbers_change_the_key() {
        let key = AgentKey::parse(b"Chrome/156");
        let numbers = HashSet::from([key.mix(0, 0), key.mix(0, 1), key.mix(1, 0), key.mix(1, 1)]);
        assert_eq!(numbers.len(), 4);
    }
}

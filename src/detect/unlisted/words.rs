//! Sets of words that are looked for in a User-Agent.

use std::{ops::Range, sync::LazyLock};

use crate::detect::{
    cases::{TOGETHER, first_bytes, is_same},
    triples::{Filter, GROUP, GROUPS, TRIPLE, code, then},
};

/// Set of words, each of a kind, made when it is first asked.
pub(super) type Words<K = ()> = LazyLock<Set<K>>;

/// Words that are found in any case, in memory that stays in the processor's nearest cache.
pub(super) struct Set<K = ()> {
    /// Which numbers first bytes have.
    filter: Filter,
    /// Where the words of each group of numbers end.
    ends: Box<[usize; GROUPS]>,
    /// By the numbers of their first bytes.
    words: Box<[Word<K>]>,
}

/// Word, of which the first bytes are compared together.
struct Word<K> {
    /// Bits that are compared: of letters all but that of their case.
    mask: u64,
    first: u64,
    all: &'static str,
    kind: K,
}

/// Makes a set of words, each of three bytes or more.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    words_of(words.into_iter().map(|word| (word, ())))
}

/// Makes a set of words and what kind each is of; of equal ones the first counts.
pub(super) fn words_of<K>(words: impl IntoIterator<Item = (&'static str, K)>) -> Set<K> {
    let code = |word: &str| code(word.as_bytes());
    let words = words.into_iter().map(|(word, kind)| Word::new(word, kind));
    let mut words: Vec<_> = words.collect();
    words.sort_by_key(|word| code(word.all));
    let mut ends = Box::new([0; GROUPS]);
    for (group, end) in ends.iter_mut().enumerate() {
        *end = words.partition_point(|word| code(word.all) / GROUP <= group);
    }
    Set {
        filter: Filter::new(words.iter().map(|word| code(word.all))),
        ends,
        words: words.into(),
    }
}

/// Tells whether a word of the set stands anywhere in `text`.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    words.all_in(text).next().is_some()
}

impl<K: Copy> Set<K> {
    /// Tells whether a text starts with a word of the set.
    pub(super) fn has_start(&self, text: &[u8]) -> bool {
        let code = code(text);
        self.filter.has(code) && self.at(code, text).is_some()
    }

    /// Returns where words stand, and what they are, one at each place.
    #[inline]
    pub(super) fn all_in(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, K)> {
        let (first, rest) = text.split_at_checked(TRIPLE - 1).unwrap_or_default();
        let mut code = first.iter().copied().fold(0, then);
        let mut bytes = rest.iter();
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let passed = bytes.position(|byte| {
                    code = then(code, *byte);
                    self.filter.has(code)
                })?;
                let start = next + passed;
                next = start + 1;
                if let Some(word) = self.at(code, text.get(start..)?) {
                    return Some((start..start + word.all.len(), word.kind));
                }
            }
        })
    }

    /// Returns the word that a text starts with, of those with a number.
    #[inline(never)]
    fn at(&self, code: usize, text: &[u8]) -> Option<&Word<K>> {
        let group = code / GROUP;
        let end = self.ends.get(group).copied()?;
        let before = group
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let words = self.words.get(before.copied().unwrap_or_default()..end)?;
        let first = first_bytes(text);
        words.iter().find(|word| word.starts(text, first))
    }
}

impl<K> Word<K> {
    fn new(all: &'static str, kind: K) -> Self {
        let mask = |byte: u8| {
            if byte.is_ascii_alphabetic() {
                !0x20
            } else {
                !0
            }
        };
        let masks: Vec<u8> = all.bytes().map(mask).collect();
        let mask = first_bytes(&masks);
        Self {
            mask,
            first: first_bytes(all.as_bytes()) & mask,
            all,
            kind,
        }
    }

    /// Tells whether a text starts with it, of which the first bytes are known.
    #[inline]
    fn starts(&self, text: &[u8], first: u64) -> bool {
        first & self.mask == self.first
            && self.all.as_bytes().get(TOGETHER..).is_none_or(|rest| {
                let found = text.get(TOGETHER..self.all.len());
                found.is_some_and(|found| is_same(found, rest))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_at_any_place_the_first_first() {
        static WORDS: Words = Words::new(|| words(["robot", "bot", "go.web", " api", "rob"]));
        for (text, expected) in [
            ("a ROBOT", Some(2..7)),
            ("Bot", Some(0..3)),
            ("xGo.Webx", Some(1..7)),
            ("an api", Some(2..6)),
            ("ro bo", None),
            ("go", None),
            ("", None),
            ("go-web rob", Some(7..10)),
        ] {
            assert_eq!(
                WORDS
                    .all_in(text.as_bytes())
                    .next()
                    .map(|(range, ())| range),
                expected,
                "{text}"
            );
        }
    }
}

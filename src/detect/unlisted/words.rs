//! Sets of words that are looked for in a User-Agent.

use std::{ops::Range, sync::LazyLock};

/// Bytes of a word that tell whether it may stand at a place.
const FIRST_BYTES: usize = 3;

/// Numbers that the first bytes of words have.
const CODES: usize = 1 << (5 * FIRST_BYTES);

/// Numbers that are neighbours, of which each has a bit.
const GROUPS: usize = CODES / 64;

/// Set of words, made when it is first asked.
pub(super) type Words = LazyLock<Set>;

/// Words that are found in any case, in memory that stays in the processor's nearest cache.
pub(super) struct Set {
    /// Which numbers first bytes have.
    filter: Box<[u64; GROUPS]>,
    /// Where the words of each group of numbers end.
    ends: Box<[usize; GROUPS]>,
    /// By the numbers of their first bytes.
    words: Box<[&'static str]>,
}

/// Makes a set of words, each of three bytes or more.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    let code = |word: &str| word.bytes().take(FIRST_BYTES).fold(0, then);
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_by_key(|word| code(word));
    let mut filter = Box::new([0; GROUPS]);
    let mut ends = Box::new([0; GROUPS]);
    for (number, (bits, end)) in filter.iter_mut().zip(ends.iter_mut()).enumerate() {
        let own = words.iter().map(|word| code(word));
        for code in own.filter(|code| code / 64 == number) {
            *bits |= 1_u64 << (code % 64);
        }
        *end = words.partition_point(|word| code(word) / 64 <= number);
    }
    Set {
        filter,
        ends,
        words: words.into(),
    }
}

/// Tells whether a word of the set stands anywhere in `text`.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    find_any(words, text).is_some()
}

/// Returns where the first word of the set stands.
pub(super) fn find_any(words: &Words, text: &[u8]) -> Option<Range<usize>> {
    let (first, rest) = text.split_at_checked(FIRST_BYTES - 1)?;
    let mut code = first.iter().copied().fold(0, then);
    for (start, byte) in rest.iter().enumerate() {
        code = then(code, *byte);
        if words.may_have(code)
            && let Some(word) = words.at(code, text.get(start..)?)
        {
            return Some(start..start + word.len());
        }
    }
    None
}

impl Set {
    #[inline]
    fn may_have(&self, code: usize) -> bool {
        let bits = self.filter.get(code / 64);
        bits.is_some_and(|bits| bits >> (code % 64) & 1 != 0)
    }

    /// Returns the word that a text starts with, of those with a number.
    fn at(&self, code: usize, text: &[u8]) -> Option<&'static str> {
        let group = code / 64;
        let end = self.ends.get(group).copied()?;
        let before = group
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let words = self.words.get(before.copied().unwrap_or_default()..end)?;
        let mut words = words.iter().copied();
        words.find(|word| {
            let found = text.get(..word.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
        })
    }
}

/// Returns the number of three bytes, whatever their case, by that of those one place before.
#[inline]
fn then(code: usize, byte: u8) -> usize {
    (code << 5 | usize::from(byte & 0x1f)) % CODES
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
            assert_eq!(find_any(&WORDS, text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_of_three_bytes() {
        for text in [b"abcd", b"A/.d", b"\xff\x00zz"] {
            let of_last = |start: usize| text[start..].iter().copied().fold(0, then);
            assert_eq!(of_last(0), of_last(1));
        }
    }
}

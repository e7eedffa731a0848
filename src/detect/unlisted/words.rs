//! Sets of words that are looked for in a User-Agent.

use std::{ops::Range, sync::LazyLock};

use crate::detect::triples::{Filter, GROUP, GROUPS, TRIPLE, code, then};

/// Set of words, made when it is first asked.
pub(super) type Words = LazyLock<Set>;

/// Words that are found in any case, in memory that stays in the processor's nearest cache.
pub(super) struct Set {
    /// Which numbers first bytes have.
    filter: Filter,
    /// Where the words of each group of numbers end.
    ends: Box<[usize; GROUPS]>,
    /// By the numbers of their first bytes.
    words: Box<[&'static str]>,
}

/// Makes a set of words, each of three bytes or more.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    let code = |word: &str| code(word.as_bytes());
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_by_key(|word| code(word));
    let mut ends = Box::new([0; GROUPS]);
    for (group, end) in ends.iter_mut().enumerate() {
        *end = words.partition_point(|word| code(word) / GROUP <= group);
    }
    Set {
        filter: Filter::new(words.iter().map(|word| code(word))),
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
    let (first, rest) = text.split_at_checked(TRIPLE - 1)?;
    let mut code = first.iter().copied().fold(0, then);
    for (start, byte) in rest.iter().enumerate() {
        code = then(code, *byte);
        if words.filter.has(code)
            && let Some(word) = words.at(code, text.get(start..)?)
        {
            return Some(start..start + word.len());
        }
    }
    None
}

impl Set {
    /// Returns the word that a text starts with, of those with a number.
    fn at(&self, code: usize, text: &[u8]) -> Option<&'static str> {
        let group = code / GROUP;
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
}

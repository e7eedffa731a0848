//! Sets of words that are looked for in a User-Agent.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;

/// Set of words, each of a kind, made when it is first asked.
pub(super) type Words<K = ()> = LazyLock<Set<K>>;

/// Words that are found in any case.
pub(super) struct Set<K = ()> {
    automaton: Option<AhoCorasick>,
    /// By the numbers of the words.
    kinds: Box<[K]>,
}

/// Makes a set of words.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    words_of(words.into_iter().map(|word| (word, ())))
}

/// Makes a set of words and what kind each is of.
pub(super) fn words_of<K>(words: impl IntoIterator<Item = (&'static str, K)>) -> Set<K> {
    let (words, kinds): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words);
    Set {
        // It fails for more words alone than there are in memory.
        automaton: automaton.ok(),
        kinds: kinds.into(),
    }
}

/// Returns `true` if a word of the set stands anywhere in `text`.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    let automaton = words.automaton.as_ref();
    automaton.is_some_and(|automaton| automaton.is_match(text))
}

impl<K: Copy> Set<K> {
    /// Returns where words stand, and what they are.
    pub(super) fn all_in(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, K)> {
        let found = self.automaton.iter();
        let found = found.flat_map(move |all| all.find_overlapping_iter(text));
        found.filter_map(|found| {
            let kind = self.kinds.get(found.pattern().as_usize())?;
            Some((found.range(), *kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_at_any_place() {
        static WORDS: Words = Words::new(|| words(["robot", "bot", "go.web", " api", "rob"]));
        for (text, expected) in [
            ("a ROBOT", Some(2..5)),
            ("Bot", Some(0..3)),
            ("xGo.Webx", Some(1..7)),
            ("an api", Some(2..6)),
            ("ro bo", None),
            ("go", None),
            ("", None),
            ("go-web rob", Some(7..10)),
        ] {
            let mut found = WORDS.all_in(text.as_bytes()).map(|(range, ())| range);
            assert_eq!(found.next(), expected, "{text}");
            assert_eq!(has_any(&WORDS, text.as_bytes()), expected.is_some());
        }
    }
}

//! Sets of words that are looked for in a User-Agent.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Set of words, made when it is first asked.
pub(super) type Words = LazyLock<Option<AhoCorasick>>;

/// Makes a set of words, which are found in any case.
pub(super) fn words(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok()
}

/// Tells whether a word of the set stands anywhere in `text`.
///
/// Without the set it says so: somebody might be a person.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    words.as_ref().is_none_or(|words| words.is_match(text))
}

/// Returns where the first word of the set stands.
pub(super) fn find_any(words: &Words, text: &[u8]) -> Option<Range<usize>> {
    Some(words.as_ref()?.find(text)?.range())
}

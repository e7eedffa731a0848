//! What browsers say in many words, which is skipped as a whole.

use std::ops::Range;

use super::{Form, groups::Groups};
use crate::detect::{
    anchor::{gram, grams},
    words::{Key, Word, Words},
};

/// Phrases of browsers, those with the same first word beside each other, the
/// longest first. None ends within a word.
const PHRASES: &[&[u8]] = &[
    b"Mozilla/5.0 (",
    b"Windows NT 10.0; Win64; x64",
    b"Macintosh; Intel Mac OS X 1",
    b"X11; Linux x86_64",
    b"Linux; Android 1",
    b"iPhone; CPU iPhone OS 1",
    b"iPad; CPU OS 1",
    b"like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ",
    b"AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
    b"AppleWebKit/605.1.15 (KHTML, like Gecko) ",
    b"KHTML, like Gecko) Chrome/",
    b"KHTML, like Gecko) Version/",
    b"KHTML, like Gecko) ",
    b"Gecko/20100101 Firefox/",
    b"Mobile Safari/",
];

/// Returns the phrases of browsers in which no literal of `groups` may stand.
pub(super) fn phrases(groups: &Groups) -> Vec<&'static [u8]> {
    let is_free = |phrase: &&[u8]| !may_hold_any(groups, phrase);
    PHRASES.iter().copied().filter(is_free).collect()
}

/// Returns which phrases begin with a word.
pub(super) fn with_first(phrases: &[&[u8]], word: Key) -> Range<usize> {
    let is_first = |phrase: &&[u8]| first_word(phrase) == Some(word);
    let start = phrases.iter().position(is_first).unwrap_or_default();
    let rest = phrases.get(start..).unwrap_or_default();
    start..start + rest.iter().take_while(|phrase| is_first(phrase)).count()
}

/// Returns the key of a phrase's first word.
pub(super) fn first_word(phrase: &[u8]) -> Option<Key> {
    Words::new(phrase, 0).next().map(|word| word.key)
}

fn may_hold_any(groups: &Groups, phrase: &[u8]) -> bool {
    Words::new(phrase, 0).any(|Word { run, key }| {
        let word = groups.with_word(key);
        let inner = grams(&run).flat_map(|start| {
            let forms = groups.with_gram(gram(phrase, start));
            forms.map(move |form| (start, form))
        });
        let mut forms = word.map(|form| (run.start, form)).chain(inner);
        forms.any(|(at, form)| may_stand(groups.literal(form), form, phrase, at))
    })
}

/// Tells whether a literal may stand where its anchor does, whatever is around the phrase.
fn may_stand(literal: &[u8], form: &Form, phrase: &[u8], at: usize) -> bool {
    let (at, offset) = (at, usize::from(form.offset));
    let before = at.checked_sub(offset);
    let start = before.unwrap_or_default();
    let hidden = if before.is_none() { offset - at } else { 0 };
    let seen = phrase.get(start..).unwrap_or_default();
    let own = literal.get(hidden..).unwrap_or_default();
    let mut pairs = seen.iter().zip(own);
    pairs.all(|(seen, own)| seen.eq_ignore_ascii_case(own))
}

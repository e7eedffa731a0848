//! By which of its parts a literal is looked for.

use std::{cmp::Reverse, collections::HashMap, ops::Range, sync::LazyLock};

use super::{
    self_test::browsers,
    skipped,
    words::{Key, Word, Words},
};

/// Letters in a row by which a literal is looked for that no whole word tells.
pub(super) const GRAM_BYTES: usize = 3;

/// Longest word that its key tells from all others.
pub(super) const MAX_KNOWN_BYTES: usize = 15;

/// At which ends of a literal no letter stands beside it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Bounds {
    /// Nothing at all stands before it.
    pub(super) starts_text: bool,
    pub(super) before: bool,
    pub(super) after: bool,
}

/// Part of a literal by which it is looked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Anchor {
    /// A whole word of every text that the literal occurs in.
    Word(Range<usize>),
    /// The first letters of the text.
    Start,
    /// Letters in a row, inside of a word.
    Gram(usize),
    /// None: it has to be looked for at every place.
    Nowhere,
}

/// How often words and letters in a row are said: by browsers, and in literals.
#[derive(Debug, Default)]
pub(super) struct Commonness {
    words: HashMap<Key, usize>,
    grams: HashMap<Key, usize>,
}

/// What any robot says beside its name.
const ROBOTS: &str = "Mozilla/5.0 (compatible; robot/1.0; +https://www.example.com/about.html) \
    http bot crawler spider web search net org contact info page site index php";

/// That of browsers and any robot, whose words should wake no literal.
static EVERYBODY: LazyLock<Commonness> = LazyLock::new(|| {
    let mut said = Commonness::default();
    for text in browsers().chain([ROBOTS]) {
        said.add(text.as_bytes());
    }
    said
});

impl Commonness {
    /// Adds the words of a literal or a text.
    pub(super) fn add(&mut self, text: &[u8]) {
        for Word { run, key } in Words::new(text) {
            *self.words.entry(key).or_default() += 1;
            for start in grams(&run) {
                *self.grams.entry(gram(text, start)).or_default() += 1;
            }
        }
    }

    fn of_word(&self, word: Key) -> (usize, usize) {
        let times = |said: &Self| said.words.get(&word).copied().unwrap_or_default();
        (times(&EVERYBODY), times(self))
    }

    fn of_gram(&self, gram: Key) -> (usize, usize) {
        let times = |said: &Self| said.grams.get(&gram).copied().unwrap_or_default();
        (times(&EVERYBODY), times(self))
    }
}

/// Returns the words of everybody that a key tells from all others.
pub(super) fn common_words() -> impl Iterator<Item = Key> {
    let words = EVERYBODY.words.keys().copied();
    words.filter(|word| (GRAM_BYTES..=MAX_KNOWN_BYTES).contains(&word_length(*word)))
}

/// Returns the words of everybody, the most common first.
pub(super) fn words_of_everybody() -> impl Iterator<Item = Key> {
    let mut words: Vec<(Key, usize)> = EVERYBODY.words.clone().into_iter().collect();
    words.sort_unstable_by_key(|&(word, times)| (Reverse(times), word));
    words.into_iter().map(|(word, _)| word)
}

/// Returns how many letters of a word its key holds.
pub(super) fn word_length(word: Key) -> usize {
    size_of::<Key>() - word.leading_zeros() as usize / 8
}

/// Returns where the letters in a row of a word start.
pub(super) fn grams(run: &Range<usize>) -> Range<usize> {
    run.start..(run.end + 1).saturating_sub(GRAM_BYTES).max(run.start)
}

/// Returns the key of the letters in a row at `start`.
#[inline]
pub(super) fn gram(text: &[u8], start: usize) -> Key {
    let bytes = text.get(start..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |&[a, b, c]| {
        Key::from(u32::from_le_bytes([a, b, c, 0]) | 0x20_2020)
    })
}

impl Anchor {
    /// Chooses the rarest part of a lower-case literal.
    pub(super) fn of(literal: &[u8], bounds: Bounds, said: &Commonness) -> Self {
        let is_whole = |run: &Range<usize>| {
            (run.start > 0 || bounds.before) && (run.end < literal.len() || bounds.after)
        };
        let words = || Words::new(literal);
        // There nothing is looked for.
        let beginning = skipped::beginning(literal);
        let rarest = words()
            .filter(|word| is_whole(&word.run))
            .min_by_key(|word| {
                let (everybody, literals) = said.of_word(word.key);
                let is_skipped = word.run.start < beginning;
                (is_skipped, everybody, literals, Reverse(word.run.len()))
            });
        if let Some(word) = rarest {
            return Self::Word(word.run);
        }
        if bounds.starts_text && literal.len() >= GRAM_BYTES {
            return Self::Start;
        }
        let starts = words().flat_map(|word| grams(&word.run));
        starts
            .min_by_key(|&start| said.of_gram(gram(literal, start)))
            .map_or(Self::Nowhere, Self::Gram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::words::key;

    fn anchor(literal: &str, before: bool, after: bool) -> String {
        let bounds = Bounds {
            before,
            after,
            starts_text: false,
        };
        match Anchor::of(literal.as_bytes(), bounds, &Commonness::default()) {
            Anchor::Word(run) => format!("word {}", literal.get(run).unwrap()),
            Anchor::Gram(start) => format!("gram {}", literal.get(start..start + 3).unwrap()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_word_that_stands_alone_goes_before_letters_in_a_row() {
        assert_eq!(anchor("examplebot", true, true), "word examplebot");
        assert_eq!(anchor("examplebot", true, false), "gram xam");
        assert_eq!(anchor("examplebot/", true, false), "word examplebot");
        assert_eq!(anchor("examplebot/", false, false), "gram xam");
        assert_eq!(anchor("/ab", false, true), "word ab");
        assert_eq!(anchor("ab", false, true), "Nowhere");
        assert_eq!(anchor("360", true, true), "Nowhere");
    }

    #[test]
    fn what_browsers_do_not_say_goes_before_what_they_say() {
        assert_eq!(anchor("chrome-lamp", true, true), "word lamp");
        assert_eq!(anchor("mozilla/5.0 (zz)", true, true), "word zz");
        assert_eq!(anchor("safariqqq", false, true), "gram riq");
        let explorer = "mozilla/4.0 (compatible; msie 6.0; windows nt 5.1; zz)";
        assert_eq!(anchor(explorer, true, true), "word zz");
        let explorer = explorer.replace("; zz", "");
        assert_eq!(anchor(&explorer, true, true), "word nt");
    }

    #[test]
    fn what_other_literals_do_not_say_goes_before_what_they_say() {
        let mut said = Commonness::default();
        for literal in ["foobar image", "image", "images", "zoobar"] {
            said.add(literal.as_bytes());
        }
        let whole = Bounds {
            before: true,
            after: true,
            starts_text: false,
        };
        let literal = b"zz-image-zzzz";
        assert_eq!(Anchor::of(literal, whole, &said), Anchor::Word(9..13));
    }

    #[test]
    fn common_words_are_known_by_their_keys() {
        let words: Vec<Key> = common_words().collect();
        assert!(words.contains(&key(b"AppleWebKit", &(0..11))));
        assert!(words.iter().all(|&word| word_length(word) <= 15));
    }
}

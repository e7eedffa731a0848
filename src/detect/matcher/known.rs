//! Words that many User-Agents have, and in which nothing is looked for.

use crate::detect::{index::hash, words::Key};

/// Places for words: few enough for the processor's nearest cache.
const PLACES: usize = 1 << 9;

/// Words that are passed over without another look.
///
/// Of those that would have the same place the first is kept; the others are
/// found among all words.
#[derive(Debug)]
pub(super) struct Known(Box<[Key; PLACES]>);

impl Known {
    /// Creates those of words, the most common first.
    pub(super) fn new(words: impl IntoIterator<Item = Key>) -> Self {
        let mut places = Box::new([0; PLACES]);
        for word in words {
            if let Some(place @ 0) = places.get_mut(place(word)) {
                *place = word;
            }
        }
        Self(places)
    }

    /// Tells whether a word is known. Some known words are not told.
    #[inline]
    pub(super) fn has(&self, word: Key) -> bool {
        self.0.get(place(word)) == Some(&word)
    }

    /// Returns the memory that they take.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[inline]
fn place(word: Key) -> usize {
    let bits = PLACES.trailing_zeros();
    usize::try_from(hash(word) >> (u64::BITS - bits)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::words::key;

    fn word(text: &str) -> Key {
        key(text.as_bytes(), &(0..text.len()))
    }

    #[test]
    fn only_what_was_put_in_is_known_and_the_first_words_surely() {
        let texts = ["Linux", "x", "Android", "AppleWebKit"];
        let known = Known::new(texts.map(word));
        assert!(
            ["linux", "X", "applewebkit"]
                .iter()
                .all(|text| known.has(word(text)))
        );
        assert!(
            ["linu", "linuxx", "y", "AppleWeb", "AndroidLinux"]
                .iter()
                .all(|text| !known.has(word(text)))
        );
    }
}

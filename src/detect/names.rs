//! The first words of a User-Agent, where most robots say their names: they are asked before
//! all else.

use super::{
    skipped,
    words::{Word, word_at},
};

/// Words that are asked behind the first one.
const MAX_MORE: usize = 2;

/// Returns the word that a name begins with where most robots say theirs.
///
/// No digit stands before it, and nothing of a browser or a device.
#[inline]
pub(super) fn first_word(text: &[u8]) -> Option<Word> {
    word_at(text, skipped::name_start(text)?)
}

/// Returns the next words of a name, at most one blank between them.
pub(super) fn more_words(text: &[u8], first: &Word) -> impl Iterator<Item = Word> {
    let mut end = first.run.end;
    let words = std::iter::from_fn(move || {
        let start = end + usize::from(*text.get(end)? == b' ');
        let word = word_at(text, start)?;
        end = word.run.end;
        Some(word)
    });
    words.take(MAX_MORE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_name_end_where_it_does() {
        for (text, expected) in [
            (
                "Mozilla/5.0 (compatible; Foo Bar baz qux; a)",
                "Foo Bar baz",
            ),
            ("Foo Bar/1.0", "Foo Bar"),
            ("Foo-Bar", "Foo"),
            ("Foo 2 Bar", "Foo"),
            ("Foo", "Foo"),
            ("Mozilla/5.0 (X11; Foo)", ""),
            ("1 Foo", ""),
            ("", ""),
        ] {
            let bytes = text.as_bytes();
            let words: Vec<_> = first_word(bytes)
                .into_iter()
                .flat_map(|first| {
                    let more: Vec<_> = more_words(bytes, &first).collect();
                    [vec![first], more].concat()
                })
                .map(|word| text.get(word.run).unwrap())
                .collect();
            assert_eq!(words.join(" "), expected, "{text}");
        }
    }
}

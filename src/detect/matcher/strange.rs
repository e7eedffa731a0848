//! Words of one User-Agent that are not known as a whole.

use std::ops::Range;

use crate::detect::words::Words;

/// Words that are kept; of those behind them it is only known where they begin.
const MAX_WORDS: usize = 32;

/// Words in which anything may stand, without memory of their own.
pub(super) struct Strange {
    words: [(u16, u16); MAX_WORDS],
    count: usize,
    /// Where the words start that found no place.
    more_from: Option<usize>,
}

impl Default for Strange {
    fn default() -> Self {
        Self {
            words: [(0, 0); MAX_WORDS],
            count: 0,
            more_from: None,
        }
    }
}

impl Strange {
    /// Adds a word; words ascending.
    #[inline]
    pub(super) fn push(&mut self, run: Range<usize>) {
        if let (Some(free), Ok(start), Ok(end)) = (
            self.words.get_mut(self.count),
            u16::try_from(run.start),
            u16::try_from(run.end),
        ) {
            *free = (start, end);
            self.count += 1;
        } else {
            self.more_from.get_or_insert(run.start);
        }
    }

    /// Returns the words that were kept.
    #[inline]
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let words = self.words.get(..self.count).unwrap_or_default();
        let words = words.iter();
        words.map(|&(start, end)| usize::from(start)..usize::from(end))
    }

    /// Returns all words behind those that were kept, if there were too many.
    pub(super) fn more<'t>(&self, text: &'t [u8]) -> Option<Words<'t>> {
        let start = self.more_from?;
        Some(Words::within(text, start..text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_lost_where_there_are_too_many() {
        let text = b"abc 12 defgh-".repeat(200);
        let all: Vec<_> = Words::new(&text).map(|word| word.run).collect();
        for count in [0, 1, MAX_WORDS - 1, MAX_WORDS, MAX_WORDS + 1, all.len()] {
            let mut strange = Strange::default();
            for run in &all[..count] {
                strange.push(run.clone());
            }
            let runs: Vec<_> = strange
                .runs()
                .chain(
                    strange
                        .more(&text)
                        .into_iter()
                        .flatten()
                        .map(|word| word.run),
                )
                .collect();
            if count > MAX_WORDS {
                assert_eq!(runs, all);
            } else {
                assert_eq!(runs, all[..count]);
            }
        }
    }
}

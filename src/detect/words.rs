//! The words of a text: its runs of letters.
//!
//! Nearly every name is found by a word of it that stands alone in the text, as
//! no letter stands beside it. So only words are looked up, not every place.

use std::ops::Range;

use super::blocks::{self, BLOCK, letters};

/// Letters of a word that its [`Key`] holds.
pub(super) const KEY_BYTES: usize = 16;

/// First letters of a word without regard to case, behind them zeros.
///
/// That of a word of fewer than [`KEY_BYTES`] letters is of no other word.
pub(super) type Key = u128;

/// Bit that tells small letters from capital ones, in each byte.
const CASE: Key = Key::from_le_bytes([0x20; KEY_BYTES]);

/// Masks of the first so many bytes, for each length of a word in a block.
static FIRST: [Key; BLOCK + 1] = first_bytes();

#[expect(clippy::indexing_slicing, reason = "checked when the program is built")]
const fn first_bytes() -> [Key; BLOCK + 1] {
    let mut masks = [Key::MAX; BLOCK + 1];
    let mut count = 0;
    while count < KEY_BYTES {
        masks[count] = (1 << (8 * count)) - 1;
        count += 1;
    }
    masks
}

/// Longest run of letters, and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Word {
    pub(super) run: Range<usize>,
    pub(super) key: Key,
}

impl Word {
    /// Tells whether a word of fewer than [`KEY_BYTES`] letters has some in small at its end.
    #[inline]
    pub(super) fn ends_with(&self, end: &[u8]) -> bool {
        let letters = end.iter().rev();
        let last = letters.fold(0, |key, &letter| key << 8 | Key::from(letter));
        let before = self.run.len().checked_sub(end.len());
        before.is_some_and(|before| self.key >> (8 * before) == last)
    }
}

/// Iterator over the words of a text.
#[derive(Clone, Debug)]
pub(super) struct Words<'t> {
    text: &'t [u8],
    /// Where words are no longer looked for; none goes on there.
    limit: usize,
    /// Where the block under way starts.
    base: usize,
    /// Letters of the block that belong to words still to come.
    letters: u64,
    /// Where the last word ended.
    end: usize,
}

impl<'t> Words<'t> {
    /// Creates the iterator over the words of `text`.
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self::within(text, 0..text.len())
    }

    /// Creates the iterator over the words in a range of `text`, at the end of which no word goes on.
    #[inline]
    pub(super) fn within(text: &'t [u8], range: Range<usize>) -> Self {
        let start = range.start;
        let limit = range.end.min(text.len());
        Self {
            text,
            limit,
            base: start,
            letters: letters_at(text, start, limit),
            end: start,
        }
    }

    /// Passes over what stands before `end`, where no word goes on.
    #[inline]
    pub(super) fn skip_to(&mut self, end: usize) {
        self.end = end;
        self.letters &= u64::MAX.unbounded_shl(bits(end.saturating_sub(self.base)));
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    #[expect(clippy::inline_always, reason = "it is most of what a scan does")]
    #[inline(always)]
    fn next(&mut self) -> Option<Word> {
        if self.letters == 0 {
            (self.base, self.letters) = next_letters(self.text, self.limit, self.base, self.end)?;
        }
        let first = self.letters.trailing_zeros() % u64::BITS;
        let count = (self.letters >> first).trailing_ones();
        // The addition carries through the first run and out of it.
        self.letters &= self.letters.wrapping_add(1 << first);
        let start = self.base + first as usize;
        self.end = start + count as usize;
        if first + count == u64::BITS {
            self.end += rest_of_word(self.text, self.end);
            let run = start..self.end;
            let key = key(self.text, &run);
            return Some(Word { run, key });
        }
        Some(Word {
            run: start..self.end,
            key: key_of(self.text, start, count as usize),
        })
    }
}

/// Returns the key of the word that begins at `start`, if its key tells it from all others.
#[inline]
pub(super) fn word_at(text: &[u8], start: usize) -> Option<Word> {
    let bytes = bytes_at(text, start);
    let length = blocks::leading_letters(&bytes.to_le_bytes());
    let is_told = (1..KEY_BYTES).contains(&length);
    is_told.then(|| Word {
        run: start..start + length,
        key: first_letters(bytes, length),
    })
}

/// Returns the next block that has letters of other words than the last one,
/// which ends at `end`, and these letters.
#[inline(never)]
fn next_letters(text: &[u8], limit: usize, mut base: usize, end: usize) -> Option<(usize, u64)> {
    loop {
        base += BLOCK;
        if base >= limit {
            return None;
        }
        let known = bits(end.saturating_sub(base));
        let letters = letters_at(text, base, limit) & u64::MAX.unbounded_shl(known);
        if letters != 0 {
            return Some((base, letters));
        }
    }
}

#[cold]
fn rest_of_word(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    rest.iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count()
}

/// Returns which bytes of the block at `base` are letters, the first in the
/// lowest bit; none from `limit` on.
#[inline]
fn letters_at(text: &[u8], base: usize, limit: usize) -> u64 {
    let rest = text.get(base..).unwrap_or_default();
    let letters = match (rest.first_chunk(), text.last_chunk()) {
        (Some(block), _) => letters(block),
        (None, Some(last)) => letters(last).unbounded_shr(bits(BLOCK - rest.len())),
        (None, None) => letters_of_few(rest),
    };
    letters & !u64::MAX.unbounded_shl(bits(limit.saturating_sub(base)))
}

fn bits(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn letters_of_few(text: &[u8]) -> u64 {
    let mut block = [0; BLOCK];
    if let Some(own) = block.get_mut(..text.len()) {
        own.copy_from_slice(text);
    }
    letters(&block)
}

/// Returns the key of the bytes at `run` of a text.
pub(super) fn key(text: &[u8], run: &Range<usize>) -> Key {
    key_of(text, run.start, run.len().min(BLOCK))
}

#[expect(clippy::inline_always, reason = "it is much of what a scan does")]
#[inline(always)]
fn key_of(text: &[u8], start: usize, length: usize) -> Key {
    first_letters(bytes_at(text, start), length)
}

#[expect(clippy::inline_always, reason = "it is much of what a scan does")]
#[inline(always)]
fn first_letters(bytes: Key, length: usize) -> Key {
    let mask = FIRST.get(length).copied().unwrap_or_default();
    (bytes | CASE) & mask
}

/// Returns the bytes from `start` on that a key holds, zeros behind the text.
#[expect(clippy::inline_always, reason = "it is much of what a scan does")]
#[inline(always)]
fn bytes_at(text: &[u8], start: usize) -> Key {
    match text.get(start..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => Key::from_le_bytes(*bytes),
        None => last_bytes(text, start),
    }
}

/// Returns the end of a text from `start` on, which is shorter than a key.
#[inline(never)]
fn last_bytes(text: &[u8], start: usize) -> Key {
    let rest = text.get(start..).unwrap_or_default();
    if let Some(last) = text.last_chunk::<KEY_BYTES>() {
        let before = 8 * (KEY_BYTES - rest.len());
        let before = u32::try_from(before).unwrap_or_default();
        return Key::from_le_bytes(*last).unbounded_shr(before);
    }
    let bytes = rest.iter().rev();
    bytes.fold(0, |key, &byte| key << 8 | Key::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &[u8]) -> Vec<Range<usize>> {
        let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
        let starts = (0..text.len()).filter(|&at| is_letter(at) && (at == 0 || !is_letter(at - 1)));
        starts
            .map(|start| start..start + rest_of_word(text, start))
            .collect()
    }

    #[test]
    fn words_are_found_wherever_they_stand_and_however_long_they_are() {
        for length in 0..300_usize {
            for seed in 1..9_usize {
                let byte = |at: usize| b"aZ@[`{z\xc1"[(at * at / 7 + at / seed) % (seed * 2) % 8];
                let text: Vec<u8> = (0..length).map(byte).collect();
                for word in Words::new(&text) {
                    assert_eq!(word.key, key(&text, &word.run));
                }
                let runs: Vec<_> = Words::new(&text).map(|word| word.run).collect();
                assert_eq!(runs, reference(&text), "{text:?}");
            }
        }
        let mut long = Words::new(&[b'x'; 300]).map(|word| word.run);
        assert_eq!((long.next(), long.next()), (Some(0..300), None));
    }

    #[test]
    fn words_may_be_asked_for_within_a_range() {
        let text = b"one-two three ".repeat(19);
        let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
        for start in 0..=text.len() {
            let ends = (start..=text.len()).filter(|&end| !is_letter(end));
            for end in ends {
                let runs = Words::within(&text, start..end).map(|word| word.run);
                let runs: Vec<_> = runs.map(|run| run.start - start..run.end - start).collect();
                assert_eq!(runs, reference(&text[start..end]), "{start}..{end}");
            }
        }
    }

    #[test]
    fn words_may_be_passed_over() {
        let text = b"one-two three ".repeat(19);
        let all = reference(&text);
        for place in 0..all.len() {
            for target in place + 1..all.len() {
                let mut words = Words::new(&text);
                words.nth(place);
                words.skip_to(all[target].start);
                let left: Vec<_> = words.map(|word| word.run).collect();
                assert_eq!(left, all[target..], "{place} {target}");
            }
        }
        let mut words = Words::new(&text);
        words.skip_to(text.len());
        assert_eq!(words.next(), None);
    }

    #[test]
    fn key_holds_sixteen_letters_in_small() {
        let text = b"Ab/abcdefghijklmnopqrst-AB";
        let spelled = |run: Range<usize>| {
            let bytes = key(text, &run).to_le_bytes();
            String::from_utf8_lossy(&bytes).replace('\0', "")
        };
        assert_eq!(spelled(0..2), "ab");
        assert_eq!(spelled(3..23), "abcdefghijklmnop");
        assert_eq!(spelled(24..26), "ab");
        assert_eq!(key(b"AB", &(0..2)), key(text, &(24..26)));
        assert_eq!(key(b"", &(0..0)), 0);
    }
}

//! The words of a text: its runs of letters.
//!
//! Nearly every name is found by a word of it that stands alone in the text, as
//! no letter stands beside it. So only words are looked up, not every place.

use std::ops::Range;

/// Letters of a word that its [`Key`] holds.
pub(super) const KEY_BYTES: usize = 16;

/// First letters of a word without regard to case, behind them zeros.
///
/// That of a word of fewer than [`KEY_BYTES`] letters is of no other word.
pub(super) type Key = u128;

/// Letters that are read at a time.
const BLOCK: usize = 64;

/// Bit that tells small letters from capital ones, in each byte.
const CASE: Key = Key::from_le_bytes([0x20; KEY_BYTES]);

/// Masks of the first so many bytes.
static FIRST: [Key; KEY_BYTES + 1] = first_bytes();

#[expect(clippy::indexing_slicing, reason = "checked when the program is built")]
const fn first_bytes() -> [Key; KEY_BYTES + 1] {
    let mut masks = [Key::MAX; KEY_BYTES + 1];
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

/// Iterator over the words of a text.
#[derive(Clone, Debug)]
pub(super) struct Words<'t> {
    text: &'t [u8],
    /// Where the block under way starts.
    base: usize,
    /// The block and as many bytes behind it as a key holds; zeros behind the text.
    block: [u8; BLOCK + KEY_BYTES],
    /// Letters of the block that belong to words still to come.
    letters: u64,
    /// Where the last word ended.
    end: usize,
}

impl<'t> Words<'t> {
    /// Creates the iterator over the words of `text` from `start` on.
    #[inline]
    pub(super) fn new(text: &'t [u8], start: usize) -> Self {
        let mut words = Self {
            text,
            base: start,
            block: [0; BLOCK + KEY_BYTES],
            letters: 0,
            end: start,
        };
        words.load(start);
        words
    }

    /// Skips the words before `start`, at which no word goes on.
    #[inline]
    pub(super) fn skip_to(&mut self, start: usize) {
        match (self.base + BLOCK).checked_sub(start) {
            Some(left @ 1..=BLOCK) => self.letters &= u64::MAX << (BLOCK - left),
            _ => self.load(start),
        }
    }

    /// Goes to the next block that has letters of other words than the last one.
    fn advance(&mut self) -> Option<()> {
        while self.letters == 0 {
            let base = self.base + BLOCK;
            if base >= self.text.len() {
                return None;
            }
            self.load(base);
            let known = self.end.saturating_sub(base);
            self.letters &= u32::try_from(known).map_or(0, |known| u64::MAX.unbounded_shl(known));
        }
        Some(())
    }

    #[inline]
    fn load(&mut self, base: usize) {
        self.base = base;
        let rest = self.text.get(base..).unwrap_or_default();
        match rest.first_chunk() {
            Some(block) => self.block = *block,
            None => self.load_last(rest),
        }
        self.letters = letters(&self.block);
    }

    fn load_last(&mut self, rest: &[u8]) {
        self.block = [0; BLOCK + KEY_BYTES];
        if let Some(block) = self.block.get_mut(..rest.len()) {
            block.copy_from_slice(rest);
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    #[inline]
    fn next(&mut self) -> Option<Word> {
        if self.letters == 0 {
            self.advance()?;
        }
        let first = self.letters.trailing_zeros() % u64::BITS;
        let count = (self.letters >> first).trailing_ones();
        // The addition carries through the first run and out of it.
        self.letters &= self.letters.wrapping_add(1 << first);
        let place = first as usize;
        let bytes = self.block.get(place..place + KEY_BYTES)?;
        let key = key_of(*bytes.first_chunk()?, count as usize);
        let start = self.base + place;
        self.end = start + count as usize;
        if first + count == u64::BITS {
            return Some(self.long_word(start));
        }
        Some(Word {
            run: start..self.end,
            key,
        })
    }
}

impl Words<'_> {
    /// Returns the word from `start` on, which may not end with the block.
    #[cold]
    fn long_word(&mut self, start: usize) -> Word {
        self.end += rest_of_word(self.text, self.end);
        let run = start..self.end;
        Word {
            key: key(self.text, &run),
            run,
        }
    }
}

fn rest_of_word(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    rest.iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count()
}

/// Returns which bytes of a block are letters, the first in the lowest bit.
#[inline]
fn letters(block: &[u8; BLOCK + KEY_BYTES]) -> u64 {
    // Two loops, as the first is done to many bytes at once.
    let is_letter = block.map(|byte| u8::from(byte.is_ascii_alphabetic()));
    let (eights, _) = is_letter.as_chunks::<8>();
    let eights = eights.iter().take(BLOCK / 8);
    eights.rev().fold(0, |mask, eight| {
        // Gathers the lowest bits of eight bytes in the highest byte.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask << 8 | bits
    })
}

/// Returns the key of the bytes at `run` of a text.
pub(super) fn key(text: &[u8], run: &Range<usize>) -> Key {
    let mut bytes = [0; KEY_BYTES];
    let own = text.get(run.clone()).unwrap_or_default();
    for (byte, &own) in bytes.iter_mut().zip(own) {
        *byte = own;
    }
    key_of(bytes, own.len())
}

#[inline]
fn key_of(bytes: [u8; KEY_BYTES], length: usize) -> Key {
    let mask = FIRST.get(length.min(KEY_BYTES)).copied();
    (Key::from_le_bytes(bytes) | CASE) & mask.unwrap_or_default()
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
                for word in Words::new(&text, 0) {
                    assert_eq!(word.key, key(&text, &word.run));
                }
                let runs: Vec<_> = Words::new(&text, 0).map(|word| word.run).collect();
                assert_eq!(runs, reference(&text), "{text:?}");
            }
        }
        let mut long = Words::new(&[b'x'; 300], 0).map(|word| word.run);
        assert_eq!((long.next(), long.next()), (Some(0..300), None));
    }

    #[test]
    fn words_may_be_asked_for_from_any_start_on() {
        let text = b"one-two three ".repeat(9);
        for start in 0..=text.len() {
            let runs =
                Words::new(&text, start).map(|word| word.run.start - start..word.run.end - start);
            assert_eq!(runs.collect::<Vec<_>>(), reference(&text[start..]));
        }
    }

    #[test]
    fn words_may_be_skipped() {
        let text = b"one-two three ".repeat(30);
        let all: Vec<_> = Words::new(&text, 0).collect();
        for skipped in 1..all.len() {
            for taken in 0..skipped {
                let mut words = Words::new(&text, 0);
                let first: Vec<_> = words.by_ref().take(taken).collect();
                assert_eq!(first, all[..taken]);
                words.skip_to(all[skipped].run.start);
                assert_eq!(words.collect::<Vec<_>>(), all[skipped..]);
            }
        }
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

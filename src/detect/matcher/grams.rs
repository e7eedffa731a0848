//! Forms that are looked for by letters in a row.

use super::{Bucket, Form, Test};
use crate::detect::{
    anchor::{GRAM_BYTES, gram},
    index::Index,
    words::Key,
};

/// Bits that tell letters from each other, whatever their case.
const LETTER_BITS: usize = 5;

/// Letters in a row, as one number.
const CODES: usize = 1 << (GRAM_BYTES * LETTER_BITS);

/// Forms by letters in a row.
#[derive(Debug)]
pub(super) struct Grams {
    forms: Index<Bucket>,
    any: Option<Filter>,
    listed: Option<Filter>,
}

/// Which letters in a row are looked for, in the processor's nearest cache.
#[derive(Debug)]
pub(super) struct Filter(Box<[u64; CODES / 64]>);

impl Grams {
    /// Creates those of an index, of which `forms` holds the forms without a place of their own.
    pub(super) fn new(index: Index<Bucket>, forms: &[Form]) -> Self {
        let is_listed = |bucket: &Bucket| {
            let mut all = bucket.forms(forms);
            all.any(|form| !matches!(form.test, Test::Mark(_)))
        };
        let listed = index.iter().filter(|(_, bucket)| is_listed(bucket));
        Self {
            any: Filter::of(index.iter().map(|(key, _)| key)),
            listed: Filter::of(listed.map(|(key, _)| key)),
            forms: index,
        }
    }

    /// Returns which letters are looked for, if any: with `marks`, also those of marks alone.
    #[inline]
    pub(super) fn filter(&self, marks: bool) -> Option<&Filter> {
        let filter = if marks { &self.any } else { &self.listed };
        filter.as_ref()
    }

    /// Calls `found` with the forms in a word, and where in it their letters start.
    #[inline]
    pub(super) fn within(
        &self,
        word: &[u8],
        filter: &Filter,
        mut found: impl FnMut(usize, &Bucket),
    ) {
        let (first, rest) = word.split_at_checked(GRAM_BYTES - 1).unwrap_or_default();
        let mut code = first.iter().copied().fold(0, then);
        for (start, letter) in rest.iter().enumerate() {
            code = then(code, *letter);
            if filter.has(code)
                && let Some(bucket) = self.forms.get(gram(word, start))
            {
                found(start, bucket);
            }
        }
    }

    /// Returns the memory that they take.
    pub(super) fn memory_bytes(&self) -> usize {
        let filters = [&self.any, &self.listed].into_iter().flatten();
        let filters = filters.map(|filter| size_of_val(&*filter.0));
        self.forms.memory_bytes() + filters.sum::<usize>()
    }
}

impl Filter {
    /// Creates that of keys, if there are any.
    fn of(keys: impl Iterator<Item = Key>) -> Option<Self> {
        let mut filter = None;
        for key in keys {
            let letters = key.to_le_bytes();
            let code = letters.into_iter().take(GRAM_BYTES).fold(0, then);
            let bits = filter.get_or_insert_with(|| Box::new([0; CODES / 64]));
            if let Some(bits) = bits.get_mut(code / 64) {
                *bits |= 1 << (code % 64);
            }
        }
        filter.map(Self)
    }

    #[inline]
    fn has(&self, code: usize) -> bool {
        let bits = self.0.get(code / 64);
        bits.is_some_and(|bits| bits >> (code % 64) & 1 != 0)
    }
}

/// Returns the number of letters in a row, by that of those one place before.
#[inline]
fn then(code: usize, letter: u8) -> usize {
    let letter = usize::from(letter) % (1 << LETTER_BITS);
    (code << LETTER_BITS | letter) % CODES
}

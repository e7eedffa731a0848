//! Forms that are looked for by letters in a row.

use super::{Bucket, Form, Test};
use crate::detect::{
    anchor::{GRAM_BYTES, gram},
    index::Index,
    triples::{Filter, code, then},
    words::Key,
};

/// Forms by letters in a row.
#[derive(Debug)]
pub(super) struct Grams {
    forms: Index<Bucket>,
    any: Option<Filter>,
    listed: Option<Filter>,
}

impl Grams {
    /// Creates those of an index, of which `forms` holds the forms without a place of their own.
    pub(super) fn new(index: Index<Bucket>, forms: &[Form]) -> Self {
        let is_listed = |bucket: &Bucket| {
            let mut all = bucket.forms(forms);
            all.any(|form| !matches!(form.test, Test::Mark(_)))
        };
        let listed = index.iter().filter(|(_, bucket)| is_listed(bucket));
        Self {
            any: filter(index.iter().map(|(key, _)| key)),
            listed: filter(listed.map(|(key, _)| key)),
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
        let filters = filters.map(Filter::memory_bytes);
        self.forms.memory_bytes() + filters.sum::<usize>()
    }
}

/// Returns the filter of keys, if there are any.
fn filter(keys: impl Iterator<Item = Key>) -> Option<Filter> {
    let mut codes = keys.map(|key| code(&key.to_le_bytes())).peekable();
    codes.peek().is_some().then(|| Filter::new(codes))
}

//! Lays the literals of a matcher out by what they are looked for by.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use super::{
    Bucket, Form, Matcher, Owner, Rest, Test,
    builder::Draft,
    phrases::{first_word, phrases, with_first},
};
use crate::detect::{
    anchor::{
        Anchor, Commonness, GRAM_BYTES, MAX_KNOWN_BYTES, common_words, gram, grams, word_length,
    },
    detector::BuildError,
    index::Index,
    rules::Plain,
    words::{Key, key},
};

/// Most forms that share an anchor; each may be compared wherever it stands.
const MAX_SHARED: usize = 32;

/// Forms by their anchors.
type Anchored = BTreeMap<Key, Vec<Form>>;

/// Forms in the order in which they come, grouped by their anchors.
#[derive(Debug, Default)]
pub(super) struct Groups {
    said: Commonness,
    count: usize,
    literals: Vec<u8>,
    words: Anchored,
    starts: Anchored,
    grams: Anchored,
    mark_grams: Anchored,
    rest: Vec<(Vec<u8>, Form)>,
    always: Vec<Form>,
}

impl Groups {
    /// Creates them without forms, for literals of which all are known.
    pub(super) fn new(drafts: &[Draft]) -> Self {
        let mut groups = Self::default();
        for literal in drafts.iter().filter_map(|draft| draft.literal.as_ref()) {
            groups.said.add(literal);
        }
        groups
    }

    /// Adds the next form, less specific than those before.
    pub(super) fn add(&mut self, draft: Draft) -> Result<(), BuildError> {
        let literal = draft.literal.as_deref().unwrap_or_default();
        let anchor = Anchor::of(literal, draft.bounds, &self.said);
        let (offset, end) = match &anchor {
            Anchor::Word(run) => (run.start, run.end),
            Anchor::Gram(start) => (*start, start + GRAM_BYTES),
            Anchor::Start => (0, GRAM_BYTES),
            Anchor::Nowhere => (0, 0),
        };
        let beside = if end < literal.len() {
            end
        } else {
            offset.saturating_sub(1)
        };
        let form = Form {
            owner: Owner {
                rank: narrow(self.count)?,
                robot: u32::try_from(draft.specificity.robot).unwrap_or(u32::MAX),
                pattern: narrow(draft.specificity.pattern)?,
            },
            literal: narrow(self.literals.len())?,
            length: narrow(literal.len())?,
            offset: narrow(offset)?,
            beside: narrow(beside)?,
            beside_byte: literal.get(beside).copied().unwrap_or_default(),
            is_anchor: anchor == Anchor::Word(0..literal.len()) && literal.len() <= MAX_KNOWN_BYTES,
            test: draft.test,
        };
        self.count += 1;
        self.literals.extend(literal);
        match draft.literal {
            Some(literal) => self.place(literal, &anchor, form),
            None => self.always.push(form),
        }
        Ok(())
    }

    fn place(&mut self, literal: Vec<u8>, anchor: &Anchor, form: Form) {
        let is_mark = matches!(form.test, Test::Mark(_));
        let (forms, key) = match anchor {
            Anchor::Word(run) => (&mut self.words, key(&literal, run)),
            Anchor::Start => (&mut self.starts, gram(&literal, 0)),
            Anchor::Gram(start) if is_mark => (&mut self.mark_grams, gram(&literal, *start)),
            Anchor::Gram(start) => (&mut self.grams, gram(&literal, *start)),
            // Marks without letters are looked for by their own rule.
            Anchor::Nowhere if is_mark => return,
            Anchor::Nowhere => {
                self.rest.push((literal, form));
                return;
            }
        };
        let shared = forms.entry(key).or_default();
        if shared.len() < MAX_SHARED || is_mark {
            shared.push(form);
        } else {
            self.rest.push((literal, form));
        }
    }

    /// Lays the forms out.
    pub(super) fn into_matcher(
        mut self,
        plains: Vec<Plain>,
        regexes: Vec<Regex>,
        patterns: usize,
    ) -> Result<Matcher, BuildError> {
        for word in common_words() {
            if self.is_known(word) {
                self.words.entry(word).or_default();
            }
        }
        let phrases = phrases(&self);
        for word in phrases.iter().filter_map(|phrase| first_word(phrase)) {
            self.words.entry(word).or_default();
        }
        let known: Vec<bool> = self.words.keys().map(|word| self.is_known(*word)).collect();
        let mut known = known.into_iter();
        let mut lay = Layout::default();
        let words = lay.out(self.words, |word, bucket| {
            let skipped = with_first(&phrases, word);
            Ok(Bucket {
                is_known: known.next().unwrap_or_default(),
                first_phrase: narrow(skipped.start)?,
                phrases: narrow(skipped.len())?,
                ..bucket
            })
        })?;
        Ok(Matcher {
            words,
            starts: lay.out(self.starts, |_, bucket| Ok(bucket))?,
            grams: lay.out(self.grams, |_, bucket| Ok(bucket))?,
            mark_grams: lay.out(self.mark_grams, |_, bucket| Ok(bucket))?,
            phrases: phrases.into(),
            rest: Rest::new(self.rest)?,
            forms: lay.forms.into(),
            literals: self.literals.into(),
            plains: plains.into(),
            regexes: regexes.into(),
            always: self.always.into(),
            patterns,
        })
    }

    /// Returns the forms that a word is the anchor of.
    pub(super) fn with_word(&self, word: Key) -> impl Iterator<Item = &Form> {
        self.words.get(&word).into_iter().flatten()
    }

    /// Returns the forms that letters in a row are the anchor of.
    pub(super) fn with_gram(&self, gram: Key) -> impl Iterator<Item = &Form> {
        let all = [&self.grams, &self.mark_grams].into_iter();
        all.flat_map(move |grams| grams.get(&gram).into_iter().flatten())
    }

    /// Returns the literal of a form.
    pub(super) fn literal(&self, form: &Form) -> &[u8] {
        let literal = self.literals.get(form.literal as usize..);
        let literal = literal.and_then(|all| all.get(..usize::from(form.length)));
        literal.unwrap_or_default()
    }

    /// Tells whether a word has no letters in a row that are looked for, nor is too long to tell.
    fn is_known(&self, word: Key) -> bool {
        let length = word_length(word);
        let bytes = word.to_le_bytes();
        let mut grams = grams(&(0..length)).map(|start| gram(&bytes, start));
        length <= MAX_KNOWN_BYTES
            && grams
                .all(|gram| !self.grams.contains_key(&gram) && !self.mark_grams.contains_key(&gram))
    }
}

/// Puts forms of the same anchor beside each other.
#[derive(Debug, Default)]
struct Layout {
    forms: Vec<Form>,
}

impl Layout {
    fn out(
        &mut self,
        anchored: Anchored,
        mut finish: impl FnMut(Key, Bucket) -> Result<Bucket, BuildError>,
    ) -> Result<Index<Bucket>, BuildError> {
        let mut buckets = Vec::with_capacity(anchored.len());
        for (key, own) in anchored {
            let mut own = own.into_iter();
            let bucket = Bucket {
                first: own.next(),
                others: narrow(self.forms.len())?,
                count: narrow(own.len())?,
                ..Bucket::default()
            };
            buckets.push((key, finish(key, bucket)?));
            self.forms.extend(own);
        }
        Index::new(buckets).ok_or_else(too_many)
    }
}

impl Rest {
    fn new(all: Vec<(Vec<u8>, Form)>) -> Result<Option<Self>, BuildError> {
        if all.is_empty() {
            return Ok(None);
        }
        let (literals, forms): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(literals)
            .map_err(|error| BuildError::TooLarge(error.to_string()))?;
        Ok(Some(Self {
            automaton,
            forms: forms.into(),
        }))
    }
}

fn narrow<T: TryFrom<usize>>(number: usize) -> Result<T, BuildError> {
    T::try_from(number).map_err(|_| too_many())
}

fn too_many() -> BuildError {
    BuildError::TooLarge("too many literals".to_owned())
}

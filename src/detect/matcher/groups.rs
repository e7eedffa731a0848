//! Lays the literals of a matcher out by what they are looked for by.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use super::{Bucket, Form, Matcher, Owner, Rest, Test, builder::Draft, grams::Grams, known::Known};
use crate::detect::{
    anchor::{
        Anchor, Commonness, GRAM_BYTES, MAX_KNOWN_BYTES, common_words, gram, grams, word_length,
        words_of_everybody,
    },
    detector::BuildError,
    index::Index,
    rules::{Plain, Rule},
    skipped,
    unlisted::MARKS,
    words::{Key, Word, Words, key, word_at},
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
    /// Words that names of three words or more begin with.
    begin: BTreeSet<Key>,
    starts: Anchored,
    grams: Anchored,
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
        let told = if is_told_by_key(&anchor) {
            offset.min(beside)..end.max(beside + 1)
        } else {
            beside..literal.len().min(beside + 1)
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
            told: narrow(told.start)?,
            told_length: narrow(told.len())?,
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
            Anchor::Word(run) => {
                self.begin.extend(first_of_several(&literal, &form));
                (&mut self.words, key(&literal, run))
            }
            Anchor::Start => (&mut self.starts, gram(&literal, 0)),
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
        let skips = !skipped::pieces().any(|piece| self.may_hold_any(&piece));
        let skipped: Vec<Key> = skipped::FIRST_WORDS
            .iter()
            .filter(|_| skips)
            .map(|word| key(word, &(0..word.len())))
            .collect();
        let common = common_words().filter(|word| self.is_known(*word));
        let common: Vec<Key> = common.collect();
        let begin = self.begin.iter().copied();
        for word in common.into_iter().chain(skipped.clone()).chain(begin) {
            self.words.entry(word).or_default();
        }
        let most_said = Known::new(words_of_everybody().filter(|word| {
            let is_said_alone = self.words.get(word).is_none_or(Vec::is_empty);
            is_said_alone && !skipped.contains(word) && self.is_known(*word)
        }));
        let known: Vec<bool> = self.words.keys().map(|word| self.is_known(*word)).collect();
        let mut known = known.into_iter();
        let mut lay = Layout::default();
        let words = lay.out(self.words, |key, bucket| Bucket {
            is_known: known.next().unwrap_or_default(),
            is_skipped: skipped.contains(&key),
            begins: self.begin.contains(&key),
            ..bucket
        })?;
        let starts = lay.out(self.starts, |_, bucket| bucket)?;
        let grams = lay.out(self.grams, |_, bucket| bucket)?;
        Ok(Matcher {
            known: most_said,
            skips,
            words,
            starts,
            grams: Grams::new(grams, &lay.forms),
            rest: Rest::new(self.rest)?,
            forms: lay.forms.into(),
            literals: self.literals.into(),
            plains: plains.into(),
            regexes: regexes.into(),
            always: self.always.into(),
            patterns,
        })
    }

    /// Tells whether a form may be found by a word of a text, whatever is around the text.
    fn may_hold_any(&self, text: &[u8]) -> bool {
        Words::new(text).any(|Word { run, key }| {
            let inner = grams(&run).flat_map(|start| {
                let forms = self.grams.get(&gram(text, start));
                forms.into_iter().flatten().map(move |form| (start, form))
            });
            let starts = (run.start == 0).then(|| self.starts.get(&gram(text, 0)));
            let own = self.words.get(&key).into_iter();
            let own = own.chain(starts.flatten()).flatten();
            let mut forms = own.map(|form| (run.start, form)).chain(inner);
            forms.any(|(at, form)| {
                may_stand(self.literal(form), form, text, at) && !is_idle(form, text, at)
            })
        })
    }

    /// Returns the literal of a form.
    fn literal(&self, form: &Form) -> &[u8] {
        let literal = self.literals.get(form.literal as usize..);
        let literal = literal.and_then(|all| all.get(..usize::from(form.length)));
        literal.unwrap_or_default()
    }

    /// Tells whether a word has no letters in a row that are looked for, nor is too long to tell.
    fn is_known(&self, word: Key) -> bool {
        let length = word_length(word);
        let bytes = word.to_le_bytes();
        let mut grams = grams(&(0..length)).map(|start| gram(&bytes, start));
        length <= MAX_KNOWN_BYTES && grams.all(|gram| !self.grams.contains_key(&gram))
    }
}

/// Returns the word that a name of three words or more begins with: to find one of two in
/// memory takes as long as to look for the URL that most robots say behind it.
fn first_of_several(literal: &[u8], form: &Form) -> Option<Key> {
    let words = literal.split(|&byte| byte == b' ');
    let is_name = words.count() >= 3 && matches!(form.test, Test::Rule(Rule::Token));
    let first = word_at(literal, 0).filter(|_| is_name)?;
    Some(first.key)
}

/// Tells whether a form is a mark that gives nobody away where its anchor stands.
fn is_idle(form: &Form, text: &[u8], at: usize) -> bool {
    let start = at.checked_sub(usize::from(form.offset));
    let parts = start.and_then(|start| {
        let after = text.get(start + usize::from(form.length)..)?;
        Some((text.get(..start)?, after))
    });
    let (Test::Mark(mark), Some((before, after))) = (form.test, parts) else {
        return false;
    };
    let mark = MARKS.get(usize::from(mark));
    mark.is_some_and(|mark| mark.is_idle(before, after))
}

/// Tells whether a literal may stand where its anchor does, whatever is around the text.
fn may_stand(literal: &[u8], form: &Form, text: &[u8], at: usize) -> bool {
    let offset = usize::from(form.offset);
    let seen = text.get(at.saturating_sub(offset)..).unwrap_or_default();
    let own = literal.get(offset.saturating_sub(at)..).unwrap_or_default();
    let mut pairs = seen.iter().zip(own);
    pairs.all(|(seen, own)| seen.eq_ignore_ascii_case(own))
}

/// Tells whether an anchor is there wherever its key is.
fn is_told_by_key(anchor: &Anchor) -> bool {
    match anchor {
        Anchor::Word(run) => run.len() <= MAX_KNOWN_BYTES,
        Anchor::Gram(_) => true,
        Anchor::Start | Anchor::Nowhere => false,
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
        mut finish: impl FnMut(Key, Bucket) -> Bucket,
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
            buckets.push((key, finish(key, bucket)));
            self.forms.extend(own);
        }
        let flags = |bucket: &Bucket| {
            let any = |is: fn(&Form) -> bool| bucket.forms(&self.forms).any(is);
            [any(Form::is_name), any(Form::is_product), bucket.begins]
        };
        Index::new(buckets, flags).ok_or_else(too_many)
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

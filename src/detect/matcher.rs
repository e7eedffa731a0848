//! The patterns of many robots, found in one pass over a User-Agent.

mod builder;
mod form;
mod grams;
mod groups;
mod known;
#[cfg(feature = "formats")]
mod ranked;
mod strange;

use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use self::{
    form::{Bucket, Form, NAME, Test},
    grams::Grams,
    known::Known,
    strange::Strange,
};
use super::{
    anchor::{GRAM_BYTES, gram},
    cases::is_same,
    index::Index,
    names,
    rules::Plain,
    skipped,
    triples::Filter,
    words::{Word, Words},
};

pub(super) use builder::{Builder, Limits};
pub(super) use form::Owner;
#[cfg(feature = "formats")]
pub(super) use ranked::Ranked;

/// Bytes of a User-Agent within which a hit must end; the rest is not looked at.
pub const MAX_USER_AGENT_BYTES: usize = 8 << 10;

/// Literals, rules and regular expressions of many robots.
///
/// Each literal is looked for by its [`Anchor`](super::anchor::Anchor): by a
/// whole word of it if one is known, else by three letters of it, and these
/// only within words that nobody knows. So the words of browsers cost one look
/// each, and other words little more, however many literals there are.
#[derive(Debug)]
pub(super) struct Matcher {
    known: Known,
    words: Index<Bucket>,
    /// By the first letters of a User-Agent.
    starts: Index<Bucket>,
    grams: Grams,
    /// Those with neither words nor three letters in a row.
    rest: Option<Rest>,
    forms: Box<[Form]>,
    /// Literals of all forms, in lower case.
    literals: Box<[u8]>,
    plains: Box<[Plain]>,
    regexes: Box<[Regex]>,
    always: Box<[Form]>,
    patterns: usize,
    /// Whether no form may stand where browsers begin and end.
    skips: bool,
}

/// Forms that are looked for at every place.
#[derive(Debug)]
struct Rest {
    automaton: AhoCorasick,
    /// By the number of the literal.
    forms: Box<[Form]>,
}

/// What a scan asks, and tells of hits.
pub(super) trait Visitor {
    /// Tells whether a hit would matter.
    fn wants(&self, owner: Owner) -> bool;
    /// Tells whether a regular expression may run; asked at each opened gate.
    fn may_run(&mut self, regex: u32) -> bool;
    /// Takes a hit.
    fn hit(&mut self, owner: Owner, range: Range<usize>);
    /// Takes a hit of nobody in particular, and tells so, where any will do.
    fn takes_any(&mut self) -> bool {
        false
    }
    /// Tells whether it has all that it wants; asked behind each place that is looked at.
    fn is_done(&self) -> bool {
        false
    }
    /// Tells whether marks matter; where they do not, they never do again.
    fn wants_marks(&self) -> bool {
        false
    }
    /// Takes an occurrence of a mark, whose rule is still to be asked.
    fn mark(&mut self, _mark: u8, _range: Range<usize>, _text: &[u8]) {}
}

impl Matcher {
    /// Tells `visitor` the hits in a User-Agent.
    ///
    /// Outside of the range `left` it is surely a browser's.
    pub(super) fn scan(&self, user_agent: &[u8], left: Range<usize>, visitor: &mut impl Visitor) {
        // One byte more, so that the rules see that the text goes on.
        let text = user_agent
            .get(..=MAX_USER_AGENT_BYTES)
            .unwrap_or(user_agent);
        let starts = left.start == 0 || !self.skips;
        if starts && let Some(bucket) = self.starts.get(gram(text, 0)) {
            self.test_all(bucket, 0, text, visitor);
        }
        let mut strange = Strange::default();
        let words = if self.skips { left } else { 0..text.len() };
        self.scan_words(text, words, &mut strange, visitor);
        if visitor.is_done() {
            return;
        }
        self.scan_grams(&strange, text, visitor);
        if let Some(rest) = &self.rest {
            self.scan_rest(rest, text, visitor);
        }
        for form in &self.always {
            self.test(form, 0..0, text, visitor);
        }
    }

    /// Tells whether a word names a robot, by itself or with those behind it, where no digit
    /// stands before it.
    #[inline]
    pub(super) fn is_named(&self, word: &Word, text: &[u8]) -> bool {
        let Some(place) = self.words.find(word.key) else {
            return false;
        };
        let [is_name, is_product, begins] = place.flags;
        let has_version = || matches!(text.get(word.run.end..), Some([b'/', b'0'..=b'9', ..]));
        is_name
            || is_product && word.run.start == 0 && has_version()
            || begins && text.get(word.run.end) == Some(&b' ') && self.is_begun(word, text)
    }

    /// Tells whether a name of three words or more begins with a word.
    #[inline(never)]
    fn is_begun(&self, word: &Word, text: &[u8]) -> bool {
        let words = [word.clone()]
            .into_iter()
            .chain(names::more_words(text, word));
        words.into_iter().any(|Word { run, key }| {
            let forms = self.words.get(key).into_iter();
            let mut forms = forms.flat_map(|bucket| bucket.forms(&self.forms));
            forms.any(|form| {
                let range = self.occurrence(form, run.start, text);
                range.is_some_and(
                    |range| matches!(form.test, Test::Rule(rule) if rule.holds(text, &range)),
                )
            })
        })
    }

    /// Returns how many patterns are matched.
    pub(super) fn pattern_count(&self) -> usize {
        self.patterns
    }

    /// Returns how many regular expressions are kept.
    pub(super) fn regex_count(&self) -> usize {
        self.regexes.len()
    }

    /// Returns the memory of the tables, without that of regular expressions.
    pub(super) fn memory_bytes(&self) -> usize {
        let rest = self.rest.as_ref();
        self.known.memory_bytes()
            + self.words.memory_bytes()
            + self.starts.memory_bytes()
            + self.grams.memory_bytes()
            + size_of_val(&*self.forms)
            + size_of_val(&*self.literals)
            + size_of_val(&*self.plains)
            + rest.map_or(0, |rest| rest.automaton.memory_usage())
    }

    /// Looks all words up, and keeps those in which something else may stand.
    #[inline]
    fn scan_words(
        &self,
        text: &[u8],
        range: Range<usize>,
        strange: &mut Strange,
        visitor: &mut impl Visitor,
    ) {
        let mut words = Words::within(text, range);
        while let Some(Word { run, key }) = words.next() {
            if self.known.has(key) {
                continue;
            }
            if let Some(place) = self.words.find(key) {
                if place.flags[NAME] && is_name(text, &run) && visitor.takes_any() {
                    return;
                }
                let Some(bucket) = self.words.value(place) else {
                    continue;
                };
                if bucket.is_skipped
                    && let Some(end) = skipped::phrase_end(text, run.start)
                {
                    words.skip_to(end);
                    continue;
                }
                if bucket.first.is_some() {
                    self.test_all(bucket, run.start, text, visitor);
                    if visitor.is_done() {
                        return;
                    }
                }
                if bucket.is_known {
                    continue;
                }
            }
            if run.len() >= GRAM_BYTES {
                strange.push(run);
            }
        }
    }

    /// Looks for letters in a row within words that are not known, while any matter.
    #[inline]
    fn scan_grams(&self, strange: &Strange, text: &[u8], visitor: &mut impl Visitor) {
        for run in strange.runs() {
            let Some(filter) = self.grams.filter(visitor.wants_marks()) else {
                return;
            };
            self.scan_word(run, filter, text, visitor);
            if visitor.is_done() {
                return;
            }
        }
        if let Some(more) = strange.more(text) {
            self.scan_more(more, text, visitor);
        }
    }

    #[cold]
    fn scan_more(&self, more: Words<'_>, text: &[u8], visitor: &mut impl Visitor) {
        for word in more {
            if let Some(filter) = self.grams.filter(visitor.wants_marks()) {
                self.scan_word(word.run, filter, text, visitor);
            }
        }
    }

    #[inline]
    fn scan_word(
        &self,
        run: Range<usize>,
        filter: &Filter,
        text: &[u8],
        visitor: &mut impl Visitor,
    ) {
        let start = run.start;
        let word = text.get(run).unwrap_or_default();
        self.grams.within(word, filter, |at, bucket| {
            self.test_all(bucket, start + at, text, visitor);
        });
    }

    fn scan_rest(&self, rest: &Rest, text: &[u8], visitor: &mut impl Visitor) {
        let Ok(found) = rest.automaton.try_find_overlapping_iter(text) else {
            return;
        };
        for found in found {
            if let Some(form) = rest.forms.get(found.pattern().as_usize()) {
                self.test(form, found.range(), text, visitor);
            }
        }
    }

    /// Tests the forms whose anchor stands at `at`.
    #[inline]
    fn test_all(&self, bucket: &Bucket, at: usize, text: &[u8], visitor: &mut impl Visitor) {
        if let Some(form) = &bucket.first {
            self.test_at(form, at, text, visitor);
        }
        if bucket.count > 0 {
            for form in bucket.forms(&self.forms).skip(1) {
                self.test_at(form, at, text, visitor);
            }
        }
    }

    #[inline]
    fn test_at(&self, form: &Form, at: usize, text: &[u8], visitor: &mut impl Visitor) {
        if let Some(range) = self.occurrence(form, at, text) {
            self.test(form, range, text, visitor);
        }
    }

    /// Returns where the literal of a form occurs, if it does where its anchor stands.
    #[inline]
    fn occurrence(&self, form: &Form, at: usize, text: &[u8]) -> Option<Range<usize>> {
        let start = at.checked_sub(usize::from(form.offset))?;
        let range = start..start + usize::from(form.length);
        let beside = text.get(start + usize::from(form.beside))?;
        if beside.to_ascii_lowercase() != form.beside_byte {
            return None;
        }
        let told = usize::from(form.told_length);
        if told == range.len() {
            return Some(range);
        }
        let literal = self.literals.get(form.literal as usize..)?;
        let (before, literal) = literal
            .get(..range.len())?
            .split_at_checked(usize::from(form.told))?;
        let after = literal.get(told..)?;
        let is_there =
            stands(after, start + before.len() + told, text) && stands(before, start, text);
        is_there.then_some(range)
    }

    fn test(&self, form: &Form, range: Range<usize>, text: &[u8], visitor: &mut impl Visitor) {
        if let Test::Mark(mark) = form.test {
            visitor.mark(mark, range, text);
            return;
        }
        if !visitor.wants(form.owner) {
            return;
        }
        let hit = match form.test {
            Test::Rule(rule) => rule.holds(text, &range).then_some(range),
            Test::Plain(plain) => {
                let plain = self.plains.get(plain as usize);
                plain.and_then(|plain| plain.holds(text, &range).then_some(range))
            }
            Test::Regex(regex) if visitor.may_run(regex) => self
                .regexes
                .get(regex as usize)
                .and_then(|regex| regex.find(text))
                .map(|found| found.range()),
            Test::Regex(_) | Test::Mark(_) => None,
        };
        if let Some(range) = hit.filter(|range| range.end <= MAX_USER_AGENT_BYTES) {
            visitor.hit(form.owner, range);
        }
    }
}

/// Tells whether a word stands alone that is a name, within what is looked at.
#[inline]
fn is_name(text: &[u8], run: &Range<usize>) -> bool {
    let before = run.start.checked_sub(1).and_then(|before| text.get(before));
    !before.is_some_and(u8::is_ascii_digit) && run.end <= MAX_USER_AGENT_BYTES
}

/// Tells whether a part of a literal, in lower case, stands at a place of a text.
#[inline]
fn stands(part: &[u8], at: usize, text: &[u8]) -> bool {
    part.is_empty() || {
        let found = text.get(at..at + part.len());
        found.is_some_and(|found| is_same(found, part))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    /// Visitor that wants everything and counts what it is asked.
    #[derive(Default)]
    struct Counter {
        asked: Cell<usize>,
        hits: Vec<Range<usize>>,
    }

    impl Visitor for Counter {
        fn wants(&self, _owner: Owner) -> bool {
            self.asked.set(self.asked.get() + 1);
            true
        }

        fn may_run(&mut self, _regex: u32) -> bool {
            true
        }

        fn hit(&mut self, _owner: Owner, range: Range<usize>) {
            self.hits.push(range);
        }
    }

    fn matcher(kind: PatternKind, texts: impl IntoIterator<Item = String>) -> Matcher {
        let mut robot = Robot::new("it", Source::manual());
        let pattern = |text| Pattern::new(kind, text);
        robot.patterns = texts.into_iter().map(pattern).collect();
        let mut builder = Builder::new(Limits::NONE);
        assert_eq!(builder.add(0, &robot), []);
        builder.build().unwrap()
    }

    fn asked(matcher: &Matcher, text: &[u8]) -> usize {
        let mut counter = Counter::default();
        matcher.scan(text, 0..usize::MAX, &mut counter);
        counter.asked.get()
    }

    #[test]
    fn steps_are_linear_in_the_text_however_hostile() {
        let nested = matcher(
            PatternKind::Regex,
            (1..=32).map(|length| "a".repeat(length)),
        );
        let kib = asked(&nested, &[b'a'; 1 << 10]);
        assert!((32..=32 << 10).contains(&kib), "{kib} steps");
        assert!(asked(&nested, &[b'a'; 8 << 10]) <= 8 * kib + 8 * 32 * 32);
        let limit = asked(&nested, &[b'a'; MAX_USER_AGENT_BYTES + 1]);
        assert_eq!(asked(&nested, &b"a".repeat(64 << 10)), limit);
    }

    #[test]
    fn literals_with_one_anchor_are_all_found_and_no_crowd_is_tried_everywhere() {
        let names = || (0..100).map(|number| format!("robot {number:02}"));
        let matcher = matcher(PatternKind::Token, names());
        for name in names() {
            let mut counter = Counter::default();
            matcher.scan(name.as_bytes(), 0..usize::MAX, &mut counter);
            assert_eq!(counter.hits.first(), Some(&(0..8)), "{name}");
            assert_eq!(counter.hits.len(), 1, "{name}");
        }
        let tried = asked(&matcher, b"robot 00");
        assert!(matcher.forms.len() < 40 && tried == 1, "{tried} forms");
    }

    #[test]
    fn text_without_literals_takes_no_steps() {
        let matcher = matcher(PatternKind::Token, ["robot".to_owned()]);
        assert_eq!(asked(&matcher, &b"robo".repeat(1000)), 0);
    }

    #[test]
    fn every_hit_is_told() {
        let matcher = matcher(
            PatternKind::Token,
            ["Ab", "aB", "b", "c"].map(str::to_owned),
        );
        assert_eq!(matcher.pattern_count(), 4);
        let mut counter = Counter::default();
        matcher.scan(b"ab-c.b", 0..usize::MAX, &mut counter);
        assert_eq!(counter.hits, [0..2, 0..2, 3..4, 5..6]);
    }
}

//! The patterns of many robots, found in one pass over a User-Agent.

mod builder;
mod groups;
mod phrases;
#[cfg(feature = "formats")]
mod ranked;
mod strange;

use std::ops::Range;

use aho_corasick::AhoCorasick;
use regex::bytes::Regex;

use self::strange::Strange;
use super::{
    anchor::{GRAM_BYTES, gram, grams},
    index::Index,
    rules::{Plain, Rule},
    words::{Word, Words},
};

pub(super) use builder::{Builder, Limits};
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
    words: Index<Bucket>,
    /// By the first letters of a User-Agent.
    starts: Index<Bucket>,
    grams: Index<Bucket>,
    mark_grams: Index<Bucket>,
    /// What is skipped, as no literal stands in it.
    phrases: Box<[&'static [u8]]>,
    /// Those with neither words nor three letters in a row.
    rest: Option<Rest>,
    forms: Box<[Form]>,
    /// Literals of all forms, in lower case.
    literals: Box<[u8]>,
    plains: Box<[Plain]>,
    regexes: Box<[Regex]>,
    always: Box<[Form]>,
    patterns: usize,
}

/// Whose a hit is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Owner {
    /// Place among all by specificity: the lowest is the most specific.
    pub(super) rank: u32,
    /// Number of the robot, as given to [`Builder::add`].
    pub(super) robot: u32,
    /// Index among the robot's patterns.
    pub(super) pattern: u32,
}

/// One way in which a pattern is found.
#[derive(Clone, Copy, Debug)]
struct Form {
    owner: Owner,
    /// Where its literal starts among all.
    literal: u32,
    length: u16,
    /// Where in the literal its anchor stands.
    offset: u16,
    /// Where in the literal a byte stands that is compared first, and which.
    beside: u16,
    beside_byte: u8,
    /// Whether the anchor is all of it, and need not be compared.
    is_anchor: bool,
    test: Test,
}

/// What is asked at an occurrence of a form's literal.
#[derive(Clone, Copy, Debug)]
enum Test {
    Rule(Rule),
    Plain(u32),
    Regex(u32),
    /// Nothing yet: whether a mark counts is asked when no robot is found.
    Mark(u8),
}

/// Forms that share an anchor, the most specific first.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Which stands here, as there mostly is no other.
    first: Option<Form>,
    /// Where the others stand.
    others: u32,
    count: u16,
    /// Whether a word is told by its key, and has no letters in a row that are looked for.
    is_known: bool,
    /// Phrases that begin with a word.
    first_phrase: u8,
    phrases: u8,
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
    /// Tells whether marks matter; asked when all hits are told.
    fn wants_marks(&self) -> bool {
        false
    }
    /// Takes an occurrence of a mark, whose rule is still to be asked.
    fn mark(&mut self, _mark: u8, _range: Range<usize>) {}
}

impl Matcher {
    /// Tells `visitor` the hits in a User-Agent.
    pub(super) fn scan(&self, user_agent: &[u8], visitor: &mut impl Visitor) {
        // One byte more, so that the rules see that the text goes on.
        let text = user_agent
            .get(..=MAX_USER_AGENT_BYTES)
            .unwrap_or(user_agent);
        if let Some(bucket) = self.starts.get(gram(text, 0)) {
            self.test_all(bucket, 0, text, visitor);
        }
        let mut strange = Strange::default();
        self.scan_words(text, &mut strange, visitor);
        self.scan_grams(&self.grams, &strange, text, visitor);
        if let Some(rest) = &self.rest {
            self.scan_rest(rest, text, visitor);
        }
        for form in &self.always {
            self.test(form, 0..0, text, visitor);
        }
        if visitor.wants_marks() {
            self.scan_grams(&self.mark_grams, &strange, text, visitor);
        }
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
        [&self.words, &self.starts, &self.grams, &self.mark_grams]
            .map(Index::memory_bytes)
            .iter()
            .sum::<usize>()
            + size_of_val(&*self.forms)
            + size_of_val(&*self.literals)
            + size_of_val(&*self.plains)
            + rest.map_or(0, |rest| rest.automaton.memory_usage())
    }

    /// Looks all words up, and keeps those in which something else may stand.
    #[inline]
    fn scan_words(&self, text: &[u8], strange: &mut Strange, visitor: &mut impl Visitor) {
        let mut words = Words::new(text, 0);
        while let Some(Word { run, key }) = words.next() {
            if let Some(bucket) = self.words.get(key) {
                if bucket.phrases > 0
                    && let Some(end) = self.end_of_phrase(bucket, run.start, text)
                {
                    words.skip_to(end);
                    continue;
                }
                if bucket.first.is_some() {
                    self.test_all(bucket, run.start, text, visitor);
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

    /// Returns where a phrase ends that a word begins.
    #[inline]
    fn end_of_phrase(&self, bucket: &Bucket, start: usize, text: &[u8]) -> Option<usize> {
        let first = usize::from(bucket.first_phrase);
        let phrases = self
            .phrases
            .get(first..first + usize::from(bucket.phrases))?;
        let rest = text.get(start..)?;
        let phrase = phrases.iter().find(|phrase| rest.starts_with(phrase))?;
        Some(start + phrase.len())
    }

    fn scan_grams(
        &self,
        index: &Index<Bucket>,
        strange: &Strange,
        text: &[u8],
        visitor: &mut impl Visitor,
    ) {
        if index.is_empty() {
            return;
        }
        for run in strange.runs(text) {
            for start in grams(&run) {
                if let Some(bucket) = index.get(gram(text, start)) {
                    self.test_all(bucket, start, text, visitor);
                }
            }
        }
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
        if bucket.count == 0 {
            return;
        }
        let start = bucket.others as usize;
        let others = self.forms.get(start..start + usize::from(bucket.count));
        for form in others.unwrap_or_default() {
            self.test_at(form, at, text, visitor);
        }
    }

    fn test_at(&self, form: &Form, at: usize, text: &[u8], visitor: &mut impl Visitor) {
        if let Some(range) = self.occurrence(form, at, text) {
            self.test(form, range, text, visitor);
        }
    }

    /// Returns where the literal of a form occurs, if it does where its anchor stands.
    fn occurrence(&self, form: &Form, at: usize, text: &[u8]) -> Option<Range<usize>> {
        let start = at.checked_sub(usize::from(form.offset))?;
        let range = start..start + usize::from(form.length);
        if form.is_anchor {
            return Some(range);
        }
        let beside = text.get(start + usize::from(form.beside))?;
        if beside.to_ascii_lowercase() != form.beside_byte {
            return None;
        }
        let literal = self.literals.get(form.literal as usize..)?;
        let literal = literal.get(..range.len())?;
        let found = text.get(range.clone())?;
        found.eq_ignore_ascii_case(literal).then_some(range)
    }

    fn test(&self, form: &Form, range: Range<usize>, text: &[u8], visitor: &mut impl Visitor) {
        if let Test::Mark(mark) = form.test {
            visitor.mark(mark, range);
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
        matcher.scan(text, &mut counter);
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
            matcher.scan(name.as_bytes(), &mut counter);
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
        matcher.scan(b"ab-c.b", &mut counter);
        assert_eq!(counter.hits, [0..2, 0..2, 3..4, 5..6]);
    }
}

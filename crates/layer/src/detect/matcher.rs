//! Matches the patterns of all robots in one pass over a User-Agent.

mod automaton;
mod builder;
#[cfg(feature = "formats")]
mod ranked;

use std::ops::{ControlFlow, Range};

use regex::bytes::Regex;

use self::automaton::Literals;
use super::{
    agent::{Place, Places},
    rules::{Plain, Rule, is_compared},
};

pub(super) use builder::{Builder, Limits};
#[cfg(feature = "formats")]
pub(super) use ranked::Ranked;

/// Number of bytes of a User-Agent that are scanned; a match must end within these bytes.
pub const MAX_USER_AGENT_BYTES: usize = 8 << 10;

/// The literals, rules and regular expressions of all robots.
#[derive(Debug)]
pub(super) struct Matcher {
    /// All distinct literals.
    literals: Literals,
    /// Index of the first form of each literal, followed by the end of the last.
    starts: Box<[u32]>,
    /// Forms grouped by literal, the most specific first.
    forms: Box<[Form]>,
    plains: Box<[Plain]>,
    regexes: Box<[Regex]>,
    /// Regular expressions that run on every User-Agent because they require no literal.
    always: Box<[Form]>,
    patterns: usize,
}

/// The robot and the pattern that a hit belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Owner {
    /// Position in the order of specificity; the most specific pattern has the lowest position.
    pub(super) rank: u32,
    /// Number of the robot, as passed to [`Builder::add`].
    pub(super) robot: u32,
    /// Index of the pattern among the robot's patterns.
    pub(super) pattern: u32,
    /// Whether the pattern belongs to a shared User-Agent, or the best source lists the pattern's
    /// name as a shared User-Agent.
    pub(super) is_shared: bool,
}

/// One of the forms in which a pattern can match.
#[derive(Clone, Copy, Debug)]
struct Form {
    owner: Owner,
    test: Test,
}

/// The test that runs when the literal of a form occurs.
#[derive(Clone, Copy, Debug)]
enum Test {
    Rule(Rule),
    Plain(u32),
    Regex(u32),
    /// A mark of unlisted robots, which is tested later, and only if no robot is found.
    Mark(u8),
}

/// Receives the hits found by a scan.
pub(super) trait HitVisitor {
    /// Returns `true` if the visitor needs to know about hits of this robot's pattern.
    fn wants(&self, owner: Owner) -> bool;
    /// Returns `true` if a regular expression may run; called when any of its gate literals occurs.
    fn may_run(&mut self, regex: u32) -> bool;
    /// Called for each hit of a pattern.
    fn hit(&mut self, owner: Owner, range: Range<usize>, place: Place);
    /// Returns `true` to stop the scan.
    fn is_done(&self) -> bool {
        false
    }
    /// Called for each occurrence of a mark of unlisted robots, before the rule of the mark is
    /// tested.
    fn mark(&mut self, _mark: u8, _start: usize) {}
}

impl Matcher {
    /// Scans a User-Agent and passes each hit to `visitor`.
    pub(super) fn scan(&self, user_agent: &[u8], visitor: &mut impl HitVisitor) {
        // Include one more byte, so that the rules see that the text continues.
        let text = user_agent
            .get(..=MAX_USER_AGENT_BYTES)
            .unwrap_or(user_agent);
        let mut places = Places::new(text);
        self.literals.find(text, |literal, range| {
            for form in self.forms_of(literal) {
                self.test(form, range.clone(), text, &mut places, visitor);
                if visitor.is_done() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        for form in &self.always {
            self.test(form, 0..0, text, &mut places, visitor);
        }
    }

    /// Returns the number of patterns that can match.
    pub(super) fn pattern_count(&self) -> usize {
        self.patterns
    }

    /// Returns the number of compiled regular expressions.
    pub(super) fn regex_count(&self) -> usize {
        self.regexes.len()
    }

    /// Returns the size of the tables in bytes, excluding regular expressions.
    pub(super) fn memory_bytes(&self) -> usize {
        self.literals.memory_bytes()
            + size_of_val(&*self.starts)
            + size_of_val(&*self.forms)
            + size_of_val(&*self.plains)
    }

    #[inline]
    fn forms_of(&self, literal: usize) -> &[Form] {
        let bounds = self.starts.get(literal..).and_then(<[u32]>::first_chunk);
        let forms = bounds.and_then(|[start, end]| self.forms.get(*start as usize..*end as usize));
        forms.unwrap_or_default()
    }

    fn test(
        &self,
        form: &Form,
        range: Range<usize>,
        text: &[u8],
        places: &mut Places<'_>,
        visitor: &mut impl HitVisitor,
    ) {
        if let Test::Mark(mark) = form.test {
            visitor.mark(mark, range.start);
            return;
        }
        if !visitor.wants(form.owner) {
            return;
        }
        let hit = match form.test {
            Test::Rule(rule) => rule.matches(text, &range).then_some(range),
            Test::Plain(plain) => {
                let plain = self.plains.get(plain as usize);
                plain.and_then(|plain| plain.matches(text, &range).then_some(range))
            }
            Test::Regex(regex) if visitor.may_run(regex) => self
                .regexes
                .get(regex as usize)
                .and_then(|regex| regex.find(text))
                .map(|found| found.range()),
            Test::Regex(_) | Test::Mark(_) => None,
        };
        if let Some(range) = hit.filter(|range| range.end <= MAX_USER_AGENT_BYTES)
            // Tested last, as this scans the preceding text, and few patterns reach this test.
            && !is_compared(text, range.start)
        {
            match places.at(range.start) {
                Place::Path => {}
                // A person's program does not write a shared name into a URL.
                Place::Contact if form.owner.is_shared => {}
                place => visitor.hit(form.owner, range, place),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::registry::{Pattern, PatternKind, Robot, Source};

    /// A scan visitor that accepts every hit and counts the calls.
    #[derive(Default)]
    struct Counter {
        asked: Cell<usize>,
        hits: Vec<Range<usize>>,
    }

    impl HitVisitor for Counter {
        fn wants(&self, _owner: Owner) -> bool {
            self.asked.set(self.asked.get() + 1);
            true
        }

        fn may_run(&mut self, _regex: u32) -> bool {
            true
        }

        fn hit(&mut self, _owner: Owner, range: Range<usize>, _place: Place) {
            self.hits.push(range);
        }
    }

    fn matcher(kind: PatternKind, texts: impl IntoIterator<Item = String>) -> Matcher {
        let mut robot = Robot::new("it", Source::manual());
        let pattern = |text| Pattern::new(kind, text);
        robot.patterns = texts.into_iter().map(pattern).collect();
        let limits = Limits {
            table_bytes: super::super::detector::LIMITS.table_bytes,
            ..Limits::NONE
        };
        let mut builder = Builder::new(limits);
        assert_eq!(builder.add(0, &robot), []);
        builder.build().unwrap()
    }

    fn asked(matcher: &Matcher, text: &[u8]) -> usize {
        let mut counter = Counter::default();
        matcher.scan(text, &mut counter);
        counter.asked.get()
    }

    #[test]
    fn steps_are_linear_in_the_length_of_hostile_texts() {
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
    fn text_without_literals_takes_no_steps() {
        let matcher = matcher(PatternKind::Token, ["robot".to_owned()]);
        assert_eq!(asked(&matcher, &b"robo".repeat(1000)), 0);
    }

    #[test]
    fn every_hit_is_reported() {
        let matcher = matcher(
            PatternKind::Token,
            ["Ab", "aB", "b", "c"].map(str::to_owned),
        );
        assert_eq!(matcher.pattern_count(), 4);
        let mut counter = Counter::default();
        matcher.scan(b"ab-c.b", &mut counter);
        assert_eq!(counter.hits, [0..2, 0..2, 3..4, 5..6]);
    }

    #[test]
    fn literals_exceeding_the_table_are_found_too() {
        let names = |count: u32| (0..count).map(|number| format!("robot-{number:x}-name"));
        let [few, many] = [100, 60_000].map(|count| matcher(PatternKind::Token, names(count)));
        for matcher in [few, many] {
            assert!(matcher.memory_bytes() < 16 << 20);
            let mut counter = Counter::default();
            matcher.scan(b"a Robot-3F-Name/1.0", &mut counter);
            assert_eq!(counter.hits.first(), Some(&(2..15)));
        }
    }
}

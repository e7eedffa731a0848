//! The patterns of many robots, found in one pass over a User-Agent.

#[cfg(feature = "formats")]
mod ranked;

use std::{
    collections::{HashMap, hash_map},
    ops::Range,
};

use regex::bytes::Regex;

use super::{
    automaton::Automaton,
    detector::BuildError,
    regexes::Plan,
    rules::Rule,
    specificity::{Specificity, name, shortest_name},
    unlisted::Mark,
};
use crate::registry::{Pattern, PatternKind, Robot};

#[cfg(feature = "formats")]
pub(super) use ranked::Ranked;

/// Bytes of a User-Agent within which a hit must end; the rest is not looked at.
pub const MAX_USER_AGENT_BYTES: usize = 8 << 10;

/// Longest literal of a pattern.
const MAX_LITERAL_BYTES: usize = 512;

/// Bytes of a literal that the automaton knows: its last ones.
///
/// What is long begins as browsers do, `Mozilla/5.0 (`, and the automaton would
/// be deep inside of it for much of every text.
const MAX_GATE_BYTES: usize = 16;

/// Automaton, rules and regular expressions of many robots.
#[derive(Debug)]
pub(super) struct Matcher {
    automaton: Automaton,
    literals: Box<[Bucket]>,
    entries: Box<[Entry]>,
    regexes: Box<[Regex]>,
    always: Box<[Entry]>,
    patterns: usize,
}

/// One way in which a pattern is found.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Place among all entries by specificity: the lowest is the most specific.
    pub(super) rank: usize,
    /// Number of the robot, as given to [`Builder::add`].
    pub(super) robot: usize,
    /// Index among the robot's patterns.
    pub(super) pattern: usize,
    /// What stands before the end of the literal that the automaton knows.
    head: Box<[u8]>,
    test: Test,
}

/// What is asked at an occurrence of an entry's literal.
#[derive(Clone, Debug)]
enum Test {
    Rule(Rule),
    Regex(usize),
    /// Nothing yet: whether a mark counts is asked when no robot is found.
    Mark,
}

/// Entries that share the end of their literals, the most specific first.
#[derive(Debug)]
struct Bucket {
    length: usize,
    /// That of the most specific entry.
    rank: usize,
    /// Which is kept here, as there mostly is no other.
    first: Entry,
    others: Range<usize>,
}

/// What a scan asks about entries, and tells of hits.
pub(super) trait Visitor {
    /// Tells whether a hit of an entry from this rank on would matter.
    fn wants_rank(&self, _rank: usize) -> bool {
        true
    }
    /// Tells whether a hit of the entry would matter.
    fn wants(&self, entry: &Entry) -> bool;
    /// Tells whether a regular expression may run; asked at each opened gate.
    fn may_run(&mut self, regex: usize) -> bool;
    /// Takes a hit.
    fn hit(&mut self, entry: &Entry, range: Range<usize>);
    /// Takes an occurrence of a mark, whose rule is still to be asked.
    fn mark(&mut self, _mark: usize, _range: Range<usize>) {}
}

impl Matcher {
    /// Tells `visitor` the hits in a User-Agent.
    pub(super) fn scan(&self, user_agent: &[u8], visitor: &mut impl Visitor) {
        // One byte more, so that the rules see that the text goes on.
        let text = user_agent
            .get(..=MAX_USER_AGENT_BYTES)
            .unwrap_or(user_agent);
        self.automaton.for_each(text, |literal, end| {
            self.occurrence(literal, end, text, visitor)
        });
        for entry in &self.always {
            self.test(entry, &(0..0), text, visitor);
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
        self.automaton.memory_bytes()
            + size_of_val(&*self.literals)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.always)
    }

    /// Tells `visitor` of an occurrence; returns whether it might want one of a
    /// higher index, whose entries are less specific.
    fn occurrence(
        &self,
        literal: usize,
        end: usize,
        text: &[u8],
        visitor: &mut impl Visitor,
    ) -> bool {
        let Some(bucket) = self.literals.get(literal) else {
            return false;
        };
        if !visitor.wants_rank(bucket.rank) {
            return false;
        }
        let range = end.saturating_sub(bucket.length)..end;
        self.test_or_mark(&bucket.first, &range, text, visitor);
        let others = self.entries.get(bucket.others.clone());
        for entry in others.unwrap_or_default() {
            self.test_or_mark(entry, &range, text, visitor);
        }
        true
    }

    fn test_or_mark(
        &self,
        entry: &Entry,
        range: &Range<usize>,
        text: &[u8],
        visitor: &mut impl Visitor,
    ) {
        match entry.test {
            Test::Mark => visitor.mark(entry.pattern, range.clone()),
            _ => self.test(entry, range, text, visitor),
        }
    }

    fn test(&self, entry: &Entry, range: &Range<usize>, text: &[u8], visitor: &mut impl Visitor) {
        if !visitor.wants(entry) {
            return;
        }
        let hit = match &entry.test {
            Test::Rule(rule) => whole(entry, range, text).filter(|range| rule.holds(text, range)),
            Test::Regex(regex) if visitor.may_run(*regex) => self
                .regexes
                .get(*regex)
                .and_then(|regex| regex.find(text))
                .map(|found| found.range()),
            Test::Regex(_) | Test::Mark => None,
        };
        if let Some(range) = hit.filter(|range| range.end <= MAX_USER_AGENT_BYTES) {
            visitor.hit(entry, range);
        }
    }
}

/// Returns the range of an entry's whole literal, of which the end is at `range`.
fn whole(entry: &Entry, range: &Range<usize>, text: &[u8]) -> Option<Range<usize>> {
    if entry.head.is_empty() {
        return Some(range.clone());
    }
    let start = range.start.checked_sub(entry.head.len())?;
    let head = text.get(start..range.start)?;
    head.eq_ignore_ascii_case(&entry.head)
        .then_some(start..range.end)
}

/// How much a [`Matcher`] takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most bytes to build a table with; what needs more is kept sparse.
    pub(super) table_bytes: usize,
    /// Most bytes of all literals together.
    pub(super) literals_bytes: usize,
    /// Most regular expressions that run on every User-Agent.
    pub(super) always: usize,
}

impl Limits {
    /// Takes everything, in an automaton that is built fast.
    pub(super) const NONE: Self = Self {
        table_bytes: 0,
        literals_bytes: usize::MAX,
        always: usize::MAX,
    };
}

/// Collector of patterns for a [`Matcher`].
#[derive(Debug)]
pub(super) struct Builder {
    limits: Limits,
    drafts: Vec<Draft>,
    regexes: Vec<Regex>,
    always: usize,
    patterns: usize,
}

/// Entry that has no rank yet.
#[derive(Debug)]
struct Draft {
    /// In lower case; `None` for a regular expression that always runs.
    literal: Option<Vec<u8>>,
    specificity: Specificity,
    test: Test,
}

impl Builder {
    /// Creates one without patterns.
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            drafts: Vec::new(),
            regexes: Vec::new(),
            always: 0,
            patterns: 0,
        }
    }

    /// Adds the patterns of a robot under a number, numbers ascending.
    ///
    /// Returns the patterns that it refuses, and why.
    pub(super) fn add(&mut self, number: usize, robot: &Robot) -> Vec<(Pattern, String)> {
        let mut refused = Vec::new();
        for (index, pattern) in robot.patterns.iter().enumerate() {
            let specificity = Specificity::new(robot, number, index);
            match self.add_pattern(pattern, specificity) {
                Ok(()) => self.patterns += 1,
                Err(reason) => refused.push((pattern.clone(), reason)),
            }
        }
        refused
    }

    /// Adds the marks of unlisted robots, which are told by their indexes.
    pub(super) fn add_marks(&mut self, marks: &[Mark]) {
        for (index, mark) in marks.iter().enumerate() {
            self.drafts.push(Draft {
                literal: Some(mark.literal.as_bytes().to_vec()),
                specificity: Specificity::of_mark(index),
                test: Test::Mark,
            });
        }
    }

    /// Builds the matcher.
    pub(super) fn build(mut self) -> Result<Matcher, BuildError> {
        self.check_size()?;
        self.settle_weakness();
        self.drafts.sort_by_key(|draft| draft.specificity);
        let mut groups: Vec<(Vec<u8>, Vec<Entry>)> = Vec::new();
        let mut places = HashMap::new();
        let mut always = Vec::new();
        for (rank, draft) in self.drafts.into_iter().enumerate() {
            let is_always = draft.literal.is_none();
            let mut head = draft.literal.unwrap_or_default();
            let gate = head.split_off(head.len().saturating_sub(MAX_GATE_BYTES));
            let entry = Entry {
                rank,
                robot: draft.specificity.robot,
                pattern: draft.specificity.pattern,
                head: head.into(),
                test: draft.test,
            };
            if is_always {
                always.push(entry);
                continue;
            }
            match places.entry(gate) {
                hash_map::Entry::Vacant(place) => {
                    groups.push((place.key().clone(), vec![entry]));
                    place.insert(groups.len() - 1);
                }
                hash_map::Entry::Occupied(place) => {
                    if let Some((_, entries)) = groups.get_mut(*place.get()) {
                        entries.push(entry);
                    }
                }
            }
        }
        let gates: Vec<&[u8]> = groups.iter().map(|(gate, _)| &**gate).collect();
        let automaton = Automaton::build(&gates, self.limits.table_bytes)
            .map_err(|error| BuildError::TooLarge(error.to_string()))?;
        let mut entries = Vec::new();
        let buckets = groups.into_iter().filter_map(|(gate, group)| {
            let start = entries.len();
            let mut group = group.into_iter();
            let first = group.next()?;
            entries.extend(group);
            Some(Bucket {
                length: gate.len(),
                rank: first.rank,
                first,
                others: start..entries.len(),
            })
        });
        Ok(Matcher {
            automaton,
            literals: buckets.collect(),
            entries: entries.into(),
            regexes: self.regexes.into(),
            always: always.into(),
            patterns: self.patterns,
        })
    }

    fn check_size(&self) -> Result<(), BuildError> {
        let literals = self
            .drafts
            .iter()
            .filter_map(|draft| draft.literal.as_ref());
        let bytes: usize = literals.map(Vec::len).sum();
        if bytes > self.limits.literals_bytes {
            return Err(BuildError::TooLarge(format!(
                "{bytes} bytes of literals, more than {}",
                self.limits.literals_bytes
            )));
        }
        Ok(())
    }

    /// Lets the best source of a name say whether it is a library's: another
    /// list may know `curl` too, and not what it is.
    fn settle_weakness(&mut self) {
        let mut best: HashMap<Vec<u8>, (u8, bool)> = HashMap::new();
        for draft in &self.drafts {
            let (Some(literal), false) = (&draft.literal, draft.specificity.is_mark) else {
                continue;
            };
            let Specificity { source, weak, .. } = draft.specificity;
            let known = best.entry(name(literal).to_vec()).or_insert((source, weak));
            if source < known.0 {
                *known = (source, weak);
            }
        }
        for draft in &mut self.drafts {
            let literal = draft.literal.as_deref().unwrap_or_default();
            if let Some((_, weak)) = best.get(name(literal)) {
                draft.specificity.weak = *weak;
            }
        }
    }

    fn add_pattern(&mut self, pattern: &Pattern, place: Specificity) -> Result<(), String> {
        let Some(rule) = Rule::of(pattern.kind) else {
            debug_assert_eq!(pattern.kind, PatternKind::Regex);
            return self.add_regex(&pattern.text, place);
        };
        match pattern.text.len() {
            0 => Err("has no text".to_owned()),
            1..=MAX_LITERAL_BYTES => {
                self.draft(pattern.text.as_bytes(), place, Test::Rule(rule));
                Ok(())
            }
            _ => Err(format!("longer than {MAX_LITERAL_BYTES} bytes")),
        }
    }

    fn add_regex(&mut self, text: &str, place: Specificity) -> Result<(), String> {
        match Plan::new(text)? {
            Plan::Literals(literals) => {
                for (literal, plain) in literals {
                    self.draft(&literal.bytes, place, Test::Rule(Rule::Plain(plain)));
                }
            }
            Plan::Gated(regex, gates) => {
                let test = self.keep(regex);
                // All gates rank alike: the regular expression is one claim.
                let specificity = place.with_length(shortest_name(&gates));
                self.drafts.extend(gates.into_iter().map(|gate| Draft {
                    literal: Some(gate.bytes.to_ascii_lowercase()),
                    specificity,
                    test: test.clone(),
                }));
            }
            Plan::Always(_) if self.always >= self.limits.always => {
                return Err(format!(
                    "needs no literal of three bytes, as {} others that run on every User-Agent",
                    self.always
                ));
            }
            Plan::Always(regex) => {
                self.always += 1;
                let test = self.keep(regex);
                self.drafts.push(Draft {
                    literal: None,
                    specificity: place,
                    test,
                });
            }
        }
        Ok(())
    }

    fn keep(&mut self, regex: Regex) -> Test {
        self.regexes.push(regex);
        Test::Regex(self.regexes.len() - 1)
    }

    fn draft(&mut self, literal: &[u8], place: Specificity, test: Test) {
        self.drafts.push(Draft {
            literal: Some(literal.to_ascii_lowercase()),
            specificity: place.with_length(name(literal).len()),
            test,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::registry::Source;

    /// Visitor that wants everything and counts what it is asked.
    #[derive(Default)]
    struct Counter {
        asked: Cell<usize>,
        hits: Vec<Range<usize>>,
    }

    impl Visitor for Counter {
        fn wants(&self, _entry: &Entry) -> bool {
            self.asked.set(self.asked.get() + 1);
            true
        }

        fn may_run(&mut self, _regex: usize) -> bool {
            true
        }

        fn hit(&mut self, _entry: &Entry, range: Range<usize>) {
            self.hits.push(range);
        }
    }

    fn matcher(texts: impl IntoIterator<Item = String>) -> Matcher {
        let mut robot = Robot::new("it", Source::manual());
        let pattern = |text| Pattern::new(PatternKind::Token, text);
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
        let nested = matcher((1..=32).map(|length| "a".repeat(length)));
        let kib = asked(&nested, &[b'a'; 1 << 10]);
        assert!(kib <= 32 << 10, "{kib} steps");
        assert!(asked(&nested, &[b'a'; 8 << 10]) <= 8 * kib + 8 * 32 * 32);
        let limit = asked(&nested, &[b'a'; MAX_USER_AGENT_BYTES + 1]);
        assert_eq!(asked(&nested, &b"a".repeat(64 << 10)), limit);
    }

    #[test]
    fn text_without_literals_takes_no_steps() {
        let matcher = matcher(["robot".to_owned()]);
        assert_eq!(asked(&matcher, &b"robo".repeat(1000)), 0);
    }

    #[test]
    fn every_hit_is_told_and_the_literals_are_shared() {
        let matcher = matcher(["Ab", "aB", "b", "c"].map(str::to_owned));
        assert_eq!(matcher.pattern_count(), 4);
        assert_eq!(matcher.literals.len(), 3);
        let mut counter = Counter::default();
        matcher.scan(b"ab-c.b", &mut counter);
        assert_eq!(counter.hits, [0..2, 0..2, 3..4, 5..6]);
    }
}

//! A builder that creates a matcher from the patterns of robots.

use std::collections::{BTreeMap, HashMap};

use regex::bytes::Regex;

use super::{
    super::{
        detector::BuildError,
        regexes::Plan,
        rules::{Edge, Plain, Rule},
        specificity::{Specificity, name, shortest_name},
        unlisted::Mark,
    },
    Form, Literals, Matcher, Owner, Test,
};
use crate::registry::{Pattern, PatternKind, Robot};

/// Maximum length of a literal pattern.
const MAX_LITERAL_BYTES: usize = 512;

/// Size limits of a [`Matcher`].
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct Limits {
    /// Maximum total size of all literals in bytes.
    pub(in crate::detect) literals_bytes: usize,
    /// Maximum number of regular expressions that run on every User-Agent.
    pub(in crate::detect) always: usize,
    /// Maximum size of the transition table. A larger table is replaced by a compact form that uses
    /// a twentieth of the memory and doubles the search time.
    pub(in crate::detect) table_bytes: usize,
}

impl Limits {
    /// No limits, and no transition table: for a single search per browser, building the table
    /// would take fifty times the time that the table saves.
    pub(in crate::detect) const NONE: Self = Self {
        literals_bytes: usize::MAX,
        always: usize::MAX,
        table_bytes: 0,
    };
}

/// Collects the patterns for a [`Matcher`].
#[derive(Debug)]
pub(in crate::detect) struct Builder {
    limits: Limits,
    pub(super) drafts: Vec<Draft>,
    pub(super) plains: Vec<Plain>,
    regexes: Vec<Regex>,
    always: usize,
    patterns: usize,
}

/// A form of a pattern that has no rank yet.
#[derive(Debug)]
pub(super) struct Draft {
    /// The literal in lower case; `None` for a regular expression that always runs.
    pub(super) literal: Option<Vec<u8>>,
    pub(super) specificity: Specificity,
    pub(super) test: Test,
}

impl Builder {
    /// Creates a builder without patterns.
    pub(in crate::detect) fn new(limits: Limits) -> Self {
        Self {
            limits,
            drafts: Vec::new(),
            plains: Vec::new(),
            regexes: Vec::new(),
            always: 0,
            patterns: 0,
        }
    }

    /// Adds the patterns of a robot with the given number; numbers must be in ascending order.
    ///
    /// Returns the rejected patterns, each with the reason.
    pub(in crate::detect) fn add(
        &mut self,
        number: usize,
        robot: &Robot,
    ) -> Vec<(Pattern, String)> {
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

    /// Adds the marks of unlisted robots; occurrences are reported by the index of the mark.
    pub(in crate::detect) fn add_marks(&mut self, marks: &[Mark]) {
        for (index, mark) in (0..=u8::MAX).zip(marks) {
            self.drafts.push(Draft {
                literal: Some(mark.literal.as_bytes().to_vec()),
                specificity: Specificity::from_mark(usize::from(index)),
                test: Test::Mark(index),
            });
        }
    }

    /// Builds the matcher.
    pub(in crate::detect) fn build(mut self) -> Result<Matcher, BuildError> {
        self.check_size()?;
        self.apply_best_classification();
        self.drafts.sort_by_key(|draft| draft.specificity);
        // Sorted, as the automaton requires; the most specific form of a literal comes first.
        let mut by_literal: BTreeMap<Vec<u8>, Vec<Form>> = BTreeMap::new();
        let mut always = Vec::new();
        for (rank, draft) in self.drafts.into_iter().enumerate() {
            let form = Form {
                owner: draft.specificity.owner(rank)?,
                test: draft.test,
            };
            match draft.literal {
                Some(literal) => by_literal.entry(literal).or_default().push(form),
                None => always.push(form),
            }
        }
        let literals = Literals::new(
            by_literal.keys().map(Vec::as_slice),
            self.limits.table_bytes,
        )
        .map_err(|error| BuildError::TooLarge(error.to_string()))?;
        let mut starts = vec![0];
        let mut forms = Vec::new();
        for of_literal in by_literal.into_values() {
            forms.extend(of_literal);
            starts.push(narrow(forms.len())?);
        }
        Ok(Matcher {
            literals,
            starts: starts.into(),
            forms: forms.into(),
            plains: self.plains.into(),
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

    /// Applies the best source's classification of a name as a library or a shared User-Agent,
    /// because another source may list `curl` without knowing its purpose.
    pub(super) fn apply_best_classification(&mut self) {
        let mut best: HashMap<Vec<u8>, Specificity> = HashMap::new();
        for draft in &self.drafts {
            let (Some(literal), false) = (&draft.literal, draft.specificity.is_mark) else {
                continue;
            };
            let known = best.entry(name(literal).to_vec());
            let known = known.or_insert(draft.specificity);
            if draft.specificity.source < known.source {
                *known = draft.specificity;
            }
        }
        for draft in &mut self.drafts {
            let literal = draft.literal.as_deref().unwrap_or_default();
            if let Some(known) = best.get(name(literal)) {
                // A shared record stays shared, even if other records have its name.
                draft.specificity.shared |= known.shared;
                draft.specificity.weak = known.weak;
            }
        }
    }

    fn add_pattern(&mut self, pattern: &Pattern, place: Specificity) -> Result<(), String> {
        let Some(rule) = Rule::from_kind(pattern.kind) else {
            debug_assert_eq!(pattern.kind, PatternKind::Regex);
            return self.add_regex(&pattern.text, place);
        };
        match pattern.text.len() {
            0 => Err("the pattern is empty".to_owned()),
            1..=MAX_LITERAL_BYTES => {
                let literal = pattern.text.as_bytes();
                let test = if rule == Rule::Prefix && is_in_capitals(literal) {
                    self.keep_plain(Plain {
                        before: Edge::Text,
                        after: Edge::Free,
                        // The name matches only as it is spelled.
                        spelled: Some(literal.into()),
                    })?
                } else {
                    Test::Rule(rule)
                };
                self.draft(literal, place, test);
                Ok(())
            }
            _ => Err(format!("the pattern exceeds {MAX_LITERAL_BYTES} bytes")),
        }
    }

    fn add_regex(&mut self, text: &str, place: Specificity) -> Result<(), String> {
        match Plan::new(text)? {
            Plan::Literals(literals) => {
                for (literal, plain) in literals {
                    let test = self.keep_plain(plain)?;
                    self.draft(&literal.bytes, place, test);
                }
            }
            Plan::Gated(regex, gates) => {
                let test = self.keep(regex)?;
                // All gates have the same rank, because the regular expression is one claim.
                let specificity = place.with_length(shortest_name(&gates));
                self.drafts.extend(gates.into_iter().map(|gate| Draft {
                    literal: Some(gate.bytes.to_ascii_lowercase()),
                    specificity,
                    test,
                }));
            }
            Plan::Always(_) if self.always >= self.limits.always => {
                return Err(format!(
                    "the expression must run on every User-Agent, and the limit of {} such expressions is reached",
                    self.always
                ));
            }
            Plan::Always(regex) => {
                self.always += 1;
                let test = self.keep(regex)?;
                self.drafts.push(Draft {
                    literal: None,
                    specificity: place,
                    test,
                });
            }
        }
        Ok(())
    }

    fn keep_plain(&mut self, plain: Plain) -> Result<Test, String> {
        let test = Test::Plain(number(self.plains.len())?);
        self.plains.push(plain);
        Ok(test)
    }

    fn keep(&mut self, regex: Regex) -> Result<Test, String> {
        let test = Test::Regex(number(self.regexes.len())?);
        self.regexes.push(regex);
        Ok(test)
    }

    fn draft(&mut self, literal: &[u8], place: Specificity, test: Test) {
        self.drafts.push(Draft {
            literal: Some(literal.to_ascii_lowercase()),
            specificity: place.with_length(name(literal).len()),
            test,
        });
    }
}

impl Specificity {
    /// Returns the robot and the pattern with the given rank.
    fn owner(&self, rank: usize) -> Result<Owner, BuildError> {
        Ok(Owner {
            rank: narrow(rank)?,
            // A mark belongs to no robot.
            robot: u32::try_from(self.robot).unwrap_or(u32::MAX),
            pattern: narrow(self.pattern)?,
            is_shared: self.shared,
        })
    }
}

/// Returns `true` for a name in capitals, which may be a common word in another case: `ELEMENT/` is
/// malware, and `Element/` is a messenger.
fn is_in_capitals(literal: &[u8]) -> bool {
    let mut letters = literal.iter().filter(|byte| byte.is_ascii_alphabetic());
    letters.clone().count() >= 2 && letters.all(u8::is_ascii_uppercase)
}

fn narrow(number: usize) -> Result<u32, BuildError> {
    u32::try_from(number).map_err(|_| BuildError::TooLarge("too many literals".to_owned()))
}

fn number(place: usize) -> Result<u32, String> {
    u32::try_from(place).map_err(|_| "too many patterns".to_owned())
}

//! Checks of which lines belong to a group, and of whether robots read the group.

use std::collections::HashMap;

use crate::{AgentsEnd, Dialect, EmptyPath, Grouping, Naming};

use super::{
    WarningKind,
    rules::{WrittenRule, compare},
    values::useless_disallow,
    warnings::{Warnings, quote},
};

/// The state between two lines. It is updated in the same way as the parser's state, so that the
/// warnings match the parser's behaviour.
#[derive(Debug)]
pub(super) struct Groups<'t> {
    dialect: &'t Dialect,
    open: Option<Group<'t>>,
    /// The line numbers of the blank line that ended the previous group, and of that group's first
    /// line.
    ended_by_blank: Option<(usize, usize)>,
    has_told_orphan: bool,
    has_agent: bool,
    /// The names of robots, each with the line of the first group that contains the name.
    named: HashMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct Group<'t> {
    line: usize,
    agents: Vec<(Vec<u8>, usize)>,
    rules: Vec<WrittenRule<'t>>,
    /// Whether the next `User-agent` line belongs to the current group.
    is_listing: bool,
}

impl<'t> Groups<'t> {
    pub(super) fn new(dialect: &'t Dialect) -> Self {
        Self {
            dialect,
            open: None,
            ended_by_blank: None,
            has_told_orphan: false,
            has_agent: false,
            named: HashMap::new(),
        }
    }

    pub(super) fn agent(&mut self, value: &[u8], line: usize, warnings: &mut Warnings) {
        if !self.open.as_ref().is_some_and(|group| group.is_listing) {
            self.close(warnings);
        }
        self.has_agent = true;
        self.has_told_orphan = false;
        self.ended_by_blank = None;
        let name = self.name(value);
        let group = self.open.get_or_insert_with(|| Group {
            line,
            agents: Vec::new(),
            rules: Vec::new(),
            is_listing: true,
        });
        group.agents.push((name, line));
    }

    pub(super) fn rule(&mut self, rule: WrittenRule<'t>, warnings: &mut Warnings) {
        if let Some(group) = &mut self.open {
            group.rules.push(rule);
            if !(rule.is_allow && self.dialect.agents_end == AgentsEnd::Disallow) {
                group.is_listing = false;
            }
        } else {
            self.orphan(rule.line, warnings);
        }
    }

    /// Checks `Crawl-delay` or `Request-rate`, which belong to a group in the same way as rules.
    pub(super) fn pace(&mut self, line: usize, warnings: &mut Warnings) {
        if self.open.is_none() {
            self.orphan(line, warnings);
        }
        self.other(true);
    }

    /// Checks a field that does not belong to a group.
    pub(super) fn other(&mut self, is_known: bool) {
        let ends = match self.dialect.agents_end {
            AgentsEnd::AnyField => true,
            AgentsEnd::KnownField => is_known,
            AgentsEnd::Rule | AgentsEnd::Disallow => false,
        };
        if let Some(group) = &mut self.open {
            group.is_listing &= !ends;
        }
    }

    pub(super) fn blank(&mut self, line: usize, warnings: &mut Warnings) {
        if let Some(group) = &self.open
            && self.dialect.blank_line_ends
        {
            self.ended_by_blank = Some((line, group.line));
            self.close(warnings);
        }
    }

    /// Ends the current group, and checks its names and rules.
    pub(super) fn close(&mut self, warnings: &mut Warnings) {
        let Some(group) = self.open.take() else {
            return;
        };
        if group.rules.len() > 1 && self.dialect.empty_path != EmptyPath::MatchesAll {
            let is_useless = |rule: &&WrittenRule<'_>| !rule.is_allow && rule.path.is_empty();
            for rule in group.rules.iter().filter(is_useless) {
                useless_disallow(rule.line, warnings);
            }
        }
        compare(group.rules, self.dialect, warnings);
        // Sort, so that equal names are adjacent and the earliest line comes first.
        let mut names: Vec<&(Vec<u8>, usize)> = group.agents.iter().collect();
        names.sort();
        for same in names.chunk_by(|(one, _), (next, _)| one == next) {
            let [(name, line), again @ ..] = same else {
                continue;
            };
            for (_, again) in again {
                warnings.add(*again, WarningKind::DuplicateAgent, || {
                    format!("line {line} already lists {}; remove the name", quote(name))
                });
            }
            match self.named.get(name) {
                Some(first) => self.again(name, *line, *first, warnings),
                None => drop(self.named.insert(name.clone(), group.line)),
            }
        }
    }

    /// Adds a warning for a rule without a group; several such rules in a row cause only one
    /// warning.
    fn orphan(&mut self, line: usize, warnings: &mut Warnings) {
        if std::mem::replace(&mut self.has_told_orphan, true) {
            return;
        }
        if let Some((blank, group)) = self.ended_by_blank {
            warnings.add(blank, WarningKind::BlankLine, || {
                format!("the blank line ends the group that starts on line {group}, so robots ignore the rules below; delete the blank line")
            });
        } else if self.dialect.orphans_for_all && !self.has_agent {
            warnings.add(line, WarningKind::OrphanRule, || {
                "no User-agent line precedes the rule: this dialect applies the rule to all robots, but others ignore it; add User-agent: * above the rule".to_owned()
            });
        } else {
            warnings.add(line, WarningKind::OrphanRule, || {
                "no User-agent line precedes the rule, so robots ignore it; add User-agent: * above the rule".to_owned()
            });
        }
    }

    fn again(&self, name: &[u8], line: usize, first: usize, warnings: &mut Warnings) {
        let (kind, effect) = match self.dialect.groups {
            Grouping::First => (WarningKind::UnreadGroup, "robots never read this group"),
            Grouping::FirstElseAny if name != b"*" => {
                (WarningKind::UnreadGroup, "robots never read this group")
            }
            Grouping::FirstThenAny if name != b"*" => (
                WarningKind::UnreadGroup,
                "robots read this group only if both groups name the same robots",
            ),
            _ => (
                WarningKind::SplitGroup,
                "this dialect combines both groups, but older robots read only the first",
            ),
        };
        warnings.add(line, kind, || {
            format!(
                "the group that starts on line {first} also names {}: {effect}; combine the groups",
                quote(name)
            )
        });
    }

    /// Returns a robot's name in the form that the dialect compares.
    fn name(&self, value: &[u8]) -> Vec<u8> {
        let is_token = |octet: &&u8| octet.is_ascii_alphabetic() || matches!(octet, b'-' | b'_');
        let value = match self.dialect.names {
            Naming::TokenPrefix if value != b"*" => {
                let length = value.iter().take_while(is_token).count();
                value.get(..length).unwrap_or_default()
            }
            _ => value,
        };
        value.to_ascii_lowercase()
    }
}

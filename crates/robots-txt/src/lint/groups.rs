//! Groups: which lines belong to which, and whether anybody reads them.

use std::collections::HashMap;

use crate::{AgentsEnd, Dialect, EmptyPath, Grouping, Naming};

use super::{
    WarningKind,
    rules::{WrittenRule, compare},
    values::useless_disallow,
    warnings::{Warnings, quote},
};

/// State between two lines, moved as the parser's own is, so that a warning tells what
/// the parser does.
#[derive(Debug)]
pub(super) struct Groups<'t> {
    dialect: &'t Dialect,
    open: Option<Group<'t>>,
    /// Blank line that ended the last group, and that group's line.
    ended_by_blank: Option<(usize, usize)>,
    has_told_orphan: bool,
    has_agent: bool,
    /// Names of robots, and the line of the first group of each.
    named: HashMap<Vec<u8>, usize>,
}

#[derive(Debug)]
struct Group<'t> {
    line: usize,
    agents: Vec<(Vec<u8>, usize)>,
    rules: Vec<WrittenRule<'t>>,
    /// Whether the next `User-agent` line joins it.
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

    /// Checks `Crawl-delay` or `Request-rate`, which are about a group as rules are.
    pub(super) fn pace(&mut self, line: usize, warnings: &mut Warnings) {
        if self.open.is_none() {
            self.orphan(line, warnings);
        }
        self.other(true);
    }

    /// Checks a field that is about no group.
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

    /// Ends the group: what stands in it is now complete.
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
        // Sorted, the same names stand side by side, the first line first.
        let mut names: Vec<&(Vec<u8>, usize)> = group.agents.iter().collect();
        names.sort();
        for same in names.chunk_by(|(one, _), (next, _)| one == next) {
            let [(name, line), again @ ..] = same else {
                continue;
            };
            for (_, again) in again {
                warnings.add(*again, WarningKind::DuplicateAgent, || {
                    format!("line {line} names {} already; leave it out", quote(name))
                });
            }
            match self.named.get(name) {
                Some(first) => self.again(name, *line, *first, warnings),
                None => drop(self.named.insert(name.clone(), group.line)),
            }
        }
    }

    /// Warns of a rule without a group; of several in a row, once.
    fn orphan(&mut self, line: usize, warnings: &mut Warnings) {
        if std::mem::replace(&mut self.has_told_orphan, true) {
            return;
        }
        if let Some((blank, group)) = self.ended_by_blank {
            warnings.add(blank, WarningKind::BlankLine, || {
                format!("the blank line ends the group of line {group}, robots ignore the rules below; delete it")
            });
        } else if self.dialect.orphans_for_all && !self.has_agent {
            warnings.add(line, WarningKind::OrphanRule, || {
                "no User-agent line stands above the rule: this dialect takes it for one about all robots, others ignore it; write User-agent: * above".to_owned()
            });
        } else {
            warnings.add(line, WarningKind::OrphanRule, || {
                "no User-agent line stands above, robots ignore the rule; write User-agent: * above".to_owned()
            });
        }
    }

    fn again(&self, name: &[u8], line: usize, first: usize, warnings: &mut Warnings) {
        let (kind, effect) = match self.dialect.groups {
            Grouping::First => (WarningKind::UnreadGroup, "this one is never read"),
            Grouping::FirstElseAny if name != b"*" => {
                (WarningKind::UnreadGroup, "this one is never read")
            }
            Grouping::FirstThenAny if name != b"*" => (
                WarningKind::UnreadGroup,
                "this one is read only if both name the same robots",
            ),
            _ => (
                WarningKind::SplitGroup,
                "this dialect reads both together, older robots the first only",
            ),
        };
        warnings.add(line, kind, || {
            format!(
                "the group of line {first} is about {} too: {effect}; write one group",
                quote(name)
            )
        });
    }

    /// Returns a name as the dialect compares it.
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

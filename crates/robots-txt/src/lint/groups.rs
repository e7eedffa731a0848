//! Checks of which lines belong to a group, and of whether robots read the group.

use std::collections::HashMap;

use crate::{AgentsEnd, Dialect, EmptyPath, Grouping, Naming, preferences::Vocabulary};

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
    /// The kind of lines between the previous `User-agent` line and the current line.
    gap: Gap,
    /// The number of agents before the last gap between two `User-agent` lines, and the gap.
    split: Option<(usize, Gap)>,
}

/// The lines between two `User-agent` lines of a group, which suggest that two groups are intended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Gap {
    None,
    /// A comment, or a field that does not belong to a group.
    Comment,
    /// A blank line.
    Blank,
    /// A line that belongs to a group but does not end the list of robots, such as `Crawl-delay`.
    Field,
}

/// Search engines' robots, which sites rarely close together with others.
const SEARCH: &str = "applebot baiduspider bingbot duckduckbot googlebot googlebot-image \
                      googlebot-news msnbot seznambot slurp yandex yandexbot";

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
            if let Some(group) = &self.open
                && group.rules.is_empty()
                && self.dialect.usage_is_rule()
            {
                warnings.add(group.line, WarningKind::EmptyGroup, || {
                    format!("robots that do not support Content-Usage, such as Google's, also apply the rules below line {line} to this group; add Allow: / to it")
                });
            }
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
            gap: Gap::None,
            split: None,
        });
        if group.gap != Gap::None && !group.agents.is_empty() {
            group.split = Some((group.agents.len(), group.gap));
        }
        group.gap = Gap::None;
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
        self.gap(Gap::Field);
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
        self.gap(Gap::Comment);
    }

    /// Checks a line about the use of pages, which belongs to a group.
    pub(super) fn preferences(&mut self, words: Vocabulary) {
        self.other(false);
        self.gap(Gap::Field);
        if let Some(group) = &mut self.open {
            group.is_listing &= words != Vocabulary::Usage || !self.dialect.usage_is_rule();
        }
    }

    pub(super) fn comment(&mut self) {
        self.gap(Gap::Comment);
    }

    fn gap(&mut self, gap: Gap) {
        if let Some(group) = &mut self.open {
            group.gap = group.gap.max(gap);
        }
    }

    pub(super) fn blank(&mut self, line: usize, warnings: &mut Warnings) {
        if let Some(group) = &self.open
            && self.dialect.blank_line_ends
        {
            self.ended_by_blank = Some((line, group.line));
            self.close(warnings);
        }
        self.gap(Gap::Blank);
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
        empty_group(&group, warnings);
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

/// Adds a warning if robots without rules are closed by the rules below a gap.
fn empty_group(group: &Group<'_>, warnings: &mut Warnings) {
    let closing = group
        .rules
        .iter()
        .find(|rule| !rule.is_allow && !rule.path.is_empty());
    let (Some((place, gap)), Some(closing)) = (group.split, closing) else {
        return;
    };
    let (before, after) = group.agents.split_at_checked(place).unwrap_or_default();
    let has = |agents: &[(Vec<u8>, usize)], names: &str| {
        let is_in = |name: &[u8]| names.split(' ').any(|known| known.as_bytes() == name);
        agents.iter().any(|(name, _)| is_in(name))
    };
    // Without its own rules, a robot would follow the group for all robots anyway.
    let is_mistake = !has(after, "*")
        && match gap {
            Gap::None | Gap::Comment => has(before, "*"),
            Gap::Blank => has(before, "*") || has(before, SEARCH) && !has(after, SEARCH),
            Gap::Field => true,
        };
    let (Some((_, first)), Some((_, next))) = (before.last(), after.first()) else {
        return;
    };
    if is_mistake {
        warnings.add(*first, WarningKind::EmptyGroup, || {
            let names: Vec<String> = before.iter().map(|(name, _)| quote(name)).collect();
            format!(
                "no rules follow the lines of {}, so the rules below line {next} apply to them too, such as Disallow: {}; if everything is allowed, add Disallow: without a path below line {first}; otherwise, delete the lines between the names",
                names.join(", "),
                quote(closing.path),
            )
        });
    }
}

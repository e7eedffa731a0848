//! Which groups count for a robot, and their rules in the dialect's order.

use std::{
    cmp::Reverse,
    collections::HashSet,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use super::{
    Dialect,
    dialect::{EmptyPath, Escapes, Grouping, Winner},
    index::{Candidate, Decision, Index},
    names::{Name, is_any, value},
    parsed::{GroupLines, Parsed, RuleLine},
    pattern::PathPattern,
    resolve::resolved,
    scan::{self, can_scan},
};

/// Groups that count for a robot, and what they say.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Its name, where a group is about it.
    pub(super) name: Option<Name>,
    /// Places of its own groups.
    pub(super) own: Vec<usize>,
    /// Places of the groups of `*`, where they count.
    pub(super) any: Vec<usize>,
    /// Questions that were asked before there was an index.
    asked: AtomicUsize,
    index: OnceLock<Index>,
}

/// Questions for which no index is built.
const FIRST_QUESTIONS: usize = 3;
impl Selection {
    /// Selects the groups about a robot; nothing if none names it.
    pub(super) fn own(parsed: &Parsed, dialect: &Dialect, name: Name) -> Option<Self> {
        let mut own = match dialect.groups {
            Grouping::FirstThenAny => section(parsed, dialect, &name)?,
            _ => groups(parsed, |group| is_about(parsed, group, &name)),
        };
        if matches!(dialect.groups, Grouping::First | Grouping::FirstElseAny) {
            own.truncate(1);
        }
        let any = match dialect.groups {
            Grouping::FirstThenAny => any_groups(parsed, dialect),
            _ => Vec::new(),
        };
        (!own.is_empty()).then(|| Self {
            name: Some(name),
            own,
            any,
            ..Self::default()
        })
    }

    /// Selects the groups about robots that none names.
    pub(super) fn any(parsed: &Parsed, dialect: &Dialect) -> Self {
        Self {
            any: any_groups(parsed, dialect),
            ..Self::default()
        }
    }

    /// Returns the places of all groups that count, in their order.
    pub(super) fn groups(&self) -> impl Iterator<Item = usize> {
        self.own.iter().chain(&self.any).copied()
    }

    /// Returns what the winning rule says about a path; without one, about a
    /// path that cannot be compared.
    pub(super) fn decide(
        &self,
        parsed: &Parsed,
        dialect: &Dialect,
        base: Option<&str>,
        path: Option<&[u8]>,
    ) -> Option<Decision> {
        if let Some(path) = path
            && can_scan(dialect)
            && self.is_sooner_scanned()
        {
            return scan::decide(parsed, dialect, self.groups(), path);
        }
        let index = self.prepared(parsed, dialect, base);
        match path {
            Some(path) => index.decide(path),
            None => index.decide_unreadable(),
        }
    }

    /// Returns the index, built if it is not yet.
    pub(super) fn prepared(
        &self,
        parsed: &Parsed,
        dialect: &Dialect,
        base: Option<&str>,
    ) -> &Index {
        self.index
            .get_or_init(|| self.index_of(parsed, dialect, base))
    }

    /// Tells whether these are the first questions: an index pays after a few.
    fn is_sooner_scanned(&self) -> bool {
        self.index.get().is_none() && self.asked.fetch_add(1, Relaxed) < FIRST_QUESTIONS
    }

    fn index_of(&self, parsed: &Parsed, dialect: &Dialect, base: Option<&str>) -> Index {
        let mut candidates = Vec::new();
        for group in self.groups() {
            push_group(&mut candidates, parsed, dialect, group, base);
        }
        if dialect.winner == Winner::Longest {
            // The sort keeps the file's order where it sees no difference.
            candidates
                .sort_by_key(|rule| (Reverse(rule.pattern.length), Reverse(rule.decision.allow)));
        }
        Index::new(&candidates, dialect.slash_matches_bare)
    }
}

fn groups(parsed: &Parsed, counts: impl Fn(&GroupLines) -> bool) -> Vec<usize> {
    let numbered = parsed.groups.iter().enumerate();
    numbered
        .filter(|(_, group)| counts(group))
        .map(|(at, _)| at)
        .collect()
}

fn is_about(parsed: &Parsed, group: &GroupLines, name: &Name) -> bool {
    let mut agents = parsed.agents_of(group).iter();
    agents.any(|agent| name.is_meant_by(parsed.octets(agent.value)))
}

fn is_for_any(parsed: &Parsed, dialect: &Dialect, group: &GroupLines) -> bool {
    let mut agents = parsed.agents_of(group).iter();
    group.implied
        || agents.any(|agent| is_any(&value(parsed.octets(agent.value), dialect), dialect.names))
}

fn any_groups(parsed: &Parsed, dialect: &Dialect) -> Vec<usize> {
    let mut any = groups(parsed, |group| is_for_any(parsed, dialect, group));
    if dialect.groups == Grouping::First {
        any.truncate(1);
    }
    any
}

/// Returns a robot's section as Geoportal's program joins it.
///
/// The first group that names the robot and not `*`, and each later one whose
/// agents are all among that one's, unless an earlier group has them all.
fn section(parsed: &Parsed, dialect: &Dialect, name: &Name) -> Option<Vec<usize>> {
    let agents = |group: &GroupLines| -> HashSet<Vec<u8>> {
        let agents = parsed.agents_of(group).iter();
        agents
            .map(|agent| value(parsed.octets(agent.value), dialect).to_ascii_lowercase())
            .collect()
    };
    let named = groups(parsed, |group| !is_for_any(parsed, dialect, group));
    let first = named.iter().position(|at| {
        let group = parsed.groups.get(*at);
        group.is_some_and(|group| is_about(parsed, group, name))
    })?;
    let (before, rest) = named.split_at_checked(first)?;
    let (own, after) = rest.split_first()?;
    let ours = agents(parsed.groups.get(*own)?);
    let before: Vec<_> = before
        .iter()
        .filter_map(|at| parsed.groups.get(*at))
        .map(agents)
        .filter(|agents| !agents.is_disjoint(&ours))
        .collect();
    let joined = after.iter().copied().filter(|at| {
        let theirs = parsed.groups.get(*at).map(agents).unwrap_or_default();
        theirs.is_subset(&ours) && !before.iter().any(|before| theirs.is_subset(before))
    });
    Some([*own].into_iter().chain(joined).collect())
}

/// Adds the rules of a group.
fn push_group<'t>(
    candidates: &mut Vec<Candidate<'t>>,
    parsed: &'t Parsed,
    dialect: &Dialect,
    group: usize,
    base: Option<&str>,
) {
    let Some(lines) = parsed.groups.get(group) else {
        return;
    };
    for (at, rule) in lines.rules.clone().zip(parsed.rules_of(lines)) {
        let decision = Decision {
            allow: rule.allow,
            rule: at,
            group,
        };
        let written = parsed.octets(rule.path);
        if written.is_empty() {
            candidates.extend(empty(rule, dialect).map(|allow| Candidate {
                pattern: PathPattern::everything(),
                decision: Decision { allow, ..decision },
            }));
        } else if dialect.escapes == Escapes::Resolved {
            candidates.extend(resolved(written, base).map(|path| Candidate {
                pattern: PathPattern::prefix(path),
                decision,
            }));
        } else {
            push_rule(candidates, written, decision, dialect);
        }
    }
}

/// Returns what a rule without a path says, if anything: allow or not.
fn empty(rule: &RuleLine, dialect: &Dialect) -> Option<bool> {
    match dialect.empty_path {
        EmptyPath::NoRule => None,
        EmptyPath::AllowsAll => Some(true),
        EmptyPath::MatchesAll => Some(rule.allow),
        EmptyPath::Inverted => Some(!rule.allow),
    }
}

fn push_rule<'t>(
    candidates: &mut Vec<Candidate<'t>>,
    written: &'t [u8],
    decision: Decision,
    dialect: &Dialect,
) {
    if dialect.index_page && decision.allow {
        let directory = index_page(written);
        let pattern = directory.and_then(|directory| PathPattern::exactly(directory, dialect));
        candidates.extend(pattern.map(|pattern| Candidate { pattern, decision }));
    }
    let pattern = PathPattern::new(written, dialect);
    candidates.extend(pattern.map(|pattern| Candidate { pattern, decision }));
}

/// Returns the directory of a path whose last part begins with `index.htm`.
fn index_page(written: &[u8]) -> Option<&[u8]> {
    let slash = memchr::memrchr(b'/', written)?;
    let (_, page) = written.split_at_checked(slash)?;
    page.starts_with(b"/index.htm")
        .then(|| written.get(..=slash))
        .flatten()
}

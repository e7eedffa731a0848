//! Selection of the groups that apply to a robot, with their rules in the dialect's order.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
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
    parsed::{Agent, GroupLines, ParsedFile, RuleLine},
    pattern::PathPattern,
    resolve::resolved,
    scan::{self, can_scan},
};

/// The groups that apply to a robot, with an index of their rules.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The groups that name the robot; if `None`, the `*` groups apply, which are searched for when
    /// needed.
    pub(super) own: Option<OwnGroups>,
    /// The approximate number of queries so far, counted until the index is built.
    asked: AtomicUsize,
    /// The results for later queries; boxed, because most files are queried once or never.
    prepared: OnceLock<Box<Prepared>>,
}

/// Groups that apply to a robot that at least one of them names.
#[derive(Debug)]
pub(super) struct OwnGroups {
    pub(super) name: Name<'static>,
    /// The indexes of the groups that name the robot, followed by the indexes of the `*` groups if
    /// these also apply.
    places: Vec<usize>,
    /// The number of indexes in `places` that belong to groups that name the robot.
    named: usize,
}

/// The results that are computed once for all later queries.
#[derive(Debug)]
struct Prepared {
    index: Index,
    first_group: Option<usize>,
}

/// The number of queries before an index is built. Most files are queried once or never, and for
/// few queries it is cheaper to compare each rule than to build an index.
const FIRST_QUESTIONS: usize = 3;

impl OwnGroups {
    /// Selects the groups for a robot; returns `None` if no group names the robot.
    pub(super) fn new(parsed: &ParsedFile, dialect: &Dialect, name: &Name<'_>) -> Option<Self> {
        let mut agents = parsed.agents.iter();
        let first = agents.position(|agent| name.is_meant_by(parsed.octets(agent.value)))?;
        let mut places = match dialect.groups {
            Grouping::FirstThenAny => section(parsed, dialect, name)?,
            _ => groups(parsed, |group| {
                // Groups that end before the first agent with the robot's name cannot match.
                group.agents.end > first && is_about(parsed, group, name)
            })
            .collect(),
        };
        if matches!(dialect.groups, Grouping::First | Grouping::FirstElseAny) {
            places.truncate(1);
        }
        let named = places.len();
        if named == 0 {
            return None;
        }
        if dialect.groups == Grouping::FirstThenAny {
            places.extend(any_groups(parsed, dialect));
        }
        Some(Self {
            name: name.to_owned(),
            places,
            named,
        })
    }

    /// Returns `true` if the group with this index names the robot.
    pub(super) fn names(&self, group: usize) -> bool {
        self.places.iter().take(self.named).any(|own| *own == group)
    }
}

impl Selection {
    /// Creates the selection for a robot that is named by some groups.
    pub(super) fn new(own: OwnGroups) -> Self {
        Self {
            own: Some(own),
            ..Self::default()
        }
    }

    /// Returns the index of the first group that applies to the robot.
    pub(super) fn first_group(&self, parsed: &ParsedFile, dialect: &Dialect) -> Option<usize> {
        match (&self.own, self.prepared.get()) {
            (Some(own), _) => own.places.first().copied(),
            (None, Some(prepared)) => prepared.first_group,
            (None, None) => any_groups(parsed, dialect).next(),
        }
    }

    /// Returns the decision of the winning rule for a path; a path of `None` cannot be compared
    /// with rules.
    pub(super) fn decide(
        &self,
        parsed: &ParsedFile,
        dialect: &Dialect,
        base: Option<&str>,
        path: Option<&[u8]>,
    ) -> Option<Decision> {
        if let Some(path) = path
            && can_scan(dialect)
            && self.is_sooner_scanned()
        {
            return match &self.own {
                Some(own) => scan::decide(parsed, dialect, own.places.iter().copied(), path),
                None => scan::decide(parsed, dialect, any_groups(parsed, dialect), path),
            };
        }
        let index = &self.prepared(parsed, dialect, base).index;
        match path {
            Some(path) => index.decide(path),
            None => index.decide_unreadable(),
        }
    }

    /// Builds the index of the rules unless it has already been built.
    pub(super) fn prepare(&self, parsed: &ParsedFile, dialect: &Dialect, base: Option<&str>) {
        self.prepared(parsed, dialect, base);
    }

    fn prepared(&self, parsed: &ParsedFile, dialect: &Dialect, base: Option<&str>) -> &Prepared {
        self.prepared.get_or_init(|| {
            Box::new(Prepared {
                index: match &self.own {
                    Some(own) => index(parsed, dialect, own.places.iter().copied(), base),
                    None => index(parsed, dialect, any_groups(parsed, dialect), base),
                },
                first_group: self.first_group(parsed, dialect),
            })
        })
    }

    /// Returns `true` for the first few queries, for which building an index does not pay off.
    fn is_sooner_scanned(&self) -> bool {
        if self.prepared.get().is_some() {
            return false;
        }
        // A count that is lost in a race does no harm.
        let asked = self.asked.load(Relaxed);
        self.asked.store(asked.saturating_add(1), Relaxed);
        asked < FIRST_QUESTIONS
    }
}

fn index(
    parsed: &ParsedFile,
    dialect: &Dialect,
    groups: impl Iterator<Item = usize>,
    base: Option<&str>,
) -> Index {
    let mut candidates = Vec::new();
    for group in groups {
        push_group(&mut candidates, parsed, dialect, group, base);
    }
    if dialect.winner == Winner::Longest {
        // The stable sort keeps equal rules in file order.
        candidates.sort_by_key(|rule| (Reverse(rule.pattern.length), Reverse(rule.decision.allow)));
    }
    Index::new(&candidates, dialect.slash_matches_bare)
}

fn groups(
    parsed: &ParsedFile,
    counts: impl Fn(&GroupLines) -> bool,
) -> impl Iterator<Item = usize> {
    let numbered = parsed.groups.iter().enumerate();
    numbered
        .filter(move |(_, group)| counts(group))
        .map(|(at, _)| at)
}

fn is_about(parsed: &ParsedFile, group: &GroupLines, name: &Name<'_>) -> bool {
    let mut agents = parsed.agents_of(group).iter();
    agents.any(|agent| name.is_meant_by(parsed.octets(agent.value)))
}

pub(super) fn is_for_any(parsed: &ParsedFile, dialect: &Dialect, group: &GroupLines) -> bool {
    let mut agents = parsed.agents_of(group).iter();
    let is_for_any = |agent: &Agent| {
        let written = parsed.octets(agent.value);
        written == b"*" || is_any(&value(written, dialect), dialect.names)
    };
    group.implied || agents.any(is_for_any)
}

/// Returns the indexes of the `*` groups that apply.
fn any_groups(parsed: &ParsedFile, dialect: &Dialect) -> impl Iterator<Item = usize> {
    let count = match dialect.groups {
        Grouping::First => 1,
        _ => usize::MAX,
    };
    groups(parsed, |group| is_for_any(parsed, dialect, group)).take(count)
}

/// Returns a robot's section, whose groups are joined as in Geoportal's program.
///
/// The section consists of the first group that names the robot but not `*`, and of each later
/// group whose agents are all in that first group, unless an earlier group already contains them
/// all.
fn section(parsed: &ParsedFile, dialect: &Dialect, name: &Name<'_>) -> Option<Vec<usize>> {
    let agents = |group: &GroupLines| -> Agents {
        let agents = parsed.agents_of(group).iter();
        agents
            .map(|agent| value(parsed.octets(agent.value), dialect).to_ascii_lowercase())
            .collect()
    };
    let named: Vec<_> = groups(parsed, |group| !is_for_any(parsed, dialect, group)).collect();
    let first = named.iter().position(|at| {
        let group = parsed.groups.get(*at);
        group.is_some_and(|group| is_about(parsed, group, name))
    })?;
    let (before, rest) = named.split_at_checked(first)?;
    let (own, after) = rest.split_first()?;
    let ours = agents(parsed.groups.get(*own)?);
    let groups_before = before.iter().filter_map(|at| parsed.groups.get(*at));
    let before = AgentSets::new(groups_before.map(|group| {
        let mut theirs = agents(group);
        theirs.retain(|agent| ours.contains(agent));
        theirs
    }));
    let mut known = HashMap::new();
    let joined = after.iter().copied().filter(|at| {
        let theirs = parsed.groups.get(*at).map(agents).unwrap_or_default();
        // Groups with the same agents are checked only once.
        theirs.is_subset(&ours)
            && *known
                .entry(theirs)
                .or_insert_with_key(|theirs| !before.any_contains(theirs))
    });
    Some([*own].into_iter().chain(joined).collect())
}

/// The agents of a group, in lower case.
type Agents = BTreeSet<Vec<u8>>;

/// A collection of distinct sets of agents.
struct AgentSets {
    sets: Vec<Agents>,
    /// The indexes of the sets that contain each agent.
    holders: HashMap<Vec<u8>, Vec<usize>>,
}

impl AgentSets {
    fn new(sets: impl Iterator<Item = Agents>) -> Self {
        let distinct: BTreeSet<Agents> = sets.collect();
        let sets: Vec<Agents> = distinct.into_iter().collect();
        let mut holders: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (at, set) in sets.iter().enumerate() {
            for agent in set {
                holders.entry(agent.clone()).or_default().push(at);
            }
        }
        Self { sets, holders }
    }

    /// Returns `true` if one of the sets contains all given agents.
    fn any_contains(&self, agents: &Agents) -> bool {
        // Such a set also contains the rarest agent, so only the sets that contain this agent need
        // to be compared.
        let holders = agents
            .iter()
            .map(|agent| self.holders.get(agent).map_or(&[][..], Vec::as_slice));
        let fewest = holders.min_by_key(|holders| holders.len());
        let mut sets = fewest.unwrap_or_default().iter();
        sets.any(|at| self.sets.get(*at).is_some_and(|set| agents.is_subset(set)))
    }
}

/// Adds the rules of a group.
fn push_group<'t>(
    candidates: &mut Vec<Candidate<'t>>,
    parsed: &'t ParsedFile,
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

/// Returns the meaning of a rule without a path: `true` if it allows everything, `None` if it is
/// ignored.
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

/// Returns the directory of a path whose last segment starts with `index.htm`.
fn index_page(written: &[u8]) -> Option<&[u8]> {
    let slash = memchr::memrchr(b'/', written)?;
    let (_, page) = written.split_at_checked(slash)?;
    // Google's matcher treats `index.htm` and `index.html` as their directory.
    page.starts_with(b"/index.htm")
        .then(|| written.get(..=slash))
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn own(text: &str, robot: &str) -> Vec<usize> {
        let dialect = Dialect::geoportal();
        let parsed = ParsedFile::new(text.as_bytes(), &dialect);
        let own = OwnGroups::new(&parsed, &dialect, &Name::new(robot, &dialect));
        own.map_or_else(Vec::new, |own| own.places)
    }

    fn push(text: &mut String, agents: impl IntoIterator<Item = char>) {
        for agent in agents {
            let _ = writeln!(text, "User-agent: {agent}");
        }
        text.push_str("Disallow: /\n");
    }

    proptest! {
        #[test]
        fn later_group_joins_if_the_first_but_no_earlier_one_has_all_its_agents(
            groups in prop::collection::vec(prop::collection::vec(prop::char::range('a', 'f'), 1..5), 1..24),
        ) {
            let mut text = String::new();
            for agents in &groups {
                push(&mut text, agents.iter().copied());
            }
            let mut expected = Vec::new();
            if let Some(first) = groups.iter().position(|agents| agents.contains(&'a')) {
                let among = |group: &Vec<char>, other: &Vec<char>| group.iter().all(|agent| other.contains(agent));
                let joins = |at: &usize| {
                    among(&groups[*at], &groups[first])
                        && !groups[..first].iter().any(|before| among(&groups[*at], before))
                };
                expected.push(first);
                expected.extend((first + 1..groups.len()).filter(joins));
            }
            prop_assert_eq!(own(&text, "a"), expected);
        }
    }

    #[test]
    fn many_groups_with_the_same_robots_are_fast() {
        let mut text = String::new();
        for agents in ["ab", "xa", "ax"] {
            let count = if agents == "xa" { 1 } else { 10_000 };
            for _ in 0..count {
                push(&mut text, agents.chars());
            }
        }
        assert_eq!(own(&text, "x").len(), 10_001);
    }
}

//! Rules of one robot, made ready to be asked often.
//!
//! Whatever a dialect's order is, rules are sorted by it once: the matching rule
//! with the lowest rank wins. Plain paths stand in a tree; those with wildcards are
//! found by three octets that they need and few others do. What a question costs
//! grows with its path, not with the number of rules.

use super::{
    pattern::PathPattern,
    prefix_tree::{Entry, NONE, PrefixTree},
    wildcards::Wildcards,
};

/// Rule to be indexed: its pattern, and where it comes from.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    pub(super) pattern: PathPattern<'t>,
    pub(super) decision: Decision,
}

/// What a rule says, and where it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Decision {
    pub(super) allow: bool,
    /// Place of the rule among those of the file.
    pub(super) rule: usize,
    /// Place of its group.
    pub(super) group: usize,
}

/// Rules, ready to be asked.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// What the rules say, by rank.
    decisions: Vec<Decision>,
    plain: PrefixTree,
    wildcards: Wildcards,
}

impl Index {
    /// Builds an index of rules that are sorted by rank, the winner first.
    pub(super) fn new(candidates: &[Candidate<'_>], slash_matches_bare: bool) -> Self {
        let mut plain = Vec::new();
        let mut wildcards = Vec::new();
        for (rank, candidate) in (0..NONE).zip(candidates) {
            let pattern = &candidate.pattern;
            match pattern.texts.as_slice() {
                [text] => {
                    let ends = pattern.ends;
                    plain.push(Entry { text, ends, rank });
                    // A rule for `/a/` is one for exactly `/a` too.
                    plain.extend(bare(text, slash_matches_bare && !ends).map(|text| Entry {
                        text,
                        ends: true,
                        rank,
                    }));
                }
                _ => wildcards.push((pattern, rank)),
            }
        }
        Self {
            decisions: candidates.iter().map(|rule| rule.decision).collect(),
            plain: PrefixTree::new(plain),
            wildcards: Wildcards::new(&wildcards, slash_matches_bare),
        }
    }

    /// Returns what the winning rule says about a path.
    pub(super) fn decide(&self, path: &[u8]) -> Option<Decision> {
        // The tree is asked first, as its answer spares the comparison of all rules of a higher
        // rank.
        let rank = self.wildcards.best(path, self.plain.best(path));
        self.decisions.get(rank as usize).copied()
    }

    /// Returns what the winning rule says about a path that cannot be compared:
    /// only a rule without a path matches.
    pub(super) fn decide_unreadable(&self) -> Option<Decision> {
        // An octet that no text has: only a rule without a path begins like it.
        let rank = self.plain.best(b"\xff");
        self.decisions.get(rank as usize).copied()
    }
}

/// Returns the path without the slash at its end that a path may lack.
fn bare(text: &[u8], may_lack: bool) -> Option<&[u8]> {
    may_lack
        .then(|| text.strip_suffix(b"/"))
        .flatten()
        .filter(|bare| !bare.is_empty() && !bare.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;
    use crate::{Dialect, RobotsTxt, Winner, pattern::matches};

    /// Asks every rule in turn.
    fn slowly(
        candidates: &[Candidate<'_>],
        slash_matches_bare: bool,
        path: &[u8],
    ) -> Option<usize> {
        candidates.iter().position(|candidate| {
            let pattern = &candidate.pattern;
            let is_match = |path: &[u8]| {
                let texts = pattern.texts.iter().map(AsRef::as_ref);
                matches(texts, pattern.ends, path)
            };
            let open = !pattern.ends
                && pattern
                    .texts
                    .last()
                    .is_some_and(|text| text.ends_with(b"/"));
            is_match(path)
                || slash_matches_bare
                    && open
                    && !path.ends_with(b"/")
                    && is_match(&[path, b"/"].concat())
        })
    }

    proptest! {
        #[test]
        fn the_index_finds_what_asking_every_rule_finds(
            rules in prop::collection::vec(("/?[ab/*]{0,7}[$]?", any::<bool>()), 0..24),
            paths in prop::collection::vec("/[ab/]{0,9}", 1..12),
        ) {
            for dialect in [Dialect::rfc9309(), Dialect::google(), Dialect::v1(), Dialect::geoportal()] {
                let mut candidates: Vec<_> = rules
                    .iter()
                    .filter(|(path, _)| !path.is_empty())
                    .enumerate()
                    .filter_map(|(rule, (path, allow))| {
                        let pattern = PathPattern::new(path.as_bytes(), &dialect)?;
                        Some(Candidate { pattern, decision: Decision { allow: *allow, rule, group: 0 } })
                    })
                    .collect();
                if dialect.winner == Winner::Longest {
                    candidates.sort_by_key(|rule| (Reverse(rule.pattern.length), Reverse(rule.decision.allow)));
                }
                let bare = dialect.slash_matches_bare;
                let index = Index::new(&candidates, bare);
                let field = |allow: bool| if allow { "Allow" } else { "Disallow" };
                let lines = rules.iter().map(|(path, allow)| format!("{}: {path}\n", field(*allow)));
                let text = lines.collect::<Vec<_>>().concat();
                let file = RobotsTxt::parse(format!("User-agent: *\n{text}").as_bytes(), dialect);
                let me = file.for_robot("Robot");
                for path in &paths {
                    let url = format!("http://host.example{path}");
                    let asked = me.check(&url).rule().map(|rule| rule.is_allow());
                    let path = path.as_bytes();
                    let expected = slowly(&candidates, bare, path)
                        .and_then(|at| candidates.get(at))
                        .map(|candidate| candidate.decision);
                    prop_assert_eq!(index.decide(path), expected, "{} {:?}", dialect, path);
                    let is_empty = rules.iter().any(|(path, _)| path.is_empty());
                    if !is_empty {
                        prop_assert_eq!(asked, expected.map(|rule| rule.allow), "{} {:?}", dialect, path);
                    }
                }
            }
        }
    }
}

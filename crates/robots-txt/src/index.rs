//! An index of one robot's rules for frequent queries.
//!
//! Rules are sorted once in the dialect's order: the matching rule with the lowest rank wins. Plain
//! paths are stored in a prefix tree; paths with wildcards are found by three octets that they
//! contain and that few other rules contain. The cost of a query depends on the length of its path,
//! not on the number of rules.

use super::{
    pattern::PathPattern,
    prefix_tree::{Entry, NONE, PrefixTree},
    wildcards::Wildcards,
};

/// A rule to be indexed, with its pattern and decision.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    pub(super) pattern: PathPattern<'t>,
    pub(super) decision: Decision,
}

/// The decision of a rule, with the position of the rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Decision {
    pub(super) allow: bool,
    /// The index of the rule in the file.
    pub(super) rule: usize,
    /// The index of the rule's group in the file.
    pub(super) group: usize,
}

/// The rules that apply to one robot, indexed by their paths.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The decisions of the rules, by rank.
    decisions: Vec<Decision>,
    plain: PrefixTree,
    wildcards: Wildcards,
}

impl Index {
    /// Builds an index of rules, which must be sorted by rank, with the winning rule first.
    pub(super) fn new(candidates: &[Candidate<'_>], slash_matches_bare: bool) -> Self {
        let mut plain = Vec::new();
        let mut wildcards = Vec::new();
        for (rank, candidate) in (0..NONE).zip(candidates) {
            let pattern = &candidate.pattern;
            match pattern.texts.as_slice() {
                [text] => {
                    let ends = pattern.ends;
                    plain.push(Entry { text, ends, rank });
                    // A rule for `/a/` also matches exactly `/a`.
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

    /// Returns the decision of the winning rule for a path.
    pub(super) fn decide(&self, path: &[u8]) -> Option<Decision> {
        // Search the tree first, because its result makes it unnecessary to compare rules with a
        // higher rank.
        let rank = self.wildcards.best(path, self.plain.best(path));
        self.decisions.get(rank as usize).copied()
    }

    /// Returns the winning decision for a path that cannot be compared with rules; only rules
    /// without a path match it.
    pub(super) fn decide_unreadable(&self) -> Option<Decision> {
        // No rule's text starts with this octet, so only a rule without a path matches.
        let rank = self.plain.best(b"\xff");
        self.decisions.get(rank as usize).copied()
    }
}

/// Returns a path without its final slash if the slash is optional.
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

    /// Finds the winning rule by comparing every rule in turn.
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
        fn index_and_linear_search_agree(
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

//! Comparison of the rules within a group.

use crate::{Dialect, EmptyPath, Winner};

use super::{
    WarningKind,
    warnings::{Warnings, quote},
};

/// A rule as written in the robots.txt file.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
// `compare` relies on the derived order, which compares the path first.
pub(super) struct WrittenRule<'t> {
    pub(super) path: &'t [u8],
    pub(super) line: usize,
    pub(super) is_allow: bool,
}

/// Adds warnings for rules that are duplicated or never take effect.
///
/// When rules are sorted by path, each rule comes after the rules whose paths are prefixes of its
/// own path, so a single pass finds the first of them.
pub(super) fn compare(mut rules: Vec<WrittenRule<'_>>, dialect: &Dialect, warnings: &mut Warnings) {
    if dialect.empty_path == EmptyPath::NoRule {
        rules.retain(|rule| !rule.path.is_empty());
    }
    rules.sort_unstable();
    match dialect.winner {
        Winner::First => first_wins(&rules, dialect, warnings),
        Winner::Longest => longest_wins(&rules, warnings),
    }
}

fn first_wins(rules: &[WrittenRule<'_>], dialect: &Dialect, warnings: &mut Warnings) {
    // The rules whose path is a prefix of the current rule's path, each with the first such rule in
    // the file.
    let mut begins: Vec<(&[u8], WrittenRule<'_>)> = Vec::new();
    for rule in rules {
        while begins
            .pop_if(|(path, _)| !rule.path.starts_with(path))
            .is_some()
        {}
        let first = begins.last().map(|(_, first)| *first);
        if let Some(first) = first.filter(|first| first.line < rule.line) {
            if first.path == rule.path && first.is_allow == rule.is_allow {
                duplicate(*rule, first, warnings);
            } else {
                warnings.add(rule.line, WarningKind::ShadowedRule, || {
                    format!(
                        "the rule never takes effect: {} on line {} comes first and matches all its paths; move the rule up or remove it",
                        quote(first.path), first.line
                    )
                });
            }
        }
        if is_plain(rule.path, dialect) {
            let first = first
                .filter(|first| first.line < rule.line)
                .unwrap_or(*rule);
            begins.push((rule.path, first));
        }
    }
}

/// Returns `true` if a rule with this path matches all paths that start with it.
fn is_plain(path: &[u8], dialect: &Dialect) -> bool {
    !dialect.wildcards || !(path.contains(&b'*') || path.ends_with(b"$"))
}

fn longest_wins(rules: &[WrittenRule<'_>], warnings: &mut Warnings) {
    for same in rules.chunk_by(|one, next| one.path == next.path) {
        let first = |is_allow| same.iter().find(|rule| rule.is_allow == is_allow);
        let (allow, disallow) = (first(true), first(false));
        for rule in same {
            let twin = if rule.is_allow { allow } else { disallow };
            if let Some(twin) = twin.filter(|twin| twin.line < rule.line) {
                duplicate(*rule, *twin, warnings);
            } else if let Some(allow) = allow.filter(|_| !rule.is_allow) {
                warnings.add(rule.line, WarningKind::ShadowedRule, || {
                    format!(
                        "the rule never takes effect: line {} allows the same path, and Allow wins; remove one of them",
                        allow.line
                    )
                });
            }
        }
    }
}

fn duplicate(rule: WrittenRule<'_>, first: WrittenRule<'_>, warnings: &mut Warnings) {
    warnings.add(rule.line, WarningKind::DuplicateRule, || {
        format!("the rule duplicates line {}; remove it", first.line)
    });
}

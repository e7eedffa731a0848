//! Rules asked one after the other: for the first questions an index costs more
//! than it saves.

use super::{
    Dialect,
    dialect::{Escapes, Winner},
    escapes::is_plain,
    index::Decision,
    parsed::Parsed,
    pattern::{PathPattern, matches},
};

/// How the path of a rule and the one that is asked for compare.
enum Comparison {
    Different,
    /// The path begins with the rule's, octet by octet.
    Same,
    /// The rule has to be read: it has wildcards or escapes.
    Unclear,
}

/// Tells whether a dialect's rules can be asked one after the other here.
pub(super) fn can_scan(dialect: &Dialect) -> bool {
    dialect.winner == Winner::Longest
        && dialect.escapes == Escapes::Normalised
        && !dialect.index_page
        && !dialect.slash_matches_bare
}

/// Returns what the longest matching rule says.
pub(super) fn decide(
    parsed: &Parsed,
    dialect: &Dialect,
    groups: impl Iterator<Item = usize>,
    path: &[u8],
) -> Option<Decision> {
    let mut best = None;
    for group in groups {
        let Some(lines) = parsed.groups.get(group) else {
            continue;
        };
        for (at, rule) in lines.rules.clone().zip(parsed.rules_of(lines)) {
            let written = parsed.octets(rule.path);
            let length = match compare(written, path) {
                Comparison::Different => continue,
                Comparison::Same => written.len(),
                Comparison::Unclear => match length_of_match(written, dialect, path) {
                    Some(length) => length,
                    None => continue,
                },
            };
            let rank = (length, rule.allow);
            if length > 0 && best.is_none_or(|(best, _)| rank > best) {
                let decision = Decision {
                    allow: rule.allow,
                    rule: at,
                    group,
                };
                best = Some((rank, decision));
            }
        }
    }
    best.map(|(_, decision)| decision)
}

#[inline]
fn compare(written: &[u8], path: &[u8]) -> Comparison {
    let mut path = path.iter();
    for octet in written {
        if matches!(octet, b'*' | b'$' | b'%' | 0x80..) {
            return Comparison::Unclear;
        }
        if path.next() != Some(octet) {
            return Comparison::Different;
        }
    }
    Comparison::Same
}

fn length_of_match(written: &[u8], dialect: &Dialect, path: &[u8]) -> Option<usize> {
    if is_plain(written) {
        let (text, ends) = match written {
            [text @ .., b'$'] => (text, true),
            text => (text, false),
        };
        let texts = text.split(|octet| *octet == b'*');
        return matches(texts, ends, path).then_some(written.len());
    }
    let pattern = PathPattern::new(written, dialect)?;
    let texts = pattern.texts.iter().map(AsRef::as_ref);
    matches(texts, pattern.ends, path).then_some(pattern.length)
}

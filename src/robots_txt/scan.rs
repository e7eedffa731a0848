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
    let mut best = Best::default();
    groups.for_each(|group| best.look_at(parsed, dialect, group, path));
    best.decision
}

/// What the longest matching rule says of those looked at.
#[derive(Default)]
struct Best {
    /// Its length, and whether it allows.
    rank: (usize, bool),
    decision: Option<Decision>,
}

impl Best {
    fn look_at(&mut self, parsed: &Parsed, dialect: &Dialect, group: usize, path: &[u8]) {
        let Some(lines) = parsed.groups.get(group) else {
            return;
        };
        for (rule, line) in lines.rules.clone().zip(parsed.rules_of(lines)) {
            let written = parsed.octets(line.path);
            let length = match compare(written, path) {
                Comparison::Different => continue,
                Comparison::Same => written.len(),
                Comparison::Unclear => length_of_match(written, dialect, path).unwrap_or_default(),
            };
            let allow = line.allow;
            if length > 0 && (length, allow) > self.rank {
                self.rank = (length, allow);
                self.decision = Some(Decision { allow, rule, group });
            }
        }
    }
}

#[inline]
fn compare(written: &[u8], path: &[u8]) -> Comparison {
    let both = written.iter().zip(path);
    let same = both.take_while(|(one, other)| one == other && !must_be_read(**one));
    match written.get(same.count()) {
        None => Comparison::Same,
        Some(octet) if must_be_read(*octet) => Comparison::Unclear,
        Some(_) => Comparison::Different,
    }
}

/// Tells whether an octet of a rule may stand for others.
#[inline]
fn must_be_read(octet: u8) -> bool {
    matches!(octet, b'*' | b'$' | b'%' | 0x80..)
}

/// Out of the way of the loop that rarely needs it.
#[inline(never)]
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

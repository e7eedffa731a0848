//! A linear search of rules, which is cheaper than an index for the first queries.

use super::{
    Dialect,
    dialect::{EmptyPath, Escapes, Winner},
    escapes::is_plain,
    index::Decision,
    octets,
    parsed::ParsedFile,
    pattern::{PathPattern, matches},
};

/// The result of comparing the path of a rule with the requested path.
enum Comparison {
    Different,
    /// The requested path starts with exactly the octets of the rule's path.
    Same,
    /// The rule contains wildcards or escapes and must be parsed.
    Unclear,
}

/// Returns `true` if the linear search of rules supports a dialect.
pub(super) fn can_scan(dialect: &Dialect) -> bool {
    dialect.winner == Winner::Longest
        && dialect.wildcards
        && dialect.empty_path == EmptyPath::NoRule
        && dialect.escapes == Escapes::Normalised
        && !dialect.index_page
        && !dialect.slash_matches_bare
}

/// Returns the decision of the longest matching rule.
pub(super) fn decide(
    parsed: &ParsedFile,
    dialect: &Dialect,
    groups: impl Iterator<Item = usize>,
    path: &[u8],
) -> Option<Decision> {
    let mut best = Best::default();
    groups.for_each(|group| best.look_at(parsed, dialect, group, path));
    best.decision
}

/// The longest matching rule found so far.
#[derive(Default)]
struct Best {
    /// The length of the rule's path, and whether the rule is an `Allow`.
    rank: (usize, bool),
    decision: Option<Decision>,
}

impl Best {
    fn look_at(&mut self, parsed: &ParsedFile, dialect: &Dialect, group: usize, path: &[u8]) {
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
    let both = written.len().min(path.len());
    let mut seen = 0;
    while seen < both {
        let Some((one, other)) = words(written, path, seen, both) else {
            return compare_slowly(written, path);
        };
        // Only the first mark is reliable, so only the first mark is used.
        let same = octets::first(one ^ other);
        let plain = octets::first(must_be_read(one));
        if same.min(plain) < octets::WORD {
            return unlike(plain <= same);
        }
        seen += octets::WORD;
    }
    match written.get(both) {
        None => Comparison::Same,
        Some(next) => unlike(must_be_read(u64::from(*next)) != 0),
    }
}

/// Returns the next eight octets of both texts, or their last eight octets if fewer are left.
#[inline]
fn words(written: &[u8], path: &[u8], seen: usize, both: usize) -> Option<(u64, u64)> {
    // The last word overlaps octets that were already compared, so that no octets are left over.
    let start = seen.min(both.checked_sub(octets::WORD)?);
    let one = written.get(start..)?.first_chunk()?;
    let other = path.get(start..)?.first_chunk()?;
    Some((octets::word(*one), octets::word(*other)))
}

fn unlike(is_read: bool) -> Comparison {
    if is_read {
        Comparison::Unclear
    } else {
        Comparison::Different
    }
}

/// Compares a rule's path with the requested path if one of them is shorter than eight octets.
fn compare_slowly(written: &[u8], path: &[u8]) -> Comparison {
    let is_read = |octet: u8| must_be_read(u64::from(octet)) != 0;
    let both = written.iter().zip(path);
    let same = both.take_while(|(one, other)| one == other && !is_read(**one));
    match written.get(same.count()) {
        None => Comparison::Same,
        Some(octet) => unlike(is_read(*octet)),
    }
}

/// Marks the octets of a rule that require parsing the rule: `*`, `$`, `%`, and non-ASCII octets.
#[inline]
fn must_be_read(word: u64) -> u64 {
    octets::equal(word, b'*') | octets::equal_pair(word, b'$') | octets::beyond_ascii(word)
}

/// Returns the length of a rule that must be parsed, if it matches; separate from the loop, which
/// rarely needs this.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RobotsTxt;

    /// Compares a rule's path with the requested path octet by octet.
    fn slowly(written: &[u8], path: &[u8]) -> char {
        for (place, octet) in written.iter().enumerate() {
            match octet {
                b'*' | b'$' | b'%' | 0x80.. => return '?',
                octet if path.get(place) != Some(octet) => return '-',
                _ => {}
            }
        }
        '='
    }

    #[test]
    fn scan_and_index_agree_for_changed_presets() {
        let changed = [
            Dialect {
                wildcards: false,
                ..Dialect::rfc9309()
            },
            Dialect {
                empty_path: EmptyPath::MatchesAll,
                ..Dialect::rfc9309()
            },
            Dialect {
                empty_path: EmptyPath::AllowsAll,
                ..Dialect::rfc9309()
            },
            Dialect {
                empty_path: EmptyPath::Inverted,
                ..Dialect::rfc9309()
            },
        ];
        for dialect in changed {
            for rules in ["Disallow: /a*b", "Disallow: /a$", "Disallow:", "Allow:"] {
                let text = format!("User-agent: *\n{rules}\n");
                for path in ["/axb", "/a*b", "/a", "/a$"] {
                    let file = RobotsTxt::parse(text.as_bytes(), dialect);
                    let me = file.for_robot("robot");
                    let answer = || {
                        let permission = me.check(path);
                        (permission.allowed(), permission.rule().is_some())
                    };
                    let first = answer();
                    me.prepare();
                    assert_eq!(first, answer(), "{dialect:?} {rules} {path}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn words_and_octets_are_compared_alike(
            start in "[/a-c*$%\u{e9}+#&]{0,30}",
            (rule, path) in ("[/a*$%\u{e9}+#&]{0,20}", "[/a*$%\u{e9}+#&]{0,20}"),
        ) {
            let start = if start.len() % 2 == 0 { start.replace(['*', '$', '%', '\u{e9}'], "b") } else { start };
            let (written, path) = (format!("{start}{rule}"), format!("{start}{path}"));
            for path in [&*path, &*start, &*written] {
                let found = match compare(written.as_bytes(), path.as_bytes()) {
                    Comparison::Different => '-',
                    Comparison::Same => '=',
                    Comparison::Unclear => '?',
                };
                prop_assert_eq!(found, slowly(written.as_bytes(), path.as_bytes()));
            }
        }
    }
}

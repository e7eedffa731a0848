//! Rules about the text around a literal, for each kind of pattern.

use std::ops::Range;

use crate::registry::PatternKind;

/// A rule that an occurrence of a literal must satisfy to count as a hit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rule {
    /// The rule of [`PatternKind::Token`].
    Token,
    /// The rule of [`PatternKind::Prefix`].
    Prefix,
    /// The rule of [`PatternKind::Product`].
    Product,
    /// The rule of [`PatternKind::Exact`].
    Exact,
}

/// Edge conditions and spelling of a literal to which a regular expression was reduced.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Plain {
    pub(super) before: Edge,
    pub(super) after: Edge,
    /// The literal in its original spelling, if the match is case-sensitive.
    pub(super) spelled: Option<Box<[u8]>>,
}

/// A condition at one end of a literal, taken from a regular expression.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Edge {
    /// No condition on the text next to the literal.
    #[default]
    Free,
    /// The literal must be at the start or end of the text: `^` or `$`.
    Text,
    /// The literal must be at an ASCII word boundary: `\b`.
    Word,
}

impl Rule {
    /// Returns the rule for a kind of pattern, or `None` for regular expressions.
    pub(super) fn from_kind(kind: PatternKind) -> Option<Self> {
        match kind {
            PatternKind::Token => Some(Self::Token),
            PatternKind::Prefix => Some(Self::Prefix),
            PatternKind::Product => Some(Self::Product),
            PatternKind::Exact => Some(Self::Exact),
            PatternKind::Regex => None,
        }
    }

    /// Returns `true` if the literal at `range` of `text` is a hit.
    pub(super) fn matches(self, text: &[u8], range: &Range<usize>) -> bool {
        let (before, after) = around(text, range);
        match self {
            Self::Token => {
                !before.last().is_some_and(u8::is_ascii_alphanumeric)
                    // A digit may follow, as in names with a version: `ExampleBot2`.
                    && !after.first().is_some_and(u8::is_ascii_alphabetic)
            }
            Self::Prefix => before.is_empty(),
            Self::Product => before.is_empty() && ends_product(after),
            Self::Exact => before.is_empty() && after.is_empty(),
        }
    }
}

impl Plain {
    /// Returns `true` if the literal at `range` of `text` is a hit.
    pub(super) fn matches(&self, text: &[u8], range: &Range<usize>) -> bool {
        let (before, after) = around(text, range);
        let literal = text.get(range.clone()).unwrap_or_default();
        self.spelled.as_deref().is_none_or(|own| own == literal)
            && self.before.holds(before.last(), literal.first())
            && self.after.holds(after.first(), literal.last())
    }
}

impl Edge {
    fn holds(self, outside: Option<&u8>, inside: Option<&u8>) -> bool {
        match self {
            Self::Free => true,
            Self::Text => outside.is_none(),
            Self::Word => is_word(outside) != is_word(inside),
        }
    }
}

/// Words that introduce a comparison with a robot, as in "like Googlebot".
const COMPARISONS: [&[u8]; 4] = [b"like ", b"compatible with ", b"similar to ", b"treat as "];

/// Separators between robot names in a comparison.
const CONJUNCTIONS: [&[u8]; 5] = [b" and ", b" or ", b", ", b"/", b" & "];

/// Maximum number of consecutive names in a comparison that are examined.
const MAX_COMPARED: usize = 4;

/// Returns `true` if the name at `start` is only part of a comparison, such as `like Googlebot`.
pub(super) fn is_compared(text: &[u8], start: usize) -> bool {
    let mut before = text.get(..start).unwrap_or_default();
    for _ in 0..MAX_COMPARED {
        let mut comparisons = COMPARISONS.iter();
        if comparisons.any(|own| without_end(before, own).is_some_and(ends_word)) {
            return true;
        }
        let mut conjunctions = CONJUNCTIONS.iter();
        let Some(list) = conjunctions.find_map(|own| without_end(before, own)) else {
            return false;
        };
        let is_name = |byte: &&u8| byte.is_ascii_graphic() && !b"(),;".contains(byte);
        let name = list.iter().rev().take_while(is_name).count();
        let (rest, name) = list.split_at_checked(list.len() - name).unwrap_or_default();
        // Every browser claims to be like Gecko.
        if name.eq_ignore_ascii_case(b"gecko") {
            return false;
        }
        before = rest;
    }
    false
}

fn without_end<'t>(text: &'t [u8], end: &[u8]) -> Option<&'t [u8]> {
    let (rest, own) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    own.eq_ignore_ascii_case(end).then_some(rest)
}

/// Returns `true` unless a text ends in the middle of a word.
fn ends_word(text: &[u8]) -> bool {
    !text.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Returns the text before and the text after a range.
fn around<'t>(text: &'t [u8], range: &Range<usize>) -> (&'t [u8], &'t [u8]) {
    let before = text.get(..range.start).unwrap_or_default();
    (before, text.get(range.end..).unwrap_or_default())
}

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns `true` if a product name ends before `after`, which is empty or starts with `/`, `_`, `
/// (`, or a number with or without a space.
fn ends_product(after: &[u8]) -> bool {
    matches!(
        after,
        [] | [b'/' | b'_' | b'0'..=b'9', ..] | [b' ', b'(' | b'0'..=b'9', ..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_that_compares_itself_with_a_robot_is_another() {
        for (text, expected) in [
            (
                "Feedly/1.0 (+http://feedly.example/; like FeedFetcher-Google) X",
                "X",
            ),
            ("Reader/2.0 like X", ""),
            ("Reader (treat like X)", ""),
            ("Reader (Compatible with X)", ""),
            ("Reader; similar to X/1.0", ""),
            ("example.com-like X", ""),
            ("Reader like Googlebot and X", ""),
            ("Reader like Googlebot, bingbot/2.0 or X", ""),
            ("Reader like Googlebot/X", ""),
            ("Reader like Googlebot; X", "X"),
            ("Reader (like Googlebot) X", "X"),
            ("Unlike X", "X"),
            ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko, X)", "X"),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; X)",
                "X",
            ),
            ("a, b, c, d, e, f, X", "X"),
            ("X", "X"),
            ("like X", ""),
        ] {
            let start = text.find('X').unwrap();
            let found = if is_compared(text.as_bytes(), start) {
                ""
            } else {
                "X"
            };
            assert_eq!(found, expected, "{text}");
        }
    }
}

//! What must stand around a literal for each kind of pattern.

use std::ops::Range;

use super::anchor::Bounds;
use crate::registry::PatternKind;

/// Rule that an occurrence of a literal must keep to be a hit.
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

/// Edges and spelling of a literal that was a regular expression, which said no more.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Plain {
    pub(super) before: Edge,
    pub(super) after: Edge,
    /// The literal in its own case, where case matters.
    pub(super) spelled: Option<Box<[u8]>>,
}

/// What a regular expression asks for at an end of its literal.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Edge {
    /// Nothing.
    #[default]
    Free,
    /// The end of the text: `^` or `$`.
    Text,
    /// A word boundary of ASCII: `\b`.
    Word,
}

impl Rule {
    /// Returns the rule of a kind of literal; regular expressions have none.
    pub(super) fn of(kind: PatternKind) -> Option<Self> {
        match kind {
            PatternKind::Token => Some(Self::Token),
            PatternKind::Prefix => Some(Self::Prefix),
            PatternKind::Product => Some(Self::Product),
            PatternKind::Exact => Some(Self::Exact),
            PatternKind::Regex => None,
        }
    }

    /// Tells at which ends of its literal the rule suffers no letter.
    pub(super) fn bounds(self) -> Bounds {
        let (starts_text, after) = match self {
            Self::Token => (false, true),
            Self::Prefix => (true, false),
            Self::Product | Self::Exact => (true, true),
        };
        Bounds {
            starts_text,
            before: true,
            after,
        }
    }

    /// Tells whether the literal at `range` of `text` is a hit.
    pub(super) fn holds(self, text: &[u8], range: &Range<usize>) -> bool {
        let (before, after) = around(text, range);
        match self {
            Self::Token => {
                !before.last().is_some_and(u8::is_ascii_alphanumeric)
                    && !after.first().is_some_and(u8::is_ascii_alphabetic)
            }
            Self::Prefix => before.is_empty(),
            Self::Product => before.is_empty() && ends_product(after),
            Self::Exact => before.is_empty() && after.is_empty(),
        }
    }
}

impl Plain {
    /// Tells at which ends of its literal no letter stands.
    pub(super) fn bounds(&self) -> Bounds {
        self.before.bounds(self.after)
    }

    /// Tells whether the literal at `range` of `text` is a hit.
    pub(super) fn holds(&self, text: &[u8], range: &Range<usize>) -> bool {
        let (before, after) = around(text, range);
        let literal = text.get(range.clone()).unwrap_or_default();
        self.spelled.as_deref().is_none_or(|own| own == literal)
            && self.before.holds(before.last(), literal.first())
            && self.after.holds(after.first(), literal.last())
    }
}

impl Edge {
    /// Tells at which ends of a literal no letter stands beside its own, by these edges.
    pub(super) fn bounds(self, after: Self) -> Bounds {
        Bounds {
            starts_text: self == Self::Text,
            before: self != Self::Free,
            after: after != Self::Free,
        }
    }

    fn holds(self, outside: Option<&u8>, inside: Option<&u8>) -> bool {
        match self {
            Self::Free => true,
            Self::Text => outside.is_none(),
            Self::Word => is_word(outside) != is_word(inside),
        }
    }
}

/// Returns what stands before and behind a range.
fn around<'t>(text: &'t [u8], range: &Range<usize>) -> (&'t [u8], &'t [u8]) {
    let before = text.get(..range.start).unwrap_or_default();
    (before, text.get(range.end..).unwrap_or_default())
}

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Tells whether a product's name ends before `after`: it goes on with nothing,
/// `/`, `_`, ` (` or a number, which a blank may precede.
fn ends_product(after: &[u8]) -> bool {
    matches!(
        after,
        [] | [b'/' | b'_' | b'0'..=b'9', ..] | [b' ', b'(' | b'0'..=b'9', ..]
    )
}

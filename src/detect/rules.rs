//! What must stand around a literal for each kind of pattern.

use std::ops::Range;

use crate::registry::PatternKind;

/// Rule that an occurrence of a literal must keep to be a hit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Rule {
    /// The rule of [`PatternKind::Token`].
    Token,
    /// The rule of [`PatternKind::Prefix`].
    Prefix,
    /// The rule of [`PatternKind::Product`].
    Product,
    /// The rule of [`PatternKind::Exact`].
    Exact,
    /// The rule of a regular expression that says no more than a literal.
    Plain(Plain),
}

/// Edges and spelling of a literal that was a regular expression.
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

    /// Tells whether the literal at `range` of `text` is a hit.
    pub(super) fn holds(&self, text: &[u8], range: &Range<usize>) -> bool {
        let before = text.get(..range.start).unwrap_or_default();
        let after = text.get(range.end..).unwrap_or_default();
        match self {
            Self::Token => {
                !before.last().is_some_and(u8::is_ascii_alphanumeric)
                    && !after.first().is_some_and(u8::is_ascii_alphabetic)
            }
            Self::Prefix => before.is_empty(),
            Self::Product => before.is_empty() && ends_product(after),
            Self::Exact => before.is_empty() && after.is_empty(),
            Self::Plain(plain) => {
                let literal = text.get(range.clone()).unwrap_or_default();
                plain.holds(before, literal, after)
            }
        }
    }
}

impl Plain {
    fn holds(&self, before: &[u8], literal: &[u8], after: &[u8]) -> bool {
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

//! Sorting of several claims by specificity.

use std::cmp::Reverse;

use super::literals::Literal;
use crate::registry::{Purpose, Robot};

/// Sort key of a claim; the most specific claim sorts first.
///
/// A robot's own name precedes the names of libraries and automated browsers, because robots are
/// built with libraries and browsers; shared User-Agents come last. Ties are broken by the longer
/// name, the better source, and the order of robots and patterns. Punctuation at the ends of a
/// literal is not part of the name: `Googlebot` and `Googlebot/` in two sources are the same name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
// The derived order compares the fields from first to last.
pub(super) struct Specificity {
    /// Whether this is the key of a mark of unlisted robots; all robot names precede such marks.
    pub(super) is_mark: bool,
    /// Whether this is the key of a shared User-Agent; all robot names precede such User-Agents.
    pub(super) shared: bool,
    pub(super) weak: bool,
    length: Reverse<usize>,
    pub(super) source: u8,
    pub(super) robot: usize,
    pub(super) pattern: usize,
}

impl Specificity {
    /// Creates the sort key of a robot's pattern; the length is set later.
    pub(super) fn new(robot: &Robot, number: usize, pattern: usize) -> Self {
        Self {
            is_mark: false,
            shared: robot.purpose == Purpose::Shared,
            weak: robot.purpose.is_general_tool(),
            length: Reverse(0),
            source: robot.source.precedence(),
            robot: number,
            pattern,
        }
    }

    /// Creates the sort key of a mark of unlisted robots from its index.
    pub(super) fn from_mark(mark: usize) -> Self {
        Self {
            is_mark: true,
            shared: false,
            weak: true,
            length: Reverse(0),
            source: u8::MAX,
            robot: usize::MAX,
            pattern: mark,
        }
    }

    /// Sets the length of the robot's name.
    pub(super) fn with_length(self, length: usize) -> Self {
        Self {
            length: Reverse(length),
            ..self
        }
    }
}

/// Returns a literal without the punctuation at its ends.
pub(super) fn name(literal: &[u8]) -> &[u8] {
    let is_sign = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let start = literal.iter().take_while(|byte| is_sign(byte)).count();
    let rest = literal.get(start..).unwrap_or_default();
    let end = rest.iter().rev().take_while(|byte| is_sign(byte)).count();
    rest.get(..rest.len() - end).unwrap_or_default()
}

/// Returns the length of the shortest name among the literals of a regular expression.
pub(super) fn shortest_name(gates: &[Literal]) -> usize {
    let lengths = gates.iter().map(|gate| name(&gate.bytes).len());
    lengths.min().unwrap_or_default()
}

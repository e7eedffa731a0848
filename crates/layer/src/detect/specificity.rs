//! Which of several claims is the most specific.

use std::cmp::Reverse;

use super::literals::Literal;
use crate::registry::{Purpose, Robot};

/// Order of claims, the most specific first.
///
/// A robot's own name goes before what a library or a driven browser says of itself, as
/// robots are built with these; what many people share goes last. Among equals the longer
/// name, the better source, and the order of robots and patterns decide. The name is the literal without signs at
/// its ends: `Googlebot` and `Googlebot/` of two sources are one name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
// The derived order goes by the fields from the first to the last.
pub(super) struct Specificity {
    /// A mark of unlisted robots, which every robot's name goes before.
    pub(super) is_mark: bool,
    /// What many people share, which every robot's name goes before.
    pub(super) shared: bool,
    pub(super) weak: bool,
    length: Reverse<usize>,
    pub(super) source: u8,
    pub(super) robot: usize,
    pub(super) pattern: usize,
}

impl Specificity {
    /// Creates that of a robot's pattern, by their numbers; its length is not known yet.
    pub(super) fn new(robot: &Robot, number: usize, pattern: usize) -> Self {
        Self {
            is_mark: false,
            shared: robot.purpose == Purpose::Shared,
            weak: robot.purpose.is_anybody_s(),
            length: Reverse(0),
            source: robot.source.precedence(),
            robot: number,
            pattern,
        }
    }

    /// Creates that of a mark of unlisted robots, by its place among them.
    pub(super) fn of_mark(mark: usize) -> Self {
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

    /// Returns the same with the length of the name.
    pub(super) fn with_length(self, length: usize) -> Self {
        Self {
            length: Reverse(length),
            ..self
        }
    }
}

/// Returns a literal without the signs at its ends.
pub(super) fn name(literal: &[u8]) -> &[u8] {
    let is_sign = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    let start = literal.iter().take_while(|byte| is_sign(byte)).count();
    let rest = literal.get(start..).unwrap_or_default();
    let end = rest.iter().rev().take_while(|byte| is_sign(byte)).count();
    rest.get(..rest.len() - end).unwrap_or_default()
}

/// Returns the length of the shortest name among the literals that a regular expression needs.
pub(super) fn shortest_name(gates: &[Literal]) -> usize {
    let lengths = gates.iter().map(|gate| name(&gate.bytes).len());
    lengths.min().unwrap_or_default()
}

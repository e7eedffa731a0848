//! The answer to "may this robot fetch that URL?", with its reason.

use std::fmt;

/// Answer for one URL: allowed or not, and by which rule of which group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Permission<'f> {
    pub(super) allowed: bool,
    pub(super) rule: Option<Rule<'f>>,
    pub(super) group_line: Option<usize>,
    pub(super) fallback: bool,
}

/// Rule of a group: `Allow` or `Disallow` and its path as written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rule<'f> {
    pub(super) line: usize,
    pub(super) allow: bool,
    pub(super) path: &'f [u8],
    pub(super) implied: bool,
}

impl<'f> Permission<'f> {
    /// Returns `true` if the robot may fetch the URL.
    #[must_use]
    pub const fn allowed(&self) -> bool {
        self.allowed
    }

    /// Returns the rule that decided; nothing means that none matched.
    #[must_use]
    pub const fn rule(&self) -> Option<Rule<'f>> {
        self.rule
    }

    /// Returns the line, counted from 1, of the group that decided.
    ///
    /// It is the line of the group's first `User-agent`. Without a rule it is
    /// that of the robot's first group; nothing means that no group is about it.
    #[must_use]
    pub const fn group_line(&self) -> Option<usize> {
        self.group_line
    }

    /// Returns `true` if the group that decided is one of `*`, not the robot's own.
    #[must_use]
    pub const fn is_fallback(&self) -> bool {
        self.fallback
    }
}

impl<'f> Rule<'f> {
    /// Returns its line in the file, counted from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns `true` for `Allow`, `false` for `Disallow`.
    #[must_use]
    pub const fn is_allow(&self) -> bool {
        self.allow
    }

    /// Returns its path as written, octets as they came.
    #[must_use]
    pub const fn path(&self) -> &'f [u8] {
        self.path
    }

    /// Returns `true` if no line says it: a `Host` line implies it.
    #[must_use]
    pub const fn is_implied(&self) -> bool {
        self.implied
    }
}

/// Writes the rule as a line, octets that are not UTF-8 replaced.
impl fmt::Display for Rule<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.allow { "Allow" } else { "Disallow" };
        write!(formatter, "{field}: {}", String::from_utf8_lossy(self.path))
    }
}

//! The result of checking whether a robot may fetch a URL, with the reason.

use std::fmt;

/// The result of a check for one URL: whether the URL is allowed, and the deciding rule and group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Permission<'f> {
    pub(super) allowed: bool,
    pub(super) rule: Option<Rule<'f>>,
    pub(super) group_line: Option<usize>,
    pub(super) fallback: bool,
}

/// A rule in a group: an `Allow` or `Disallow` with a path.
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

    /// Returns the deciding rule, or `None` if no rule matched.
    #[must_use]
    pub const fn rule(&self) -> Option<Rule<'f>> {
        self.rule
    }

    /// Returns the line number of the deciding group, counted from 1.
    ///
    /// The group's line is the line of its first `User-agent`. If no rule matched, the method
    /// returns the line of the robot's first group, or `None` if no group applies to the robot.
    #[must_use]
    pub const fn group_line(&self) -> Option<usize> {
        self.group_line
    }

    /// Returns `true` if the deciding group is a `*` group instead of the robot's own group.
    #[must_use]
    pub const fn is_fallback(&self) -> bool {
        self.fallback
    }
}

impl<'f> Rule<'f> {
    /// Returns the line number of the rule, counted from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Returns `true` if the rule is an `Allow`, or `false` if it is a `Disallow`.
    #[must_use]
    pub const fn is_allow(&self) -> bool {
        self.allow
    }

    /// Returns the rule's path as written in the file.
    #[must_use]
    pub const fn path(&self) -> &'f [u8] {
        self.path
    }

    /// Returns `true` if the rule matches every path.
    pub(super) fn is_root(&self) -> bool {
        matches!(self.path, b"/" | b"/*" | b"*")
    }

    /// Returns `true` if the rule is not written in the file but implied by a `Host` line.
    #[must_use]
    pub const fn is_implied(&self) -> bool {
        self.implied
    }
}

/// Writes the rule as a line of robots.txt, with invalid UTF-8 replaced.
impl fmt::Display for Rule<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.allow { "Allow" } else { "Disallow" };
        write!(formatter, "{field}: {}", String::from_utf8_lossy(self.path))
    }
}

//! Why somebody is flagged.

use std::fmt;

use crate::observation::{Observation, PathKind};

/// Reason to take somebody for a robot.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Reason {
    /// A share of the pages far over the usual one.
    Share,
    /// About one request from each address.
    OneRequest,
    /// No pictures, styles and scripts.
    NoAssets,
    /// No page that links the next.
    NoReferrers,
    /// Nothing that a cache holds.
    NoConditional,
    /// Pages that nobody else asks for.
    Unseen,
    /// Pages deep in the site alone.
    Deep,
    /// An older version of a browser than others have.
    OldVersion,
    /// An address or network: most of what it asks for is not there.
    NotFound,
    /// An address or network: many pages, and nothing that belongs to them.
    Breadth,
    /// An address or network: no pause in ten minutes.
    NoPauses,
    /// An address or network: most of what it asks for is closed by robots.txt.
    Closed,
    /// An address or network: it was in a trap.
    Trap,
    /// An address or network: it goes on while it is told to wait.
    RetryAfter,
}

/// A reason, its code, its weight, and the sentence for an administrator.
const TABLE: [(Reason, &str, u32, &str); 14] = [
    (
        Reason::Share,
        "fleet-share",
        2,
        "has far more of the pages than it usually has",
    ),
    (
        Reason::OneRequest,
        "fleet-one-request",
        3,
        "asks about once from each address",
    ),
    (
        Reason::NoAssets,
        "fleet-no-assets",
        3,
        "loads no pictures, styles or scripts, as others do",
    ),
    (
        Reason::NoReferrers,
        "fleet-no-referrers",
        2,
        "comes from no page, while others follow links",
    ),
    (
        Reason::NoConditional,
        "fleet-no-conditional",
        1,
        "has nothing in a cache, as others have",
    ),
    (
        Reason::Unseen,
        "fleet-unseen",
        3,
        "asks for pages that nobody else asks for",
    ),
    (
        Reason::Deep,
        "fleet-deep",
        1,
        "asks for pages deep in the site alone",
    ),
    (
        Reason::OldVersion,
        "fleet-old-version",
        1,
        "stays at a version that others have left",
    ),
    (
        Reason::NotFound,
        "conduct-not-found",
        3,
        "asks for much that is not there",
    ),
    (
        Reason::Breadth,
        "conduct-breadth",
        3,
        "asks for many pages and for nothing that belongs to them",
    ),
    (
        Reason::NoPauses,
        "conduct-no-pauses",
        2,
        "makes no pause in ten minutes",
    ),
    (
        Reason::Closed,
        "conduct-closed",
        2,
        "asks for what robots.txt closes",
    ),
    (
        Reason::Trap,
        "conduct-trap",
        2,
        "asks for a trap, which no person is shown",
    ),
    (
        Reason::RetryAfter,
        "conduct-retry-after",
        3,
        "goes on while it is told to wait",
    ),
];

impl Reason {
    /// Returns all reasons, those of fleets first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the code, which stays the same: `fleet-…` or `conduct-…`.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.row().map_or("", |row| row.1)
    }

    /// Returns what it adds to those that speak for a robot.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.row().map_or(0, |row| row.2)
    }

    /// Returns what a fleet, an address or a network does, without the subject.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.row().map_or("", |row| row.3)
    }

    fn row(self) -> Option<&'static (Self, &'static str, u32, &'static str)> {
        TABLE.iter().find(|row| row.0 == self)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Set of reasons.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Reasons(u16);

impl Reasons {
    /// Returns `true` if a reason is among them.
    #[must_use]
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & bit(reason) != 0
    }

    /// Returns the reasons, in the order of [`Reason::all`].
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::all().filter(move |reason| self.contains(*reason))
    }

    /// Returns what they weigh together.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.iter().map(Reason::weight).sum()
    }

    /// Returns `true` if a request is for an asset, as those of a fleet with these reasons are not.
    ///
    /// Of one that is flagged for coming from nowhere an asset with a referrer is another's: others
    /// under its User-Agent may have hidden that it loads none.
    pub(crate) fn contradicts(self, seen: &Observation<'_>) -> bool {
        PathKind::of(seen.target) == PathKind::Asset
            && (self.contains(Reason::NoAssets)
                || seen.has_referrer && self.contains(Reason::NoReferrers))
    }

    pub(crate) fn with(self, reason: Reason, holds: bool) -> Self {
        if holds {
            Self(self.0 | bit(reason))
        } else {
            self
        }
    }
}

fn bit(reason: Reason) -> u16 {
    1 << (reason as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_code_of_its_own_and_a_sentence() {
        let codes: std::collections::BTreeSet<_> = Reason::all().map(Reason::code).collect();
        assert_eq!(codes.len(), TABLE.len());
        let all = Reason::all().fold(Reasons::default(), |all, one| all.with(one, true));
        assert_eq!(all.iter().count(), TABLE.len());
        for (at, reason) in Reason::all().enumerate() {
            assert_eq!(reason as usize, at, "{reason}");
            assert!(!reason.sentence().ends_with('.') && reason.weight() > 0);
        }
        assert_eq!(Reasons::default().with(Reason::Deep, false).weight(), 0);
    }
}

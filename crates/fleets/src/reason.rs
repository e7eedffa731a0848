//! Reasons why a fleet, an address or a network is flagged.

use std::fmt;

use crate::observation::{Observation, PathKind};

macro_rules! reasons {
    ($($(#[$doc:meta])* $Name:ident: $code:literal, $weight:literal, $text:literal;)*) => {
        /// A reason to consider a User-Agent, an address or a network automated.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])* $Name,)*
        }

        /// All reasons with their codes, weights, and sentences for administrators.
        const TABLE: &[(Reason, &str, u32, &str)] = &[$((Reason::$Name, $code, $weight, $text),)*];
    };
}

reasons! {
    /// The fleet's share of all page requests is far above its usual share.
    Share: "fleet-share", 2, "requests a far larger share of the pages than usual";
    /// The fleet sends about one request from each address.
    OneRequest: "fleet-one-request", 3, "sends about one request from each address";
    /// The fleet loads no images, styles or scripts.
    NoAssets: "fleet-no-assets", 3, "loads no images, styles or scripts, unlike other visitors";
    /// The fleet sends no referrers.
    NoReferrers: "fleet-no-referrers", 2, "sends no referrers, while other visitors follow links";
    /// The fleet sends no conditional requests for cached pages.
    NoConditional: "fleet-no-conditional", 1, "sends no conditional requests, unlike other visitors";
    /// The fleet requests pages that no other visitor requests.
    Unseen: "fleet-unseen", 3, "requests pages that no other visitor requests";
    /// The fleet requests only pages deep in the site.
    Deep: "fleet-deep", 1, "requests only pages deep in the site";
    /// The fleet uses an older browser version than other visitors.
    OldVersion: "fleet-old-version", 1, "uses a browser version that other visitors no longer use";
    /// Most requests from the address or network are for missing pages.
    NotFound: "conduct-not-found", 3, "requests many missing pages";
    /// The address or network requests many pages, but none of their assets.
    Breadth: "conduct-breadth", 3, "requests many pages, but none of their assets";
    /// The address or network sends requests for ten minutes without a pause.
    NoPauses: "conduct-no-pauses", 2, "makes no pauses for ten minutes";
    /// Most requests from the address or network are disallowed by robots.txt.
    Closed: "conduct-closed", 2, "requests pages that robots.txt disallows";
    /// The address or network requested a trap.
    Trap: "conduct-trap", 2, "requests a trap path, which human visitors are never shown";
    /// The address or network continues to send requests after a 429 response.
    RetryAfter: "conduct-retry-after", 3, "continues after being told to wait";
}

impl Reason {
    /// Returns all reasons; the reasons for fleets come first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the stable code of the reason: `fleet-…` or `conduct-…`.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.row().map_or("", |row| row.1)
    }

    /// Returns the reason's weight; the weights of several reasons are added.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.row().map_or(0, |row| row.2)
    }

    /// Returns the sentence for the reason without its subject (a fleet, an address or a network).
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

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Reasons(u16);

impl Reasons {
    /// Returns `true` if the set contains the reason.
    #[must_use]
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & bit(reason) != 0
    }

    /// Returns the reasons, in the order of [`Reason::all`].
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::all().filter(move |reason| self.contains(*reason))
    }

    /// Returns the total weight of the reasons.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.iter().map(Reason::weight).sum()
    }

    /// Returns `true` if the request is for an asset, and a fleet with these reasons never sends
    /// such requests.
    ///
    /// For a fleet without referrers, only a request for an asset that has a referrer is attributed
    /// to another visitor: other visitors with the fleet's User-Agent may have hidden that the
    /// fleet loads no assets.
    pub(crate) fn contradicts(self, seen: &Observation<'_>) -> bool {
        PathKind::from_target(seen.target) == PathKind::Asset
            && (self.contains(Reason::NoAssets)
                || seen.has_referrer && self.contains(Reason::NoReferrers))
    }

    pub(crate) fn with_if(self, reason: Reason, holds: bool) -> Self {
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
    fn each_reason_has_a_unique_code_and_a_sentence() {
        let codes: std::collections::BTreeSet<_> = Reason::all().map(Reason::code).collect();
        assert_eq!(codes.len(), TABLE.len());
        let all = Reason::all().fold(Reasons::default(), |all, one| all.with_if(one, true));
        assert_eq!(all.iter().count(), TABLE.len());
        for (at, reason) in Reason::all().enumerate() {
            assert_eq!(reason as usize, at, "{reason}");
            assert!(!reason.sentence().ends_with('.') && reason.weight() > 0);
        }
        assert_eq!(Reasons::default().with_if(Reason::Deep, false).weight(), 0);
    }
}

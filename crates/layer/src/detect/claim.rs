//! Claims of requests, and verdicts on them.

use std::{fmt, ops::Range, sync::Arc};

use crate::registry::{Pattern, Purpose, Robot};

use super::{Signed, Unlisted};

/// Id shared by all robots that no registry lists.
pub const UNLISTED: &str = "unlisted";

/// Id shared by all visitors without a User-Agent.
pub const NAMELESS: &str = "nameless";

/// Id of claims with a User-Agent that many people share.
pub const SHARED: &str = "shared";

/// Id of a human visitor's claim.
const PERSON: &str = "person";

/// Display text of a claim made by a signature.
const SIGNATURE: &str = "signature of the request";

crate::words! {
    /// Kind of a visitor, as claimed by its request.
#[derive(Hash)]
    #[non_exhaustive]
    pub enum Kind {
        /// Visitor with a User-Agent that is not a robot's.
        Person = PERSON,
        /// Robot in the registry.
        Listed = "listed",
        /// Robot that no registry lists.
        Unlisted = UNLISTED,
        /// Visitor with no or an empty User-Agent.
        Nameless = NAMELESS,
        /// Visitor with a User-Agent that stands for many people, such as that of a CDN.
        Shared = SHARED,
    }
}

impl Kind {
    /// Kinds of human visitors.
    pub const PEOPLE: &'static [Self] = &[Self::Person, Self::Shared];

    /// Kinds of visitors that are not human.
    pub const ROBOTS: &'static [Self] = &[Self::Listed, Self::Unlisted, Self::Nameless];

    /// Returns `true` for the kinds of human visitors.
    #[must_use]
    pub fn is_of_people(self) -> bool {
        Self::PEOPLE.contains(&self)
    }
}

/// Claim of a request about its sender, such as a robot's name; a claim is not a proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim<'d> {
    /// Robot in the registry.
    Listed(Listed<'d>),
    /// Robot that no registry lists, detected by the generic rule.
    Unlisted(Unlisted),
    /// Robot that no registry lists, detected by the signature of its request.
    ///
    /// Returned only by [`Detector::claim_signed`](super::Detector::claim_signed).
    Signed(Signed),
    /// No or an empty User-Agent, which claims nothing.
    ///
    /// Returned by [`Detector::claim`](super::Detector::claim), but not by `Detector::identify`.
    Nameless,
    /// Many people, according to a registry record with the purpose [`Shared`](Purpose::Shared); no
    /// robot is claimed.
    ///
    /// Returned only by [`Detector::claim`](super::Detector::claim).
    Shared(Listed<'d>),
    /// A human visitor, or a client that looks like one; used by rules, not returned by detectors.
    Person,
}

/// Claim to be a robot in the registry, with the pattern that matched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed<'d> {
    /// Most specific robot that matched.
    pub robot: &'d Arc<Robot>,
    /// Pattern that matched; `None` if the robot is named by the request's signature.
    pub pattern: Option<&'d Pattern>,
    /// Byte range of the User-Agent that the pattern matched.
    pub range: Range<usize>,
}

impl<'d> Claim<'d> {
    /// Returns the robot's id, [`UNLISTED`] for a robot in no registry, [`NAMELESS`] or [`SHARED`].
    ///
    /// An unlisted robot with a valid signature is named by its [signer](Signed::signer).
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Listed(listed) => &listed.robot.id,
            Self::Unlisted(_) => UNLISTED,
            Self::Signed(signed) => signed.name(),
            Self::Nameless => NAMELESS,
            Self::Shared(_) => SHARED,
            Self::Person => PERSON,
        }
    }

    /// Returns the kind of visitor that makes the claim.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Listed(_) => Kind::Listed,
            Self::Unlisted(_) | Self::Signed(_) => Kind::Unlisted,
            Self::Nameless => Kind::Nameless,
            Self::Shared(_) => Kind::Shared,
            Self::Person => Kind::Person,
        }
    }

    /// Returns the registry record of a listed robot.
    #[must_use]
    pub fn robot(&self) -> Option<&'d Arc<Robot>> {
        match self {
            Self::Listed(listed) => Some(listed.robot),
            Self::Unlisted(_)
            | Self::Signed(_)
            | Self::Nameless
            | Self::Shared(_)
            | Self::Person => None,
        }
    }

    /// Returns the registry record of a shared User-Agent.
    #[must_use]
    pub fn shared(&self) -> Option<&'d Arc<Robot>> {
        match self {
            Self::Shared(listed) => Some(listed.robot),
            _ => None,
        }
    }

    /// Returns the pattern that matched, if any.
    #[must_use]
    pub fn pattern(&self) -> Option<&'d Pattern> {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.pattern,
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless | Self::Person => None,
        }
    }

    /// Returns the robot's purpose.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.robot.purpose,
            Self::Unlisted(unlisted) => unlisted.sign.purpose(),
            Self::Signed(signed) => signed.purpose(),
            Self::Nameless | Self::Person => Purpose::Unknown,
        }
    }

    /// Returns the byte range of the User-Agent that reveals the robot.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.range.clone(),
            Self::Unlisted(unlisted) => unlisted.range.clone(),
            Self::Signed(_) | Self::Nameless | Self::Person => 0..0,
        }
    }
}

/// Shows how the robot was recognised: its pattern, the sign of the generic rule, or a signature.
impl fmt::Display for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => match listed.pattern {
                Some(pattern) => pattern.fmt(f),
                None => f.write_str(SIGNATURE),
            },
            Self::Unlisted(unlisted) => unlisted.sign.fmt(f),
            Self::Signed(_) => f.write_str(SIGNATURE),
            Self::Nameless => f.write_str("missing User-Agent"),
            Self::Person => f.write_str("User-Agent without a robot"),
        }
    }
}

crate::words! {
    /// Verdict on a robot's claim of identity.
    ///
    /// The `verify` module verifies claims; without it every claim is unverifiable.
#[derive(Default, Hash)]
    pub enum Verdict {
        /// The claim is true, by a proof that the robot's operator offers.
        Verified = "verified",
        /// Data published by the robot's operator contradicts the claim.
        Spoofed = "spoofed",
        /// The operator publishes no proof, or the proof could not be retrieved.
        #[default]
        Unverifiable = "unverifiable",
        /// The verification is in progress.
        Pending = "pending",
    }
}

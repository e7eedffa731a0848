//! Identity claims made by requests, and verdicts on these claims.

use std::{fmt, ops::Range, sync::Arc};

use crate::registry::{Pattern, Purpose, Robot};

use super::{Signed, Unlisted};

/// ID shared by all robots that are not in the registry.
pub const UNLISTED: &str = "unlisted";

/// ID shared by all visitors that send no User-Agent.
pub const NAMELESS: &str = "nameless";

/// ID of claims made by a User-Agent that many human visitors share.
pub const SHARED: &str = "shared";

/// ID of the claim to be a human visitor.
const PERSON: &str = "person";

/// Text displayed for a claim that is made by a request signature.
const SIGNATURE: &str = "signature of the request";

crate::words! {
    /// The kind of visitor that a request claims to come from.
#[derive(Hash)]
    #[non_exhaustive]
    pub enum Kind {
        /// A visitor whose User-Agent does not belong to a robot.
        Person = PERSON,
        /// A robot in the registry.
        Listed = "listed",
        /// A robot that is not in the registry.
        Unlisted = UNLISTED,
        /// A visitor that sends no User-Agent or an empty one.
        Nameless = NAMELESS,
        /// A visitor whose User-Agent is shared by many human visitors, such as a CDN's User-Agent.
        Shared = SHARED,
    }
}

impl Kind {
    /// The kinds of visitors that are human.
    pub const PEOPLE: &'static [Self] = &[Self::Person, Self::Shared];

    /// The kinds of visitors that are not human.
    pub const ROBOTS: &'static [Self] = &[Self::Listed, Self::Unlisted, Self::Nameless];

    /// Returns `true` if visitors of this kind are human.
    #[must_use]
    pub fn is_human(self) -> bool {
        Self::PEOPLE.contains(&self)
    }
}

/// The identity that a request claims, such as a robot's name. A claim is not proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim<'d> {
    /// A robot in the registry.
    Listed(Listed<'d>),
    /// An unlisted robot (one that is not in the registry), detected by the generic rule.
    Unlisted(Unlisted),
    /// An unlisted robot (one that is not in the registry), detected by its request signature.
    ///
    /// Only [`Detector::claim_signed`](super::Detector::claim_signed) returns this claim.
    Signed(Signed),
    /// A visitor that sends no User-Agent or an empty one, and so claims nothing.
    ///
    /// [`Detector::claim`](super::Detector::claim) returns this claim, but `Detector::identify`
    /// does not.
    Nameless,
    /// A User-Agent shared by many human visitors, according to a registry record with the purpose
    /// [`Shared`](Purpose::Shared); no robot is claimed.
    ///
    /// Only [`Detector::claim`](super::Detector::claim) returns this claim.
    Shared(Listed<'d>),
    /// A human visitor, or a client that looks human; used by rules, never returned by detectors.
    Person,
}

/// A claim to be a robot in the registry, with the pattern that matched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed<'d> {
    /// The most specific robot that matched.
    pub robot: &'d Arc<Robot>,
    /// The pattern that matched; `None` if the request's signature identifies the robot.
    pub pattern: Option<&'d Pattern>,
    /// The byte range in the User-Agent that the pattern matched.
    pub range: Range<usize>,
}

impl<'d> Claim<'d> {
    /// Returns the robot's ID, or [`UNLISTED`], [`NAMELESS`] or [`SHARED`] for a claim without a
    /// listed robot.
    ///
    /// For an unlisted robot with a valid signature, returns the [signer](Signed::signer).
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

    /// Returns the byte range in the User-Agent that identifies the robot.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.range.clone(),
            Self::Unlisted(unlisted) => unlisted.range.clone(),
            Self::Signed(_) | Self::Nameless | Self::Person => 0..0,
        }
    }
}

/// Displays how the robot was recognised: by a pattern, a sign of the generic rule, or a signature.
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
            Self::Person => f.write_str("User-Agent that identifies no robot"),
        }
    }
}

crate::words! {
    /// The verdict on a visitor's claim to be a certain robot.
    ///
    /// The `verify` module verifies claims; without that module, every claim is unverifiable.
#[derive(Default, Hash)]
    pub enum Verdict {
        /// The claim is true, as proven by a method that the robot's operator supports.
        Verified = "verified",
        /// Data published by the robot's operator contradicts the claim.
        Spoofed = "spoofed",
        /// The operator publishes no data to verify the claim with, or the data could not be
        /// retrieved.
        #[default]
        Unverifiable = "unverifiable",
        /// Verification is still in progress.
        Pending = "pending",
    }
}

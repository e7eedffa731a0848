//! What a request says it is.

use std::{fmt, ops::Range, sync::Arc};

use crate::registry::{Pattern, Purpose, Robot};

use super::{Signed, Unlisted};

/// Id that stands for every robot that no registry lists.
pub const UNLISTED: &str = "unlisted";

/// Id that stands for every visitor without a User-Agent.
pub const NAMELESS: &str = "nameless";

/// Word for a User-Agent that stands for many people.
pub const SHARED: &str = "shared";

/// Word for one person.
const PERSON: &str = "person";

/// By what a robot is recognised that signs.
const SIGNATURE: &str = "signature of the request";

crate::words! {
    /// Kind of a visitor: what a request says that it comes from.
#[derive(Hash)]
    #[non_exhaustive]
    pub enum Kind {
        /// Somebody whose User-Agent is no robot's.
        Person = PERSON,
        /// A robot of the registry.
        Listed = "listed",
        /// A robot that no registry lists.
        Unlisted = UNLISTED,
        /// Somebody without a User-Agent, or with an empty one.
        Nameless = NAMELESS,
        /// Somebody whose User-Agent stands for many people: a CDN's, a translator's.
        Shared = SHARED,
    }
}

impl Kind {
    /// Kinds of people.
    pub const PEOPLE: &'static [Self] = &[Self::Person, Self::Shared];

    /// Kinds of those who are no people.
    pub const ROBOTS: &'static [Self] = &[Self::Listed, Self::Unlisted, Self::Nameless];

    /// Returns `true` for those who are no robots.
    #[must_use]
    pub fn is_of_people(self) -> bool {
        Self::PEOPLE.contains(&self)
    }
}

/// What a request says that it comes from, where that is no one person; it is not a proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim<'d> {
    /// A robot of the registry.
    Listed(Listed<'d>),
    /// A robot that no registry lists, by the generic rule.
    Unlisted(Unlisted),
    /// A robot that no registry lists, by the signature of its request.
    ///
    /// [`Detector::claim_signed`](super::Detector::claim_signed) alone says so.
    Signed(Signed),
    /// No User-Agent, or an empty one: whoever it is claims nothing.
    ///
    /// [`Detector::claim`](super::Detector::claim) says so, [`Detector::identify`](super::Detector::identify) never.
    Nameless,
    /// Many people at once, by a record of the registry that [says so](Purpose::Shared): no
    /// robot is claimed.
    ///
    /// It is said by [`Detector::claim`](super::Detector::claim) alone too.
    Shared(Listed<'d>),
    /// One person, or who looks like one. No detector says so: it is for rules about people.
    Person,
}

/// Claim to be a robot of the registry: the robot, the pattern and where it matched.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed<'d> {
    /// The most specific robot that matched.
    pub robot: &'d Arc<Robot>,
    /// The pattern that matched; `None` where it is the signature of the request that names
    /// the robot.
    pub pattern: Option<&'d Pattern>,
    /// Bytes of the User-Agent that the pattern matched.
    pub range: Range<usize>,
}

impl<'d> Claim<'d> {
    /// Returns the robot's id, [`UNLISTED`] where no registry lists it, [`NAMELESS`] or [`SHARED`].
    ///
    /// An unlisted robot whose signature holds is named by its [signer](Signed::signer).
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

    /// Returns the kind of visitor that makes it.
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

    /// Returns the robot, `None` where no registry lists it.
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

    /// Returns the record of what many people share, `None` of any other claim.
    #[must_use]
    pub fn shared(&self) -> Option<&'d Arc<Robot>> {
        match self {
            Self::Shared(listed) => Some(listed.robot),
            _ => None,
        }
    }

    /// Returns the pattern that matched, `None` where none did.
    #[must_use]
    pub fn pattern(&self) -> Option<&'d Pattern> {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.pattern,
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless | Self::Person => None,
        }
    }

    /// Returns what the robot is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.robot.purpose,
            Self::Unlisted(unlisted) => unlisted.sign.purpose(),
            Self::Signed(signed) => signed.purpose(),
            Self::Nameless | Self::Person => Purpose::Unknown,
        }
    }

    /// Returns the bytes of the User-Agent that give the robot away.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Listed(listed) | Self::Shared(listed) => listed.range.clone(),
            Self::Unlisted(unlisted) => unlisted.range.clone(),
            Self::Signed(_) | Self::Nameless | Self::Person => 0..0,
        }
    }
}

/// Shows by what the robot is recognised: its pattern, the sign of the generic rule, a signature.
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
            Self::Person => f.write_str("User-Agent of no robot"),
        }
    }
}

crate::words! {
    /// Verdict on a robot's claim to be who it says.
    ///
    /// The room `verify` proves claims; where nobody does, every claim
    /// is unverifiable.
#[derive(Default, Hash)]
    pub enum Verdict {
        /// It is who it says, by a proof that its operator offers.
        Verified = "verified",
        /// What its operator publishes contradicts the claim.
        Spoofed = "spoofed",
        /// Its operator publishes nothing, or what it publishes could not be had.
        #[default]
        Unverifiable = "unverifiable",
        /// The proof is under way.
        Pending = "pending",
    }
}

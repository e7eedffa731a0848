//! What handlers learn of a robot.

use std::{ops::Range, sync::Arc};

use crate::detect::{Claim, Kind, NAMELESS, Signed, SigningHost, UNLISTED, Unlisted, Verdict};
use crate::policy::Visitor;
use crate::registry::{Pattern, Purpose, Robot};

/// Identification of the robot that a request claims to come from.
///
/// It is in the extensions of a robot's request and of one without a User-Agent, never
/// in that of a person, or of people who share a User-Agent, and
/// comes from nowhere but the layer: in axum, take `Option<Identification>` (feature
/// `axum`), or `Identification` where robots alone are to be served. It is a claim, not a
/// proof: see [`verdict`](Self::verdict).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Identification {
    /// A robot of the registry.
    Listed(ListedRobot),
    /// A robot that no registry lists.
    Unlisted(Unlisted),
    /// A robot that no registry lists, by the signature of its request.
    Signed(Signed),
    /// Whoever sends no User-Agent, or an empty one.
    Nameless,
}

/// Robot of the registry, and how its User-Agent named it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ListedRobot {
    /// The robot.
    pub robot: Arc<Robot>,
    /// The pattern that its User-Agent matched; `None` where the signature of its request
    /// names the robot.
    pub pattern: Option<Pattern>,
    /// Bytes of the User-Agent that the pattern matched.
    pub range: Range<usize>,
    /// What became of the claim.
    pub verdict: Verdict,
}

impl Identification {
    /// Returns the robot's id, [`UNLISTED`] where no registry lists it, or [`NAMELESS`].
    ///
    /// An unlisted robot whose signature holds is named by its [signer](Signed::signer).
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Listed(listed) => &listed.robot.id,
            Self::Unlisted(_) => UNLISTED,
            Self::Signed(signed) => signed.signer.as_ref().map_or(UNLISTED, SigningHost::as_str),
            Self::Nameless => NAMELESS,
        }
    }

    /// Returns the kind of visitor.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Listed(_) => Kind::Listed,
            Self::Unlisted(_) | Self::Signed(_) => Kind::Unlisted,
            Self::Nameless => Kind::Nameless,
        }
    }

    /// Returns the robot, `None` where no registry lists it.
    #[must_use]
    pub fn robot(&self) -> Option<&Arc<Robot>> {
        match self {
            Self::Listed(listed) => Some(&listed.robot),
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless => None,
        }
    }

    /// Returns what the robot is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Listed(listed) => listed.robot.purpose,
            Self::Unlisted(unlisted) => unlisted.sign.purpose(),
            Self::Signed(signed) => signed.purpose(),
            Self::Nameless => Purpose::Unknown,
        }
    }

    /// Returns the verdict on the claim; without a proof it is unverifiable.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Listed(listed) => listed.verdict,
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless => Verdict::Unverifiable,
        }
    }
}

impl Identification {
    /// Creates that of a visitor; people who share a User-Agent have none.
    pub(super) fn of(visitor: Visitor<'_>) -> Option<Self> {
        Some(match visitor.claim {
            Claim::Listed(listed) => Self::Listed(ListedRobot {
                robot: Arc::clone(listed.robot),
                pattern: listed.pattern.cloned(),
                range: listed.range.clone(),
                verdict: visitor.verdict,
            }),
            Claim::Unlisted(unlisted) => Self::Unlisted(unlisted.clone()),
            Claim::Signed(signed) => Self::Signed(signed.clone()),
            Claim::Nameless => Self::Nameless,
            Claim::Shared(_) | Claim::Person => return None,
        })
    }
}

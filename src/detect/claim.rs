//! What a request says it is.

use std::{fmt, ops::Range, sync::Arc};

use super::Unlisted;
use crate::registry::{Pattern, Purpose, Robot};

/// Id that stands for every robot that no registry lists.
pub const UNLISTED: &str = "unlisted";

/// Claim of a User-Agent to be a robot; it is not a proof.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Claim<'d> {
    /// A robot of the registry.
    Listed(Listed<'d>),
    /// A robot that no registry lists, by the generic rule.
    Unlisted(Unlisted),
}

/// Claim to be a robot of the registry: the robot, the pattern and where it matched.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Listed<'d> {
    /// The most specific robot that matched.
    pub robot: &'d Arc<Robot>,
    /// The pattern that matched.
    pub pattern: &'d Pattern,
    /// Bytes of the User-Agent that it matched.
    pub range: Range<usize>,
}

impl<'d> Claim<'d> {
    /// Returns the robot's id, [`UNLISTED`] where no registry lists it.
    #[must_use]
    pub fn id(&self) -> &'d str {
        self.robot().map_or(UNLISTED, |robot| &robot.id)
    }

    /// Returns the robot, `None` where no registry lists it.
    #[must_use]
    pub fn robot(&self) -> Option<&'d Arc<Robot>> {
        match self {
            Self::Listed(listed) => Some(listed.robot),
            Self::Unlisted(_) => None,
        }
    }

    /// Returns the pattern that matched, `None` where no registry lists the robot.
    #[must_use]
    pub fn pattern(&self) -> Option<&'d Pattern> {
        match self {
            Self::Listed(listed) => Some(listed.pattern),
            Self::Unlisted(_) => None,
        }
    }

    /// Returns what the robot is for.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Listed(listed) => listed.robot.purpose,
            Self::Unlisted(unlisted) => unlisted.sign.purpose(),
        }
    }

    /// Returns the bytes of the User-Agent that give the robot away.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Listed(listed) => listed.range.clone(),
            Self::Unlisted(unlisted) => unlisted.range.clone(),
        }
    }
}

/// Says by what the robot is recognised: its pattern, or the sign of the generic rule.
impl fmt::Display for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(listed) => listed.pattern.fmt(f),
            Self::Unlisted(unlisted) => unlisted.sign.fmt(f),
        }
    }
}

//! What handlers learn of a robot.

use std::{ops::Range, sync::Arc};

use crate::detect::Claim;
use crate::registry::{Pattern, Robot};

/// Identification of the robot that a request claims to come from.
///
/// It is in the extensions of a robot's request, never in a person's, and
/// comes from nowhere but the layer: in axum, take
/// `Option<Extension<Identification>>`. It is a claim, not a proof.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Identification {
    /// The robot.
    pub robot: Arc<Robot>,
    /// The pattern that its User-Agent matched.
    pub pattern: Pattern,
    /// Bytes of the User-Agent that the pattern matched.
    pub range: Range<usize>,
}

impl From<&Claim<'_>> for Identification {
    fn from(claim: &Claim<'_>) -> Self {
        Self {
            robot: Arc::clone(claim.robot),
            pattern: claim.pattern.clone(),
            range: claim.range.clone(),
        }
    }
}

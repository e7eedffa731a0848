//! Who asks: a robot, by its claim.

use crate::detect::{Claim, Verdict};

use super::Sender;

/// Robot that a request claims to come from, and the verdict on the claim.
///
/// A person has neither: where nobody claims to be a robot, there is no visitor, unless a policy
/// [judges people](super::Policy::judges_people). Whoever
/// sends no User-Agent is [nameless](Claim::Nameless), whoever sends that of many people
/// [shared](Claim::Shared), and neither has a verdict.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use robot_detection_layer::{
///     detect::{Detector, Verdict},
///     policy::Visitor,
///     registry::{Pattern, PatternKind, Robot, Source},
/// };
///
/// let mut robot = Robot::new("examplebot", Source::manual());
/// robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
/// let detector = Detector::new([Arc::new(robot)])?;
/// let claim = detector.identify(b"ExampleBot/1.0");
/// let visitor = claim.as_ref().map(Visitor::from);
/// assert_eq!(visitor.unwrap().verdict, Verdict::Unverifiable);
/// # Ok::<(), robot_detection_layer::detect::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'v> {
    /// What the request says that it comes from.
    pub claim: &'v Claim<'v>,
    /// What became of the claim; that of an unlisted robot is unverifiable, and
    /// nameless and shared visitors make none.
    pub verdict: Verdict,
    /// Where the request comes from, for rules that ask for it.
    pub sender: Sender<'v>,
}

impl<'v> Visitor<'v> {
    /// Creates it from a claim and the verdict on it.
    #[must_use]
    pub fn new(claim: &'v Claim<'v>, verdict: Verdict) -> Self {
        Self {
            claim,
            verdict,
            sender: Sender::default(),
        }
    }

    /// Creates somebody who claims to be no robot, for policies that
    /// [judge people](super::Policy::judges_people).
    #[must_use]
    pub fn person(sender: Sender<'v>) -> Self {
        Visitor {
            sender,
            ..Visitor::new(&Claim::Person, Verdict::Unverifiable)
        }
    }

    /// Sets where the request comes from.
    #[must_use]
    pub fn sent_by(mut self, sender: Sender<'v>) -> Self {
        self.sender = sender;
        self
    }

    /// Returns `true` if it claims to be no robot: only what names its kind is about it.
    pub(super) fn claims_nothing(self) -> bool {
        matches!(
            self.claim,
            Claim::Nameless | Claim::Shared(_) | Claim::Person
        )
    }

    pub(super) fn is_spoofed(self) -> bool {
        self.verdict == Verdict::Spoofed
    }

    /// Returns whether it is who it says, or an impostor; `None`: nobody knows.
    pub(super) fn is_genuine(self) -> Option<bool> {
        match self.verdict {
            Verdict::Verified => Some(true),
            Verdict::Spoofed => Some(false),
            Verdict::Unverifiable | Verdict::Pending => None,
        }
    }
}

/// Robot whose claim nobody looks into: it is unverifiable.
impl<'v> From<&'v Claim<'v>> for Visitor<'v> {
    fn from(claim: &'v Claim<'v>) -> Self {
        Self::new(claim, Verdict::Unverifiable)
    }
}

//! The visitor that sent a request.

use crate::detect::{Claim, Kind, Verdict};
use crate::registry::Purpose;

use super::Sender;

/// The robot that a request claims to be from, and the verdict on the claim.
///
/// For a request that does not claim to be from a robot, there is no `Visitor`, unless a policy
/// [judges people](super::Policy::has_rules_for_people). A request without a User-Agent is
/// [nameless](Claim::Nameless), and a request with the User-Agent of many visitors is
/// [shared](Claim::Shared); neither has a verdict.
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
    /// The claim that the request makes by its User-Agent or signature.
    pub claim: &'v Claim<'v>,
    /// The verdict on the claim, which is unverifiable for unlisted robots, and meaningless for
    /// nameless and shared visitors.
    pub verdict: Verdict,
    /// The sender of the request, for rules that have conditions on the sender.
    pub sender: Sender<'v>,
}

impl<'v> Visitor<'v> {
    /// Creates a visitor from a claim and the verdict on the claim.
    #[must_use]
    pub fn new(claim: &'v Claim<'v>, verdict: Verdict) -> Self {
        Self {
            claim,
            verdict,
            sender: Sender::default(),
        }
    }

    /// Creates a human visitor, for policies that [judge people](super::Policy::has_rules_for_people).
    #[must_use]
    pub fn person(sender: Sender<'v>) -> Self {
        Visitor {
            sender,
            ..Visitor::new(&Claim::Person, Verdict::Unverifiable)
        }
    }

    /// Sets the sender of the request.
    #[must_use]
    pub fn with_sender(mut self, sender: Sender<'v>) -> Self {
        self.sender = sender;
        self
    }

    /// Returns `true` if the visitor makes no claim to be a robot, so that only rules for this kind
    /// of visitor apply.
    pub(super) fn claims_nothing(self) -> bool {
        matches!(self.kind(), Kind::Nameless | Kind::Shared | Kind::Person)
    }

    /// Returns the kind of visitor whose rules apply: verified assistive software acts for a person.
    pub(super) fn kind(self) -> Kind {
        match self.claim.purpose() {
            Purpose::Assistive if self.verdict == Verdict::Verified => Kind::Person,
            _ => self.claim.kind(),
        }
    }

    /// Returns the purpose to which rules apply: assistive software that is not verified may be any
    /// automated browser.
    pub(super) fn purpose(self) -> Purpose {
        match self.claim.purpose() {
            Purpose::Assistive => Purpose::Automation,
            purpose => purpose,
        }
    }

    pub(super) fn is_spoofed(self) -> bool {
        self.verdict == Verdict::Spoofed
    }

    /// Returns whether the claim is verified (`true`) or spoofed (`false`), or `None` if the claim
    /// could not be verified.
    pub(super) fn is_genuine(self) -> Option<bool> {
        match self.verdict {
            Verdict::Verified => Some(true),
            Verdict::Spoofed => Some(false),
            Verdict::Unverifiable | Verdict::Pending => None,
        }
    }
}

/// Creates a visitor with an unverifiable claim.
impl<'v> From<&'v Claim<'v>> for Visitor<'v> {
    fn from(claim: &'v Claim<'v>) -> Self {
        Self::new(claim, Verdict::Unverifiable)
    }
}

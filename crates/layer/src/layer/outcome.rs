//! What was decided about a request, for access logs and metrics.

use std::sync::Arc;

use crate::detect::{Claim, Kind, NAMELESS, SigningHost, UNLISTED, Verdict};
use crate::policy::Action;
use crate::registry::{Purpose, Robot};
use crate::suspect::Reasons;

use super::{Noteworthy, Visit};

/// Outcome of one request: who asked, what was decided, and what decided it.
///
/// Where [asked to](super::RobotDetectionLayer::report_outcome), the layer puts
/// one into the extensions of the response to a robot. The response to a person who passes
/// has none, unless he is suspect, so that people's requests cost nothing: their outcome is the default.
/// Requests of the program's own have one that [says so](Self::is_own).
/// A clone copies no text.
///
/// # Example
///
/// ```
/// use http::Response;
/// use robot_detection_layer::layer::Outcome;
///
/// fn line(response: &Response<String>) -> String {
///     let outcome = response.extensions().get::<Outcome>().cloned().unwrap_or_default();
///     format!("{} {}", outcome.robot().unwrap_or("-"), outcome.decision())
/// }
///
/// assert_eq!(line(&Response::default()), "- pass");
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Outcome {
    visitor: Requester,
    pub(super) verdict: Option<Verdict>,
    decision: Action,
    /// Whether the decision was only noted.
    pub(super) is_dry_run: bool,
    /// Whether a trap is what is told of it.
    pub(super) is_trap: bool,
    cause: Cause,
    /// Why the visitor is suspect.
    pub(super) reasons: Reasons,
    pub(super) visit: Option<Arc<Visit>>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
enum Requester {
    #[default]
    Person,
    Listed(Arc<Robot>),
    Unlisted(Purpose),
    /// By the signature of the request; the host, where it holds.
    Signed(Purpose, Option<SigningHost>),
    Nameless,
    /// People who share a User-Agent, by the record of it.
    Shared(Arc<Robot>),
    /// The site robot of the program, or whoever looks at its pages.
    Own,
}

/// What decided.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// A rule, by its label.
    Rule(Arc<str>),
    /// A setting or a step, by a word.
    Word(&'static str),
}

impl Outcome {
    pub(super) fn new(claim: &Claim<'_>, decision: Action, cause: Cause) -> Self {
        Self {
            visitor: match claim {
                Claim::Listed(listed) => Requester::Listed(Arc::clone(listed.robot)),
                Claim::Unlisted(_) => Requester::Unlisted(claim.purpose()),
                Claim::Signed(signed) => Requester::Signed(claim.purpose(), signed.signer.clone()),
                Claim::Nameless => Requester::Nameless,
                Claim::Shared(shared) => Requester::Shared(Arc::clone(shared.robot)),
                Claim::Person => Requester::Person,
            },
            decision,
            cause,
            ..Self::default()
        }
    }

    /// Creates the outcome of a request that is no visit of the site; `cause` says why.
    #[doc(hidden)]
    #[must_use]
    pub fn own(cause: &'static str) -> Self {
        Self {
            visitor: Requester::Own,
            cause: Cause::Word(cause),
            ..Self::default()
        }
    }

    /// Creates the outcome of a person's request that the program answers itself; `cause` says why.
    #[doc(hidden)]
    #[must_use]
    pub fn of_person(cause: &'static str) -> Self {
        Self {
            cause: Cause::Word(cause),
            ..Self::default()
        }
    }

    /// Creates the outcome of a request that is refused before its sender is looked at.
    #[doc(hidden)]
    #[must_use]
    pub fn refused(cause: &'static str) -> Self {
        Self {
            decision: Action::Refuse,
            ..Self::of_person(cause)
        }
    }

    /// Returns the kind of visitor; `None` where the request [is the program's own](Self::is_own).
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        match &self.visitor {
            Requester::Person => Some(Kind::Person),
            Requester::Listed(_) => Some(Kind::Listed),
            Requester::Unlisted(_) | Requester::Signed(..) => Some(Kind::Unlisted),
            Requester::Nameless => Some(Kind::Nameless),
            Requester::Shared(_) => Some(Kind::Shared),
            Requester::Own => None,
        }
    }

    /// Returns `true` if the request is the program's own, which counts as no visit.
    ///
    /// Its site robot and [its own pages](super::RobotDetectionLayer::own_path) make such
    /// requests.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self.visitor, Requester::Own)
    }

    /// Returns the robot's id, `unlisted` where no registry lists it, `None` for people.
    ///
    /// Whoever sends no User-Agent is `nameless`, and an unlisted robot whose signature holds
    /// has the name of its [signer](Self::signer).
    #[must_use]
    pub fn robot(&self) -> Option<&str> {
        match &self.visitor {
            Requester::Person | Requester::Shared(_) | Requester::Own => None,
            Requester::Listed(robot) => Some(&robot.id),
            Requester::Unlisted(_) => Some(UNLISTED),
            Requester::Signed(_, signer) => {
                Some(signer.as_ref().map_or(UNLISTED, SigningHost::as_str))
            }
            Requester::Nameless => Some(NAMELESS),
        }
    }

    /// Returns the robot, where a registry lists it.
    #[must_use]
    pub fn listed(&self) -> Option<&Arc<Robot>> {
        match &self.visitor {
            Requester::Listed(robot) => Some(robot),
            _ => None,
        }
    }

    /// Returns who has signed the request, where that is proven and no registry lists it.
    #[must_use]
    pub fn signer(&self) -> Option<&SigningHost> {
        match &self.visitor {
            Requester::Signed(_, signer) => signer.as_ref(),
            _ => None,
        }
    }

    /// Returns the record of the User-Agent, where it is one that many people share.
    #[must_use]
    pub fn shared(&self) -> Option<&Arc<Robot>> {
        match &self.visitor {
            Requester::Shared(record) => Some(record),
            _ => None,
        }
    }

    /// Returns what the robot is for, `None` for people.
    #[must_use]
    pub fn purpose(&self) -> Option<Purpose> {
        match &self.visitor {
            Requester::Person | Requester::Shared(_) | Requester::Own => None,
            Requester::Listed(robot) => Some(robot.purpose),
            Requester::Unlisted(purpose) | Requester::Signed(purpose, _) => Some(*purpose),
            Requester::Nameless => Some(Purpose::Unknown),
        }
    }

    /// Returns the verdict on the claim; `None` for a person, and where nobody proves claims.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Returns what was decided, whatever decided it.
    ///
    /// In a [dry run](Self::is_dry_run) the request passed all the same.
    #[must_use]
    pub fn decision(&self) -> Action {
        self.decision
    }

    /// Returns `true` if the decision was only noted: the request passed.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns `true` if a [trap](super::Traps) was asked for, and no rule of robots.txt broken by it.
    #[must_use]
    pub fn is_trap(&self) -> bool {
        self.is_trap
    }

    /// Returns why the visitor is suspect; none where it is not.
    #[must_use]
    pub fn reasons(&self) -> Reasons {
        self.reasons
    }

    /// Returns why its visit is noteworthy, if it is; `is_violation` says that it broke a rule of
    /// robots.txt.
    #[doc(hidden)]
    #[must_use]
    pub fn noteworthy(&self, is_violation: bool) -> Option<Noteworthy> {
        if self.is_trap {
            return Some(Noteworthy::Trap);
        }
        let is_suspect = !self.reasons.is_empty();
        let of_all = Noteworthy::of(self.decision, self.verdict, is_violation);
        of_all.or_else(|| is_suspect.then_some(Noteworthy::Suspect))
    }

    /// Returns `true` if a person passes, be it a suspect: no other outcome stands for it.
    #[doc(hidden)]
    #[must_use]
    pub fn is_person_passing(&self) -> bool {
        matches!(self.visitor, Requester::Person) && self.decision == Action::Pass && !self.is_trap
    }

    /// Returns the request as it came, where somebody
    /// [wants it described](super::RobotDetectionLayer::describe_visits).
    #[must_use]
    pub fn visit(&self) -> Option<&Visit> {
        self.visit.as_deref()
    }

    /// Returns the label of the rule that decided, if one did: `rule "its name"` or `rule 2`.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.cause {
            Cause::Rule(label) => Some(label),
            Cause::Word(_) => None,
        }
    }

    /// Returns what decided: a rule's label, or one of a fixed set of words.
    ///
    /// Words are `deny`, `spoofed` and `purpose` of what is redirected or refused,
    /// `robots.txt` and `crawl-delay`, and of what passes `trap`, those of
    /// [`PassReason`](crate::policy::PassReason::as_str), `own-robot` and `own-page`.
    #[must_use]
    pub fn cause(&self) -> &str {
        match &self.cause {
            Cause::Rule(label) => label,
            Cause::Word(word) => word,
        }
    }
}

impl Default for Cause {
    fn default() -> Self {
        Self::Word("not-a-robot")
    }
}

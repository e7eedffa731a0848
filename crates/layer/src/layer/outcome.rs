//! Reports of decisions, for access logs and metrics.

use std::{net::IpAddr, sync::Arc};

use http::uri::PathAndQuery;

use crate::detect::{Claim, Kind, NAMELESS, SigningHost, UNLISTED, Verdict};
use crate::policy::Action;
use crate::registry::{Purpose, Robot};
use crate::suspect::Reasons;

use super::{Noteworthy, Visit};

/// The outcome of one request: the visitor, the decision, and the cause of the decision.
///
/// If [configured](super::RobotDetectionLayer::report_outcome), the layer adds an outcome to the
/// extensions of each response to a robot. The response to a passing human visitor has no outcome
/// unless the visitor is a suspect, so that such requests have no overhead; a missing outcome is
/// equal to the default outcome. The program's own requests have an outcome with
/// [`is_internal`](Self::is_internal). Cloning does not copy any text.
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
    /// Whether the decision was only logged because of a dry run.
    pub(super) is_dry_run: bool,
    /// Whether the outcome is reported as a request for a trap.
    pub(super) is_trap: bool,
    cause: Cause,
    /// Reasons why the visitor is suspect.
    pub(super) reasons: Reasons,
    pub(super) visit: Option<Arc<Visit>>,
    /// The target of a robot's request with a query, and the address of the client.
    pub(super) query: Option<(PathAndQuery, Option<IpAddr>)>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
enum Requester {
    #[default]
    Person,
    Listed(Arc<Robot>),
    Unlisted(Purpose),
    /// A robot that signed its request, with the signing host if the signature is valid.
    Signed(Purpose, Option<SigningHost>),
    Nameless,
    /// Human visitors that share a User-Agent, with the registry record of that User-Agent.
    Shared(Arc<Robot>),
    /// The program's own site robot, or a request for the program's own pages.
    Own,
}

/// The cause of a decision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// The label of a rule.
    Rule(Arc<str>),
    /// A fixed word for a setting or a stage.
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

    /// Creates the outcome of a request that is not a visit, for the given cause.
    #[doc(hidden)]
    #[must_use]
    pub fn internal(cause: &'static str) -> Self {
        Self {
            visitor: Requester::Own,
            cause: Cause::Word(cause),
            ..Self::default()
        }
    }

    /// Creates the outcome of a human visitor's request to which the program itself responds.
    #[doc(hidden)]
    #[must_use]
    pub fn for_person(cause: &'static str) -> Self {
        Self {
            cause: Cause::Word(cause),
            ..Self::default()
        }
    }

    /// Creates the outcome of a request that is refused before its sender is examined.
    #[doc(hidden)]
    #[must_use]
    pub fn refused(cause: &'static str) -> Self {
        Self {
            decision: Action::Refuse,
            ..Self::for_person(cause)
        }
    }

    /// Returns the kind of visitor; `None` for the [program's own requests](Self::is_internal).
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

    /// Returns `true` for the program's own requests, which are not counted as visits.
    ///
    /// These are requests from the site robot, and requests for [the program's own
    /// pages](super::RobotDetectionLayer::internal_path).
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self.visitor, Requester::Own)
    }

    /// Returns the robot's ID, `unlisted` for a robot that is not in the registry, or `None` for
    /// human visitors.
    ///
    /// The ID is `nameless` for requests without a User-Agent, and the [signer](Self::signer) for
    /// an unlisted robot with a valid signature.
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

    /// Returns the registry record of a listed robot.
    #[must_use]
    pub fn listed(&self) -> Option<&Arc<Robot>> {
        match &self.visitor {
            Requester::Listed(robot) => Some(robot),
            _ => None,
        }
    }

    /// Returns the verified signer of a request from an unlisted robot.
    #[must_use]
    pub fn signer(&self) -> Option<&SigningHost> {
        match &self.visitor {
            Requester::Signed(_, signer) => signer.as_ref(),
            _ => None,
        }
    }

    /// Returns the registry record of a User-Agent that many human visitors share.
    #[must_use]
    pub fn shared(&self) -> Option<&Arc<Robot>> {
        match &self.visitor {
            Requester::Shared(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the robot's purpose, or `None` for human visitors.
    #[must_use]
    pub fn purpose(&self) -> Option<Purpose> {
        match &self.visitor {
            Requester::Person | Requester::Shared(_) | Requester::Own => None,
            Requester::Listed(robot) => Some(robot.purpose),
            Requester::Unlisted(purpose) | Requester::Signed(purpose, _) => Some(*purpose),
            Requester::Nameless => Some(Purpose::Unknown),
        }
    }

    /// Returns the verdict on the claim; `None` for human visitors, and if claims are not verified.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Returns the decision for the request.
    ///
    /// In a [dry run](Self::is_dry_run), the request passed regardless of the decision.
    #[must_use]
    pub fn decision(&self) -> Action {
        self.decision
    }

    /// Returns `true` if the decision was only logged and the request passed.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Returns `true` if the request was for a [trap](super::Traps) and did not violate robots.txt.
    #[must_use]
    pub fn is_trap(&self) -> bool {
        self.is_trap
    }

    /// Returns the reasons why the visitor is suspect, or an empty set if the visitor is not
    /// suspect.
    #[must_use]
    pub fn reasons(&self) -> Reasons {
        self.reasons
    }

    /// Returns the reason why the visit is noteworthy, if any; `is_violation` states whether the
    /// request violated robots.txt.
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

    /// Returns `true` if the request is from a human visitor, suspect or not, and passes.
    #[doc(hidden)]
    #[must_use]
    pub fn is_person_passing(&self) -> bool {
        matches!(self.visitor, Requester::Person) && self.decision == Action::Pass && !self.is_trap
    }

    /// Returns the description of the request, if
    /// [enabled](super::RobotDetectionLayer::visit_switch).
    #[must_use]
    pub fn visit(&self) -> Option<&Visit> {
        self.visit.as_deref()
    }

    /// Returns the path, the query, and the client's address of a robot's request with a query.
    #[doc(hidden)]
    #[must_use]
    pub fn query(&self) -> Option<(&str, &str, Option<IpAddr>)> {
        let (target, client) = self.query.as_ref()?;
        Some((target.path(), target.query()?, *client))
    }

    /// Returns the label of the deciding rule, if any: `rule "its name"` or `rule 2`.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        match &self.cause {
            Cause::Rule(label) => Some(label),
            Cause::Word(_) => None,
        }
    }

    /// Returns the cause of the decision: a rule's label or one of several fixed words.
    ///
    /// The words are `deny`, `spoofed` and `purpose` for redirects and refusals, `robots.txt`,
    /// `crawl-delay`, and for passing requests `trap`, the words of
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

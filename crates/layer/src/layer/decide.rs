//! The decision about a request, made by running the stages in order.

use std::{fmt, sync::Arc};

use http::Request;
use tracing::debug;

use crate::clock::Clock;
use crate::detect::{Claim, SharedDetector};
use crate::policy::{Action, Judgement, PassReason, Policy, Rule, SharedPolicy, TagRule, Visitor};

use super::{
    ClaimFinding, ClaimProof, Outcome, Stats, Visit, VisitSwitch,
    answers::PreparedAnswers,
    future::{LayerReply, Watch},
    head::RefusalBody,
    header::{self, RequestClaim, needed_parts},
    outcome::Cause,
    stages::{Addresses, Disposition, ReceivedRequest, RequestState, Stage, Stages},
};

/// The cause reported for a suspect to which no rule applies.
const SUSPECT: &str = "suspect";

/// State shared by all services created by a layer.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) detector: SharedDetector,
    pub(super) policy: SharedPolicy,
    pub(super) clock: Clock,
    pub(super) stages: Stages,
    pub(super) answers: PreparedAnswers,
    pub(super) reports_outcome: bool,
    pub(super) visits: VisitSwitch,
    pub(super) stats: Arc<Stats>,
}

/// The capabilities of the interface that a request arrives through.
pub(super) struct RequestInterface<'t, T> {
    pub(super) bodies: &'t T,
    /// Whether the inner service routes by URL, so that rewriting the URL has an effect.
    pub(super) routes: bool,
}

/// The reply to a request, with the outcome if outcomes are reported.
pub type Decided<R> = (LayerReply<R>, Option<Outcome>);

impl Shared {
    pub(super) fn new(detector: SharedDetector, policy: SharedPolicy) -> Self {
        Self {
            detector,
            answers: PreparedAnswers::new(&policy),
            policy,
            clock: Clock::system(),
            stages: Stages::default(),
            reports_outcome: false,
            visits: VisitSwitch::default(),
            stats: Arc::default(),
        }
    }

    /// Decides about a request and, if the request passes, prepares it for the application.
    ///
    /// `lookup` returns the verdict on a claim; if it returns an error, the decision is aborted.
    ///
    /// `client` returns the addresses that the request was sent from.
    pub(super) fn decide<B, R, T: RefusalBody<R>, W>(
        &self,
        RequestInterface { bodies, routes }: RequestInterface<'_, T>,
        request: &mut Request<B>,
        client: impl Fn(&Request<B>) -> Addresses,
        lookup: impl FnOnce(&Policy, &Request<B>, &mut Claim<'_>) -> Result<Option<ClaimFinding>, W>,
    ) -> Result<Decided<R>, W> {
        header::join_agents(request.headers_mut());
        let detector = self.detector.load();
        let answers = self.answers.current(&self.policy);
        let policy = &*answers.policy;
        let RequestClaim { mut claim, agent } =
            RequestClaim::from_headers(&detector, request.headers());
        let received = ReceivedRequest {
            request: &*request,
            agent,
            asked: needed_parts(policy, request),
        };
        let mut case = RequestState::new(&answers, &self.clock, agent.key, routes);
        case.own = self.stages.own(received.request, &self.clock);
        if claim.is_none() && policy.has_rules_for_people() {
            claim = Some(Claim::Person);
        }
        let mut proof = None;
        if let (Some(claim), None) = (&mut claim, case.own)
            && let Some(finding) = lookup(policy, received.request, claim)?
        {
            (case.verdict, proof) = (Some(finding.verdict), finding.proof);
        }
        case.is_person = case.own.is_none() && claim.as_ref().is_none_or(|it| *it == Claim::Person);
        if claim.is_some() || self.stages.needs_sender() {
            case.client = client(received.request);
            self.stages.examine(&received, &mut case);
        }
        if claim.is_none() && (case.trap.is_some() || !case.reasons.is_empty()) {
            claim = Some(Claim::Person);
        }
        let verdict = case.verdict.unwrap_or_default();
        let visitor = claim.as_ref().map(|claim| Visitor::new(claim, verdict));
        self.judge(&received, visitor, &mut case);
        let outcome = match (&claim, case.own) {
            (_, Some(own)) => self.reports_outcome.then(|| Outcome::internal(own)),
            (Some(claim), None) => self.outcome(&received, claim, proof, &mut case),
            (None, None) => None,
        };
        if case.disposition.is_forwarded() {
            add_headers(&received, visitor, &mut case);
        }
        let stats = &self.stats;
        let answers = &self.answers;
        if let Some(answered) = answers.answer(stats, request, &case, visitor, bodies) {
            return Ok((answered, outcome));
        }
        self.stages.ready(request, visitor, &mut case);
        if case.own.is_none() {
            stats.count_passing(claim.as_ref(), case.disposition.action());
        }
        Ok((LayerReply::Passes(case.additions), outcome))
    }

    /// Determines the action taken on a request.
    fn judge<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        visitor: Option<Visitor<'_>>,
        case: &mut RequestState<'_>,
    ) {
        let policy = case.policy();
        // Measure the load first, because rules may depend on it.
        let time = match case.own {
            Some(_) => None,
            None => policy.measure(|| self.clock.now_ms()),
        };
        let requester = visitor.map(|visitor| case.requester(received, visitor));
        let judgement = match case.trap {
            Some(_) => Judgement::pass(PassReason::Trap),
            None => policy.judge(&received.asked, requester.map(|it| it.visitor)),
        };
        let request = received.request;
        let named = || (header::host(request), header::target(request));
        case.judgement = self.stages.robots_txt.allow_listed_page(judgement, named);
        let requester = requester.filter(|_| case.own.is_none());
        if let Some(requester) = requester {
            self.stages.decide(received, requester, case);
        }
        if case.disposition.is_forwarded() {
            let time = time.filter(|_| case.judgement.is_for_application());
            let errors = requester.map(|it| it.error_counters(&case.judgement));
            case.additions.watch = Watch::new(errors.unwrap_or_default(), time, &self.clock);
        }
    }

    /// Returns the outcome of a visit if outcomes are reported; if the decision is only logged,
    /// lets the request pass.
    fn outcome<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        claim: &Claim<'_>,
        proof: Option<ClaimProof>,
        case: &mut RequestState<'_>,
    ) -> Option<Outcome> {
        let is_suspect = !case.reasons.is_empty();
        if is_suspect {
            self.stats.count_suspect(case.reasons);
        }
        let action = case.disposition.action();
        let is_noted =
            case.policy().is_dry_run() || matches!(case.disposition, Disposition::Noted(_));
        // A human visitor that passes has no outcome, whether or not the policy judges people.
        let is_noteworthy =
            *claim != Claim::Person || action != Action::Pass || is_suspect || case.trap.is_some();
        let outcome = (self.reports_outcome && is_noteworthy).then(|| {
            let is_only_marked =
                is_suspect && case.trap.is_none() && matches!(case.disposition, Disposition::Pass);
            let cause = match case.judgement.rule {
                None if is_only_marked => Cause::Word(SUSPECT),
                _ => case.disposition.cause(&case.judgement),
            };
            let mut outcome = Outcome::new(claim, action, cause);
            (outcome.verdict, outcome.reasons) = (case.verdict, case.reasons);
            outcome.is_trap = case.trap.is_some() && case.violation().is_none();
            outcome.is_dry_run = is_noted && action != Action::Pass;
            let target = received.request.uri().path_and_query();
            let target = target.filter(|it| it.query().is_some() && !claim.kind().is_human());
            outcome.query = target.map(|target| (target.clone(), case.client.address));
            self.described(outcome, received.request, proof, case)
        });
        if is_noted {
            note(self, received.request, claim, action);
            case.disposition = Disposition::Pass;
        }
        outcome
    }

    /// Adds a description of the visit to its outcome, if enabled.
    fn described<B>(
        &self,
        mut outcome: Outcome,
        request: &Request<B>,
        proof: Option<ClaimProof>,
        case: &RequestState<'_>,
    ) -> Outcome {
        let said = case.trap.as_ref().and_then(|hit| hit.said.as_ref());
        let breach = case.violation().or(said);
        if self.visits.wants(outcome.noteworthy(breach.is_some())) {
            let mut visit = Visit::of(request, case.client.address, self.clock.now_ms());
            (visit.proof, visit.breach) = (proof, breach.cloned());
            outcome.visit = Some(Arc::new(visit));
        }
        outcome
    }
}

/// Prints the main properties that differ between layers.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy.load();
        f.debug_struct("Shared")
            .field("detector", &self.detector)
            .field("filter_patterns", &policy.filter_patterns().count())
            .field("redirect", &policy.redirect())
            .field("rules", &policy.rules().count())
            .field("requests", &self.stats.requests())
            .finish_non_exhaustive()
    }
}

/// Adds the response headers of the policy, and of the deciding rule, which replace headers of the
/// policy; the rule's headers are omitted for the program's own requests.
fn add_headers<B>(
    received: &ReceivedRequest<'_, B>,
    visitor: Option<Visitor<'_>>,
    case: &mut RequestState<'_>,
) {
    let (policy, judgement) = (case.policy(), case.judgement);
    let tags = policy.tags(&received.asked, visitor);
    let varies = judgement.decision.depends_on_user_agent() || tags.depends_on_user_agent;
    let is_carried_out =
        judgement.decision.reaches_application() && !policy.is_dry_run() && case.own.is_none();
    let rule = judgement.rule.filter(|_| is_carried_out);
    let given = rule.and_then(Rule::response_headers);
    let tags = tags.rules.into_iter().map(TagRule::response_headers);
    case.additions.varies = varies && !policy.is_dry_run();
    case.additions.headers = tags.chain(given).map(Arc::clone).collect();
}

/// Logs and counts an action that was not taken because of the dry run.
#[cold]
fn note<B>(shared: &Shared, request: &Request<B>, claim: &Claim<'_>, action: Action) {
    if action == Action::Pass {
        return;
    }
    Stats::count(shared.stats.would.get(action));
    let (robot, path) = (claim.id(), request.uri().path());
    debug!(robot, %action, "dry run: the decision {action} for robot {robot:?} at {path:?} was not applied");
}

//! What is done with a robot's request: the policy, the rate limiters and robots.txt taken together.

use std::{net::IpAddr, time::Duration};

use http::{
    HeaderName, HeaderValue, Method, Request,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};
use tracing::warn;

use crate::detect::Verdict;
use crate::policy::{
    self, Action, Answer, Breach, Decision, ErrorCounter, Judgement, PacedRequest, Policy,
    RobotRequest, Rule, Visitor,
};

use super::{header, layer::Shared, outcome::Cause};

/// Cause of a redirect to a page's canonical URL.
const CANONICAL: &str = "canonical";

/// Robot that a request comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'s> {
    pub(super) visitor: Visitor<'s>,
    /// The header that makes the claim.
    pub(super) user_agent: &'s [u8],
    /// Its address, where that is known.
    pub(super) client: Option<IpAddr>,
}

/// What is done with a robot's request.
#[derive(Debug)]
pub(super) enum Disposition<'p> {
    /// It goes on to the application as it is.
    Pass,
    /// What the policy decided, and the rule that did; no rule does to an impostor.
    Decided(Decision<'p>, Option<&'p Rule>),
    /// The robot is refused: the page for it cannot be served where the layer stands.
    Misplaced,
    /// The robot is told the page's canonical URL.
    Canonical(HeaderValue),
    /// It goes on, and it is noted what a rule would do that nobody has confirmed.
    Noted(&'p Rule),
    /// The robot is told to sign anew: its signature was good once, before.
    SignAgain,
    /// The robot is told to wait, as it comes faster than a rule allows.
    Slow(&'p Rule, Duration),
    /// The robot is told that it does not keep to robots.txt.
    // In a box, as what is decided is moved with every request.
    Violation(Box<policy::CountedBreach>),
}

impl Asker<'_> {
    /// Returns what is to be told of the answer to its request, where a rule counts errors.
    pub(super) fn error_counters(self, judgement: &Judgement<'_>) -> Vec<ErrorCounter> {
        let rules = [judgement.errors_by, judgement.noted].into_iter().flatten();
        rules
            .filter_map(|rule| self.paced(rule)?.error_counter())
            .collect()
    }

    /// Returns the rate limit of a rule for it, if the rule slows down.
    fn paced(self, rule: &Rule) -> Option<PacedRequest<'_>> {
        rule.paced(self.visitor, self.user_agent, self.client)
    }
}

impl<'p> Disposition<'p> {
    /// Finds the disposition of a robot's request, and counts it against its rate limits.
    ///
    /// robots.txt is asked about what would pass or be served in place, by the path
    /// that the robot asked for, and who is refused everything is not redirected either; a
    /// breach that is only reported comes beside.
    pub(super) fn find<B>(
        shared: &Shared,
        policy: &Policy,
        request: &Request<B>,
        asker: Asker<'_>,
        judgement: Judgement<'p>,
    ) -> (Self, Option<Box<policy::CountedBreach>>) {
        let visitor = asker.visitor;
        // The limit counts all requests of the robot, also those that are refused below.
        for rule in judgement.paced_by().filter(|_| !is_preflight(request)) {
            if let Some(paced) = asker.paced(rule)
                && let Err(wait) = paced.check(shared.clock.now_ms())
            {
                return (Self::Slow(rule, wait), None);
            }
        }
        let Judgement { decision, rule, .. } = judgement;
        if let Decision::Refuse(_) = decision
            // No rule refuses an impostor, and a new signature would not make it genuine.
            && rule.is_some()
            && is_used_up(shared, policy, request, visitor)
        {
            return (Self::SignAgain, None);
        }
        let breach = if decision.goes_on() {
            violation(shared, policy, request, asker, false)
        } else if matches!(decision, Decision::Redirect(_)) {
            violation(shared, policy, request, asker, true)
        } else {
            None
        };
        match (breach, decision) {
            (Some(breach), _) if breach.would.is_refusal() => (Self::Violation(breach), None),
            (breach, Decision::Pass(_)) => {
                let noted = judgement
                    .noted
                    .filter(|rule| would_act(rule, asker, shared.clock.now_ms()));
                (noted.map_or(Self::Pass, Self::Noted), breach)
            }
            (breach, _) => (Self::Decided(decision, rule), breach),
        }
    }

    /// Returns what is broken, if that is what is answered.
    pub(super) fn breach(&self) -> Option<&policy::CountedBreach> {
        match self {
            Self::Violation(breach) => Some(breach),
            _ => None,
        }
    }

    /// Returns `true` if the application is asked.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Pass | Self::Noted(_) => true,
            Self::Decided(decision, _) => decision.goes_on(),
            Self::Misplaced
            | Self::Canonical(_)
            | Self::SignAgain
            | Self::Slow(..)
            | Self::Violation(_) => false,
        }
    }

    /// Returns the action that it amounts to.
    pub(super) fn action(&self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Decided(decision, _) => decision.action(),
            Self::Canonical(_) => Action::Redirect,
            Self::Noted(rule) => rule.action(),
            Self::Misplaced | Self::SignAgain => Action::Refuse,
            Self::Slow(..) => Action::Slow,
            Self::Violation(outcome) => match (outcome.would, &outcome.breach) {
                (Answer::Redirect, _) => Action::Redirect,
                (_, Breach::TooSoon { .. }) => Action::Slow,
                _ => Action::Refuse,
            },
        }
    }

    /// Returns what decided it.
    pub(super) fn cause(&self, judgement: &Judgement<'_>) -> Cause {
        match self {
            Self::Violation(outcome) => Cause::Word(match outcome.breach {
                Breach::TooSoon { .. } => "crawl-delay",
                _ => "robots.txt",
            }),
            Self::Canonical(_) => Cause::Word(CANONICAL),
            Self::Slow(rule, _) | Self::Noted(rule) => Cause::Rule(rule.shared_label()),
            _ => match judgement.rule {
                Some(rule) => Cause::Rule(rule.shared_label()),
                None => Cause::Word(judgement.cause()),
            },
        }
    }
}

/// Returns `true` if a browser asks whether a page of another site may send a request.
///
/// The page cannot repeat it, so an answer such as 429 would break the application.
fn is_preflight<B>(request: &Request<B>) -> bool {
    let has = |name: HeaderName| request.headers().contains_key(name);
    request.method() == Method::OPTIONS && has(ORIGIN) && has(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns `true` if a rule would do something to a request that it matches.
fn would_act(rule: &Rule, asker: Asker<'_>, now_ms: i64) -> bool {
    let paced = asker.paced(rule);
    paced.is_none_or(|paced| paced.check(now_ms).is_err())
}

/// Returns `true` if a robot is refused for want of a proof that it has used before.
///
/// A rule that refuses verified robots too is not to be got past by another signature.
fn is_used_up<B>(
    shared: &Shared,
    policy: &Policy,
    request: &Request<B>,
    visitor: Visitor<'_>,
) -> bool {
    if visitor.verdict != Verdict::Unverifiable
        || !shared.verdicts.is_replay(request, visitor.claim)
    {
        return false;
    }
    let verified = Visitor {
        verdict: Verdict::Verified,
        ..visitor
    };
    let judgement = policy.judge(&header::parts_for(policy, request), Some(verified));
    !matches!(judgement.decision, Decision::Refuse(_))
}

/// Holds a request to robots.txt; returns what is broken.
fn violation<B>(
    shared: &Shared,
    policy: &Policy,
    request: &Request<B>,
    asker: Asker<'_>,
    is_redirected: bool,
) -> Option<Box<policy::CountedBreach>> {
    let visit = RobotRequest {
        request: header::parts(request),
        target: header::target(request),
        visitor: asker.visitor,
        user_agent: asker.user_agent,
        client: asker.client,
    };
    let enforcer = &shared.enforcer;
    let now_ms = || shared.clock.now_ms();
    let outcome = if is_redirected {
        enforcer.hold_redirected(policy, &visit, now_ms)
    } else {
        enforcer.hold(policy, &visit, now_ms)
    }?;
    if outcome.is_new {
        log(&visit, &outcome);
    }
    Some(Box::new(outcome))
}

#[cold]
fn log(visit: &RobotRequest<'_>, outcome: &policy::CountedBreach) {
    let policy::CountedBreach { breach, answer, .. } = outcome;
    let Visitor { claim, verdict, .. } = visit.visitor;
    let robot = claim.id();
    let host = visit.request.host.unwrap_or_default();
    warn!(
        robot,
        host,
        %verdict,
        %answer,
        "the robot {robot:?} does not keep to robots.txt, further such requests are only counted: {breach}"
    );
}

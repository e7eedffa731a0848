//! The stage that enforces robots.txt.

use tracing::warn;

use crate::layer::header;
use crate::policy::{CountedViolation, Decision, Enforcer, RobotRequest, Visitor};

use super::{Disposition, ReceivedRequest, RequestState, Requester, Stage};

impl Stage for Enforcer {
    /// Checks the requested path against robots.txt if the request would pass, be served directly
    /// or be redirected. A robot that may not fetch any page is not redirected either.
    fn decide<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        let is_redirected = match &case.disposition {
            Disposition::Pass => false,
            Disposition::Decided(Decision::Redirect(_), _) => true,
            Disposition::Decided(decision, _) if decision.reaches_application() => false,
            _ => return,
        };
        let visit = RobotRequest {
            request: header::request_parts(received.request),
            target: header::target(received.request),
            visitor: requester.visitor,
            user_agent: requester.user_agent,
            client: requester.client,
        };
        let now_ms = || case.clock.now_ms();
        let outcome = if is_redirected {
            self.enforce_for_redirect(case.policy(), &visit, now_ms)
        } else {
            self.enforce(case.policy(), &visit, now_ms)
        };
        match outcome {
            Some(outcome) => {
                if outcome.is_new {
                    log(&visit, &outcome);
                }
                let breach = Box::new(outcome);
                if breach.would.is_refusal() {
                    case.disposition = Disposition::Violation(breach);
                } else {
                    case.breach = Some(breach);
                }
            }
            None => {
                if let Some(hit) = case.trap.as_mut().filter(|hit| hit.has_read) {
                    let (host, claim) = (header::host(received.request), requester.visitor.claim);
                    hit.said =
                        self.find_disallowing_rule(host, visit.target, claim, requester.user_agent);
                }
            }
        }
    }
}

#[cold]
fn log(visit: &RobotRequest<'_>, outcome: &CountedViolation) {
    let CountedViolation { breach, answer, .. } = outcome;
    let Visitor { claim, verdict, .. } = visit.visitor;
    let robot = claim.id();
    let host = visit.request.host.unwrap_or_default();
    warn!(
        robot,
        host,
        %verdict,
        %answer,
        "the robot {robot:?} violates robots.txt (further violations are only counted): {breach}"
    );
}

//! The stages that apply the decisions and rate limits of the policy's rules.

use http::{
    HeaderName, Method, Request,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};

use crate::policy::Decision;

use super::{Disposition, ReceivedRequest, RequestState, Requester, Stage};

/// The stage that applies the policy's decision, unless the visitor exceeds the rate limit of a
/// rule.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules;

/// The stage that logs the action of a rule that is not confirmed to apply to human visitors.
#[derive(Clone, Copy, Default)]
pub(crate) struct Unconfirmed;

impl Stage for Rules {
    fn decide<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        let judgement = case.judgement;
        if !matches!(judgement.decision, Decision::Pass(_)) {
            case.disposition = Disposition::Decided(judgement.decision, judgement.rule);
        }
        // The limit counts all requests from the robot, including refused requests.
        for rule in judgement
            .rate_limits()
            .filter(|_| !is_preflight(received.request))
        {
            if let Some(paced) = requester.limited_request(rule)
                && let Err(wait) = paced.check(case.clock.now_ms())
            {
                case.disposition = Disposition::Slow(rule, wait);
                return;
            }
        }
    }
}

impl Stage for Unconfirmed {
    fn decide<B>(
        &self,
        _: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        if let (Some(rule), Disposition::Pass) = (case.judgement.noted, &case.disposition) {
            let paced = requester.limited_request(rule);
            if paced.is_none_or(|paced| paced.check(case.clock.now_ms()).is_err()) {
                case.disposition = Disposition::Noted(rule);
            }
        }
    }
}

/// Returns `true` for a CORS preflight request.
///
/// A page cannot retry a preflight, so a response such as 429 would break the application.
fn is_preflight<B>(request: &Request<B>) -> bool {
    let has = |name: HeaderName| request.headers().contains_key(name);
    request.method() == Method::OPTIONS && has(ORIGIN) && has(ACCESS_CONTROL_REQUEST_METHOD)
}

//! The response to a robot that does not keep to robots.txt.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY},
};
use tracing::warn;

use crate::detect::Claim;
use crate::policy::{Answer, Breach, Outcome, Policy, Visit};

use super::{Stats, header, layer::Shared};

/// Maker of response bodies from text, of whatever type the application's are.
#[derive(Clone, Default)]
pub(super) struct TextBody {
    make: Option<Arc<dyn Any + Send + Sync>>,
}

impl TextBody {
    pub(super) fn new<R: 'static>(make: fn(String) -> R) -> Self {
        Self {
            make: Some(Arc::new(make)),
        }
    }

    /// Makes a body; it is empty where nobody said how bodies of this type are made.
    fn make<R: Default + 'static>(&self, text: String) -> R {
        let make = self.make.as_ref();
        let make = make.and_then(|make| make.downcast_ref::<fn(String) -> R>());
        make.map_or_else(R::default, |make| make(text))
    }
}

impl fmt::Debug for TextBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextBody")
            .field(&self.make.is_some())
            .finish()
    }
}

/// Holds a robot's request to robots.txt; returns the response if it is refused.
pub(super) fn refusal<B, R: Default + 'static>(
    shared: &Shared,
    policy: &Arc<Policy>,
    request: &Request<B>,
    claim: &Claim<'_>,
    user_agent: &[u8],
) -> Option<Response<R>> {
    let uri = request.uri();
    let visit = Visit {
        request: header::parts(request),
        target: uri
            .path_and_query()
            .map_or(uri.path(), |path| path.as_str()),
        claim,
        user_agent,
    };
    let outcome = shared
        .enforcer
        .hold(policy, &visit, || shared.clock.now_ms())?;
    if outcome.is_new {
        log(&visit, &outcome);
    }
    let response = respond(shared, policy, &outcome, request.method())?;
    Stats::count(&shared.stats.robots_refused);
    Some(response)
}

fn respond<R: Default + 'static>(
    shared: &Shared,
    policy: &Arc<Policy>,
    outcome: &Outcome,
    method: &Method,
) -> Option<Response<R>> {
    let text = |status, retry_after| {
        let body = if method == Method::HEAD {
            R::default()
        } else {
            shared.text_body.make(text(&outcome.breach))
        };
        Some(refused(status, retry_after, body))
    };
    match outcome.answer {
        Answer::Pass => None,
        Answer::TooManyRequests { retry_after } => {
            text(StatusCode::TOO_MANY_REQUESTS, Some(retry_after))
        }
        Answer::Redirect => policy
            .redirect()
            .and_then(|redirect| shared.redirects.response(policy, redirect))
            .or_else(|| text(StatusCode::FORBIDDEN, None)),
        _ => text(StatusCode::FORBIDDEN, None),
    }
}

fn refused<R>(status: StatusCode, retry_after: Option<Duration>, body: R) -> Response<R> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("User-Agent"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    if let Some(retry_after) = retry_after {
        // A second that has begun is waited for to its end.
        let seconds = retry_after.as_millis().div_ceil(1_000).max(1);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Tells the robot what it did; all of it is visible characters.
fn text(breach: &Breach) -> String {
    format!("This robot does not keep to /robots.txt: {breach}.\n")
}

#[cold]
fn log(visit: &Visit<'_>, outcome: &Outcome) {
    let Outcome { breach, answer, .. } = outcome;
    let robot = visit.claim.id();
    let host = visit.request.host.unwrap_or_default();
    warn!(
        robot,
        host,
        %answer,
        "the robot {robot:?} does not keep to robots.txt, further such requests are only counted: {breach}"
    );
}

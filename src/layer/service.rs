//! The service around the application.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;

use crate::detect::Claim;
use crate::policy::{self, Decision};

use super::{
    Identification, ResponseFuture, Stats,
    header::{claim, host, id_value, remove_forged},
    layer::Shared,
};

/// Service that redirects robots on filtered paths and passes everything else on.
///
/// Made by [`RobotDetectionLayer`](super::RobotDetectionLayer).
#[derive(Clone, Debug)]
pub struct RobotDetectionService<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> RobotDetectionService<S> {
    pub(super) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, B, R> Service<Request<B>> for RobotDetectionService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Default,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let shared = &*self.shared;
        let detector = shared.detector.load();
        let claim = claim(&detector, request.headers());
        let policy = shared.policy.load();
        let decision = policy.decide(&parts(&request), claim.as_ref());
        if let Decision::Redirect(redirect) = decision
            && let Some(response) = shared.redirects.response(&policy, redirect)
        {
            Stats::count(&shared.stats.robots_redirected);
            return ResponseFuture::redirected(response);
        }
        Stats::count(match claim {
            Some(_) => &shared.stats.robots_passed,
            None => &shared.stats.people,
        });
        identify(&mut request, claim.as_ref(), shared);
        let varies = decision.depends_on_user_agent();
        ResponseFuture::passing(self.inner.call(request), varies)
    }
}

/// Returns what the policy looks at.
fn parts<B>(request: &Request<B>) -> policy::Request<'_> {
    policy::Request {
        method: request.method().as_str(),
        host: host(request),
        path: request.uri().path(),
    }
}

/// Tells handlers and the upstream of the robot, and removes what others told of one.
fn identify<B>(request: &mut Request<B>, claim: Option<&Claim<'_>>, shared: &Shared) {
    request.extensions_mut().remove::<Identification>();
    if let Some(name) = &shared.identification_header {
        remove_forged(request.headers_mut(), name);
    }
    let Some(claim) = claim else { return };
    request.extensions_mut().insert(Identification::from(claim));
    if let Some(name) = &shared.identification_header
        && let Some(value) = id_value(claim.id())
    {
        request.headers_mut().insert(name.clone(), value);
    }
}

//! The service around the application.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;

use crate::detect::Claim;
use crate::policy::Decision;

use super::{
    Identification, ResponseFuture, Stats,
    future::Additions,
    header::{claim, id_value, parts, remove_forged, tag_value},
    layer::Shared,
    refusal::refusal,
};

/// Service that redirects or refuses robots and passes everything else on.
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
    R: Default + 'static,
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
        let (claim, user_agent) = claim(&detector, request.headers()).unzip();
        let policy = shared.policy.load();
        let decision = policy.decide(&parts(&request), claim.as_ref());
        let tags = policy.tags(&parts(&request), claim.as_ref());
        if let Decision::Redirect(redirect) = decision
            && let Some(response) = shared.redirects.response(&policy, redirect)
        {
            Stats::count(&shared.stats.robots_redirected);
            return ResponseFuture::answered(response);
        }
        if let (Some(claim), Some(user_agent)) = (&claim, user_agent)
            && let Some(response) = refusal(shared, &policy, &request, claim, user_agent)
        {
            return ResponseFuture::answered(response);
        }
        Stats::count(match claim {
            Some(_) => &shared.stats.robots_passed,
            None => &shared.stats.people,
        });
        identify(&mut request, claim.as_ref(), shared);
        let additions = Additions {
            varies: decision.depends_on_user_agent() || tags.depends_on_user_agent,
            tags: tags.values.into_iter().filter_map(tag_value).collect(),
        };
        ResponseFuture::passing(self.inner.call(request), additions)
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

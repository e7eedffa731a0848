//! The service around the application.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_service::Service;
use tracing::debug;

use crate::detect::Claim;
use crate::policy::{self, Action, Judgement, Policy};

use super::{
    Identification, Outcome, ResponseFuture, Stats,
    answers::answer,
    course::{Course, Visitor},
    future::Additions,
    header::{claim, id_value, parts, remove_forged, tag_value},
    in_place,
    layer::Shared,
};

/// Service that redirects, refuses or slows robots down and passes everything else on.
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
        let asked = parts(&request);
        let judgement = policy.judge(&asked, claim.as_ref());
        let mut additions = additions(&policy, &judgement, &asked, claim.as_ref());
        let mut course = match (&claim, user_agent) {
            (Some(claim), Some(user_agent)) => {
                let visitor = Visitor { claim, user_agent };
                Course::find(shared, &policy, &request, visitor, judgement)
            }
            _ => Course::Pass,
        };
        if let Some(claim) = &claim {
            additions.outcome = outcome(shared, &policy, claim, &course, &judgement);
            if policy.is_dry_run() {
                note(shared, &request, claim, &course);
                course = Course::Pass;
            }
        }
        if let Some(mut response) = answer(shared, &policy, &request, &course) {
            if let Some(outcome) = additions.outcome {
                response.extensions_mut().insert(outcome);
            }
            return ResponseFuture::answered(response);
        }
        identify(&mut request, claim.as_ref(), shared);
        additions.is_in_place = serve_in_place(shared, &policy, &mut request, &course);
        Stats::count(match (&claim, additions.is_in_place) {
            (None, _) => &shared.stats.people,
            (Some(_), false) => &shared.stats.robots_passed,
            (Some(_), true) => &shared.stats.robots_served,
        });
        ResponseFuture::passing(self.inner.call(request), additions)
    }
}

/// Returns what the response gets if the request passes.
fn additions(
    policy: &Policy,
    judgement: &Judgement<'_>,
    asked: &policy::Request<'_>,
    claim: Option<&Claim<'_>>,
) -> Additions {
    let tags = policy.tags(asked, claim);
    let varies = judgement.decision.depends_on_user_agent() || tags.depends_on_user_agent;
    Additions {
        varies: varies && !policy.is_dry_run(),
        tags: tags.values.into_iter().filter_map(tag_value).collect(),
        is_in_place: false,
        outcome: None,
    }
}

/// Returns what is told of a robot's request, where somebody wants to know.
fn outcome(
    shared: &Shared,
    policy: &Policy,
    claim: &Claim<'_>,
    course: &Course<'_>,
    judgement: &Judgement<'_>,
) -> Option<Outcome> {
    let action = course.action();
    shared.reports_outcome.then(|| {
        let outcome = Outcome::new(claim, action, course.cause(judgement));
        outcome.dry_run(policy.is_dry_run() && action != Action::Pass)
    })
}

/// Notes what would be done in a dry run.
#[cold]
fn note<B>(shared: &Shared, request: &Request<B>, claim: &Claim<'_>, course: &Course<'_>) {
    let action = course.action();
    let Some(counter) = shared.stats.would(action) else {
        return;
    };
    Stats::count(counter);
    let (robot, path) = (claim.id(), request.uri().path());
    debug!(robot, %action, "dry run: {action} would be the answer to {robot:?} at {path:?}");
}

/// Asks for the page of a rule that serves in place; tells whether it does.
fn serve_in_place<B>(
    shared: &Shared,
    policy: &Arc<Policy>,
    request: &mut Request<B>,
    course: &Course<'_>,
) -> bool {
    let Course::Serve(rule) = course else {
        return false;
    };
    let answers = shared.answers.of(policy);
    let page = answers.as_ref().and_then(|answers| answers.page(rule));
    page.map(|page| in_place::ask_for(request, page)).is_some()
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

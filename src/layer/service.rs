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
        match self.shared.decide(&mut request) {
            Decided::Answered(mut response, outcome) => {
                if let Some(outcome) = outcome {
                    response.extensions_mut().insert(outcome);
                }
                ResponseFuture::answered(response)
            }
            Decided::Passing(additions) => {
                ResponseFuture::passing(self.inner.call(request), additions)
            }
        }
    }
}

#[cfg(feature = "server")]
impl<S> RobotDetectionService<S> {
    /// Does what a call does, and tells the outcome apart; `pass` asks the application.
    pub(crate) fn respond<B, R, F>(
        &self,
        mut request: Request<B>,
        pass: impl FnOnce(&S, Request<B>) -> F,
    ) -> Reply<F, R>
    where
        R: Default + 'static,
    {
        match self.shared.decide(&mut request) {
            Decided::Answered(response, outcome) => Reply::Now(response, outcome),
            Decided::Passing(mut additions) => {
                let outcome = additions.outcome.take();
                let future = pass(&self.inner, request);
                Reply::Later(ResponseFuture::passing(future, additions), outcome)
            }
        }
    }
}

/// What comes of a request, and its outcome where that is to be told.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) enum Reply<F, R> {
    /// The layer has answered it.
    Now(Response<R>, Option<Outcome>),
    /// The application was asked.
    Later(ResponseFuture<F, R>, Option<Outcome>),
}

/// What was decided about a request.
enum Decided<R> {
    /// The layer answers it.
    Answered(Response<R>, Option<Outcome>),
    /// It goes on, and its response gets additions.
    Passing(Additions),
}

impl Shared {
    /// Decides about a request, which is ready to go on if it passes.
    fn decide<B, R: Default + 'static>(&self, request: &mut Request<B>) -> Decided<R> {
        let detector = self.detector.load();
        let (claim, user_agent) = claim(&detector, request.headers()).unzip();
        let policy = self.policy.load();
        let asked = parts(request);
        let judgement = policy.judge(&asked, claim.as_ref());
        let mut additions = additions(&policy, &judgement, &asked, claim.as_ref());
        let mut course = match (&claim, user_agent) {
            (Some(claim), Some(user_agent)) => {
                let visitor = Visitor { claim, user_agent };
                Course::find(self, &policy, request, visitor, judgement)
            }
            _ => Course::Pass,
        };
        if !matches!(course, Course::Pass) && self.own_robot.sent(request) {
            course = Course::Pass;
        }
        if let Some(claim) = &claim {
            additions.outcome = outcome(self, &policy, claim, &course, &judgement);
            if policy.is_dry_run() {
                note(self, request, claim, &course);
                course = Course::Pass;
            }
        }
        if let Some(response) = answer(self, &policy, request, &course) {
            return Decided::Answered(response, additions.outcome);
        }
        identify(request, claim.as_ref(), self);
        additions.is_in_place = serve_in_place(self, &policy, request, &course);
        Stats::count(match (&claim, additions.is_in_place) {
            (None, _) => &self.stats.people,
            (Some(_), false) => &self.stats.robots_passed,
            (Some(_), true) => &self.stats.robots_served,
        });
        Decided::Passing(additions)
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
    shared.own_robot.take_off(request.headers_mut());
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

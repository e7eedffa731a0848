//! The response on its way.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, header::SET_COOKIE};
use pin_project_lite::pin_project;

use crate::clock::Clock;
use crate::policy::{AnswerTime, ErrorCounter, ResponseHeaders};

use super::{
    Outcome,
    head::{ReadyHead, RefusalBody},
    header::vary_by_user_agent,
    stages::{Form, PersonWord, keep_out_of_caches},
};

pin_project! {
    /// Future of the response: the application's, or our own.
    #[derive(Debug)]
    pub struct ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProjection]
    enum State<F, B> {
        Passing {
            #[pin]
            future: F,
            additions: Additions,
            // What the response's extensions tell of it.
            outcome: Option<Outcome>,
        },
        Answered {
            response: Option<Response<B>>,
        },
    }
}

/// What the response of a passing request gets.
#[derive(Debug, Default)]
pub struct Additions {
    /// Whether it gets `Vary: User-Agent`.
    pub(super) varies: bool,
    /// Headers that rules give.
    pub(super) headers: Vec<Arc<ResponseHeaders>>,
    /// Whether it is a page in place of another.
    pub(super) is_in_place: bool,
    /// What is told of it.
    pub(super) watch: Option<Box<Watch>>,
    /// Cookie of somebody who has said that he is a person, where it is due for another one.
    // Seldom there, and a box keeps what each request moves small.
    pub(super) cookie: Option<Box<HeaderValue>>,
    /// Whether it may tell a canonical URL that somebody wants to learn.
    pub(super) is_learnt_from: bool,
    /// In which form it is answered.
    pub(super) form: Form,
    /// What it may tell.
    pub(super) word: Option<PersonWord>,
}

/// Answer of the layer, or what the application's gets.
#[derive(Debug)]
pub enum Reply<R> {
    /// The layer has answered the request.
    // In a box, as what passes is moved too.
    Now(Box<Response<R>>),
    /// So it has, with a head that was made with the policy.
    Ready(Arc<ReadyHead>),
    /// The application answers it.
    Passes(Additions),
}

impl<R> Reply<R> {
    /// Returns the layer's answer as a response; its headers reuse the memory of the request's.
    ///
    /// # Errors
    ///
    /// Fails with what the application's response gets.
    pub(super) fn into_response<B>(
        self,
        bodies: &impl RefusalBody<R>,
        request: &mut Request<B>,
    ) -> Result<Response<R>, Additions> {
        match self {
            Self::Now(response) => Ok(*response),
            Self::Ready(head) => {
                Ok(head.response(bodies.empty(), mem::take(request.headers_mut())))
            }
            Self::Passes(additions) => Err(additions),
        }
    }
}

/// Who is told how a request was answered.
#[derive(Debug)]
pub(super) struct Watch {
    errors: Vec<ErrorCounter>,
    time: Option<AnswerTime>,
    clock: Clock,
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn passing(future: F, additions: Additions, outcome: Option<Outcome>) -> Self {
        Self {
            state: State::Passing {
                future,
                additions,
                outcome,
            },
        }
    }

    pub(super) fn answered(response: Response<B>) -> Self {
        Self {
            state: State::Answered {
                response: Some(response),
            },
        }
    }
}

impl Additions {
    /// Returns `true` if there is nothing to add; what the application may tell is no addition, and
    /// whether its page has two forms is known with its answer alone.
    #[must_use]
    pub fn are_none(&self) -> bool {
        !self.varies
            && self.headers.is_empty()
            && !self.is_in_place
            && self.form != Form::Markdown
            && self.watch.is_none()
            && self.cookie.is_none()
    }

    /// Returns `true` if the response may tell a canonical URL that
    /// [somebody wants to learn](super::CanonicalRedirects).
    #[must_use]
    pub fn is_learnt_from(&self) -> bool {
        self.is_learnt_from
    }

    /// Adds them to the response.
    pub fn add_to<B>(&mut self, response: &mut Response<B>) {
        // First, as a rule may give a header of that name.
        if let Some(word) = &self.word {
            word.take(response.headers_mut());
        }
        if self.varies {
            vary_by_user_agent(response.headers_mut());
        }
        for given in &self.headers {
            given.give(response.headers_mut());
        }
        if self.is_in_place {
            keep_out_of_caches(response.headers_mut());
        }
        self.form.tell(response);
        if let Some(cookie) = self.cookie.take() {
            response.headers_mut().append(SET_COOKIE, *cookie);
        }
        if let Some(watch) = self.watch.take() {
            watch.answered(response.status());
        }
    }
}

impl Watch {
    /// Creates it; `None`: nobody is to be told.
    pub(super) fn new(
        errors: Vec<ErrorCounter>,
        time: Option<AnswerTime>,
        clock: &Clock,
    ) -> Option<Box<Self>> {
        let is_asked_for = time.is_some() || !errors.is_empty();
        is_asked_for.then(|| {
            let clock = clock.clone();
            Box::new(Self {
                errors,
                time,
                clock,
            })
        })
    }

    fn answered(&self, status: StatusCode) {
        let now_ms = self.clock.now_ms();
        for counter in &self.errors {
            counter.answered(status.as_u16(), now_ms);
        }
    }
}

/// Who waits no longer has waited for so long.
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(time) = self.time.take() {
            time.end(self.clock.now_ms());
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passing {
                future,
                additions,
                outcome,
            } => {
                let mut response = ready!(future.poll(cx))?;
                additions.add_to(&mut response);
                if let Some(outcome) = outcome.take() {
                    response.extensions_mut().insert(outcome);
                }
                Poll::Ready(Ok(response))
            }
            // Nobody polls a future again that was ready; if so, it waits for ever.
            StateProjection::Answered { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
        }
    }
}

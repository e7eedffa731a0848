//! The future that resolves to the response.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, header::SET_COOKIE};
use pin_project_lite::pin_project;

use crate::clock::Clock;
use crate::policy::{ErrorCounter, ResponseHeaders, ResponseTimer};

use super::{
    Outcome,
    head::{ReadyHead, RefusalBody},
    header::vary_by_user_agent,
    stages::{ExpectedPersonHeader, Form, forbid_caching},
};

pin_project! {
    /// A future that resolves to the response of the application or of the layer.
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
            // The outcome is added to the response's extensions.
            outcome: Option<Outcome>,
        },
        Answered {
            response: Option<Response<B>>,
        },
    }
}

/// Headers and observers to add to the response when a request passes.
#[derive(Debug, Default)]
pub struct Additions {
    /// Whether `Vary: User-Agent` is added to the response.
    pub(super) varies: bool,
    /// Response headers that rules add.
    pub(super) headers: Vec<Arc<ResponseHeaders>>,
    /// Whether the response is a page served directly instead of the requested page.
    pub(super) is_in_place: bool,
    /// Observers of the response.
    pub(super) watch: Option<Box<Watch>>,
    /// A renewed confirmation cookie of a human visitor.
    // Rarely set; the box keeps the type small.
    pub(super) cookie: Option<Box<HeaderValue>>,
    /// Whether a canonical URL may be learned from the response.
    pub(super) is_learnt_from: bool,
    /// The form (HTML or Markdown) in which the page is served.
    pub(super) form: Form,
    /// The header by which the application may mark the visitor as human.
    pub(super) word: Option<ExpectedPersonHeader>,
}

/// The layer's own response, or the additions to the application's response.
#[derive(Debug)]
pub enum LayerReply<R> {
    /// The layer responds to the request.
    // Boxed, because passing requests move this type too.
    Now(Box<Response<R>>),
    /// The layer responds to the request with a prepared head.
    Ready(Arc<ReadyHead>),
    /// The application responds to the request.
    Passes(Additions),
}

impl<R> LayerReply<R> {
    /// Returns the layer's response, reusing the memory of the request's headers.
    ///
    /// # Errors
    ///
    /// If the request passes, returns the additions to the application's response instead.
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

/// Observers of a response, which count errors and measure the load.
#[derive(Debug)]
pub(super) struct Watch {
    errors: Vec<ErrorCounter>,
    time: Option<ResponseTimer>,
    clock: Clock,
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn forwarding(future: F, additions: Additions, outcome: Option<Outcome>) -> Self {
        Self {
            state: State::Passing {
                future,
                additions,
                outcome,
            },
        }
    }

    pub(super) fn ready(response: Response<B>) -> Self {
        Self {
            state: State::Answered {
                response: Some(response),
            },
        }
    }
}

impl Additions {
    /// Returns `true` if nothing is to be added. The header that marks human visitors and the form
    /// of an HTML page are only known when the response arrives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.varies
            && self.headers.is_empty()
            && !self.is_in_place
            && self.form != Form::Markdown
            && self.watch.is_none()
            && self.cookie.is_none()
    }

    /// Returns `true` if a [canonical URL](super::CanonicalRedirects) may be learned from the
    /// response.
    #[must_use]
    pub fn is_canonical_source(&self) -> bool {
        self.is_learnt_from
    }

    /// Applies the additions to a response.
    pub fn add_to<B>(&mut self, response: &mut Response<B>) {
        // Done first, because a rule may add a header with the same name.
        if let Some(word) = &self.word {
            word.take(response.headers_mut());
        }
        if self.varies {
            vary_by_user_agent(response.headers_mut());
        }
        for given in &self.headers {
            given.apply(response.headers_mut());
        }
        if self.is_in_place {
            forbid_caching(response.headers_mut());
        }
        self.form.add_cache_headers(response);
        if let Some(cookie) = self.cookie.take() {
            response.headers_mut().append(SET_COOKIE, *cookie);
        }
        if let Some(watch) = self.watch.take() {
            watch.answered(response.status());
        }
    }
}

impl Watch {
    /// Creates the observers of a response; `None` if there is nothing to observe.
    pub(super) fn new(
        errors: Vec<ErrorCounter>,
        time: Option<ResponseTimer>,
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
            counter.count_response(status.as_u16(), now_ms);
        }
    }
}

/// Ends the time measurement even if the client has disconnected.
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
            // A completed future must not be polled again; if it is, it stays pending.
            StateProjection::Answered { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
        }
    }
}

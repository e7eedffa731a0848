//! The response on its way.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Response};
use pin_project_lite::pin_project;

use super::{
    Outcome,
    header::{add_tags, vary_by_user_agent},
    in_place::keep_out_of_caches,
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
        },
        Answered {
            response: Option<Response<B>>,
        },
    }
}

/// What the response of a passing request gets.
#[derive(Debug, Default)]
pub(super) struct Additions {
    /// Whether it gets `Vary: User-Agent`.
    pub(super) varies: bool,
    /// Its `X-Robots-Tag` headers.
    pub(super) tags: Vec<HeaderValue>,
    /// Whether it is a page in place of another.
    pub(super) is_in_place: bool,
    /// What its extensions tell of it.
    pub(super) outcome: Option<Outcome>,
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn passing(future: F, additions: Additions) -> Self {
        Self {
            state: State::Passing { future, additions },
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

impl<F, B, E> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passing { future, additions } => {
                let mut response = ready!(future.poll(cx))?;
                if additions.varies {
                    vary_by_user_agent(response.headers_mut());
                }
                add_tags(response.headers_mut(), &mut additions.tags);
                if additions.is_in_place {
                    keep_out_of_caches(response.headers_mut());
                }
                if let Some(outcome) = additions.outcome.take() {
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

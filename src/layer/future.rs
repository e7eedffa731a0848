//! The response on its way.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Response};
use pin_project_lite::pin_project;

use super::header::{add_tags, vary_by_user_agent};

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
#[derive(Debug)]
pub(super) struct Additions {
    /// Whether it gets `Vary: User-Agent`.
    pub(super) varies: bool,
    /// Its `X-Robots-Tag` headers.
    pub(super) tags: Vec<HeaderValue>,
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
                Poll::Ready(Ok(response))
            }
            // Nobody polls a future again that was ready; if so, it waits for ever.
            StateProjection::Answered { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
        }
    }
}

//! The response on its way.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use pin_project_lite::pin_project;

use super::header::vary_by_user_agent;

pin_project! {
    /// Future of the response: the application's, or the redirect.
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
            varies: bool,
        },
        Redirected {
            response: Option<Response<B>>,
        },
    }
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn passing(future: F, varies: bool) -> Self {
        Self {
            state: State::Passing { future, varies },
        }
    }

    pub(super) fn redirected(response: Response<B>) -> Self {
        Self {
            state: State::Redirected {
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
            StateProjection::Passing { future, varies } => {
                let mut response = ready!(future.poll(cx))?;
                if *varies {
                    vary_by_user_agent(response.headers_mut());
                }
                Poll::Ready(Ok(response))
            }
            // Nobody polls a future again that was ready; if so, it waits for ever.
            StateProjection::Redirected { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
        }
    }
}

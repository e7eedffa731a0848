use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::http::Response;
use pin_project_lite::pin_project;

use super::{
    body::{FromUpstream, ObservedBody},
    observation::Observation,
};

pin_project! {
    /// Future of a response that is observed to its end.
    ///
    /// If it is dropped before, the request is logged with 499: the client went away.
    #[derive(Debug)]
    pub(crate) struct ObserveFuture<F> {
        observation: Option<Observation>,
        #[pin]
        inner: F,
    }
}

impl<F> ObserveFuture<F> {
    pub(crate) fn new(inner: F, observation: Observation) -> Self {
        Self {
            observation: Some(observation),
            inner,
        }
    }
}

impl<F, B, E> Future for ObserveFuture<F>
where
    F: Future<Output = Result<Response<ObservedBody<B>>, E>>,
    B: FromUpstream,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Changed in place, as moving a response copies a large value.
        let mut polled = this.inner.poll(cx);
        if polled.is_pending() {
            return Poll::Pending;
        }
        if let Poll::Ready(Ok(response)) = &mut polled
            && let Some(observation) = this.observation.take()
        {
            observation.answered(response);
        }
        polled
    }
}

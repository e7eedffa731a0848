use std::{
    pin::Pin,
    task::{Context, Poll, ready},
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
    /// Dropped before that, it says that the client went away.
    #[derive(Debug)]
    pub(in super::super) struct ObserveFuture<F> {
        observation: Option<Observation>,
        #[pin]
        inner: F,
    }
}

impl<F> ObserveFuture<F> {
    pub(in super::super) fn new(inner: F, observation: Observation) -> Self {
        Self {
            observation: Some(observation),
            inner,
        }
    }
}

impl<F, R, E> Future for ObserveFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: FromUpstream,
{
    type Output = Result<Response<ObservedBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(cx))?;
        Poll::Ready(Ok(match this.observation.take() {
            Some(observation) => observation.answered(response),
            // Nobody polls a future again that was ready.
            None => response.map(ObservedBody::unobserved),
        }))
    }
}

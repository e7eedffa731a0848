use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::http::Response;
use pin_project_lite::pin_project;

use crate::layer::Additions;

use super::{
    body::{FromUpstream, ObservedBody},
    observation::Observation,
};

pin_project! {
    /// A future that resolves to a response, which is observed until the response ends.
    ///
    /// If the future is dropped before the response, the client has disconnected: the request is
    /// logged with status 499.
    #[derive(Debug)]
    pub(crate) struct ObserveFuture<F> {
        observation: Option<Observation>,
        additions: Additions,
        #[pin]
        inner: F,
    }
}

impl<F> ObserveFuture<F> {
    /// Creates the future; the header additions are applied here to avoid a copy in each outer
    /// future.
    pub(crate) fn new(inner: F, observation: Observation, additions: Additions) -> Self {
        Self {
            observation: Some(observation),
            additions,
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
        let mut response = ready!(this.inner.poll(cx))?;
        this.additions.add_to(&mut response);
        if let Some(observation) = this.observation.take() {
            observation.record(&mut response);
        }
        Poll::Ready(Ok(response))
    }
}

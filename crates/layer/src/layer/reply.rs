//! What the layer gives for a request.

use std::{mem, sync::Arc};

use http::{Request, Response};

use super::ready_head::ReadyHead;

/// Answer of the layer, or what is to be waited for.
#[derive(Debug)]
pub enum Reply<F, R> {
    /// The layer has answered the request.
    Now(Response<R>),
    /// So it has, with a head that was made with the policy.
    Ready(Arc<ReadyHead>),
    /// The application answers it.
    Later(F),
}

impl<F, R> Reply<F, R> {
    /// Maps what is to be waited for.
    pub(super) fn map_later<G>(self, to: impl FnOnce(F) -> G) -> Reply<G, R> {
        match self {
            Self::Now(response) => Reply::Now(response),
            Self::Ready(head) => Reply::Ready(head),
            Self::Later(future) => Reply::Later(to(future)),
        }
    }

    /// Returns the layer's answer as a response; its headers reuse the memory of the request's.
    ///
    /// # Errors
    ///
    /// Fails with what is to be waited for.
    pub(super) fn into_response<B>(self, request: &mut Request<B>) -> Result<Response<R>, F>
    where
        R: Default,
    {
        match self {
            Self::Now(response) => Ok(response),
            Self::Ready(head) => Ok(head.response(R::default(), mem::take(request.headers_mut()))),
            Self::Later(future) => Err(future),
        }
    }
}

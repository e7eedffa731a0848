//! What the layer gives for a request.

use std::{mem, sync::Arc};

use http::{Request, Response};

use super::{body::RefusalBody, future::Additions, ready_head::ReadyHead};

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

//! Requests as a listener hands them over.

use std::task::{Context, Poll};

use http::Request;
use hyper::body::Incoming;
use tower_service::Service;

use super::{client_addr::ClientAddr, guard::BodyGuard};

/// Body of a request, and what its listener knows of the client.
///
/// Beside the head, as extensions cost some allocations, which a request that is
/// answered at once need not pay.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(super) body: Incoming,
    pub(super) client: ClientAddr,
    pub(super) guard: Option<BodyGuard>,
}

/// Service that finds in the extensions what the listener knows.
#[derive(Clone, Debug)]
pub(super) struct WithExtensions<S>(pub(super) S);

impl Arrival {
    /// Returns the address of the client.
    #[cfg(feature = "server")]
    pub(crate) fn client(&self) -> ClientAddr {
        self.client
    }

    /// Returns body, client and guard.
    #[cfg(feature = "server")]
    pub(crate) fn into_parts(self) -> (Incoming, ClientAddr, Option<BodyGuard>) {
        (self.body, self.client, self.guard)
    }

    /// Puts what is known of the client into the extensions of its request.
    pub(crate) fn into_extensions(request: Request<Self>) -> Request<Incoming> {
        let (mut parts, arrival) = request.into_parts();
        parts.extensions.insert(arrival.client);
        if let Some(guard) = arrival.guard {
            parts.extensions.insert(guard);
        }
        Request::from_parts(parts, arrival.body)
    }
}

impl<S: Service<Request<Incoming>>> Service<Request<Arrival>> for WithExtensions<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Arrival>) -> S::Future {
        self.0.call(Arrival::into_extensions(request))
    }
}

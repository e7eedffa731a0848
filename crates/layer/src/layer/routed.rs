//! Requests that a router around the layer has routed.

use std::mem;

use http::{Extensions, Request, Uri};

/// What a router around the layer has done to a request.
#[derive(Debug, Default)]
pub(super) struct Routed {
    /// Whether the handler is chosen, so that another URL leads to no other page.
    pub(super) is_chosen: bool,
    /// URL for a handler in a nested router, while the request has the requested one.
    nested: Option<Uri>,
}

impl Routed {
    /// Gives a request the URL that the client requested, by which rules judge it.
    pub(super) fn of<B>(request: &mut Request<B>) -> Self {
        let Some(requested) = requested_url(request.extensions()) else {
            return Self::default();
        };
        let prefixed = (requested != request.uri()).then(|| requested.clone());
        Self {
            is_chosen: true,
            nested: prefixed.map(|url| mem::replace(request.uri_mut(), url)),
        }
    }

    /// Gives the request the URL that its handler expects.
    pub(super) fn restore<B>(self, request: &mut Request<B>) {
        if let Some(nested) = self.nested {
            *request.uri_mut() = nested;
        }
    }
}

/// Returns the URL that a router received before it removed the prefix of a nested one.
#[cfg(feature = "axum")]
fn requested_url(extensions: &Extensions) -> Option<&Uri> {
    let requested = extensions.get::<axum::extract::OriginalUri>();
    requested.map(|requested| &requested.0)
}

#[cfg(not(feature = "axum"))]
fn requested_url(_: &Extensions) -> Option<&Uri> {
    None
}

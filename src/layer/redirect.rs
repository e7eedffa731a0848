//! The response to a hit.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, LOCATION, VARY},
};

use crate::policy::{Policy, Redirect};

/// Head of the redirect, made once for each policy.
#[derive(Debug, Default)]
pub(super) struct PreparedRedirect {
    prepared: ArcSwapOption<Head>,
}

#[derive(Debug)]
struct Head {
    /// The policy it was made for; kept, so that no other gets its address.
    policy: Arc<Policy>,
    status: StatusCode,
    headers: HeaderMap,
}

impl PreparedRedirect {
    /// Returns the response that `policy` redirects with, if it redirects.
    pub(super) fn response<B: Default>(&self, policy: &Arc<Policy>) -> Option<Response<B>> {
        if let Some(head) = &*self.prepared.load()
            && Arc::ptr_eq(&head.policy, policy)
        {
            return Some(head.response());
        }
        let head = Head::new(policy)?;
        let response = head.response();
        self.prepared.store(Some(Arc::new(head)));
        Some(response)
    }
}

impl Head {
    #[cold]
    fn new(policy: &Arc<Policy>) -> Option<Self> {
        let Redirect {
            status, location, ..
        } = policy.redirect()?;
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(LOCATION, HeaderValue::try_from(location).ok()?);
        headers.insert(VARY, HeaderValue::from_static("User-Agent"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(Self {
            policy: Arc::clone(policy),
            status: StatusCode::from_u16(*status).ok()?,
            headers,
        })
    }

    fn response<B: Default>(&self) -> Response<B> {
        let mut response = Response::new(B::default());
        *response.status_mut() = self.status;
        response.headers_mut().clone_from(&self.headers);
        response
    }
}

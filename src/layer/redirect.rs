//! The response to a hit.

use std::{ptr, sync::Arc};

use arc_swap::ArcSwapOption;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, LOCATION, VARY},
};

use crate::policy::{Policy, Redirect};

/// Heads of the redirects, made once for each policy.
#[derive(Debug, Default)]
pub(super) struct PreparedRedirects {
    prepared: ArcSwapOption<Heads>,
}

#[derive(Debug)]
struct Heads {
    /// The policy they were made for; kept, so that no other gets its address.
    policy: Arc<Policy>,
    /// One for each of its redirects, in their order.
    heads: Vec<Option<Head>>,
}

#[derive(Debug)]
struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

impl PreparedRedirects {
    /// Returns the response to a redirect that `policy` decided on.
    ///
    /// There is none if the redirect is another policy's.
    pub(super) fn response<B: Default>(
        &self,
        policy: &Arc<Policy>,
        redirect: &Redirect,
    ) -> Option<Response<B>> {
        if let Some(heads) = &*self.prepared.load()
            && Arc::ptr_eq(&heads.policy, policy)
        {
            return heads.response(redirect);
        }
        let heads = Heads::new(policy);
        let response = heads.response(redirect);
        self.prepared.store(Some(Arc::new(heads)));
        response
    }
}

impl Heads {
    #[cold]
    fn new(policy: &Arc<Policy>) -> Self {
        Self {
            policy: Arc::clone(policy),
            heads: policy.redirects().map(Head::new).collect(),
        }
    }

    fn response<B: Default>(&self, redirect: &Redirect) -> Option<Response<B>> {
        let mut redirects = self.policy.redirects();
        let index = redirects.position(|known| ptr::eq(known, redirect))?;
        Some(self.heads.get(index)?.as_ref()?.response())
    }
}

impl Head {
    fn new(redirect: &Redirect) -> Option<Self> {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(LOCATION, HeaderValue::try_from(&redirect.location).ok()?);
        headers.insert(VARY, HeaderValue::from_static("User-Agent"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(Self {
            status: StatusCode::from_u16(redirect.status).ok()?,
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

//! What stands behind the layer: admin page, robot heaven, operations, the site.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use hyper::body::Incoming;
use tower::ServiceExt as _;
use tower_service::Service;

use crate::proxy::Proxy;

use super::{
    ServedRobotsTxt, operations,
    pages::{self, Heaven},
};

/// The site that is protected.
#[derive(Clone, Debug)]
pub(super) enum Site {
    Upstream(Proxy),
    Demo,
}

/// Sends each request to the one that answers it.
#[derive(Clone, Debug)]
pub(super) struct Front {
    rooms: Arc<Rooms>,
    site: Site,
}

#[derive(Debug)]
pub(super) struct Rooms {
    /// Path without a slash at its end, and the router that is nested there.
    pub(super) admin: Option<(String, Router)>,
    /// `None` where they have a listener of their own, as the admin page then has.
    pub(super) operations: Option<Router>,
    pub(super) heaven: Option<Heaven>,
    pub(super) robots_txt: ServedRobotsTxt,
}

impl Front {
    pub(super) fn new(rooms: Rooms, site: Site) -> Self {
        Self {
            rooms: Arc::new(rooms),
            site,
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        if let Some(answer) = self.rooms.robots_txt.answer(&request) {
            return answer;
        }
        let path = request.uri().path();
        if let Some(router) = &self.rooms.operations
            && operations::is_ours(&request)
        {
            return oneshot(router.clone(), request).await;
        }
        if let Some((prefix, router)) = &self.rooms.admin
            && is_below(path, prefix)
        {
            return oneshot(router.clone(), request).await;
        }
        if let Some(heaven) = &self.rooms.heaven
            && heaven.contains(path)
        {
            return heaven.answer(request.map(Body::new)).await;
        }
        match self.site {
            Site::Demo => pages::demo(&request.map(Body::new)),
            Site::Upstream(mut proxy) => match proxy.call(request).await {
                Ok(response) => response.map(Body::new),
                Err(never) => match never {},
            },
        }
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request).await) })
    }
}

/// Tells whether a path is `prefix` or below it.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn oneshot(router: Router, request: Request<Incoming>) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        assert!(is_below("/robot-detection/admin", "/robot-detection/admin"));
        assert!(is_below(
            "/robot-detection/admin/x",
            "/robot-detection/admin"
        ));
        assert!(!is_below(
            "/robot-detection/administer",
            "/robot-detection/admin"
        ));
        assert!(!is_below("/", "/robot-detection/admin"));
    }
}

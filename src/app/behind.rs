//! What stands behind the layer: robots.txt, robot heaven, the site; and what answers on every site.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
};
use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker, task_tracker::TaskTrackerToken};
use tower::ServiceExt as _;

use crate::listen::{BodyGuard, RequestContext};
use crate::observe::Observer;
use crate::proxy::ForwardFuture;
use crate::verify::Signer;

use super::{
    answerers::{Answerer, Answerers},
    body::FrontBody,
    demo, operations, pages,
    table::is_below,
    target::Target,
};

/// Sends each request of a site to the one that answers it.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    parts: Arc<Parts>,
}

/// Those who may answer.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) answerers: Answerers,
    /// Of the site robot, whose key directory is served.
    pub(super) signer: Option<Signer>,
    pub(super) target: Target,
}

/// What is of the process, and answers on every site.
///
/// Database and jobs live on the runtime that it was made on, so requests are
/// answered there, wherever their connections are served.
#[derive(Debug)]
pub(super) struct Rooms {
    /// Path without a slash at its end, and the router that is nested there.
    pub(super) admin: Option<(String, Router)>,
    /// `None` where they have a listener of their own, as the admin page then has.
    pub(super) operations: Option<Router>,
    pub(super) observer: Observer,
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
}

impl Rooms {
    /// Asks one of the routers, on the runtime of the process.
    pub(super) fn ask(
        &self,
        router: &Router,
        request: &mut Request<RequestContext>,
    ) -> BehindFuture {
        let answer = router.clone().oneshot(guarded(request));
        let task = self.tasks.spawn_on(answer, &self.runtime);
        BehindFuture::Task {
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Returns the router that answers the request, if it is for the process.
    pub(super) fn router(&self, request: &Request<RequestContext>) -> Option<&Router> {
        if let Some(router) = &self.operations
            && operations::is_ours(request, request.body().client())
        {
            return Some(router);
        }
        let (prefix, router) = self.admin.as_ref()?;
        let path = request.uri().path().as_bytes();
        is_below(path, prefix.as_bytes()).then_some(router)
    }
}

impl Behind {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    /// Answers a request that the layer has let pass.
    pub(super) fn answer(&self, request: &mut Request<RequestContext>) -> BehindFuture {
        let parts = &*self.parts;
        match parts.answerers.of_site(request) {
            Answerer::KeyDirectory => {
                if let Some(signer) = &parts.signer {
                    return BehindFuture::ready(signer.directory().map(FrontBody::small));
                }
            }
            Answerer::RobotsTxt => {
                // A reload may have given it to the site meanwhile.
                if let Some(answer) = parts.answerers.robots_txt.answer(request) {
                    return BehindFuture::ready(answer.map(FrontBody::from));
                }
            }
            Answerer::Heaven => {
                if let Some(heaven) = &parts.answerers.heaven {
                    let heaven = heaven.clone();
                    let request = RequestContext::take_with_extensions(request).map(Body::new);
                    return BehindFuture::Page {
                        future: Box::pin(async move { heaven.answer(request).await }),
                    };
                }
            }
            // The process has answered its own before a site was asked.
            Answerer::Operations | Answerer::Admin | Answerer::Site => {}
        }
        match &parts.target {
            Target::Demo => BehindFuture::Page {
                future: Box::pin(demo::answer(guarded(request))),
            },
            Target::Upstream(upstream) => BehindFuture::Proxy {
                used: Some(upstream.requests.token()),
                future: upstream.proxy.forward_incoming(request),
            },
        }
    }
}

/// Makes the body one that must not come too slowly.
fn guarded(request: &mut Request<RequestContext>) -> Request<Body> {
    let mut request = RequestContext::take_with_extensions(request);
    let guard = request.extensions_mut().remove::<BodyGuard>();
    request.map(|body| match guard {
        Some(guard) => Body::new(guard.watch(body)),
        None => Body::new(body),
    })
}

pin_project! {
    /// Future of what one of them answers.
    #[project = BehindProjection]
    pub(super) enum BehindFuture {
        Ready {
            // In a box, as it is seldom: what passes is moved the less.
            response: Option<Box<Response<FrontBody>>>,
        },
        Proxy {
            #[pin]
            future: ForwardFuture,
            used: Option<TaskTrackerToken>,
        },
        Task {
            #[pin]
            task: AbortOnDropHandle<Result<Response<Body>, Infallible>>,
        },
        Page {
            #[pin]
            future: Pin<Box<dyn Future<Output = Response<Body>> + Send>>,
        },
    }
}

impl BehindFuture {
    pub(super) fn ready(response: Response<FrontBody>) -> Self {
        Self::Ready {
            response: Some(Box::new(response)),
        }
    }
}

impl Future for BehindFuture {
    type Output = Result<Response<FrontBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(match self.project() {
            // Nobody polls a future again that was ready; if so, it waits for ever.
            BehindProjection::Ready { response } => match response.take() {
                Some(response) => *response,
                None => return Poll::Pending,
            },
            BehindProjection::Proxy { future, used } => {
                ready!(future.poll(cx)).map(|body| FrontBody::proxied(body, used.take()))
            }
            BehindProjection::Task { task } => match ready!(task.poll(cx)) {
                Ok(Ok(response)) => response.map(FrontBody::from),
                // It panicked, or the process ends.
                Err(_) => pages::status(StatusCode::INTERNAL_SERVER_ERROR).map(FrontBody::from),
            },
            BehindProjection::Page { future } => ready!(future.poll(cx)).map(FrontBody::from),
        }))
    }
}

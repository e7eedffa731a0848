//! The services behind the layer: robots.txt, robot heaven, the site, and process-wide endpoints.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Response, StatusCode, Uri},
};
use pin_project_lite::pin_project;
use tokio_util::task::{AbortOnDropHandle, task_tracker::TaskTrackerToken};
use tower::ServiceExt as _;

use crate::canonical::CanonicalReader;
use crate::confirmation::{ConfirmationKeys, ConfirmingVisitor, with_form};
use crate::layer::ServedDirectly;
use crate::listen::{BodyGuard, RequestContext};
use crate::proxy::ForwardFuture;

use super::{
    answerers::{Answerer, Answerers},
    demo, pages,
    plan::Target,
    process_services::ProcessServices,
    server_body::{ServerBody, read_by},
};

/// The maximum size of a confirmation form: the longest URL that browsers send, tripled by
/// escaping.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// A service that passes each request for a site to the part that answers the request.
#[derive(Clone, Debug)]
pub(super) struct SiteRouter {
    parts: Arc<Parts>,
}

/// The services that may answer a request for a site.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) answerers: Answerers,
    pub(super) target: Target,
    pub(super) way_out: ConfirmationKeys,
}

impl SiteRouter {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts: Arc::new(parts),
        }
    }

    /// Answers a request that the layer has allowed.
    pub(super) fn answer(&self, request: &mut Request<RequestContext>) -> SiteFuture {
        let parts = &*self.parts;
        match parts.answerers.for_request(request) {
            Answerer::RobotsTxt => {
                // Since a reload in the meantime, the site itself may serve the file.
                if let Some(answer) = parts.answerers.robots_txt.answer(request) {
                    return SiteFuture::ready(answer.map(ServerBody::from));
                }
            }
            Answerer::Licensing => {
                if let Some(answer) = parts.answerers.licensing.answer(request) {
                    return SiteFuture::ready(answer.map(ServerBody::from));
                }
            }
            Answerer::Heaven => {
                if let Some(original) = of_suspect(request) {
                    return self.copy(original, request);
                }
                if let Some(heaven) = &parts.answerers.heaven {
                    let heaven = heaven.clone();
                    let request = RequestContext::take_with_extensions(request).map(Body::new);
                    return SiteFuture::Page {
                        future: Box::pin(async move { heaven.answer(request).await }),
                    };
                }
            }
            Answerer::Trap => {
                let traps = parts.answerers.traps.as_ref();
                let path = request.uri().path();
                if let Some(answer) = traps.and_then(|traps| traps.answer(request.method(), path)) {
                    return SiteFuture::ready(answer.map(ServerBody::from_text));
                }
            }
            // Process-wide endpoints have answered before a site was selected.
            Answerer::Admin | Answerer::Site => {}
        }
        self.ask_site(request)
    }

    /// Answers a suspect with a copy of the page, which contains the confirmation form.
    ///
    /// If the copy no longer exists, the request is passed to the site.
    fn copy(&self, original: Uri, request: &mut Request<RequestContext>) -> SiteFuture {
        let router = self.clone();
        let mut request = RequestContext::take(request);
        let future = async move {
            let parts = &*router.parts;
            let copy = match &parts.answerers.heaven {
                Some(heaven) => {
                    let copy = heaven.copy(request.method(), &original).await;
                    copy.map(|copy| (copy, heaven.way_out()))
                }
                None => None,
            };
            if let Some((copy, action)) = copy {
                let form = parts.way_out.form(&original, request.headers(), &action);
                return with_form(copy, &form).await.map(ServerBody::from);
            }
            *request.uri_mut() = original;
            let Ok(response) = router.ask_site(&mut request).await;
            response
        };
        SiteFuture::Copy {
            future: Box::pin(future),
        }
    }

    /// Returns the URL of the confirmation form if the request submits a confirmation.
    pub(super) fn confirmation_url<B>(&self, request: &Request<B>) -> Option<String> {
        if request.method() != Method::POST {
            return None;
        }
        let action = self.parts.answerers.heaven.as_ref()?.way_out();
        (request.uri().path() == action).then_some(action)
    }

    /// Answers a request that submits a confirmation form.
    pub(super) fn let_out(
        &self,
        request: &mut Request<RequestContext>,
        action: String,
    ) -> SiteFuture {
        let client = request.body().client();
        let way_out = self.parts.way_out.clone();
        let (head, body) = guarded(request).into_parts();
        SiteFuture::Page {
            future: Box::pin(async move {
                // A longer body is not our form, and an interrupted body contains no key.
                let form = to_bytes(body, MAX_FORM_BYTES).await.unwrap_or_default();
                let presser = ConfirmingVisitor::of(&head.uri, &head.headers, client.client);
                way_out.submit(&presser, client.is_https(), &form, &action)
            }),
        }
    }

    /// Passes a request to the site itself: the upstream or the demonstration site.
    fn ask_site(&self, request: &mut Request<RequestContext>) -> SiteFuture {
        let parts = &*self.parts;
        match &parts.target {
            Target::Demo => {
                let traps = parts.answerers.traps.as_ref();
                let snippet = traps.map(|traps| traps.paths().snippet());
                let request = guarded(request);
                SiteFuture::Page {
                    future: Box::pin(async move { demo::visit(request, snippet).await }),
                }
            }
            Target::Nothing => {
                SiteFuture::ready(pages::status(StatusCode::NOT_FOUND).map(ServerBody::from))
            }
            Target::Upstream(upstream) => SiteFuture::Proxy {
                // The body also holds the token: a proxy is retired when its last response has
                // ended.
                used: Some(upstream.requests.token()),
                future: upstream.proxy.forward_incoming(request),
            },
        }
    }
}

/// Returns the requested URL if the request is from a suspect that is to be served a copy.
fn of_suspect<B>(request: &Request<B>) -> Option<Uri> {
    let served = request.extensions().get::<ServedDirectly>()?;
    served.is_for_suspect().then(|| served.uri().clone())
}

/// Protects the request body against slow senders.
pub(super) fn guarded(request: &mut Request<RequestContext>) -> Request<Body> {
    let mut request = RequestContext::take_with_extensions(request);
    // The reader of a body has to guard it; the proxy guards forwarded bodies itself.
    let guard = request.extensions_mut().remove::<BodyGuard>();
    request.map(|body| match guard {
        Some(guard) => Body::new(guard.watch(body)),
        None => Body::new(body),
    })
}

pin_project! {
    /// A future that resolves to a site's response.
    #[project = SiteProjection]
    pub(super) enum SiteFuture {
        Ready {
            // Boxed, because this variant is rare: other responses are then smaller to move.
            response: Option<Box<Response<ServerBody>>>,
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
        Copy {
            #[pin]
            future: Pin<Box<dyn Future<Output = Response<ServerBody>> + Send>>,
        },
    }
}

impl SiteFuture {
    /// Calls a process-wide router on its own runtime.
    pub(super) fn for_process_router(
        services: &ProcessServices,
        router: &Router,
        request: &mut Request<RequestContext>,
    ) -> Self {
        let answer = router.clone().oneshot(guarded(request));
        // The database's pool is bound to that runtime, not to the thread of this connection.
        let task = services.tasks.spawn_on(answer, &services.runtime);
        Self::Task {
            // If the client disconnects, this future is dropped and the task is aborted.
            task: AbortOnDropHandle::new(task),
        }
    }

    /// Analyses the response while the response is forwarded.
    pub(super) fn read_by(self, reading: CanonicalReader) -> Self {
        let future = async move {
            let Ok(response) = self.await;
            read_by(reading, response)
        };
        Self::Copy {
            future: Box::pin(future),
        }
    }

    pub(super) fn ready(response: Response<ServerBody>) -> Self {
        Self::Ready {
            response: Some(Box::new(response)),
        }
    }
}

impl Future for SiteFuture {
    type Output = Result<Response<ServerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(match self.project() {
            // A completed future must not be polled again; if polled anyway, it never completes.
            SiteProjection::Ready { response } => match response.take() {
                Some(response) => *response,
                None => return Poll::Pending,
            },
            SiteProjection::Proxy { future, used } => {
                ready!(future.poll(cx)).map(|body| ServerBody::proxied(body, used.take()))
            }
            SiteProjection::Task { task } => match ready!(task.poll(cx)) {
                Ok(Ok(response)) => response.map(ServerBody::from),
                // The task panicked, or the process ends.
                Err(_) => pages::status(StatusCode::INTERNAL_SERVER_ERROR).map(ServerBody::from),
            },
            SiteProjection::Page { future } => ready!(future.poll(cx)).map(ServerBody::from),
            SiteProjection::Copy { future } => ready!(future.poll(cx)),
        }))
    }
}

//! The outermost service, which finds the site for each request and closes connections during a
//! drain.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header,
};
use pin_project_lite::pin_project;

use crate::check::{REDIRECT_PATH, requested_page};
use crate::layer::{self, Additions, Decided, LayerReply, Pending};
use crate::listen::{HttpService, ReadyHead, RequestContext, ServiceResponse};
use crate::observe::{Observation, ObserveFuture};
use crate::probe::ProbePoint;

use super::{
    destination::{Arrived, Destination, Destinations},
    pages,
    server_body::ServerBody,
    serving::{ServedSite, settled},
    site_router::SiteFuture,
};

/// A future that resolves to the response to a request that waits for a verdict.
type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<ServerBody>, Infallible>> + Send>>;

/// The outermost service of the server, which passes each request to its site.
#[derive(Clone, Debug)]
pub(super) struct ServerService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    destinations: Arc<Destinations>,
    /// Whether a decision endpoint exists; if so, ingress-nginx may redirect visitors to this
    /// server.
    sends_on: bool,
    is_draining: Arc<AtomicBool>,
}

impl ServerService {
    /// Creates the service; while `is_draining` is set, HTTP/1.1 connections are closed after a
    /// response.
    pub(super) fn new(
        destinations: Arc<Destinations>,
        sends_on: bool,
        is_draining: Arc<AtomicBool>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                destinations,
                sends_on,
                is_draining,
            }),
        }
    }

    fn route(
        &self,
        request: &mut Request<RequestContext>,
        ends_connection: bool,
    ) -> ServiceResponse<ServerBody, LayerHead, ServerFuture> {
        let later =
            |answering| ServiceResponse::Later(ServerFuture::new(answering, ends_connection));
        if self.shared.sends_on {
            send_on(request);
        }
        let destinations = &*self.shared.destinations;
        let sites = destinations.serving.sites();
        let client = request.body().client();
        destinations.services.untrusted_proxies.note(client);
        let Arrived {
            destination,
            observer,
            probe,
        } = destinations.find(&sites, request, ProbePoint::Proxy, client.trusted);
        let mut observation = observer.begin(request);
        observation.store_for(probe);
        let outcome = destination.outcome();
        let future = match destination {
            Destination::Site(served) => {
                return match served.decide(request) {
                    Ok(decided) => {
                        answered(decided, observation, ends_connection, |is_learnt_from| {
                            pass(served, request, is_learnt_from)
                        })
                    }
                    Err(verdict) => later(Answering::Waiting {
                        future: Box::pin(settle(
                            Arc::clone(served),
                            RequestContext::take(request),
                            verdict,
                            observation,
                        )),
                    }),
                };
            }
            Destination::Process(router) => {
                SiteFuture::for_process_router(&destinations.services, router, request)
            }
            Destination::Confirmation(served, action) => served.router().let_out(request, action),
            Destination::Refused(status, _) => {
                SiteFuture::ready(pages::status(status).map(ServerBody::from))
            }
        };
        observation.set_outcome(outcome);
        later(Answering::Observed {
            future: ObserveFuture::new(future, observation, Additions::default()),
        })
    }
}

impl HttpService for ServerService {
    type ResponseBody = ServerBody;
    type ReadyHead = LayerHead;
    type Future = ServerFuture;

    const TAKES_BODILESS: bool = true;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<ServerBody, LayerHead, ServerFuture> {
        let is_draining = self.shared.is_draining.load(Ordering::Relaxed);
        // HTTP/2 uses GOAWAY instead, and forbids `Connection` (RFC 9113 §8.2.2).
        let ends_connection = is_draining && request.version() < Version::HTTP_2;
        let response = self.route(request, ends_connection);
        if !ends_connection {
            return response;
        }
        let response = response.into_response(request.headers_mut(), Option::unwrap_or_default);
        match response {
            Ok(mut response) => {
                end_connection(&mut response);
                ServiceResponse::Now(response)
            }
            Err(future) => ServiceResponse::Later(future),
        }
    }
}

/// The response head prepared by the layer; this type lets the listener use it without depending on
/// the layer.
#[derive(Debug)]
pub(super) struct LayerHead(pub(super) Arc<layer::ReadyHead>);

impl ReadyHead for LayerHead {
    fn status(&self) -> StatusCode {
        self.0.status()
    }

    fn lines(&self) -> &[u8] {
        self.0.lines()
    }

    fn response<B>(&self, body: B, room: HeaderMap) -> Response<B> {
        self.0.response(body, room)
    }
}

/// A URL to which a visitor is sent back unless the decision redirects the visitor elsewhere.
#[derive(Clone)]
struct ReturnTo(HeaderValue);

/// Converts a request that ingress-nginx redirected to this server into a request for the original
/// page.
fn send_on(request: &mut Request<RequestContext>) {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read || request.uri().path() != REDIRECT_PATH {
        return;
    }
    let host = layer::host(request).unwrap_or_default();
    if let Some((url, page)) = requested_page(request.uri(), host) {
        *request.uri_mut() = Uri::from(page);
        request.extensions_mut().insert(ReturnTo(url));
    }
}

/// Answers a request that passes: the site answers, or the visitor is redirected back to the
/// requested page.
fn pass(
    served: &ServedSite,
    request: &mut Request<RequestContext>,
    is_learnt_from: bool,
) -> SiteFuture {
    let Some(ReturnTo(url)) = request.extensions_mut().remove() else {
        return served.answer(request, is_learnt_from);
    };
    let mut response = Response::<ServerBody>::default();
    *response.status_mut() = StatusCode::FOUND;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, url);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    SiteFuture::ready(response)
}

/// Converts a site's decision into a response for the listener, and observes the response. `pass`
/// calls the service behind the layer; its flag specifies whether the response may contain a
/// canonical URL.
fn answered(
    (reply, outcome): Decided<ServerBody>,
    mut observation: Observation,
    ends_connection: bool,
    pass: impl FnOnce(bool) -> SiteFuture,
) -> ServiceResponse<ServerBody, LayerHead, ServerFuture> {
    observation.set_outcome(outcome);
    match reply {
        LayerReply::Now(mut response) => {
            observation.record(&mut response);
            ServiceResponse::Now(*response)
        }
        LayerReply::Ready(head) => {
            observation.end_with_status(head.status());
            ServiceResponse::Ready(LayerHead(head))
        }
        // Built in one expression, because each step that passes a future on copies the future.
        LayerReply::Passes(additions) => ServiceResponse::Later(ServerFuture {
            ends_connection,
            answering: Answering::Observed {
                future: ObserveFuture::new(
                    pass(additions.is_canonical_source()),
                    observation,
                    additions,
                ),
            },
        }),
    }
}

/// Waits for the verdict on a request's claim, then makes the decision.
async fn settle(
    served: Arc<ServedSite>,
    mut request: Request<RequestContext>,
    verdict: Pending,
    observation: Observation,
) -> Result<Response<ServerBody>, Infallible> {
    let finding = settled(verdict).await;
    // The time spent waiting here must not be measured as the upstream's response time.
    request.body_mut().restart_clock();
    let decided = served.decide_settled(&mut request, finding);
    let response = answered(decided, observation, false, |is_learnt_from| {
        pass(&served, &mut request, is_learnt_from)
    });
    match response.into_response(request.headers_mut(), Option::unwrap_or_default) {
        Ok(response) => Ok(response),
        Err(future) => future.await,
    }
}

pin_project! {
    /// A future that resolves to a response from the server.
    pub(super) struct ServerFuture {
        ends_connection: bool,
        #[pin]
        answering: Answering,
    }
}

pin_project! {
    #[project = AnsweringProjection]
    enum Answering {
        Observed {
            #[pin]
            future: ObserveFuture<SiteFuture>,
        },
        /// A rule is waiting for the verdict on the request's claim.
        Waiting {
            future: ResponseFuture,
        },
    }
}

impl ServerFuture {
    fn new(answering: Answering, ends_connection: bool) -> Self {
        Self {
            ends_connection,
            answering,
        }
    }
}

impl Future for ServerFuture {
    type Output = Result<Response<ServerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if !*this.ends_connection {
            // The response is large and should not be moved needlessly.
            return this.answering.poll(cx);
        }
        let Ok(mut response) = ready!(this.answering.poll(cx));
        end_connection(&mut response);
        Poll::Ready(Ok(response))
    }
}

impl Future for Answering {
    type Output = Result<Response<ServerBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            AnsweringProjection::Observed { future } => future.poll(cx),
            AnsweringProjection::Waiting { future } => future.as_mut().poll(cx),
        }
    }
}

/// Closes the connection after the response, unless the connection becomes a tunnel.
fn end_connection<B>(response: &mut Response<B>) {
    // `Connection: upgrade` is part of a 101 (RFC 9110 §7.8), and must not be replaced.
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
}

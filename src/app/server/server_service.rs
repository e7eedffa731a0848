//! The outermost service: finds the site of a request, and closes connections in a drain.

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
    uri::PathAndQuery,
};
use pin_project_lite::pin_project;

use crate::check::{REDIRECT_PATH, requested_page};
use crate::layer::{self, Additions, Decided, OWN_PAGE, Outcome, Pending, Reply};
use crate::listen::{HttpService, ReadyHead, RequestContext, ServiceResponse};
use crate::observe::{Observation, ObserveFuture, SiteObserver};

use super::{
    pages,
    process_services::ProcessServices,
    server_body::ServerBody,
    serving::{Served, Serving, settled},
    site_router::SiteFuture,
    table::Found,
};

/// Cause of what is done with whoever says that he is a person.
const WAY_OUT: &str = "way-out";

/// Name of what is for no site, in metrics and logs.
pub(super) const NO_SITE: &str = "none";

/// Future of the response to a request that waits for a verdict.
type Settled = Pin<Box<dyn Future<Output = Result<Response<ServerBody>, Infallible>> + Send>>;

/// Sends each request to its site.
#[derive(Clone, Debug)]
pub(super) struct ServerService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    serving: Arc<Serving>,
    services: Arc<ProcessServices>,
    /// Of what is for no site.
    nowhere: SiteObserver,
    is_draining: Arc<AtomicBool>,
}

impl ServerService {
    /// Creates it; once `is_draining`, answers over HTTP/1.1 end their connections.
    pub(super) fn new(
        serving: Arc<Serving>,
        services: Arc<ProcessServices>,
        is_draining: Arc<AtomicBool>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                nowhere: services.observer.site(&services.traffic, NO_SITE),
                serving,
                services,
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
        send_on(request);
        let sites = self.shared.serving.sites();
        let found = sites.places.find_for(request);
        let observer = match found {
            Found::Site(served) => served.observer(),
            Found::NoPath | Found::NoHost => &self.shared.nowhere,
        };
        // Before the site's layer: nothing that a rule says may shut the administrator out.
        if let Some(future) = self.ask_process(request, observer) {
            return later(Answering::Observed { future });
        }
        let status = match found {
            Found::Site(served) => {
                if let Some(future) = let_out(request, served, observer) {
                    return later(Answering::Observed { future });
                }
                let observation = observer.begin(request);
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
            Found::NoPath => StatusCode::NOT_FOUND,
            // RFC 9110 §15.5.20
            Found::NoHost => StatusCode::MISDIRECTED_REQUEST,
        };
        let mut observation = observer.begin(request);
        observation.decided(None);
        let future = SiteFuture::ready(pages::status(status).map(ServerBody::from));
        later(Answering::Observed {
            future: ObserveFuture::new(future, observation, Additions::default()),
        })
    }

    /// Asks the admin pages or operations, if the request is for them: no visitor asks there.
    fn ask_process(
        &self,
        request: &mut Request<RequestContext>,
        observer: &SiteObserver,
    ) -> Option<ObserveFuture<SiteFuture>> {
        let services = &self.shared.services;
        let router = services.router(request)?;
        let mut observation = observer.begin(request);
        observation.decided(Some(Outcome::own(OWN_PAGE)));
        Some(ObserveFuture::new(
            SiteFuture::of_process(services, router, request),
            observation,
            Additions::default(),
        ))
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
        // HTTP/2 has GOAWAY for it, and forbids `Connection` (RFC 9113 §8.2.2).
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

/// Head that the layer has made, for a listener that knows nothing of layers.
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

/// Page to which a visitor returns who is not redirected.
#[derive(Clone)]
struct ReturnTo(PathAndQuery);

/// Makes the request for the page out of one that ingress-nginx has redirected here.
fn send_on(request: &mut Request<RequestContext>) {
    if request.uri().path() != REDIRECT_PATH
        || !matches!(*request.method(), Method::GET | Method::HEAD)
    {
        return;
    }
    let host = layer::host(request).unwrap_or_default();
    if let Some(page) = requested_page(request.uri(), host) {
        *request.uri_mut() = Uri::from(page.clone());
        request.extensions_mut().insert(ReturnTo(page));
    }
}

/// Answers a request that passes: by the site, or with the way to the page where that is asked.
fn pass(
    served: &Served,
    request: &mut Request<RequestContext>,
    is_learnt_from: bool,
) -> SiteFuture {
    let Some(ReturnTo(page)) = request.extensions_mut().remove() else {
        return served.answer(request, is_learnt_from);
    };
    let mut response = Response::<ServerBody>::default();
    *response.status_mut() = StatusCode::FOUND;
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(page.as_str()).map(|page| (header::LOCATION, page)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    SiteFuture::ready(response)
}

/// Answers whoever says by a click that he is a person.
///
/// Before the site's layer, which takes him for a program.
fn let_out(
    request: &mut Request<RequestContext>,
    served: &Served,
    observer: &SiteObserver,
) -> Option<ObserveFuture<SiteFuture>> {
    let router = served.router();
    let action = router.way_out_of(request)?;
    let mut observation = observer.begin(request);
    observation.decided(Some(Outcome::of_person(WAY_OUT)));
    Some(ObserveFuture::new(
        router.let_out(request, action),
        observation,
        Additions::default(),
    ))
}

/// Returns what a site has decided as the listener wants it, and observes it; `pass` asks who is
/// behind the layer, and is told whether the answer may tell a canonical URL.
fn answered(
    (reply, outcome): Decided<ServerBody>,
    mut observation: Observation,
    ends_connection: bool,
    pass: impl FnOnce(bool) -> SiteFuture,
) -> ServiceResponse<ServerBody, LayerHead, ServerFuture> {
    observation.decided(outcome);
    match reply {
        Reply::Now(mut response) => {
            observation.answered(&mut response);
            ServiceResponse::Now(*response)
        }
        Reply::Ready(head) => {
            observation.ended(head.status());
            ServiceResponse::Ready(LayerHead(head))
        }
        // In one piece: each step that a future is handed on copies it.
        Reply::Passes(additions) => ServiceResponse::Later(ServerFuture {
            ends_connection,
            answering: Answering::Observed {
                future: ObserveFuture::new(
                    pass(additions.is_learnt_from()),
                    observation,
                    additions,
                ),
            },
        }),
    }
}

/// Waits for the verdict on a request's claim, and decides with what is known then.
async fn settle(
    served: Arc<Served>,
    mut request: Request<RequestContext>,
    verdict: Pending,
    observation: Observation,
) -> Result<Response<ServerBody>, Infallible> {
    let finding = settled(verdict).await;
    // Our own wait is not to be measured as the upstream's.
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
    /// Future of a response of the server.
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
        /// A rule waits for a verdict.
        Waiting {
            future: Settled,
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
            // The response is large, and not moved for nothing.
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

/// Tells the client to ask somebody else from now on, unless a tunnel begins.
fn end_connection<B>(response: &mut Response<B>) {
    // `Connection: upgrade` is part of a 101 (RFC 9110 §7.8), and must not be replaced.
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
}

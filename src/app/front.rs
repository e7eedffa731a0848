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

use axum::http::{HeaderValue, Request, Response, StatusCode, Version, header};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::layer::{self, Reply};
use crate::listen::Arrival;

use super::{
    behind::{BehindFuture, Rooms},
    body::FrontBody,
    observe::{ObserveFuture, ObservedBody, SiteObserver},
    pages,
    serving::Serving,
    table::{Found, host},
};

/// Name of what is for no site, in metrics and logs.
const NO_SITE: &str = "none";

/// Sends each request to its site.
#[derive(Clone, Debug)]
pub(super) struct Front {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    serving: Arc<Serving>,
    rooms: Arc<Rooms>,
    /// Of what is for no site.
    nowhere: SiteObserver,
    is_draining: Arc<AtomicBool>,
}

impl Front {
    /// Creates it; once `is_draining`, answers over HTTP/1.1 end their connections.
    pub(super) fn new(
        serving: Arc<Serving>,
        rooms: Arc<Rooms>,
        is_draining: Arc<AtomicBool>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                nowhere: rooms.observer.site(NO_SITE),
                serving,
                rooms,
                is_draining,
            }),
        }
    }

    fn route(&self, mut request: Request<Arrival>) -> Answering {
        let sites = self.shared.serving.sites();
        let places = &sites.places;
        let found = match places.only() {
            Some(site) => Found::Site(site),
            None => places.find(host(&request), request.uri().path()),
        };
        let status = match found {
            Found::Site(served) => {
                let observation = served.observer().begin(&mut request);
                return match served.respond(request) {
                    Reply::Now(response, outcome) => Answering::Ready {
                        response: Some(observation.answered(response, outcome)),
                    },
                    Reply::Later(future, outcome) => Answering::OfSite {
                        future: ObserveFuture::new(future, observation, outcome),
                    },
                };
            }
            Found::NoPath => StatusCode::NOT_FOUND,
            // RFC 9110 §15.5.20
            Found::NoHost => StatusCode::MISDIRECTED_REQUEST,
        };
        let rooms = &self.shared.rooms;
        let observation = self.shared.nowhere.begin(&mut request);
        let future = match rooms.router(&request) {
            Some(router) => rooms.ask(router, request),
            None => BehindFuture::ready(pages::status(status).map(FrontBody::from)),
        };
        Answering::OfNone {
            future: ObserveFuture::new(future, observation, None),
        }
    }
}

impl Service<Request<Arrival>> for Front {
    type Response = Response<ObservedBody<FrontBody>>;
    type Error = Infallible;
    type Future = FrontFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Arrival>) -> FrontFuture {
        let is_draining = self.shared.is_draining.load(Ordering::Relaxed);
        FrontFuture {
            ends_connection: is_draining && request.version() < Version::HTTP_2,
            answering: self.route(request),
        }
    }
}

pin_project! {
    /// Future of a response of the server.
    pub(super) struct FrontFuture {
        ends_connection: bool,
        #[pin]
        answering: Answering,
    }
}

pin_project! {
    #[project = AnsweringProjection]
    enum Answering {
        /// The layer has answered.
        Ready {
            response: Option<Response<ObservedBody<FrontBody>>>,
        },
        OfSite {
            #[pin]
            future: ObserveFuture<layer::ResponseFuture<BehindFuture, FrontBody>>,
        },
        OfNone {
            #[pin]
            future: ObserveFuture<BehindFuture>,
        },
    }
}

impl Future for FrontFuture {
    type Output = Result<Response<ObservedBody<FrontBody>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = ready!(match this.answering.project() {
            // Nobody polls a future again that was ready; if so, it waits for ever.
            AnsweringProjection::Ready { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response))),
            AnsweringProjection::OfSite { future } => future.poll(cx),
            AnsweringProjection::OfNone { future } => future.poll(cx),
        });
        if *this.ends_connection && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Poll::Ready(Ok(response))
    }
}

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
use tokio::time::timeout;

use crate::detect::Verdict;
use crate::layer::{self, Ready, Reply, Waiting};
use crate::listen::{Answer, Arrival, HttpService};

use super::{
    behind::{BehindFuture, Rooms},
    body::FrontBody,
    observe::{Observation, ObserveFuture, ObservedBody, SiteObserver},
    pages,
    serving::{Served, Serving},
    table::{Found, host},
};

/// Name of what is for no site, in metrics and logs.
const NO_SITE: &str = "none";

/// Future of the response to a request that waits for a verdict.
type Settled =
    Pin<Box<dyn Future<Output = Result<Response<ObservedBody<FrontBody>>, Infallible>> + Send>>;

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

    fn route(
        &self,
        mut request: Request<Arrival>,
        ends_connection: bool,
    ) -> Answer<ObservedBody<FrontBody>, Answering> {
        let sites = self.shared.serving.sites();
        let places = &sites.places;
        let found = match places.only() {
            Some(site) => Found::Site(site),
            None => places.find(host(&request), request.uri().path()),
        };
        let status = match found {
            Found::Site(served) => {
                let mut observation = served.observer().begin(&mut request);
                return match served.respond(request) {
                    Ok(Reply::Now(response, outcome)) => {
                        observation.decided(outcome);
                        Answer::Now(observation.answered(response))
                    }
                    Ok(Reply::Ready(Ready { head, room }, outcome)) => {
                        observation.decided(outcome);
                        if ends_connection {
                            let response = head.response(FrontBody::default(), room);
                            return Answer::Now(observation.answered(response));
                        }
                        observation.ended(head.status());
                        Answer::Ready { head, room }
                    }
                    Ok(Reply::Later(future, outcome)) => {
                        observation.decided(outcome);
                        Answer::Later(Answering::OfSite {
                            future: ObserveFuture::new(future, observation),
                        })
                    }
                    Err(waiting) => Answer::Later(Answering::Waiting {
                        future: Box::pin(settle(Arc::clone(served), waiting, observation)),
                    }),
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
        Answer::Later(Answering::OfNone {
            future: ObserveFuture::new(future, observation),
        })
    }
}

impl HttpService for Front {
    type ResponseBody = ObservedBody<FrontBody>;
    type Future = FrontFuture;

    const TAKES_BODILESS: bool = true;

    fn answer(&self, request: Request<Arrival>) -> Answer<Self::ResponseBody, FrontFuture> {
        let is_draining = self.shared.is_draining.load(Ordering::Relaxed);
        let ends_connection = is_draining && request.version() < Version::HTTP_2;
        match self.route(request, ends_connection) {
            Answer::Now(mut response) => {
                if ends_connection {
                    end_connection(&mut response);
                }
                Answer::Now(response)
            }
            Answer::Ready { head, room } => Answer::Ready { head, room },
            Answer::Later(answering) => Answer::Later(FrontFuture {
                ends_connection,
                answering,
            }),
        }
    }
}

/// Waits for the verdict on a request's claim, and decides with what is known then.
async fn settle(
    served: Arc<Served>,
    waiting: Box<Waiting<Arrival>>,
    mut observation: Observation,
) -> Result<Response<ObservedBody<FrontBody>>, Infallible> {
    let Waiting { request, verdict } = *waiting;
    let settled = timeout(verdict.limit, verdict.settling).await;
    let verdict = settled.unwrap_or(Verdict::Pending);
    match served.respond_settled(request, verdict) {
        Reply::Now(response, outcome) => {
            observation.decided(outcome);
            Ok(observation.answered(response))
        }
        Reply::Ready(Ready { head, room }, outcome) => {
            observation.decided(outcome);
            Ok(observation.answered(head.response(FrontBody::default(), room)))
        }
        Reply::Later(future, outcome) => {
            observation.decided(outcome);
            ObserveFuture::new(future, observation).await
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
        OfSite {
            #[pin]
            future: ObserveFuture<layer::ResponseFuture<BehindFuture, FrontBody>>,
        },
        OfNone {
            #[pin]
            future: ObserveFuture<BehindFuture>,
        },
        /// A rule waits for a verdict.
        Waiting {
            future: Settled,
        },
    }
}

impl Future for FrontFuture {
    type Output = Response<ObservedBody<FrontBody>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Ok(mut response) = ready!(match this.answering.project() {
            AnsweringProjection::OfSite { future } => future.poll(cx),
            AnsweringProjection::OfNone { future } => future.poll(cx),
            AnsweringProjection::Waiting { future } => future.as_mut().poll(cx),
        });
        if *this.ends_connection {
            end_connection(&mut response);
        }
        Poll::Ready(response)
    }
}

/// Tells the client to ask somebody else from now on, unless a tunnel begins.
fn end_connection<B>(response: &mut Response<B>) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
}

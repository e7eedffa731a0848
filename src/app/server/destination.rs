//! Destinations of requests, shared by the proxy and the decision endpoint.

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderName, Request, StatusCode},
};

use crate::check::IDENTITY_HEADERS;
use crate::layer::{INTERNAL_PAGE, Outcome};
use crate::listen::RequestContext;
use crate::observe::SiteObserver;
use crate::probe::{Probe, ProbePoint};

use super::{
    process_services::ProcessServices,
    serving::{ServedSite, Serving, Sites},
    table::SiteMatch,
};

/// The name for requests without a site, in metrics and logs.
pub(super) const NO_SITE: &str = "none";
/// The cause recorded for the confirmation that a visitor is human.
const WAY_OUT: &str = "way-out";
/// The cause recorded if a request is refused because it contains a header that only a proxy or
/// this program may set.
const FORGED_HEADER: &str = "forged-header";

/// A finder of request destinations, for the proxy and for the decision endpoint.
#[derive(Debug)]
pub(super) struct Destinations {
    pub(super) serving: Arc<Serving>,
    pub(super) services: Arc<ProcessServices>,
    nowhere: SiteObserver,
}

/// The destination of a request, with the request's observer.
#[derive(Debug)]
pub(super) struct Arrived<'s> {
    pub(super) destination: Destination<'s>,
    /// The observer of the site that the request is for.
    pub(super) observer: &'s SiteObserver,
    /// The probe, if the request is from `doctor`.
    pub(super) probe: Option<Box<Probe>>,
}

/// The destination of a request.
#[derive(Debug)]
pub(super) enum Destination<'s> {
    /// A page served by this program: the console or an operational endpoint.
    Process(&'s Router),
    /// The form with which a suspect confirms being human; contains the path of the form.
    Confirmation(&'s Arc<ServedSite>, String),
    /// A site, which makes the decision about the request.
    Site(&'s Arc<ServedSite>),
    /// No destination; the request is refused.
    Refused(StatusCode, Option<&'static str>),
}

impl Destinations {
    pub(super) fn new(serving: Arc<Serving>, services: Arc<ProcessServices>) -> Self {
        Self {
            nowhere: services.observer.site(&services.traffic, NO_SITE),
            serving,
            services,
        }
    }

    /// Finds the destination of a request.
    ///
    /// `is_believed` specifies whether the peer may set this program's identity headers.
    pub(super) fn find<'s>(
        &'s self,
        sites: &'s Sites,
        request: &mut Request<RequestContext>,
        door: ProbePoint,
        is_believed: bool,
    ) -> Arrived<'s> {
        let probe = self.services.probes.take_token(request, door);
        let request = &*request;
        let found = sites.places.find_for(request);
        let observer = match found {
            SiteMatch::Site(served) => served.observer(),
            SiteMatch::NoPath | SiteMatch::NoHost => &self.nowhere,
        };
        let destination = if probe.is_err() || is_forged(request, is_believed) {
            Destination::Refused(StatusCode::BAD_REQUEST, Some(FORGED_HEADER))
        } else if let Some(router) = self.services.router(request) {
            // Handled before the site makes a decision, so that no rule can lock the administrator
            // out.
            Destination::Process(router)
        } else {
            match found {
                // Handled before the site makes a decision, because the site regards the sender as
                // a program.
                SiteMatch::Site(served) => match served.router().confirmation_url(request) {
                    Some(action) => Destination::Confirmation(served, action),
                    None => Destination::Site(served),
                },
                SiteMatch::NoPath => Destination::Refused(StatusCode::NOT_FOUND, None),
                // RFC 9110 §15.5.20
                SiteMatch::NoHost => Destination::Refused(StatusCode::MISDIRECTED_REQUEST, None),
            }
        };
        Arrived {
            destination,
            observer,
            probe: probe.unwrap_or_default(),
        }
    }
}

impl Destination<'_> {
    /// Returns the outcome to count if no site makes a decision.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Process(_) => Some(Outcome::internal(INTERNAL_PAGE)),
            Self::Confirmation(..) => Some(Outcome::for_person(WAY_OUT)),
            Self::Refused(_, cause) => cause.map(Outcome::refused),
            Self::Site(_) => None,
        }
    }
}

/// Returns `true` if a visitor sent headers that only this program or a proxy may use to identify
/// visitors.
fn is_forged(request: &Request<RequestContext>, is_believed: bool) -> bool {
    let is_sent = |name: &HeaderName| request.headers().contains_key(name);
    request.body().is_forged() || !is_believed && IDENTITY_HEADERS.iter().any(is_sent)
}

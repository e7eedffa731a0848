//! The decision endpoint: answers queries from front proxies with the decisions that our own proxy
//! would make.

use std::{
    convert::Infallible,
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::to_bytes,
    http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header},
};
use bytes::Bytes;
use serde_json::{Value, json};
use tracing::warn;

use crate::check::{
    CheckToken, Dialect, EndpointAction, EndpointRequest, EntryErrors, IDENTITY_HEADERS,
    InvalidDescription, MAX_REPORT_BYTES, Page, VisitorReport, YesNo, add_decision_header,
    describe, endpoint_response, page_from_headers, plain_pass, read_report,
};
use crate::clock::Clock;
use crate::config::{CheckSection, FailMode};
use crate::detect::Verdict;
use crate::layer::{
    self, ClaimFinding, Decided, INTERNAL_PAGE, LayerReply, NoCopies, Outcome,
    PERSON_HEADER_DURATION, Pending, ReadyHead, ServedDirectly,
};
use crate::listen::{HttpService, RequestContext, ServiceResponse, TrustedProxies};
use crate::observe::Observation;
use crate::policy::Action;
use crate::probe::ProbePoint;
use crate::proxy;
use crate::suspect::Mark;

use super::{
    destination::{Arrived, Destination, Destinations, NO_SITE},
    server_body::ServerBody,
    server_service::LayerHead,
    serving::{ServedSite, settled},
    site_router::guarded,
    table::SiteMatch,
};

/// The longest wait for a verdict; the proxies' configurations have a timeout of 2 seconds.
const MAX_WAIT: Duration = Duration::from_millis(1_500);
/// The longest wait for a verdict if the front proxy forwards requests after 250 milliseconds
/// without an answer.
const MAX_WAIT_IF_OPEN: Duration = Duration::from_millis(200);
/// The delay before a query from `doctor` is answered, to test how the front proxy handles a
/// missing answer.
const SILENCE: Duration = Duration::from_secs(5);
/// The cause recorded when a query is refused because it does not describe a request.
const ODD_QUESTION: &str = "odd-question";
/// The minimum time between two logged query errors.
const NOTED_FOR_MS: i64 = 60_000;

/// A future that resolves to a response that cannot be sent immediately.
type Later = Pin<Box<dyn Future<Output = Result<Response<ServerBody>, Infallible>> + Send>>;

/// A service that makes decisions about the requests that front proxies describe.
#[derive(Clone, Debug)]
pub(super) struct CheckService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    destinations: Arc<Destinations>,
    /// Prepared answers to the most common queries: for nginx, for Apache, and for other proxies.
    plain_passes: [Arc<ReadyHead>; 3],
    token: Option<CheckToken>,
    /// The trusted proxies in front of the proxy that sends queries.
    proxies: TrustedProxies,
    /// Whether the decision endpoint counts requests in the traffic counters.
    counts: bool,
    max_wait: Duration,
    clock: Clock,
    /// The time when an invalid query was last logged.
    noted_ms: AtomicI64,
}

/// The state needed to answer a query after the decision is made.
struct Question {
    dialect: Dialect,
    observation: Observation,
    counts: bool,
}

impl CheckService {
    pub(super) fn new(
        destinations: Arc<Destinations>,
        token: Option<CheckToken>,
        proxies: TrustedProxies,
        settings: &CheckSection,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                destinations,
                plain_passes: [Dialect::Nginx, Dialect::Apache, Dialect::Caddy]
                    .map(|dialect| Arc::new(plain_pass(dialect))),
                token,
                proxies,
                counts: settings.count,
                max_wait: match settings.fails {
                    FailMode::Open => MAX_WAIT_IF_OPEN,
                    FailMode::Closed => MAX_WAIT,
                },
                clock: Clock::system(),
                noted_ms: AtomicI64::new(i64::MIN / 2),
            }),
        }
    }

    fn decide(
        &self,
        dialect: Dialect,
        rest: &str,
        question: &mut Request<RequestContext>,
    ) -> ServiceResponse<ServerBody, LayerHead, Later> {
        let shared = &*self.shared;
        if let Err(reason) = describe(dialect, rest, question, &shared.proxies) {
            return ServiceResponse::Now(shared.misdescribed(dialect, &reason));
        }
        if dialect != Dialect::Nginx {
            // Other dialects only redirect, and a suspect must stay on the requested page.
            question.extensions_mut().insert(NoCopies);
        }
        let destinations = &*shared.destinations;
        let sites = destinations.serving.sites();
        let Arrived {
            destination,
            observer,
            probe,
        } = destinations.find(&sites, question, ProbePoint::Endpoint, false);
        let is_silent = probe.as_ref().is_some_and(|probe| probe.is_silent);
        let mut observation = observer.begin(question);
        observation.store_for(probe);
        if is_silent {
            return ServiceResponse::Later(Box::pin(stay_silent(observation)));
        }
        let asked = Question {
            dialect,
            observation,
            counts: shared.counts,
        };
        let (status, refusal) = match destination {
            Destination::Site(served) => return shared.of_site(served, question, asked),
            // The proxy's configuration sends these requests here without a query. If queried, the
            // path is regarded as the site's, which our own proxy would never forward.
            Destination::Process(_) | Destination::Confirmation(..) => {
                (StatusCode::NOT_FOUND, Outcome::refused(INTERNAL_PAGE))
            }
            Destination::Refused(status, cause) => {
                (status, Outcome::refused(cause.unwrap_or(NO_SITE)))
            }
        };
        ServiceResponse::Now(asked.tell(refused(status), Some(refusal)))
    }

    /// Serves the page that replaces the requested page according to the decision.
    fn page(
        &self,
        question: &mut Request<RequestContext>,
    ) -> ServiceResponse<ServerBody, LayerHead, Later> {
        let shared = &*self.shared;
        let page = match page_from_headers(question.headers()) {
            Ok(page) => page,
            Err(reason) => {
                return ServiceResponse::Now(shared.misdescribed(Dialect::Caddy, &reason));
            }
        };
        if let Err(reason) = describe(Dialect::Nginx, "", question, &shared.proxies) {
            return ServiceResponse::Now(shared.misdescribed(Dialect::Caddy, &reason));
        }
        let sites = shared.destinations.serving.sites();
        let SiteMatch::Site(served) = sites.places.find_for(question) else {
            return ServiceResponse::Now(status(StatusCode::MISDIRECTED_REQUEST));
        };
        layer::rewrite_to_heaven(question, &page.path, page.is_for_suspect);
        let answering = served.answer(question, false);
        ServiceResponse::Later(Box::pin(async move {
            let Ok(mut response) = answering.await;
            layer::add_direct_page_headers(response.headers_mut());
            add_decision_header(&mut response, Action::Pass.as_str());
            Ok(response)
        }))
    }
}

impl CheckService {
    /// Reads an application's report about which visitors are human.
    fn report(
        &self,
        question: &mut Request<RequestContext>,
    ) -> ServiceResponse<ServerBody, LayerHead, Later> {
        if question.method() != Method::POST {
            let mut refusal = status(StatusCode::METHOD_NOT_ALLOWED);
            // A 405 response must list the allowed methods (RFC 9110 §15.5.6).
            let allowed = HeaderValue::from_static("POST");
            refusal.headers_mut().insert(header::ALLOW, allowed);
            return ServiceResponse::Now(refusal);
        }
        let (shared, body) = (Arc::clone(&self.shared), guarded(question).into_body());
        ServiceResponse::Later(Box::pin(async move {
            let Ok(body) = to_bytes(body, MAX_REPORT_BYTES).await else {
                let text = format!("the report must not exceed {MAX_REPORT_BYTES} bytes\n");
                return Ok(said(StatusCode::PAYLOAD_TOO_LARGE, text));
            };
            let taken = read_report(&body).and_then(|all| shared.take(&all));
            Ok(match taken {
                Ok(taken) => {
                    let mut response = said(StatusCode::OK, format!("{taken}\n"));
                    let json = HeaderValue::from_static("application/json");
                    response.headers_mut().insert(header::CONTENT_TYPE, json);
                    response
                }
                Err(wrong) => said(StatusCode::BAD_REQUEST, wrong),
            })
        }))
    }
}

impl Shared {
    /// Answers a query with the site's decision.
    fn of_site(
        &self,
        served: &Arc<ServedSite>,
        question: &mut Request<RequestContext>,
        asked: Question,
    ) -> ServiceResponse<ServerBody, LayerHead, Later> {
        match served.decide(question) {
            Ok(decided) if is_plain_pass(&decided) && proxy::refusal(question).is_none() => {
                let plain = Arc::clone(self.plain_pass(asked.dialect));
                asked.observation.record_external(None, asked.counts);
                ServiceResponse::Ready(LayerHead(plain))
            }
            Ok(decided) => ServiceResponse::Now(asked.answer(question, decided)),
            // Apache sends one query at a time, so a waiting answer would delay all visitors. The
            // lookup continues, and a later request gets the verdict.
            Err(pending) if asked.dialect == Dialect::Apache => {
                let unsettled = ClaimFinding {
                    verdict: Verdict::Pending,
                    proof: pending.proof,
                };
                let decided = served.decide_settled(question, unsettled);
                ServiceResponse::Now(asked.answer(question, decided))
            }
            Err(mut pending) => {
                pending.limit = pending.limit.min(self.max_wait);
                ServiceResponse::Later(Box::pin(settle(
                    Arc::clone(served),
                    RequestContext::take(question),
                    pending,
                    asked,
                )))
            }
        }
    }

    /// Marks the visitors listed in a report; returns the number of human visitors and the lifetime
    /// of the marks.
    ///
    /// # Errors
    ///
    /// Returns an error that lists entries with an unknown site or a site that ignores marks; no
    /// visitor is then marked.
    fn take(&self, all: &[VisitorReport]) -> Result<Value, String> {
        let sites = self.destinations.serving.sites();
        let (mut known, mut wrong) = (Vec::new(), EntryErrors::default());
        for (reported, number) in all.iter().zip(1..) {
            match sites.places.find(reported.host.as_deref(), "/") {
                SiteMatch::Site(served) => match served.marks() {
                    Some(marks) => known.push((marks, reported)),
                    None => wrong.add(
                        number,
                        "the site does not detect suspects, because suspects.action is off",
                    ),
                },
                SiteMatch::NoPath | SiteMatch::NoHost => wrong.add(number, "no site has this host"),
            }
        }
        for (marks, reported) in wrong.into_result(known)? {
            let mark = match reported.person {
                YesNo::Yes => Mark::Person,
                YesNo::No => Mark::NoPerson,
            };
            let visitor = marks.visitor(reported.address, reported.user_agent.as_bytes());
            marks.set(visitor, mark, PERSON_HEADER_DURATION);
        }
        let said = |word: YesNo| all.iter().filter(|one| one.person == word).count();
        Ok(json!({
            "taken": all.len(),
            "yes": said(YesNo::Yes),
            "no": said(YesNo::No),
            "for_seconds": PERSON_HEADER_DURATION.as_secs(),
        }))
    }

    fn plain_pass(&self, dialect: Dialect) -> &Arc<ReadyHead> {
        let [nginx, apache, others] = &self.plain_passes;
        match dialect {
            Dialect::Nginx => nginx,
            Dialect::Apache => apache,
            _ => others,
        }
    }

    fn misdescribed(&self, dialect: Dialect, reason: &InvalidDescription) -> Response<ServerBody> {
        // The visitor caused this error, not the proxy's configuration.
        if *reason != InvalidDescription::Request {
            self.note(&format!("{}: {reason}", dialect.as_str()));
        }
        let refusal = Outcome::refused(ODD_QUESTION);
        endpoint_response(dialect, refused(StatusCode::BAD_REQUEST), Some(&refusal))
    }

    /// Logs a query error at most once a minute, because every visitor's request may cause such an
    /// error.
    fn note(&self, text: &str) {
        let now_ms = self.clock.now_ms();
        let due = |noted_ms: i64| (now_ms >= noted_ms + NOTED_FOR_MS).then_some(now_ms);
        let order = Ordering::Relaxed;
        if self.noted_ms.fetch_update(order, order, due).is_ok() {
            warn!("invalid query to the decision endpoint: {text}");
        }
    }
}

impl HttpService for CheckService {
    type ResponseBody = ServerBody;
    type ReadyHead = LayerHead;
    type Future = Later;

    const TAKES_BODILESS: bool = true;

    fn respond(
        &self,
        question: &mut Request<RequestContext>,
    ) -> ServiceResponse<ServerBody, LayerHead, Later> {
        let uri = mem::take(question.uri_mut());
        let asked = EndpointRequest::from_uri(&uri);
        if asked == EndpointRequest::Health {
            return ServiceResponse::Now(said(StatusCode::OK, "ok\n".to_owned()));
        }
        let token = self.shared.token.as_ref();
        if token.is_some_and(|token| !token.is_in(question.headers())) {
            self.shared
                .note("the token is missing or does not match check.token");
            let text = "the token is missing or invalid\n".to_owned();
            return ServiceResponse::Now(said(StatusCode::FORBIDDEN, text));
        }
        match asked {
            EndpointRequest::Decision(dialect, rest) => self.decide(dialect, rest, question),
            EndpointRequest::Page => self.page(question),
            EndpointRequest::Report => self.report(question),
            EndpointRequest::Health | EndpointRequest::Nothing => {
                ServiceResponse::Now(status(StatusCode::NOT_FOUND))
            }
        }
    }
}

impl Question {
    /// Answers a query with the decision, and counts the decision.
    fn answer(
        self,
        request: &mut Request<RequestContext>,
        (reply, outcome): Decided<ServerBody>,
    ) -> Response<ServerBody> {
        let answered = match reply {
            LayerReply::Now(response) => told(*response),
            LayerReply::Ready(head) => {
                told(head.response(ServerBody::default(), HeaderMap::default()))
            }
            // Our own proxy does not forward such a request either.
            LayerReply::Passes(_) if let Some(status) = proxy::refusal(request) => refused(status),
            LayerReply::Passes(mut additions) => {
                let page = page(request);
                let mut response = passed(request);
                additions.add_to(&mut response);
                match page {
                    Some(page) => EndpointAction::InPlace(page, response),
                    None => EndpointAction::Passed(response),
                }
            }
        };
        self.tell(answered, outcome)
    }

    fn tell(
        self,
        answered: EndpointAction<ServerBody>,
        outcome: Option<Outcome>,
    ) -> Response<ServerBody> {
        let response = endpoint_response(self.dialect, answered, outcome.as_ref());
        self.observation.record_external(outcome, self.counts);
        response
    }
}

/// Returns `true` if a human visitor's request passes and no headers are added.
fn is_plain_pass((reply, outcome): &Decided<ServerBody>) -> bool {
    outcome.is_none() && matches!(reply, LayerReply::Passes(additions) if additions.is_empty())
}

/// Delays the answer for longer than any front proxy waits, except Traefik.
async fn stay_silent(observation: Observation) -> Result<Response<ServerBody>, Infallible> {
    tokio::time::sleep(SILENCE).await;
    drop(observation);
    Ok(status(StatusCode::SERVICE_UNAVAILABLE))
}

/// Waits for the verdict on a request's claim, then makes the decision.
async fn settle(
    served: Arc<ServedSite>,
    mut request: Request<RequestContext>,
    pending: Pending,
    asked: Question,
) -> Result<Response<ServerBody>, Infallible> {
    let finding = settled(pending).await;
    let decided = served.decide_settled(&mut request, finding);
    Ok(asked.answer(&mut request, decided))
}

/// Returns the page that replaces the requested page of a request that passes.
fn page(request: &Request<RequestContext>) -> Option<HeaderValue> {
    let served = request.extensions().get::<ServedDirectly>()?;
    let page = Page {
        path: request.uri().path_and_query()?.clone(),
        is_for_suspect: served.is_for_suspect(),
    };
    page.header()
}

/// Returns the headers that are added to a passing request for the upstream.
fn passed(request: &mut Request<RequestContext>) -> Response<ServerBody> {
    let mut response = Response::<ServerBody>::default();
    for name in IDENTITY_HEADERS {
        if let Some(value) = request.headers_mut().remove(&name) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn told(mut response: Response<ServerBody>) -> EndpointAction<ServerBody> {
    let text = mem::take(response.body_mut()).into_bytes();
    *response.body_mut() = ServerBody::from_text(text.clone());
    EndpointAction::Told(response, text)
}

/// Returns the answer to a request that is refused before a site makes a decision.
fn refused(refusal: StatusCode) -> EndpointAction<ServerBody> {
    let mut response = status(refusal);
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    EndpointAction::Told(response, Bytes::new())
}

fn said(status: StatusCode, text: String) -> Response<ServerBody> {
    let mut response = Response::new(ServerBody::from(text));
    *response.status_mut() = status;
    let word = if status.is_success() {
        Action::Pass
    } else {
        Action::Refuse
    };
    add_decision_header(&mut response, word.as_str());
    response
}

fn status(status: StatusCode) -> Response<ServerBody> {
    said(status, String::new())
}

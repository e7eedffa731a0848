//! The stage that detects suspects among human visitors, and handles confirmations from visitors
//! and from the application.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

use crate::keys::AgentKey;
use crate::policy::Visitor;
use crate::suspect::{BrowserCheck, Mark, Marks, Reasons};

use super::{ReceivedRequest, RequestState, Stage};

/// The duration for which a visitor remains marked by the application's person header.
pub const PERSON_HEADER_DURATION: Duration = Duration::from_secs(10 * 60);

/// A request that does not claim to be from a robot.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PersonRequest<'r> {
    /// The request's method.
    pub method: &'r Method,
    /// The request's target.
    pub uri: &'r Uri,
    /// The request's HTTP version.
    pub version: Version,
    /// All request headers, as received.
    pub headers: &'r HeaderMap,
    /// The client's address, if known.
    pub client: Option<IpAddr>,
}

/// A source of information about human visitors, queried for each request from a human visitor.
pub trait People: Send + Sync {
    /// Returns reasons to suspect the sender that are not apparent from the request itself.
    fn reasons(&self, request: &PersonRequest<'_>) -> Reasons;

    /// Returns `false` if [`reasons`](Self::reasons) is always empty and need not be called.
    fn has_reasons(&self) -> bool {
        true
    }

    /// Returns the effect of the sender's confirmation that it is human, or `None` if there is
    /// none.
    fn release(&self, request: &PersonRequest<'_>, reasons: Reasons) -> Option<ConfirmedRelease>;
}

/// The effect of a suspect's confirmation that it is human.
#[derive(Clone, Debug, Default)]
pub struct ConfirmedRelease {
    /// The reasons that remain after the confirmation.
    pub left: Reasons,
    /// The value of a `Set-Cookie` header for the response.
    pub cookie: Option<HeaderValue>,
}

/// The sources that detect and confirm suspects; by default, suspects are not detected.
#[derive(Clone, Default)]
pub(crate) struct Suspects {
    /// Whether suspects are detected.
    pub(crate) are_sought: bool,
    pub(crate) coherence: Option<Arc<BrowserCheck>>,
    people: Option<Arc<dyn People>>,
    people_have_reasons: bool,
    marks: Option<Marks>,
    person_header: Option<Arc<PersonHeader>>,
}

/// The response header by which the application reports whether a visitor is human.
#[derive(Debug)]
struct PersonHeader {
    name: HeaderName,
    /// The marks to set; `None` if visitors are not marked and the header is only removed.
    marks: Option<Marks>,
}

/// A person header that the response may contain, with the visitor to mark.
#[derive(Debug)]
pub(crate) struct ExpectedPersonHeader {
    // A single reference count, because each passing request bears its cost.
    header: Arc<PersonHeader>,
    agent: AgentKey,
    /// The visitor's address; `None` if the visitor cannot be identified.
    sender: Option<IpAddr>,
}

impl ExpectedPersonHeader {
    /// Removes the person header from a response and marks the visitor.
    #[inline]
    pub(crate) fn take(&self, headers: &mut HeaderMap) {
        // Scanning the few header names of a response is faster than hashing one name.
        if headers.keys().any(|name| *name == self.header.name) {
            self.keep(headers);
        }
    }

    #[cold]
    fn keep(&self, headers: &mut HeaderMap) {
        let word = headers.remove(&self.header.name);
        let mark = word.and_then(|word| match word.as_bytes().trim_ascii() {
            b"yes" => Some(Mark::Person),
            b"no" => Some(Mark::NoPerson),
            // Other values are ignored.
            _ => None,
        });
        if let (Some(mark), Some(marks), Some(sender)) = (mark, &self.header.marks, self.sender) {
            let visitor = marks.visitor_by(sender, self.agent);
            marks.set(visitor, mark, PERSON_HEADER_DURATION);
        }
    }
}

impl<'r> PersonRequest<'r> {
    fn of<B>(request: &'r Request<B>, client: Option<IpAddr>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            client,
        }
    }
}

impl Suspects {
    pub(crate) fn set_people(&mut self, people: Arc<dyn People>) {
        self.are_sought = true;
        self.people_have_reasons = people.has_reasons();
        self.people = Some(people);
    }

    pub(crate) fn set_marks(&mut self, marks: Marks) {
        self.marks = Some(marks);
        if let Some(header) = &self.person_header {
            self.set_person_header(header.name.clone());
        }
    }

    pub(crate) fn set_person_header(&mut self, name: HeaderName) {
        let marks = self.marks.clone();
        self.person_header = Some(Arc::new(PersonHeader { name, marks }));
    }

    /// Adds the reasons marked for a visitor, and removes the reasons found in the request if the
    /// application has reported that the visitor is human.
    ///
    /// `sender` is the client address, or `None` if several visitors may share the address.
    fn with_marks(&self, found: Reasons, agent: AgentKey, sender: Option<IpAddr>) -> Reasons {
        let marks = self.marks.as_ref().filter(|marks| !marks.is_empty());
        let (Some(marks), Some(sender)) = (marks, sender) else {
            return found;
        };
        let known = marks.active_marks(marks.visitor_by(sender, agent));
        let found = if known.is_person {
            found.after_confirmation()
        } else {
            found
        };
        found.union(known.reasons)
    }
}

impl Stage for Suspects {
    fn needs_sender(&self) -> bool {
        self.are_sought
    }

    /// Finds the reasons to suspect a visitor, unless a rule allows the visitor to pass or the
    /// visitor has confirmed that it is human.
    fn examine<B>(&self, received: &ReceivedRequest<'_, B>, case: &mut RequestState<'_>) {
        if !case.is_person || !self.are_sought {
            return;
        }
        let (request, agent, client) = (received.request, received.agent, case.client);
        let coherence = self.coherence.as_ref();
        let mut reasons = coherence.map_or(Reasons::default(), |coherence| {
            coherence.judge_with_key(request, agent.text, agent.key, client.transport)
        });
        let asked = || PersonRequest::of(request, client.address);
        if let Some(people) = self.people.as_ref().filter(|_| self.people_have_reasons) {
            reasons = reasons.union(people.reasons(&asked()));
        }
        reasons = self.with_marks(reasons, agent.key, client.network);
        if !reasons.is_suspect() {
            return;
        }
        let visitor = Visitor::person(client.sender(request.headers(), reasons));
        if case.policy().passes(&received.asked, visitor) {
            return;
        }
        let people = self.people.as_ref();
        case.reasons = match people.and_then(|people| people.release(&asked(), reasons)) {
            Some(ConfirmedRelease { left, cookie }) => {
                case.additions.cookie = cookie.map(Box::new);
                left.if_suspect()
            }
            None => reasons,
        };
    }

    /// Prepares for reading the person header of the response, if suspects are detected.
    fn ready<B>(&self, _: &mut Request<B>, _: Option<Visitor<'_>>, case: &mut RequestState<'_>) {
        // Scanning a response takes 1 % of the time of a request.
        if self.coherence.is_some()
            && let Some(header) = &self.person_header
        {
            case.additions.word = Some(ExpectedPersonHeader {
                header: Arc::clone(header),
                agent: case.agent,
                sender: case.client.network.filter(|_| case.is_person),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use http::{HeaderName, Request, Response, StatusCode};
    use tower_layer::Layer as _;
    use tower_service::Service as _;

    use super::*;
    use crate::clock::Clock;
    use crate::layer::RobotDetectionLayer;
    use crate::policy::{Action, Rule};
    use crate::suspect::BrowserCheck;

    const NAME: HeaderName = HeaderName::from_static("x-person");
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";

    /// Sends a request to an application that returns the word in the path as the person header.
    fn ask(layer: &RobotDetectionLayer<fn(String)>, path: &str) -> (StatusCode, bool) {
        let application = tower::service_fn(async |request: Request<()>| {
            assert!(!request.headers().contains_key(NAME), "not removed");
            let word = request.uri().path().trim_start_matches('/').to_owned();
            Ok::<_, Infallible>(Response::builder().header(NAME, word).body(()).unwrap())
        });
        let request = Request::get(path).header("host", "a.example");
        let request = request
            .header("user-agent", FIREFOX)
            .header("accept", "*/*");
        let request = request.header(NAME, "yes").body(()).unwrap();
        let answering = pin!(layer.clone().layer(application).call(request));
        let Poll::Ready(Ok(response)) = answering.poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("the response is ready immediately");
        };
        (response.status(), response.headers().contains_key(NAME))
    }

    #[test]
    fn person_header_of_the_wrapped_application_is_applied() {
        let clock = Clock::manual(0);
        let rule = Rule::builder(Action::Refuse)
            .paths(["/shut"])
            .suspect(true)
            .people(true);
        let layer = RobotDetectionLayer::builder()
            .rule(rule)
            .build()
            .unwrap()
            .refusal_body(drop::<String> as fn(String))
            .client_address(|_| Some([192, 0, 2, 7].into()))
            .person_header(NAME);
        assert_eq!(ask(&layer, "/yes"), (StatusCode::OK, true), "no detection");
        let layer = layer
            .suspects(Arc::new(BrowserCheck::new()))
            .marks(Marks::new(&clock));
        for (path, status) in [
            ("/shut", StatusCode::FORBIDDEN),
            ("/yes", StatusCode::OK),
            ("/shut", StatusCode::OK),
            ("/no", StatusCode::OK),
            ("/shut", StatusCode::FORBIDDEN),
            ("/yes", StatusCode::OK),
            ("/shut", StatusCode::OK),
        ] {
            assert_eq!(ask(&layer, path), (status, false), "{path}");
        }
        clock.advance(PERSON_HEADER_DURATION);
        assert_eq!(ask(&layer, "/shut").0, StatusCode::FORBIDDEN);
    }
}

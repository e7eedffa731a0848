//! Suspects among people: why they are, and what they and the application say to the contrary.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

use crate::keys::AgentKey;
use crate::policy::Visitor;
use crate::suspect::{Coherence, Mark, Marks, Reasons};

use super::{Case, ReceivedRequest, Stage};

/// Time for which the word of the application on a visitor holds.
pub const PERSON_WORD_LASTS: Duration = Duration::from_secs(10 * 60);

/// Request of somebody who names no robot.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PersonRequest<'r> {
    /// Its method.
    pub method: &'r Method,
    /// What it asks for.
    pub uri: &'r Uri,
    /// Its version of HTTP.
    pub version: Version,
    /// All headers, as they came.
    pub headers: &'r HeaderMap,
    /// Address of the client, where it is known.
    pub client: Option<IpAddr>,
}

/// Source of what is known of people; it is asked with each of their requests.
pub trait People: Send + Sync {
    /// Returns why a sender is suspect beyond what the request itself tells.
    fn reasons(&self, request: &PersonRequest<'_>) -> Reasons;

    /// Returns `false` if it never has a reason, so that it is asked for none.
    fn has_reasons(&self) -> bool {
        true
    }

    /// Returns what is left of the reasons if the sender has said that he is a person; `None`: he has
    /// not.
    fn release(&self, request: &PersonRequest<'_>, reasons: Reasons) -> Option<Release>;
}

/// What follows from the word of a suspect that he is a person.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// Reasons that stay.
    pub left: Reasons,
    /// Value of a `Set-Cookie` that goes with the response.
    pub cookie: Option<HeaderValue>,
}

/// Who finds suspects, and who knows better; by default nobody looks.
#[derive(Clone, Default)]
pub(crate) struct Suspects {
    /// Whether anybody is looked at.
    pub(crate) are_sought: bool,
    pub(crate) coherence: Option<Arc<Coherence>>,
    people: Option<Arc<dyn People>>,
    people_have_reasons: bool,
    marks: Option<Marks>,
    person_header: Option<Arc<PersonHeader>>,
}

/// Header by which the application says who is a person.
#[derive(Debug)]
struct PersonHeader {
    name: HeaderName,
    /// `None`: nobody wants to know, and the header is only taken off.
    marks: Option<Marks>,
}

/// Word that a response may bring, and of whom.
#[derive(Debug)]
pub(crate) struct PersonWord {
    // One count of references, as each request that passes pays for it.
    header: Arc<PersonHeader>,
    agent: AgentKey,
    /// `None`: nobody knows who asks.
    sender: Option<IpAddr>,
}

impl PersonWord {
    /// Removes the word from a response, and keeps it.
    #[inline]
    pub(crate) fn take(&self, headers: &mut HeaderMap) {
        // The few names of a response are gone through in less time than one is hashed.
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
            // What says neither says nothing.
            _ => None,
        });
        if let (Some(mark), Some(marks), Some(sender)) = (mark, &self.header.marks, self.sender) {
            let visitor = marks.visitor_by(sender, self.agent);
            marks.set(visitor, mark, PERSON_WORD_LASTS);
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

    /// Adds what is known of a visitor; whom the application calls a person is not suspect by what is
    /// found of his requests.
    ///
    /// `sender` is the address, unless nobody knows that it is one visitor's.
    fn with_marks(&self, found: Reasons, agent: AgentKey, sender: Option<IpAddr>) -> Reasons {
        let marks = self.marks.as_ref().filter(|marks| !marks.are_none());
        let (Some(marks), Some(sender)) = (marks, sender) else {
            return found;
        };
        let known = marks.found(marks.visitor_by(sender, agent));
        let found = if known.is_person {
            found.left_by_a_click()
        } else {
            found
        };
        found.union(known.reasons)
    }
}

impl Stage for Suspects {
    fn wants_sender(&self) -> bool {
        self.are_sought
    }

    /// Finds why a person is suspect, unless a rule lets it pass, or it has said that it is one.
    fn look<B>(&self, received: &ReceivedRequest<'_, B>, case: &mut Case<'_>) {
        if !case.is_person || !self.are_sought {
            return;
        }
        let (request, agent, client) = (received.request, received.agent, case.client);
        let coherence = self.coherence.as_ref();
        let mut reasons = coherence.map_or(Reasons::default(), |coherence| {
            coherence.judge_by(request, agent.text, agent.key, client.transport)
        });
        let asked = || PersonRequest::of(request, client.address);
        if let Some(people) = self.people.as_ref().filter(|_| self.people_have_reasons) {
            reasons = reasons.union(people.reasons(&asked()));
        }
        reasons = self.with_marks(reasons, agent.key, client.network);
        if !reasons.are_suspect() {
            return;
        }
        let visitor = Visitor::person(client.sender(request.headers(), reasons));
        if case.policy().lets_pass(&received.asked, visitor) {
            return;
        }
        let people = self.people.as_ref();
        case.reasons = match people.and_then(|people| people.release(&asked(), reasons)) {
            Some(Release { left, cookie }) => {
                case.additions.cookie = cookie.map(Box::new);
                left.if_suspect()
            }
            None => reasons,
        };
    }

    /// Awaits what the response may say of who asks; nobody listens where suspects are not looked for.
    fn ready<B>(&self, _: &mut Request<B>, _: Option<Visitor<'_>>, case: &mut Case<'_>) {
        // To look through each response costs a hundredth of a request.
        if self.coherence.is_some()
            && let Some(header) = &self.person_header
        {
            case.additions.word = Some(PersonWord {
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
    use crate::suspect::Coherence;

    const NAME: HeaderName = HeaderName::from_static("x-person");
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";

    /// Asks an application that answers each path with that word; suspects are refused elsewhere.
    fn ask(layer: &RobotDetectionLayer<fn(String)>, path: &str) -> (StatusCode, bool) {
        let application = tower::service_fn(async |request: Request<()>| {
            assert!(!request.headers().contains_key(NAME), "the visitor's own");
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
            panic!("it waits for nothing");
        };
        (response.status(), response.headers().contains_key(NAME))
    }

    #[test]
    fn an_application_with_the_layer_inside_says_it_too() {
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
        assert_eq!(ask(&layer, "/yes"), (StatusCode::OK, true), "nobody looks");
        let layer = layer
            .suspects(Arc::new(Coherence::new()))
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
        clock.advance(PERSON_WORD_LASTS);
        assert_eq!(ask(&layer, "/shut").0, StatusCode::FORBIDDEN);
    }
}

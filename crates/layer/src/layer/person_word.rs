//! What the application says of who asks: that it is a person, or none.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName};

use crate::keys::AgentKey;
use crate::suspect::{Mark, Marks, Reasons};

use super::layer::Shared;

/// Time for which it holds.
pub const PERSON_WORD_LASTS: Duration = Duration::from_mins(10);

/// Header by which the application says who is a person.
#[derive(Debug)]
pub(super) struct PersonHeader {
    pub(super) name: HeaderName,
    /// `None`: nobody wants to know, and the header is only taken off.
    marks: Option<Marks>,
}

/// Word that a response may bring, and of whom.
#[derive(Debug)]
pub(super) struct PersonWord {
    // One count of references, as each request that passes pays for it.
    header: Arc<PersonHeader>,
    agent: AgentKey,
    /// `None`: nobody knows who asks.
    sender: Option<IpAddr>,
}

impl PersonHeader {
    pub(super) fn new(name: HeaderName, marks: Option<&Marks>) -> Self {
        Self {
            name,
            marks: marks.cloned(),
        }
    }
}

impl PersonWord {
    /// Removes the word from a response, and keeps it.
    #[inline]
    pub(super) fn take(&self, headers: &mut HeaderMap) {
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

impl Shared {
    /// Adds what is known of a visitor; whom the application calls a person is not suspect by what is
    /// found of his requests.
    ///
    /// `sender` is the address, unless nobody knows that it is one visitor's.
    pub(super) fn with_marks(
        &self,
        found: Reasons,
        agent: AgentKey,
        sender: Option<IpAddr>,
    ) -> Reasons {
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

    /// Returns what a response may say of who asks, a person that comes from `sender`; nobody listens
    /// where suspects are not looked for.
    pub(super) fn awaited_word(
        &self,
        agent: AgentKey,
        sender: Option<IpAddr>,
    ) -> Option<PersonWord> {
        // To look through each response costs a hundredth of a request.
        self.coherence.as_ref()?;
        let header = Arc::clone(self.person_header.as_ref()?);
        Some(PersonWord {
            header,
            agent,
            sender,
        })
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

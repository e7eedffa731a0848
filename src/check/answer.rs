//! From a decision to what a proxy reads of it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;

use crate::layer::{Outcome, ReadyHead};
use crate::traffic::decision_word;

use super::{ANSWER, CAUSE, DECISION, Dialect};

/// Headers of an answer that lets nobody pass, which nginx makes anew, in the order in which they
/// are told; each with the word for it in the variables of nginx's file.
pub(super) const FOLDED: [(HeaderName, &str); 6] = [
    (header::LOCATION, "location"),
    (header::CACHE_CONTROL, "cache"),
    (header::RETRY_AFTER, "retry"),
    (header::WWW_AUTHENTICATE, "authenticate"),
    (header::LINK, "link"),
    (HeaderName::from_static("accept-signature"), "sign"),
];

/// What is said before those, and the text behind them.
pub(super) const DECIDED: &str = "decision";
pub(super) const BECAUSE: &str = "cause";
pub(super) const TEXT: &str = "text";

/// Where nginx finds the page that it is to serve in place of another.
pub(super) const IN_PLACE: &str = "page";

/// Bytes of most answers to nginx.
const USUAL_BYTES: usize = 192;

/// What nginx reads of its answer: a status and, each behind a tab, fields.
struct Fields(Vec<u8>);

/// What our own proxy would do with a request.
#[derive(Debug)]
pub(crate) enum Answered<B> {
    /// Pass it on with these headers, and give its answer the others.
    Passed(Response<B>),
    /// Serve this page in place of the one that was asked for.
    InPlace(HeaderValue, Response<B>),
    /// Give this answer; the text is its body's.
    Told(Response<B>, Bytes),
}

/// Says it as a proxy reads it; without an outcome, of a person's request.
pub(crate) fn answer<B: Default>(
    dialect: Dialect,
    answered: Answered<B>,
    outcome: Option<&Outcome>,
) -> Response<B> {
    let person = Outcome::default();
    let outcome = outcome.unwrap_or(&person);
    let (decision, cause) = (decision_word(outcome), outcome.cause().as_bytes());
    if dialect == Dialect::Nginx {
        return to_nginx(answered, decision, cause);
    }
    let (mut response, is_for_visitor) = match answered {
        Answered::Passed(response) => (response, false),
        Answered::InPlace(page, mut response) => {
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(header::LOCATION, page);
            (response, true)
        }
        Answered::Told(response, _) => (response, true),
    };
    mark(&mut response, decision);
    // The visitor gets the answer as it is, unless the proxy makes a new one of it.
    if !is_for_visitor || dialect == Dialect::Haproxy {
        let headers = response.headers_mut();
        join_lists(headers);
        let cause: Vec<u8> = one_line(cause).collect();
        headers.extend(HeaderValue::from_bytes(&cause).map(|cause| (CAUSE, cause)));
    }
    response
}

/// Adds the decision, by which a proxy distinguishes an answer from the failure of a server between.
pub(crate) fn mark<B>(response: &mut Response<B>, decision: &'static str) {
    let decision = HeaderValue::from_static(decision);
    response.headers_mut().insert(DECISION, decision);
}

/// Says it to nginx, which drops body and status of an answer that lets nobody pass.
fn to_nginx<B: Default>(
    answered: Answered<B>,
    decision: &'static str,
    cause: &[u8],
) -> Response<B> {
    let fields = |status| {
        let fields = Fields::new(status).with(DECIDED, decision.as_bytes());
        fields.with(BECAUSE, cause)
    };
    let mut response = match answered {
        Answered::Passed(mut response) => {
            join_lists(response.headers_mut());
            fields(StatusCode::OK).put_into(response)
        }
        Answered::InPlace(page, mut response) => {
            *response.status_mut() = StatusCode::FORBIDDEN;
            fields(StatusCode::OK)
                .with(IN_PLACE, page.as_bytes())
                .put_into(response)
        }
        Answered::Told(response, text) => folded(fields(response.status()), response, &text),
    };
    mark(&mut response, decision);
    response
}

/// Returns what [`answer`] says of a person whom nothing was decided about, made once.
pub(crate) fn plain_pass(dialect: Dialect) -> ReadyHead {
    let response = answer(dialect, Answered::Passed(Response::new(())), None);
    let (head, ()) = response.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    ReadyHead::new(head.status, headers.collect())
}

/// Turns an answer into one header.
fn folded<B: Default>(mut fields: Fields, mut response: Response<B>, text: &[u8]) -> Response<B> {
    *response.status_mut() = StatusCode::FORBIDDEN;
    *response.body_mut() = B::default();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    join_lists(headers);
    for (name, _) in FOLDED {
        if let Some(value) = headers.remove(&name) {
            fields = fields.with(name.as_str(), value.as_bytes());
        }
    }
    fields.with(TEXT, text).put_into(response)
}

impl Fields {
    fn new(status: StatusCode) -> Self {
        let mut line = Vec::with_capacity(USUAL_BYTES);
        line.extend_from_slice(status.as_str().as_bytes());
        Self(line)
    }

    fn with(mut self, name: &str, value: &[u8]) -> Self {
        self.0.push(b'\t');
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'=');
        self.0.extend(one_line(value));
        self
    }

    fn put_into<B>(self, mut response: Response<B>) -> Response<B> {
        let line = HeaderValue::from_maybe_shared(Bytes::from(self.0));
        response
            .headers_mut()
            .extend(line.map(|line| (ANSWER, line)));
        response
    }
}

/// Writes the lines of lists as one, which says the same (RFC 9110 §5.3): proxies take over one
/// line of each name.
fn join_lists(headers: &mut HeaderMap) {
    for name in [header::LINK, header::WWW_AUTHENTICATE] {
        let lines: Vec<&[u8]> = headers
            .get_all(&name)
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        if lines.len() > 1
            && let Ok(value) = HeaderValue::from_bytes(&lines.join(&b", "[..]))
        {
            headers.insert(name, value);
        }
    }
}

/// Returns a text as one line; what no header may hold becomes a blank, and so does a tab.
fn one_line(text: &[u8]) -> impl Iterator<Item = u8> {
    let text = text.trim_ascii().iter();
    text.map(|&byte| match byte {
        0..b' ' | 0x7f => b' ',
        byte => byte,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Answered<String> {
        let response = Response::builder()
            .status(402)
            .header("retry-after", "5")
            .header("content-type", "text/plain")
            .body("Pay.\nHere: ü\n".to_owned());
        Answered::Told(response.unwrap(), Bytes::from("Pay.\nHere: ü\n"))
    }

    #[test]
    fn nginx_is_told_by_headers_and_a_status_that_it_knows() {
        let response = answer(Dialect::Nginx, told(), None);
        assert_eq!(response.status(), 403);
        let expected =
            b"402\tdecision=pass\tcause=not-a-robot\tretry-after=5\ttext=Pay. Here: \xc3\xbc";
        assert_eq!(response.headers()[ANSWER], &expected[..]);
        assert!(!response.headers().contains_key("retry-after"));
        assert_eq!(response.body(), "");
    }

    #[test]
    fn the_lines_of_a_list_become_one() {
        let passed = Response::builder()
            .header("link", "</a>; rel=license")
            .header("link", "</b>; rel=next")
            .header("content-usage", "train-ai=n")
            .body(());
        let response = answer(Dialect::Nginx, Answered::Passed(passed.unwrap()), None);
        let lines: Vec<_> = response.headers().get_all("link").iter().collect();
        assert_eq!(lines, ["</a>; rel=license, </b>; rel=next"]);
        assert_eq!(response.headers()["content-usage"], "train-ai=n");
    }

    #[test]
    fn others_hand_the_answer_on() {
        for dialect in [Dialect::Caddy, Dialect::Traefik, Dialect::Envoy] {
            let response = answer(dialect, told(), None);
            assert_eq!(response.status(), 402);
            assert_eq!(response.body(), "Pay.\nHere: ü\n");
            assert_eq!(response.headers()[DECISION], "pass");
            assert!(!response.headers().contains_key(CAUSE));
        }
    }

    #[test]
    fn a_page_in_place_is_nginx_s_to_serve_and_a_redirect_of_the_others() {
        let in_place =
            || Answered::InPlace(HeaderValue::from_static("/heaven/"), Response::new(()));
        let response = answer(Dialect::Nginx, in_place(), None);
        assert_eq!(
            (response.status().as_u16(), &response.headers()[ANSWER]),
            (
                403,
                &HeaderValue::from_static("200\tdecision=pass\tcause=not-a-robot\tpage=/heaven/")
            )
        );
        let response = answer(Dialect::Caddy, in_place(), None);
        assert_eq!(
            (response.status().as_u16(), &response.headers()["location"]),
            (302, &HeaderValue::from_static("/heaven/"))
        );
    }

    #[test]
    fn whoever_passes_comes_with_the_reason() {
        let passed = Answered::Passed(Response::new(()));
        let response = answer(Dialect::Envoy, passed, None);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[DECISION], "pass");
        assert_eq!(response.headers()[CAUSE], "not-a-robot");
    }
}

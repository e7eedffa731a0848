//! //! Encoding of a decision as the response that a front proxy expects.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;

use robot_detection_layer::layer::{Outcome, ReadyHead};
use robot_detection_traffic::traffic::decision_name;

use super::{ANSWER, CAUSE, DECISION, Dialect, IDENTIFICATION_HEADER, VERDICT_HEADER};

/// Headers that nginx rebuilds, in this order, in responses to visitors whose requests do not pass,
/// each with the word for the header in the variable names of nginx's file.
pub(super) const FOLDED: [(HeaderName, &str); 6] = [
    (header::LOCATION, "location"),
    (header::CACHE_CONTROL, "cache"),
    (header::RETRY_AFTER, "retry"),
    (header::WWW_AUTHENTICATE, "authenticate"),
    (header::LINK, "link"),
    (HeaderName::from_static("accept-signature"), "sign"),
];

/// Names of the fields that contain the decision (always first), its cause, and the text (always
/// last).
pub(super) const DECIDED: &str = "decision";
pub(super) const BECAUSE: &str = "cause";
pub(super) const TEXT: &str = "text";

/// Name of the field that identifies the page that nginx must serve directly.
pub(super) const IN_PLACE: &str = "page";

/// Typical size of a response to nginx, in bytes.
const USUAL_BYTES: usize = 192;

/// A response for nginx: a status followed by tab-separated fields.
struct Fields(Vec<u8>);

/// The action that this program's own proxy would take for a request.
#[derive(Debug)]
pub enum EndpointAction<B> {
    /// Pass the request to the site with these headers, and add the other headers to the site's
    /// response.
    Passed(Response<B>),
    /// Serve this page directly instead of the requested page.
    InPlace(HeaderValue, Response<B>),
    /// Send this response to the visitor, with these bytes as its body.
    Told(Response<B>, Bytes),
}

/// Returns the response to a front proxy's query; if `outcome` is `None`, the request comes from a
/// human visitor.
pub fn endpoint_response<B: Default>(
    dialect: Dialect,
    answered: EndpointAction<B>,
    outcome: Option<&Outcome>,
) -> Response<B> {
    let person = Outcome::default();
    let outcome = outcome.unwrap_or(&person);
    let (decision, cause) = (decision_name(outcome), outcome.cause().as_bytes());
    if dialect == Dialect::Nginx {
        return to_nginx(answered, decision, cause);
    }
    let (mut response, text) = match answered {
        EndpointAction::Passed(response) => (response, None),
        EndpointAction::InPlace(page, mut response) => {
            *response.status_mut() = StatusCode::FOUND;
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, page);
            // The visitor gets this response, but only the site may see the robot's identity.
            headers.remove(IDENTIFICATION_HEADER);
            headers.remove(VERDICT_HEADER);
            (response, Some(Bytes::new()))
        }
        EndpointAction::Told(mut response, text) => {
            // Envoy treats such a status as a failure and might let the request pass.
            if dialect == Dialect::Envoy && response.status().is_server_error() {
                *response.status_mut() = StatusCode::FORBIDDEN;
            }
            (response, Some(text))
        }
    };
    let is_for_visitor = text.is_some();
    if dialect == Dialect::Apache {
        let fields = Fields::new(response.status()).with(DECIDED, decision.as_bytes());
        let text = text.unwrap_or_default();
        response = one_header(fields.with(BECAUSE, cause), response.headers(), &text);
    } else if dialect == Dialect::IngressNginx && is_for_visitor {
        response = to_ingress_nginx(response);
    }
    add_decision_header(&mut response, decision);
    if dialect == Dialect::Apache {
        return response;
    }
    // The visitor gets this response unchanged, unless the proxy builds a new one from it.
    if !is_for_visitor || dialect == Dialect::Haproxy {
        let headers = response.headers_mut();
        join_lists(headers);
        let cause: Vec<u8> = one_line(cause).collect();
        headers.extend(HeaderValue::from_bytes(&cause).map(|cause| (CAUSE, cause)));
    }
    response
}

/// Adds the decision to a response, to distinguish it from an error sent by an intermediate server.
pub fn add_decision_header<B>(response: &mut Response<B>, decision: &'static str) {
    let decision = HeaderValue::from_static(decision);
    response.headers_mut().insert(DECISION, decision);
}

/// Returns the response for nginx. The fields contain the status and body of a refusal, because
/// nginx drops both.
fn to_nginx<B: Default>(
    answered: EndpointAction<B>,
    decision: &'static str,
    cause: &[u8],
) -> Response<B> {
    let fields = |status| {
        let fields = Fields::new(status).with(DECIDED, decision.as_bytes());
        fields.with(BECAUSE, cause)
    };
    let mut response = match answered {
        EndpointAction::Passed(mut response) => {
            join_lists(response.headers_mut());
            fields(StatusCode::OK).put_into(response)
        }
        EndpointAction::InPlace(page, mut response) => {
            *response.status_mut() = StatusCode::FORBIDDEN;
            fields(StatusCode::OK)
                .with(IN_PLACE, page.as_bytes())
                .put_into(response)
        }
        EndpointAction::Told(response, text) => folded(fields(response.status()), response, &text),
    };
    add_decision_header(&mut response, decision);
    response
}

/// Returns a response whose single header contains all other headers and the text, as a line for
/// Apache's map.
fn one_header<B: Default>(mut fields: Fields, headers: &HeaderMap, text: &[u8]) -> Response<B> {
    for name in headers.keys() {
        // `Set-Cookie` lines cannot be joined (RFC 9110 §5.3), and the text has another type.
        if *name != header::SET_COOKIE && *name != header::CONTENT_TYPE {
            let lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
            let lines: Vec<_> = lines.collect();
            fields = fields.with(name.as_str(), &lines.join(&b", "[..]));
        }
    }
    if !text.is_empty() {
        fields = fields.with(TEXT, text);
    }
    fields.put_into(Response::default())
}

/// Reduces a response to the two statuses that ingress-nginx does not treat as a failure.
fn to_ingress_nginx<B: Default>(mut response: Response<B>) -> Response<B> {
    *response.status_mut() = if response.status().is_redirection() {
        StatusCode::UNAUTHORIZED
    } else {
        StatusCode::FORBIDDEN
    };
    *response.body_mut() = B::default();
    let headers = response.headers_mut();
    // The visitor gets a redirect from our own listener, or nginx's page for a refusal.
    headers.remove(header::LOCATION);
    headers.remove(header::CONTENT_TYPE);
    response
}

/// Returns the response that [`endpoint_response`] gives when a human visitor's request passes, for reuse.
pub fn plain_pass(dialect: Dialect) -> ReadyHead {
    let response = endpoint_response(dialect, EndpointAction::Passed(Response::new(())), None);
    let (head, ()) = response.into_parts();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.clone()));
    ReadyHead::new(head.status, headers.collect())
}

/// Folds a response's headers and text into one header.
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

/// Joins repeated list headers into one equivalent line (RFC 9110 §5.3), because proxies copy only
/// one line per name.
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

/// Returns a text as a single line: tabs and invalid header characters become spaces.
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

    fn told() -> EndpointAction<String> {
        let response = Response::builder()
            .status(402)
            .header("retry-after", "5")
            .header("content-type", "text/plain")
            .body("Pay.\nHere: ü\n".to_owned());
        EndpointAction::Told(response.unwrap(), Bytes::from("Pay.\nHere: ü\n"))
    }

    #[test]
    fn nginx_gets_headers_and_a_status_it_understands() {
        let response = endpoint_response(Dialect::Nginx, told(), None);
        assert_eq!(response.status(), 403);
        let expected =
            b"402\tdecision=pass\tcause=not-a-robot\tretry-after=5\ttext=Pay. Here: \xc3\xbc";
        assert_eq!(response.headers()[ANSWER], &expected[..]);
        assert!(!response.headers().contains_key("retry-after"));
        assert_eq!(response.body(), "");
    }

    #[test]
    fn lines_of_a_list_are_joined() {
        let passed = Response::builder()
            .header("link", "</a>; rel=license")
            .header("link", "</b>; rel=next")
            .header("content-usage", "train-ai=n")
            .body(());
        let response = endpoint_response(
            Dialect::Nginx,
            EndpointAction::Passed(passed.unwrap()),
            None,
        );
        let lines: Vec<_> = response.headers().get_all("link").iter().collect();
        assert_eq!(lines, ["</a>; rel=license, </b>; rel=next"]);
        assert_eq!(response.headers()["content-usage"], "train-ai=n");
    }

    #[test]
    fn other_proxies_forward_the_response() {
        for dialect in [Dialect::Caddy, Dialect::Traefik, Dialect::Envoy] {
            let response = endpoint_response(dialect, told(), None);
            assert_eq!(response.status(), 402);
            assert_eq!(response.body(), "Pay.\nHere: ü\n");
            assert_eq!(response.headers()[DECISION], "pass");
            assert!(!response.headers().contains_key(CAUSE));
        }
    }

    #[test]
    fn envoy_gets_no_refusal_that_looks_like_a_failure() {
        for (dialect, status) in [(Dialect::Envoy, 403), (Dialect::Caddy, 503)] {
            let unavailable = Response::builder().status(503).body(String::new());
            let told = EndpointAction::Told(unavailable.unwrap(), Bytes::new());
            assert_eq!(endpoint_response(dialect, told, None).status(), status);
        }
    }

    #[test]
    fn direct_page_is_served_by_nginx_and_redirected_by_others() {
        let in_place =
            || EndpointAction::InPlace(HeaderValue::from_static("/heaven/"), Response::new(()));
        let response = endpoint_response(Dialect::Nginx, in_place(), None);
        assert_eq!(
            (response.status().as_u16(), &response.headers()[ANSWER]),
            (
                403,
                &HeaderValue::from_static("200\tdecision=pass\tcause=not-a-robot\tpage=/heaven/")
            )
        );
        let response = endpoint_response(Dialect::Caddy, in_place(), None);
        assert_eq!(
            (response.status().as_u16(), &response.headers()["location"]),
            (302, &HeaderValue::from_static("/heaven/"))
        );
    }

    #[test]
    fn passing_request_includes_the_reason() {
        let passed = EndpointAction::Passed(Response::new(()));
        let response = endpoint_response(Dialect::Envoy, passed, None);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[DECISION], "pass");
        assert_eq!(response.headers()[CAUSE], "not-a-robot");
    }
}

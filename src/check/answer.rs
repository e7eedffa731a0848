//! From a decision to what a proxy reads of it.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;

use crate::layer::Outcome;
use crate::policy::Action;
use crate::traffic::decision_word;

use super::{CAUSE, DECISION, Dialect, LOCATION, PAGE, STATUS, TEXT};

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
    let mut response = match (answered, dialect) {
        // The file in Lua tells an answer from a failure by what is added, and takes that off.
        (Answered::Passed(response), _) | (Answered::Told(response, _), Dialect::Haproxy) => {
            response
        }
        (Answered::InPlace(page, mut response), Dialect::Nginx) => {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response.headers_mut().insert(PAGE, page);
            response
        }
        (Answered::InPlace(page, mut response), _) => {
            *response.status_mut() = StatusCode::FOUND;
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, page);
            if dialect != Dialect::Haproxy {
                return response;
            }
            response
        }
        (Answered::Told(response, text), Dialect::Nginx) => of_headers(response, &text),
        // The visitor gets it as it is: nothing in it is for the proxy.
        (Answered::Told(response, _), _) => return response,
    };
    let headers = response.headers_mut();
    // Proxies take over one line of each name.
    join(headers, &header::LINK);
    join(headers, &header::WWW_AUTHENTICATE);
    let outcome = outcome.cloned().unwrap_or_default();
    headers.insert(DECISION, HeaderValue::from_static(decision_word(&outcome)));
    if let Some(cause) = line(outcome.cause().as_bytes()) {
        headers.insert(CAUSE, cause);
    }
    response
}

/// Says that a request cannot be decided about, with the answer that its visitor is to get.
pub(crate) fn unanswerable<B: Default>(dialect: Dialect, mut response: Response<B>) -> Response<B> {
    match dialect {
        Dialect::Nginx => of_headers(response, b""),
        Dialect::Haproxy => {
            let refuse = HeaderValue::from_static(Action::Refuse.as_str());
            response.headers_mut().insert(DECISION, refuse);
            response
        }
        Dialect::Caddy | Dialect::Traefik | Dialect::Envoy => response,
    }
}

/// Turns an answer into headers: nginx drops the rest of an answer that lets nobody pass.
fn of_headers<B: Default>(mut response: Response<B>, text: &[u8]) -> Response<B> {
    let status = HeaderValue::from(response.status().as_u16());
    *response.status_mut() = StatusCode::FORBIDDEN;
    *response.body_mut() = B::default();
    let headers = response.headers_mut();
    headers.insert(STATUS, status);
    rename(headers, header::LOCATION, LOCATION);
    headers.remove(header::CONTENT_TYPE);
    if let Some(text) = line(text).filter(|text| !text.is_empty()) {
        headers.insert(TEXT, text);
    }
    response
}

fn rename(headers: &mut HeaderMap, from: HeaderName, to: HeaderName) {
    if let Some(value) = headers.remove(from) {
        headers.insert(to, value);
    }
}

/// Writes the lines of a list as one, which says the same (RFC 9110 §5.3).
fn join(headers: &mut HeaderMap, name: &HeaderName) {
    let lines: Vec<&[u8]> = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if lines.len() > 1
        && let Ok(value) = HeaderValue::from_bytes(&lines.join(&b", "[..]))
    {
        headers.insert(name, value);
    }
}

/// Returns a text as one line; what no header may hold becomes a blank.
fn line(text: &[u8]) -> Option<HeaderValue> {
    let text = text.trim_ascii().iter().map(|&byte| match byte {
        0..b' ' | 0x7f => b' ',
        byte => byte,
    });
    HeaderValue::from_bytes(&text.collect::<Vec<u8>>()).ok()
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
        assert_eq!(response.headers()[STATUS], "402");
        assert_eq!(response.headers()[TEXT], &b"Pay. Here: \xc3\xbc"[..]);
        assert_eq!(response.headers()["retry-after"], "5");
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
            let mut names = response.headers().keys();
            assert!(!names.any(|name| name.as_str().starts_with("x-robot-detection")));
        }
    }

    #[test]
    fn a_page_in_place_is_nginx_s_to_serve_and_a_redirect_of_the_others() {
        let in_place =
            || Answered::InPlace(HeaderValue::from_static("/heaven/"), Response::new(()));
        let response = answer(Dialect::Nginx, in_place(), None);
        assert_eq!(
            (response.status().as_u16(), &response.headers()[PAGE]),
            (401, &HeaderValue::from_static("/heaven/"))
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

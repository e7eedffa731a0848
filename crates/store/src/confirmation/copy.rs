//! A copy of a page, with the confirmation form.

use askama::Template;
use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
};
use memchr::memmem;

use robot_detection_texts::Language;

/// The maximum size of a page to which the confirmation form is added. Larger pages are served
/// unchanged.
const MAX_BYTES: usize = 8 << 20;

/// The confirmation form shown to human visitors on the copy of a page.
#[derive(Template)]
#[template(path = "way_out/form.html")]
pub(super) struct Form<'f> {
    pub(super) language: Language,
    pub(super) action: &'f str,
    pub(super) to: &'f str,
    pub(super) at_s: i64,
    pub(super) signature: &'f str,
}

/// A page that explains why a submitted confirmation was rejected.
#[derive(Template)]
#[template(path = "way_out/problem.html")]
pub(super) struct Problem<'f> {
    pub(super) language: Language,
    pub(super) reason: &'f str,
    pub(super) form: &'f str,
}

/// Adds a form at the beginning of a page that is served instead of the requested page.
pub async fn with_form(copy: Response<Body>, form: &str) -> Response<Body> {
    let (mut head, body) = copy.into_parts();
    let is_html = head.headers.get(header::CONTENT_TYPE);
    let is_html = is_html.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    // The original page has another modification time and other validators.
    for name in [
        header::ETAG,
        header::LAST_MODIFIED,
        header::ACCEPT_RANGES,
        header::EXPIRES,
    ] {
        head.headers.remove(name);
    }
    let no_store = HeaderValue::from_static("private, no-store");
    head.headers.insert(header::CACHE_CONTROL, no_store);
    let told = head.headers.get(header::CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse().ok());
    let length = http_body::Body::size_hint(&body).exact().or(told);
    let is_short = length.is_some_and(|length| length <= MAX_BYTES as u64);
    if !is_html || !is_short || http_body::Body::is_end_stream(&body) {
        return Response::from_parts(head, body);
    }
    let Ok(page) = axum::body::to_bytes(body, MAX_BYTES).await else {
        // The file was truncated or has grown while it was being read.
        return super::confirmation::copy_unavailable();
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let (before, behind) = page.split_at(body_start(&page));
    let page = [before, form.as_bytes(), behind].concat();
    Response::from_parts(head, Body::from(page))
}

/// Returns the position at which the content of a page begins.
fn body_start(page: &[u8]) -> usize {
    let tag = memmem::find_iter(page, b"<body")
        .chain(memmem::find_iter(page, b"<BODY"))
        .min();
    let end = tag.and_then(|tag| Some(tag + memchr::memchr(b'>', page.get(tag..)?)? + 1));
    // Text before a doctype would change how a browser renders the page.
    end.unwrap_or(page.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn put(kind: &'static str, page: &'static str) -> String {
        let mut response = Response::new(Body::from(page));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::ETAG, HeaderValue::from_static("\"a\""));
        let response = with_form(response, "<FORM>").await;
        assert_eq!(response.headers()["cache-control"], "private, no-store");
        assert!(!response.headers().contains_key("etag"));
        let page = axum::body::to_bytes(response.into_body(), 1_000).await;
        String::from_utf8(page.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn form_is_placed_at_the_start_of_the_page() {
        for (page, expected) in [
            (
                "<!doctype html><body class=a><p>b",
                "<!doctype html><body class=a><FORM><p>b",
            ),
            ("<html><BODY>b</BODY>", "<html><BODY><FORM>b</BODY>"),
            ("<p>b", "<p>b<FORM>"),
            ("<body", "<body<FORM>"),
        ] {
            assert_eq!(put("text/html; charset=utf-8", page).await, expected);
        }
        assert_eq!(put("text/markdown", "# <body>").await, "# <body>");
    }
}

//! The stage that serves Markdown instead of HTML to clients that prefer Markdown.

use std::sync::Arc;

use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode, Uri,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE},
    uri::PathAndQuery,
};

use crate::layer::header::{is_read, may_be_logged_in, vary_by};
use crate::policy::{Action, Visitor};

use super::{
    RequestState, Stage,
    in_place::{self, NoCopies},
};

/// The weight of a media range without `q`, in thousandths.
const FULL_WEIGHT: u16 = 1_000;

/// The pages of a site that are available as Markdown.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use http::{Uri, uri::PathAndQuery};
/// use robot_detection_layer::layer::{MarkdownPages, RobotDetectionLayer};
///
/// /// Every manual page is public and available as Markdown.
/// struct Manual;
///
/// impl MarkdownPages for Manual {
///     fn has(&self, asked: &Uri) -> bool {
///         asked.path().starts_with("/manual/")
///     }
///
///     fn page(&self, asked: &Uri) -> Option<PathAndQuery> {
///         format!("/robot-heaven{}.md", asked.path()).try_into().ok()
///     }
/// }
///
/// let layer = RobotDetectionLayer::builder().build()?.markdown(Arc::new(Manual));
/// # Ok::<(), robot_detection_layer::layer::LayerError>(())
/// ```
pub trait MarkdownPages: Send + Sync {
    /// Returns `true` if a page is public (readable without a login) and available as Markdown.
    ///
    /// This function is called for each passing GET and HEAD request, so it must be fast and must
    /// not block.
    fn has(&self, asked: &Uri) -> bool;

    /// Returns the path and query at which the application serves the Markdown version of a page.
    fn page(&self, asked: &Uri) -> Option<PathAndQuery>;

    /// Returns `true` if a visitor may get Markdown; `None` stands for a human visitor. By default,
    /// all visitors may get Markdown.
    fn is_for(&self, visitor: Option<Visitor<'_>>) -> bool {
        let _ = visitor;
        true
    }
}

/// The source of pages available as Markdown; by default, there is no source.
pub(crate) type MarkdownSource = Option<Arc<dyn MarkdownPages>>;

/// The form in which a page is served.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Form {
    /// The page has only one form.
    #[default]
    Only,
    /// The application's own form of a page that has two forms.
    Own,
    Markdown,
}

impl Stage for MarkdownSource {
    fn ready<B>(
        &self,
        request: &mut Request<B>,
        visitor: Option<Visitor<'_>>,
        case: &mut RequestState<'_>,
    ) {
        if let Some(pages) = self
            && case.routes
            && case.own.is_none()
            && case.trap.is_none()
            && case.disposition.action() == Action::Pass
            && !case.policy().is_dry_run()
        {
            case.additions.form = Form::ready(&**pages, request, visitor);
        }
    }
}

impl Form {
    /// Prepares a passing request for the form in which the page is served.
    ///
    /// Requests with credentials or a cookie may be for a private page, so these requests get the
    /// original form.
    fn ready<B>(
        pages: &dyn MarkdownPages,
        request: &mut Request<B>,
        visitor: Option<Visitor<'_>>,
    ) -> Self {
        if !is_read(request) || !pages.has(request.uri()) {
            return Self::Only;
        }
        let may_have = request.extensions().get::<NoCopies>().is_none();
        let is_wanted = may_have && asks_for_markdown(request) && pages.is_for(visitor);
        match is_wanted.then(|| pages.page(request.uri())).flatten() {
            Some(page) => {
                in_place::rewrite(request, &page, false);
                Self::Markdown
            }
            None => Self::Own,
        }
    }

    /// Adds the headers that caches need to distinguish the forms.
    pub(crate) fn add_cache_headers<B>(self, response: &mut Response<B>) {
        let is_known = response.status() == StatusCode::NOT_MODIFIED;
        let headers = response.headers_mut();
        match self {
            // A 304 response has the same Vary as a 200 (RFC 9110 §15.4.5), and no content type.
            Self::Own if is_known || is_html(headers) => vary_by(headers, "Accept"),
            Self::Only | Self::Own => {}
            Self::Markdown => {
                vary_by(headers, "Accept");
                // Caches that ignore Vary, as in some CDNs, must not serve Markdown to human
                // visitors.
                if !headers.contains_key(CACHE_CONTROL) {
                    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private"));
                }
            }
        }
    }
}

/// Returns `true` if a request prefers Markdown and has neither a cookie nor credentials.
#[doc(hidden)]
pub fn asks_for_markdown<B>(request: &Request<B>) -> bool {
    is_read(request) && prefers_markdown(request.headers()) && !may_be_logged_in(request)
}

fn is_html(headers: &HeaderMap) -> bool {
    let is = |value: &HeaderValue| {
        let start = value.as_bytes().get(..9);
        start.is_some_and(|start| start.eq_ignore_ascii_case(b"text/html"))
    };
    headers.get(CONTENT_TYPE).is_some_and(is)
}

/// Returns `true` if `Accept` lists Markdown with at least the weight of HTML.
///
/// Weights follow RFC 9110 §12.5.1: for HTML, the most specific range applies. A zero or invalid
/// weight for `text/markdown` means that the client rejects Markdown.
#[must_use]
pub fn prefers_markdown(headers: &HeaderMap) -> bool {
    // Fast path for nearly all requests.
    let is_named = |line: &HeaderValue| memchr::memchr2(b'k', b'K', line.as_bytes()).is_some();
    let lines = headers.get_all(ACCEPT);
    if !lines.iter().any(is_named) {
        return false;
    }
    let mut markdown: Option<u16> = None;
    // Weights of `*/*`, `text/*` and `text/html`.
    let mut html: [Option<u16>; 3] = [None; 3];
    let lines = lines.iter().filter_map(|line| line.to_str().ok());
    for range in lines.flat_map(|line| line.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = weight.map_or(FULL_WEIGHT, thousandths);
        if media.eq_ignore_ascii_case("text/markdown") {
            markdown = Some(markdown.map_or(weight, |known| known.min(weight)));
            continue;
        }
        let names = ["*/*", "text/*", "text/html"];
        if let Some(at) = names
            .iter()
            .position(|name| media.eq_ignore_ascii_case(name))
            && let Some(known) = html.get_mut(at)
        {
            *known = Some(weight);
        }
    }
    let html = html.into_iter().rev().flatten().next().unwrap_or_default();
    markdown.is_some_and(|markdown| markdown > 0 && markdown >= html)
}

/// Parses a weight such as `0.75` into thousandths; an invalid weight is 0.
fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    // A weight has at most three decimals (RFC 9110 §12.4.2).
    let is_digits = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match whole {
        "1" => FULL_WEIGHT,
        "0" if is_digits => {
            let digits = fraction.bytes().chain([b'0'; 3]).take(3);
            digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::detect::{Claim, Verdict};

    fn wants(lines: &[&str]) -> bool {
        let lines = lines.iter().map(|line| (ACCEPT, line.parse().unwrap()));
        prefers_markdown(&lines.collect::<HeaderMap>())
    }

    #[test]
    fn markdown_must_be_named_and_weigh_at_least_as_much_as_html() {
        for (accept, expected) in [
            ("text/markdown", true),
            ("text/markdown, text/html, */*", true),
            ("text/html, text/markdown", true),
            ("text/markdown, text/html;q=0.9, */*;q=0.8", true),
            ("text/markdown;q=0.9, */*;q=0.8", true),
            ("Text/Markdown; charset=utf-8; q=0.5, text/html;Q=0.5", true),
            ("text/markdown;q=0.001", true),
            ("TEXT/MARKDOWN", true),
            ("text/markdown;q=0.5, text/html;q=0.4, */*", true),
            ("text/html, text/markdown;q=0.9", false),
            ("text/html;q=0.91, text/markdown;q=0.9", false),
            ("text/markdown;q=0.5, */*", false),
            ("text/markdown;q=0.5, text/*;q=0.6", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("*/*", false),
            ("text/*", false),
            ("text/plain", false),
            ("text/markdown;q=0", false),
            ("text/markdown;q=0.000, */*;q=0", false),
            ("text/markdown, text/markdown;q=0", false),
            ("text/markdown;q=many", false),
            ("text/markdown;q=1.5", true),
            ("text/markdown;q=0.0001", false),
            ("text/markdown;q=0.é", false),
            ("text/markdownish", false),
            ("application/k", false),
            ("", false),
        ] {
            assert_eq!(wants(&[accept]), expected, "{accept}");
        }
        assert!(wants(&["text/html;q=0.5", "text/markdown"]));
        assert!(!wants(&["text/html", "text/markdown;q=0.5"]));
        assert!(!wants(&[]));
    }

    struct Pages;

    impl MarkdownPages for Pages {
        fn has(&self, asked: &Uri) -> bool {
            asked.path().starts_with("/a")
        }

        fn page(&self, asked: &Uri) -> Option<PathAndQuery> {
            (asked.path() == "/a").then(|| PathAndQuery::from_static("/h/a.md"))
        }

        fn is_for(&self, visitor: Option<Visitor<'_>>) -> bool {
            visitor.is_none()
        }
    }

    fn form(method: Method, target: &str, lines: &[(&str, &str)]) -> (Form, String) {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let mut request = request.body(()).unwrap();
        let form = Form::ready(&Pages, &mut request, None);
        (form, request.uri().to_string())
    }

    #[test]
    fn form_of_a_page_depends_on_request_and_visitor() {
        let wants = ("accept", "text/markdown");
        let own = |target: &str| (Form::Own, target.to_owned());
        assert_eq!(form(Method::GET, "/a", &[wants]).0, Form::Markdown);
        assert_eq!(form(Method::HEAD, "/a", &[wants]).1, "/h/a.md");
        assert_eq!(form(Method::GET, "/a", &[]), own("/a"));
        assert_eq!(form(Method::GET, "/a", &[("accept", "*/*")]), own("/a"));
        assert_eq!(
            form(Method::GET, "/a", &[wants, ("cookie", "a=b")]),
            own("/a")
        );
        let secret = ("authorization", "Basic x");
        assert_eq!(form(Method::GET, "/a", &[wants, secret]), own("/a"));
        assert_eq!(form(Method::GET, "/ab", &[wants]), own("/ab"));
        assert_eq!(form(Method::GET, "/b", &[wants]).0, Form::Only);
        assert_eq!(form(Method::POST, "/a", &[wants]).0, Form::Only);
        let mut request = Request::get("/a")
            .header("accept", "text/markdown")
            .body(())
            .unwrap();
        let robot = Visitor::new(&Claim::Nameless, Verdict::Unverifiable);
        let form = Form::ready(&Pages, &mut request, Some(robot));
        assert_eq!(form, Form::Own);
    }

    #[test]
    fn only_responses_with_two_forms_vary_by_accept() {
        let told = |form: Form, status: u16, content_type: &str| {
            let mut response = Response::builder()
                .status(status)
                .header(CONTENT_TYPE, content_type)
                .header("vary", "Accept-Encoding")
                .body(())
                .unwrap();
            form.add_cache_headers(&mut response);
            let lines = response.headers().get_all("vary").iter();
            lines
                .filter_map(|line| line.to_str().ok())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let both = "Accept-Encoding, Accept";
        assert_eq!(told(Form::Own, 200, "Text/HTML; charset=utf-8"), both);
        assert_eq!(told(Form::Own, 404, "text/html"), both);
        assert_eq!(told(Form::Own, 304, ""), both);
        assert_eq!(told(Form::Own, 200, "application/pdf"), "Accept-Encoding");
        assert_eq!(told(Form::Only, 200, "text/html"), "Accept-Encoding");
        assert_eq!(told(Form::Markdown, 200, "text/markdown"), both);
    }
}

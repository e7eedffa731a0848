//! The stage that serves heaven pages directly instead of the requested pages.

use std::sync::{Arc, Once};

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Uri,
    header::{
        ACCEPT, CACHE_CONTROL, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
        IF_UNMODIFIED_SINCE, RANGE,
    },
    uri::PathAndQuery,
};

use tracing::error;

use crate::layer::{
    head::{Head, StageAnswer},
    header::{is_read, vary_by_user_agent},
};
use crate::policy::{Action, Decision, Rule, Visitor};

use super::{Disposition, ReceivedRequest, RequestState, Requester, Stage};

/// Conditional request headers, which may refer to another page that a robot received at this URL.
///
/// Entity tags of another page do not apply, but `If-None-Match` may list the entity tags of
/// another form of the requested page.
const CONDITIONAL_HEADERS: [HeaderName; 5] = [
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
    IF_RANGE,
    RANGE,
];

/// A request extension for visitors that can be redirected but cannot be served another page
/// directly: suspects do not get a copy.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct NoCopies;

/// Headers that only scripts, media players, and clients with credentials send.
const NON_NAVIGATION_HEADERS: [&str; 5] = [
    "authorization",
    "origin",
    "range",
    "upgrade",
    "x-requested-with",
];

/// The original URL of a request for which a heaven page is served directly.
///
/// Only the layer adds `ServedDirectly` to the extensions of a request; the URL of the request
/// itself is the heaven page's URL. The service that serves heaven may choose a page that fits the
/// original URL better.
///
/// # Example
///
/// ```
/// use axum::{Extension, extract::Request};
/// use robot_detection_layer::layer::ServedDirectly;
///
/// async fn heaven(served: Option<Extension<ServedDirectly>>) -> String {
///     match served {
///         Some(Extension(served)) => format!("A summary of {}.", served.uri().path()),
///         None => "Robot heaven.".to_owned(),
///     }
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServedDirectly {
    original: Uri,
    is_for_suspect: bool,
}

impl ServedDirectly {
    /// Returns the URL that the robot requested.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.original
    }

    /// Returns `true` if the page is served to a [suspect](crate::suspect), which may be human.
    #[must_use]
    pub fn is_for_suspect(&self) -> bool {
        self.is_for_suspect
    }
}

/// A function that returns `true` if heaven has a copy of the page at a URL.
type HasCopy = dyn Fn(&Uri) -> bool + Send + Sync;

/// The pages of which heaven has copies; by default, there are no copies.
#[derive(Clone, Default)]
pub(crate) struct Copies {
    pub(crate) has: Option<Arc<HasCopy>>,
}

impl Stage for Copies {
    fn decide<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        _: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        let Disposition::Decided(Decision::Serve(_), Some(rule)) = case.disposition else {
            return;
        };
        let may_have = case.reasons.is_empty() || case.routes && self.has_copy(received.request);
        if !may_have {
            case.disposition = Disposition::Pass;
        } else if !case.routes {
            warn_misplaced(rule);
            case.disposition = StageAnswer::new(Action::Refuse, Head::forbidden()).into();
        }
    }

    fn ready<B>(
        &self,
        request: &mut Request<B>,
        _: Option<Visitor<'_>>,
        case: &mut RequestState<'_>,
    ) {
        if let Disposition::Decided(Decision::Serve(_), rule) = case.disposition
            && let Some(page) = case.answers.page(rule)
        {
            rewrite_to_heaven(request, page, !case.reasons.is_empty());
            case.additions.is_in_place = true;
        }
    }
}

impl Copies {
    /// Returns `true` if the request opens a page of which heaven has a copy.
    fn has_copy<B>(&self, request: &Request<B>) -> bool {
        request.extensions().get::<NoCopies>().is_none()
            && is_navigation(request)
            && self.has.as_ref().is_some_and(|has| has(request.uri()))
    }
}

/// Logs once that a rule cannot serve its page because the layer does not wrap the router.
#[cold]
fn warn_misplaced(rule: &Rule) {
    static REPORTED: Once = Once::new();
    let rule = rule.label();
    REPORTED.call_once(|| {
        error!(
            rule,
            "{rule} serves heaven directly, but the layer does not wrap the router, so such requests are refused; use RobotDetectionLayer::around"
        );
    });
}

/// Rewrites a request into a request for a heaven page.
#[doc(hidden)]
pub fn rewrite_to_heaven<B>(request: &mut Request<B>, page: &PathAndQuery, is_for_suspect: bool) {
    request.headers_mut().remove(IF_NONE_MATCH);
    rewrite(request, page, is_for_suspect);
}

/// Rewrites a request into a request for another page, or for another form of the same page.
pub(super) fn rewrite<B>(request: &mut Request<B>, page: &PathAndQuery, is_for_suspect: bool) {
    let original = request.uri().clone();
    let mut parts = original.clone().into_parts();
    parts.path_and_query = Some(page.clone());
    // A target in authority form (CONNECT) has no scheme, so no path can be added to it.
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from(page.clone()));
    for name in CONDITIONAL_HEADERS {
        request.headers_mut().remove(name);
    }
    request.extensions_mut().insert(ServedDirectly {
        original,
        is_for_suspect,
    });
}

/// Adds the headers of a page that is served directly instead of the requested page.
#[doc(hidden)]
pub fn add_direct_page_headers(headers: &mut HeaderMap) {
    vary_by_user_agent(headers);
    forbid_caching(headers);
}

/// Returns `true` if a request seems to open a page in a browser; requests for subresources, forms,
/// APIs and feeds are never answered with another page.
#[doc(hidden)]
pub fn is_navigation<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let says = |name: &str, words: &[&str]| {
        headers
            .get(name)
            .is_none_or(|value| words.iter().any(|word| value == word))
    };
    let accept = headers.get(ACCEPT).map_or(&b""[..], HeaderValue::as_bytes);
    let takes_page =
        matches!(accept, b"" | b"*/*") || memchr::memmem::find(accept, b"text/html").is_some();
    is_read(request)
        && takes_page
        && says("sec-fetch-mode", &["navigate"])
        && says("sec-fetch-dest", &["document"])
        && !NON_NAVIGATION_HEADERS
            .iter()
            .any(|name| headers.contains_key(*name))
}

/// Adds `Cache-Control: no-store` to a response unless it already has `Cache-Control`.
pub(crate) fn forbid_caching(headers: &mut HeaderMap) {
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewritten_request_is_for_heaven_on_the_same_host() {
        for (target, expected) in [
            ("/members/a?b=c", "/heaven/"),
            ("https://a.example/members/a", "https://a.example/heaven/"),
            ("a.example:443", "/heaven/"),
        ] {
            let mut request = Request::builder()
                .uri(target)
                .header(RANGE, "bytes=0-1")
                .header(IF_NONE_MATCH, "\"x\"")
                .header("accept", "text/html")
                .body(())
                .unwrap();
            rewrite_to_heaven(&mut request, &PathAndQuery::from_static("/heaven/"), false);
            assert_eq!(request.uri().to_string(), expected);
            let served = request.extensions().get::<ServedDirectly>().unwrap();
            assert_eq!(served.uri(), target);
            assert!(!served.is_for_suspect());
            let names: Vec<_> = request.headers().keys().collect();
            assert_eq!(names, ["accept"]);
        }
    }

    #[test]
    fn navigation_opens_a_page_and_subresources_do_not() {
        let get = |lines: &[(&str, &str)]| {
            let mut request = Request::get("/a");
            for (name, value) in lines {
                request = request.header(*name, *value);
            }
            is_navigation(&request.body(()).unwrap())
        };
        let page = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        for lines in [
            &[][..],
            &[page],
            &[("accept", "*/*")],
            &[
                page,
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ],
        ] {
            assert!(get(lines), "{lines:?}");
        }
        for lines in [
            &[("accept", "application/json")][..],
            &[("accept", "text/css,*/*;q=0.1")],
            &[("accept", "application/rss+xml")],
            &[page, ("sec-fetch-mode", "cors")],
            &[("accept", "*/*"), ("sec-fetch-dest", "script")],
            &[page, ("authorization", "Basic x")],
            &[page, ("range", "bytes=0-")],
            &[("accept", "*/*"), ("x-requested-with", "XMLHttpRequest")],
            &[("accept", "*/*"), ("origin", "https://a.example")],
        ] {
            assert!(!get(lines), "{lines:?}");
        }
        let form = Request::post("/a").header(page.0, page.1).body(()).unwrap();
        assert!(!is_navigation(&form));
    }

    #[test]
    fn cache_control_of_a_page_is_kept() {
        let mut headers = HeaderMap::new();
        forbid_caching(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        forbid_caching(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "max-age=60");
    }
}

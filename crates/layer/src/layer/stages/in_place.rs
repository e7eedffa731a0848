//! Pages that are served in place of those that were asked for.

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

use super::{Case, Disposition, ReceivedRequest, Requester, Stage};

/// What robots ask about the page that they once got at this URL, which may be another.
///
/// Tags of another page are no tags of this one, but those of another form may stand beside its own.
const ABOUT_ANOTHER_PAGE: [HeaderName; 5] = [
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
    IF_RANGE,
    RANGE,
];

/// Request of a visitor who can be sent elsewhere, but given no other page in place: then a suspect
/// gets no copy. It is put into the extensions of the request.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct NoCopies;

/// What is sent by a page's own program, by a player, or with a password.
const OF_PROGRAMS: [&str; 5] = [
    "authorization",
    "origin",
    "range",
    "upgrade",
    "x-requested-with",
];

/// Request whose page is served in place of the one that it asked for.
///
/// It is in the extensions of such a request, and comes from nowhere but the
/// layer; the request itself asks for the page of heaven. Who serves heaven may
/// look for a page that fits the original URL better.
///
/// # Example
///
/// ```
/// use axum::{Extension, extract::Request};
/// use robot_detection_layer::layer::ServedInPlace;
///
/// async fn heaven(served: Option<Extension<ServedInPlace>>) -> String {
///     match served {
///         Some(Extension(served)) => format!("What members find at {}.", served.uri().path()),
///         None => "Robot heaven.".to_owned(),
///     }
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServedInPlace {
    original: Uri,
    is_for_suspect: bool,
}

impl ServedInPlace {
    /// Returns the URL that the robot asked for.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.original
    }

    /// Returns `true` if it stands in the place of a page that a [suspect](crate::suspect) asked for,
    /// who may be a person.
    #[must_use]
    pub fn is_for_suspect(&self) -> bool {
        self.is_for_suspect
    }
}

/// Returns `true` for the URL of a page of which heaven has a copy.
type HasCopy = dyn Fn(&Uri) -> bool + Send + Sync;

/// Pages of which heaven has copies; by default there are none.
#[derive(Clone, Default)]
pub(crate) struct Copies {
    pub(crate) has: Option<Arc<HasCopy>>,
}

impl Stage for Copies {
    fn decide<B>(&self, received: &ReceivedRequest<'_, B>, _: Requester<'_>, case: &mut Case<'_>) {
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

    fn ready<B>(&self, request: &mut Request<B>, _: Option<Visitor<'_>>, case: &mut Case<'_>) {
        if let Disposition::Decided(Decision::Serve(_), rule) = case.disposition
            && let Some(page) = case.answers.page(rule)
        {
            ask_for(request, page, !case.reasons.is_empty());
            case.additions.is_in_place = true;
        }
    }
}

impl Copies {
    /// Returns `false` if heaven has no copy of a page, or where no page is opened.
    fn has_copy<B>(&self, request: &Request<B>) -> bool {
        request.extensions().get::<NoCopies>().is_none()
            && opens_page(request)
            && self.has.as_ref().is_some_and(|has| has(request.uri()))
    }
}

/// Reports once that a rule cannot serve its page where the layer stands.
#[cold]
fn warn_misplaced(rule: &Rule) {
    static REPORTED: Once = Once::new();
    let rule = rule.label();
    REPORTED.call_once(|| {
        error!(
            rule,
            "{rule} serves a page in place of the requested one, but the layer is not around the router: such requests are refused; use RobotDetectionLayer::around"
        );
    });
}

/// Turns a request into one for a page of heaven.
#[doc(hidden)]
pub fn ask_for<B>(request: &mut Request<B>, page: &PathAndQuery, is_for_suspect: bool) {
    request.headers_mut().remove(IF_NONE_MATCH);
    turn(request, page, is_for_suspect);
}

/// Turns a request into one for another page, or another form of its page.
pub(super) fn turn<B>(request: &mut Request<B>, page: &PathAndQuery, is_for_suspect: bool) {
    let original = request.uri().clone();
    let mut parts = original.clone().into_parts();
    parts.path_and_query = Some(page.clone());
    // A target in authority form (CONNECT) has no scheme, without which no path can be added.
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from(page.clone()));
    for name in ABOUT_ANOTHER_PAGE {
        request.headers_mut().remove(name);
    }
    request.extensions_mut().insert(ServedInPlace {
        original,
        is_for_suspect,
    });
}

/// Marks the response of a page that stands in place of another.
#[doc(hidden)]
pub fn mark_in_place(headers: &mut HeaderMap) {
    vary_by_user_agent(headers);
    keep_out_of_caches(headers);
}

/// Returns `true` if somebody opens a page, as far as a request tells: its parts, forms, programs'
/// interfaces and feeds are never answered by another page.
#[doc(hidden)]
pub fn opens_page<B>(request: &Request<B>) -> bool {
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
        && !OF_PROGRAMS.iter().any(|name| headers.contains_key(*name))
}

/// Keeps a page out of caches, unless it says something of that itself.
pub(crate) fn keep_out_of_caches(headers: &mut HeaderMap) {
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_asks_for_heaven_on_the_same_host() {
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
            ask_for(&mut request, &PathAndQuery::from_static("/heaven/"), false);
            assert_eq!(request.uri().to_string(), expected);
            let served = request.extensions().get::<ServedInPlace>().unwrap();
            assert_eq!(served.uri(), target);
            assert!(!served.is_for_suspect());
            let names: Vec<_> = request.headers().keys().collect();
            assert_eq!(names, ["accept"]);
        }
    }

    #[test]
    fn a_page_is_opened_by_hand_and_its_parts_are_not() {
        let get = |lines: &[(&str, &str)]| {
            let mut request = Request::get("/a");
            for (name, value) in lines {
                request = request.header(*name, *value);
            }
            opens_page(&request.body(()).unwrap())
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
        assert!(!opens_page(&form));
    }

    #[test]
    fn what_a_page_says_of_caches_stays() {
        let mut headers = HeaderMap::new();
        keep_out_of_caches(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "no-store");
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        keep_out_of_caches(&mut headers);
        assert_eq!(headers[CACHE_CONTROL], "max-age=60");
    }
}

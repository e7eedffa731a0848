//! Pages that are served in place of those that were asked for.

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Uri,
    header::{
        CACHE_CONTROL, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
        RANGE,
    },
    uri::PathAndQuery,
};

use super::header::vary_by_user_agent;

/// What robots ask about the page that they once got at this URL, which may be another.
const ABOUT_ANOTHER_PAGE: [HeaderName; 6] = [
    IF_MATCH,
    IF_NONE_MATCH,
    IF_MODIFIED_SINCE,
    IF_UNMODIFIED_SINCE,
    IF_RANGE,
    RANGE,
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
}

impl ServedInPlace {
    /// Returns the URL that the robot asked for.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.original
    }
}

/// Turns a request into one for a page of heaven.
#[doc(hidden)]
pub fn ask_for<B>(request: &mut Request<B>, page: &PathAndQuery) {
    let original = request.uri().clone();
    let mut parts = original.clone().into_parts();
    parts.path_and_query = Some(page.clone());
    // A target in authority form (CONNECT) has no scheme, without which no path can be added.
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from(page.clone()));
    for name in ABOUT_ANOTHER_PAGE {
        request.headers_mut().remove(name);
    }
    request.extensions_mut().insert(ServedInPlace { original });
}

/// Marks the response of a page that stands in place of another.
#[doc(hidden)]
pub fn mark_in_place(headers: &mut HeaderMap) {
    vary_by_user_agent(headers);
    keep_out_of_caches(headers);
}

/// Keeps a page out of caches, unless it says something of that itself.
pub(super) fn keep_out_of_caches(headers: &mut HeaderMap) {
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
            ask_for(&mut request, &PathAndQuery::from_static("/heaven/"));
            assert_eq!(request.uri().to_string(), expected);
            let served = request.extensions().get::<ServedInPlace>().unwrap();
            assert_eq!(served.uri(), target);
            let names: Vec<_> = request.headers().keys().collect();
            assert_eq!(names, ["accept"]);
        }
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

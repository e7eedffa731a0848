//! The page to which ingress-nginx redirects visitors, because ingress-nginx supports only a fixed
//! redirect URL.

use axum::http::{
    HeaderValue,
    uri::{PathAndQuery, Uri},
};
use percent_encoding::percent_decode_str;

use super::REDIRECT_PATH;

/// URL parameter that contains the requested URL.
const PARAMETER: &str = "rd=";

/// Returns the requested URL from a target such as
/// `/robot-detection/redirect?rd=https://HOST/PAGE`, and the path and query of this URL.
///
/// Only a page on the same host is accepted, so that a link cannot redirect visitors elsewhere.
pub fn requested_page(uri: &Uri, host: &str) -> Option<(HeaderValue, PathAndQuery)> {
    if uri.path() != REDIRECT_PATH {
        return None;
    }
    let mut parameters = uri.query()?.split('&');
    let url = parameters.find_map(|parameter| parameter.strip_prefix(PARAMETER))?;
    let url = percent_decode_str(url).decode_utf8().ok()?;
    let rest = url.strip_prefix("https://");
    let rest = rest.or_else(|| url.strip_prefix("http://"))?;
    let (named, page) = rest.split_at(rest.find('/')?);
    // This path would redirect to itself.
    if !named.eq_ignore_ascii_case(host) || page.starts_with(REDIRECT_PATH) {
        return None;
    }
    Some((HeaderValue::try_from(&*url).ok()?, page.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_the_same_host_is_returned() {
        for (rd, page) in [
            ("https://example.org/a?b", Some("/a?b")),
            ("https%3A%2F%2Fexample.org%2Fa%3Fb%26c", Some("/a?b&c")),
            ("http://EXAMPLE.org/%252e", Some("/%2e")),
            ("https://example.org/a&rd=https://evil.example/", Some("/a")),
            ("https://evil.example/a", None),
            ("https://example.org@evil.example/a", None),
            ("https://example.org.evil.example/a", None),
            (
                "https://example.org//evil.example/a",
                Some("//evil.example/a"),
            ),
            ("https://example.org", None),
            ("https://example.org/a%0d%0ab", None),
            ("https://example.org/robot-detection/redirect?rd=x", None),
            ("//evil.example/", None),
            ("/a", None),
            ("javascript:alert(1)", None),
            ("", None),
        ] {
            let uri = format!("{REDIRECT_PATH}?rd={rd}").parse().unwrap();
            let found = requested_page(&uri, "example.org");
            assert_eq!(found.as_ref().map(|(_, page)| page.as_str()), page, "{rd}");
            // The redirect URL always contains the host, regardless of the page's path.
            let way_back = found.map(|(url, _)| url.to_str().unwrap().to_lowercase());
            assert!(way_back.is_none_or(|url| url.split('/').nth(2) == Some("example.org")));
        }
        assert_eq!(
            requested_page(
                &"/other?rd=https://example.org/a".parse().unwrap(),
                "example.org"
            ),
            None
        );
    }
}

//! The way on for visitors that ingress-nginx redirects: it knows one URL, and not the decision's.

use axum::http::uri::{PathAndQuery, Uri};
use percent_encoding::percent_decode_str;

use super::REDIRECT_PATH;

/// Parameter with the URL that the visitor has requested.
const PARAMETER: &str = "rd=";

/// Returns the requested page in a URL such as `/robot-detection/redirect?rd=https://HOST/PAGE`.
///
/// Only a page of the same host counts: a link cannot redirect visitors to another host.
pub(crate) fn requested_page(uri: &Uri, host: &str) -> Option<PathAndQuery> {
    if uri.path() != REDIRECT_PATH {
        return None;
    }
    let mut parameters = uri.query()?.split('&');
    let url = parameters.find_map(|parameter| parameter.strip_prefix(PARAMETER))?;
    let url = percent_decode_str(url).decode_utf8().ok()?;
    let rest = url.strip_prefix("https://");
    let rest = rest.or_else(|| url.strip_prefix("http://"))?;
    let (named, page) = rest.split_at(rest.find('/')?);
    // What a browser reads as another host's URL is no page, and neither is this path itself.
    let is_page =
        !page.starts_with("//") && !page.contains('\\') && !page.starts_with(REDIRECT_PATH);
    if !named.eq_ignore_ascii_case(host) || !is_page {
        return None;
    }
    page.parse().ok()
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
            ("https://example.org//evil.example/a", None),
            ("https://example.org/%5c", None),
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
            assert_eq!(found.as_ref().map(PathAndQuery::as_str), page, "{rd}");
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

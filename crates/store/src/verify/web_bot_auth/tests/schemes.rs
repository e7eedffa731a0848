//! Tests for signature bases when the scheme is unknown.

use super::{get, headers, signature};
use crate::verify::web_bot_auth::{SignedRequest, base::signature_bases};

/// Returns the assumed scheme and the first line of each signature base.
fn bases(scheme: Option<&str>, authority: &str, covered: &str) -> Vec<String> {
    let headers = headers(&[("host", authority)]);
    let request = SignedRequest {
        scheme,
        authority,
        ..get(&headers, "/a?b")
    };
    let input = signature(&format!("s=({covered})"), "s=:AA==:").0;
    let bases = signature_bases(&request, &input).unwrap().into_iter();
    let line = |bytes| {
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    bases
        .map(|base| match base.supposed {
            Some(scheme) => format!("{scheme}? {}", line(base.bytes)),
            None => line(base.bytes),
        })
        .collect()
}

#[test]
fn both_schemes_are_tried_only_if_unknown_and_relevant() {
    let host = "a.example";
    for (scheme, authority, covered, expected) in [
        (
            Some("http"),
            host,
            "\"@scheme\"",
            &["\"@scheme\": http"][..],
        ),
        (Some("https"), host, "\"@scheme\"", &["\"@scheme\": https"]),
        (
            None,
            host,
            "\"@scheme\"",
            &["https? \"@scheme\": https", "http? \"@scheme\": http"],
        ),
        (
            None,
            host,
            "\"@target-uri\"",
            &[
                "https? \"@target-uri\": https://a.example/a?b",
                "http? \"@target-uri\": http://a.example/a?b",
            ],
        ),
        (None, host, "\"@authority\"", &["\"@authority\": a.example"]),
        (
            None,
            "a.example:8080",
            "\"@authority\"",
            &["\"@authority\": a.example:8080"],
        ),
        (
            None,
            "a.example:443",
            "\"@authority\"",
            &[
                "https? \"@authority\": a.example",
                "http? \"@authority\": a.example:443",
            ],
        ),
    ] {
        let found = bases(scheme, authority, covered);
        assert_eq!(found, expected, "{scheme:?} {authority} {covered}");
    }
}

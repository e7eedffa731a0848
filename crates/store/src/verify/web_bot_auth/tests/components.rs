//! Tests for components: RFC 9421 §2.1 and §2.2.

use http::HeaderMap;
use sfv::{Item, Parser};

use super::{get, headers, signature};
use crate::verify::web_bot_auth::{
    SignedRequest, base::signature_bases, component, refusal::Refusal,
};

fn value(headers: &HeaderMap, target: &str, identifier: &str) -> Result<String, Refusal> {
    let item: Item = Parser::new(identifier).parse().unwrap();
    let request = SignedRequest {
        authority: "WWW.Example.com:443",
        ..get(headers, target)
    };
    component::value(&request, "https", &item).map(|value| String::from_utf8(value).unwrap())
}

/// Request target, component, and expected value.
const VALUES: &[(&str, &str, &str)] = &[
    ("/", "\"x-ows-header\"", "Leading and trailing whitespace."),
    ("/", "\"cache-control\"", "max-age=60, must-revalidate"),
    ("/", "\"x-empty-header\"", ""),
    ("/", "\"example-dict\";key=\"a\"", "1"),
    ("/", "\"example-dict\";key=\"b\"", "2;x=1;y=2"),
    ("/", "\"example-dict\";key=\"c\"", "(a b c)"),
    ("/", "\"example-dict\";key=\"d\"", "?1"),
    (
        "/",
        "\"example-header\";bs",
        ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:",
    ),
    ("/", "\"priority\";sf", "u=1, i"),
    ("/", "\"sec-ch-ua\";sf", "\"a\";v=\"1\", \"b\""),
    ("/", "\"@method\"", "GET"),
    ("/", "\"@scheme\"", "https"),
    ("/", "\"@authority\"", "www.example.com"),
    (
        "/path?param=value",
        "\"@target-uri\"",
        "https://www.example.com/path?param=value",
    ),
    ("*", "\"@target-uri\"", "https://www.example.com"),
    ("/path?a=b", "\"@request-target\"", "/path?a=b"),
    ("/path?a=b", "\"@path\"", "/path"),
    ("?a=b", "\"@path\"", "/"),
    ("/path?a=b&c", "\"@query\"", "?a=b&c"),
    ("/path", "\"@query\"", "?"),
    (
        "/p?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something",
        "\"@query-param\";name=\"var\"",
        "this%20is%20a%20big%0Amultiline%20value",
    ),
    (
        "/p?bar=with+plus+whitespace",
        "\"@query-param\";name=\"bar\"",
        "with%20plus%20whitespace",
    ),
    (
        "/p?fa%C3%A7ade%22%3A%20=something",
        "\"@query-param\";name=\"fa%C3%A7ade%22%3A%20\"",
        "something",
    ),
    ("/p?qux=", "\"@query-param\";name=\"qux\"", ""),
];

#[test]
fn components_have_the_values_of_the_rfc() {
    let headers = headers(&[
        ("x-ows-header", "   Leading and trailing whitespace.   "),
        ("cache-control", "max-age=60"),
        ("cache-control", "   must-revalidate"),
        ("x-empty-header", ""),
        ("example-dict", "  a=1,    b=2;x=1;y=2,   c=(a   b    c), d"),
        ("example-header", "value, with, lots"),
        ("example-header", "of, commas"),
        ("priority", "u=1,  i"),
        ("sec-ch-ua", "\"a\";v=\"1\",\"b\""),
    ]);
    for &(target, identifier, expected) in VALUES {
        assert_eq!(
            value(&headers, target, identifier).unwrap(),
            expected,
            "{identifier}"
        );
    }
}

#[test]
fn components_that_cannot_be_checked_are_rejected() {
    let headers = headers(&[("a", "1"), ("b", "x=(")]);
    for identifier in [
        "\"@status\"",
        "\"@signature-params\"",
        "\"@query-params\"",
        "\"@method\";req",
        "\"@method\";name=\"a\"",
        "\"@query-param\"",
        "\"a\";tr",
        "\"a\";req",
        "\"a\";sf",
        "\"a\";sf=?0",
        "\"a\";key=1",
        "\"a\";bs;sf",
        "\"a\";other",
        "\"A\"",
        "\"a b\"",
        "a",
        "1",
    ] {
        let refusal = value(&headers, "/", identifier).unwrap_err();
        assert!(matches!(refusal, Refusal::UnknownComponent(_)), "{refusal}");
    }
    for (target, identifier) in [
        ("/", "\"c\""),
        ("/", "\"b\";key=\"x\""),
        ("/", "\"a\";key=\"x\""),
        ("/", "\"@query-param\";name=\"a\""),
        ("/?a=1&a=2", "\"@query-param\";name=\"a\""),
    ] {
        let refusal = value(&headers, target, identifier).unwrap_err();
        assert!(matches!(refusal, Refusal::MissingComponent(_)), "{refusal}");
    }
    let twice = signature("s=(\"a\" \"b\" \"a\")", "s=:AA==:").0;
    let refusal = signature_bases(&get(&headers, "/"), &twice).unwrap_err();
    assert!(
        matches!(refusal, Refusal::RepeatedComponent(_)),
        "{refusal}"
    );
    let many = format!("s=({})", "\"a\" ".repeat(65));
    let many = signature(&many, "s=:AA==:").0;
    let refusal = signature_bases(&get(&headers, "/"), &many).unwrap_err();
    assert_eq!(refusal, Refusal::TooMuchCovered);
}

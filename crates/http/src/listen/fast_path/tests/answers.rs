//! Tests that responses equal hyper's responses and are sent in order.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::{
    LAST,
    talk::{run, said, same_as_hyper},
};

const PATHS: &[&str] = &[
    "/",
    "/ready",
    "/ready",
    "/ready-changed",
    "/ready-renamed",
    "/later",
    "/chunks",
    "/cut-chunks",
    "/cut-length",
    "/short",
    "/long",
    "/trailers",
    "/empty",
    "/none",
    "/none-length",
    "/unmodified",
    "/odd-status",
    "/own-reason",
    "/lengths",
    "/other-lengths",
    "/wrong-length",
    "/no-length",
    "/signed-length",
    "/huge-length",
    "/large-pieces",
    "/large-pieces-long",
    "/closes",
    "/connection",
    "/dated",
];

#[test]
fn responses_equal_those_of_hyper() {
    for path in PATHS.iter().chain(&["/head-length"]) {
        for method in ["GET", "HEAD"] {
            if (method, *path) == ("GET", "/head-length") {
                continue;
            }
            for connection in ["", "Connection: close\r\n", "Connection: Keep-Alive\r\n"] {
                let input = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{connection}\r\n");
                let plain = same_as_hyper(&format!("{input}{LAST}"), usize::MAX);
                assert!(plain > 0, "{input}");
            }
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let usual = prop::sample::select(vec![
        "Host: b",
        "Host:",
        "Connection: close",
        "Connection: Keep-Alive",
        "Connection: keep-alive, x",
        "connection: CLOSE",
        "Connection: upgrade",
        "TE: trailers",
        "Content-Length: 0",
        "Content-Length: 00",
        "Expect: 100-continue",
        "Accept: */*",
        "accept: a",
        "Accept: b",
        "X-Empty:",
        "X-Space : 1",
        "X-Fold: 1\r\n 2",
        "X-Tab:\t1\t",
        "X-Blank: ",
        "X-Nul: \u{0}",
        "X-Del: \u{7f}",
        "X-Text: é",
        "Cookie: a=b; c=d",
        "Upgrade: h2c",
        "HTTP2-Settings: AA",
        "Trailer: x",
        "no colon",
        ": no name",
        "X-CR: a\rb",
        "(x): 1",
        "Transfer-Encoding: identity",
        "Keep-Alive: 5",
    ]);
    prop_oneof![
        4 => usual.prop_map(str::to_owned),
        2 => ("[A-Za-z][A-Za-z0-9_-]{0,12}", "[ -~é]{0,20}").prop_map(|(name, value)| format!("{name}: {value}")),
    ]
}

fn head() -> impl Strategy<Value = String> {
    let method = prop::sample::select(vec![
        "GET", "GET", "GET", "GET", "HEAD", "HEAD", "OPTIONS", "DELETE", "POST", "get", "G(T",
    ]);
    let path = prop_oneof![
        3 => prop::sample::select(PATHS).prop_map(str::to_owned),
        2 => "/[!-~]{0,12}",
        1 => prop::sample::select(vec!["*", "http://b/x", "/a b", "/é", "", "/#x", "//a", "/%zz"])
            .prop_map(str::to_owned),
    ];
    let version = prop::sample::select(vec![
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/1.2",
        "HTTP/1.1 ",
    ]);
    let host = prop::sample::select(vec![
        "Host: a",
        "Host: a",
        "Host: a",
        "host: a.example:80",
        "X: y",
    ]);
    let lines = prop::collection::vec(line(), 0..4);
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"]);
    let before = prop::sample::select(vec!["", "", "", "", "", "", "\r\n", "\n"]);
    (before, method, path, version, host, lines, end).prop_map(
        |(before, method, path, version, host, lines, end)| {
            let mut head = format!("{before}{method} {path} {version}{end}{host}{end}");
            for line in lines {
                head.push_str(&line);
                head.push_str(end);
            }
            head.push_str(end);
            head
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_input_gets_the_same_response_as_from_hyper(
        heads in prop::collection::vec(head(), 1..4),
        piece in prop_oneof![3 => Just(usize::MAX), 1 => 1_usize..40],
    ) {
        let mut input: String = heads.concat();
        input.push_str(LAST);
        // The rest of a refused request must not be lost when the response is sent.
        prop_assume!(input.len() < 1000);
        same_as_hyper(&input, piece);
    }
}

#[test]
fn odd_request_between_plain_ones_is_answered_in_order() {
    let plain = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /later HTTP/1.1\r\nHost: a\r\n\r\n";
    let odd = "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    for piece in [1, 7, usize::MAX] {
        assert_eq!(
            same_as_hyper(&format!("{plain}{odd}{plain}{LAST}"), piece),
            2
        );
    }
}

/// RFC 9110 §8.6: a response with status 1xx or 204 has no length, even if the service sets a
/// length.
#[test]
fn response_without_a_body_has_no_length() {
    for path in ["/none-length", "/switched-length"] {
        for method in ["GET", "HEAD"] {
            let input = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n{LAST}");
            let (ours, plain) = run(said::<true>(&input, usize::MAX));
            let (hypers, _) = run(said::<false>(&input, usize::MAX));
            assert!(plain > 0, "{input}");
            for said in [ours, hypers] {
                let (head, _) = said.split_once("\r\n\r\n").unwrap();
                assert!(!head.contains("content-length"), "{input}: {said}");
            }
        }
    }
}

#[test]
fn interim_response_of_the_service_is_an_error() {
    let input = format!("GET /interim HTTP/1.1\r\nHost: a\r\n\r\n{LAST}");
    let (said, plain) = run(said::<true>(&input, usize::MAX));
    let expected = "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!((said.matches("HTTP/1.1 ").count(), plain), (1, 1));
}

#[test]
fn service_cannot_choose_the_body_framing() {
    let input = format!("GET /coded HTTP/1.1\r\nHost: a\r\n\r\n{LAST}");
    let (said, plain) = run(said::<true>(&input, usize::MAX));
    let expected = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ndate of ";
    assert!(said.starts_with(expected), "{said}");
    assert!(
        said.contains("\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"),
        "{said}"
    );
    assert_eq!(plain, 2);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut input = String::new();
    for number in 0..100 {
        let path = if number % 3 == 0 { "later" } else { "now" };
        write!(input, "GET /{path}?{number} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    }
    input.push_str(LAST);
    let (said, plain) = run(said::<true>(&input, usize::MAX));
    let order: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("GET ")?.split_once('?'))
        .map(|(_, rest)| rest.split(' ').next().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!((order, plain), (expected, 101));
}

//! Malformed messages (RFC 9113 §8) do not reach the upstream.

use crate::support::{
    front::ProxyServer,
    raw::{RawServer, body, header},
};

use super::{
    frames::{
        CONTINUATION, END_HEADERS, END_STREAM, GET, HEADERS, POST, block, data, frame, headers,
    },
    wire::Wire,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A request as frames, the expected outcome, and whether the upstream sees the request.
struct Case {
    name: String,
    frames: Vec<u8>,
    expected: &'static [&'static str],
}

/// A stream error may be treated as a connection error (RFC 9113 §5.4.1).
const REFUSED: &[&str] = &["reset PROTOCOL_ERROR", "goaway PROTOCOL_ERROR", "400"];

fn refused(name: impl Into<String>, fields: &[(&str, &str)]) -> Case {
    Case {
        name: name.into(),
        frames: headers(1, END_STREAM, fields),
        expected: REFUSED,
    }
}

fn with<'a>(fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&GET[..], fields].concat()
}

/// Sends each case on a separate connection, followed by a request that must still be served.
async fn check(cases: Vec<Case>) {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut faults = Vec::new();
    for case in &cases {
        let seen = upstream.requests().len();
        let mut wire = Wire::connect(front.addr).await;
        wire.send(&case.frames).await;
        let outcome = wire.outcome(1).await.to_string();
        let forwarded = upstream.requests().len() - seen;
        if !case.expected.contains(&outcome.as_str()) || forwarded != usize::from(outcome == "200")
        {
            faults.push(format!("{}: {outcome}, {forwarded} forwarded", case.name));
        }
    }
    assert_eq!(faults, [""; 0]);
}

#[tokio::test]
async fn pseudo_headers_are_complete_unique_and_first() {
    let mut cases = vec![Case {
        name: "a plain request".to_owned(),
        frames: headers(1, END_STREAM, &GET),
        expected: &["200"],
    }];
    for (name, _) in GET.into_iter().take(3) {
        let without: Vec<_> = GET.into_iter().filter(|field| field.0 != name).collect();
        cases.push(refused(format!("without {name}"), &without));
    }
    for (name, value) in GET {
        let twice = with(&[(name, value)]);
        cases.push(refused(format!("{name} twice"), &twice));
        let mut late: Vec<_> = GET.into_iter().filter(|field| field.0 != name).collect();
        late.extend([("x-a", "1"), (name, value)]);
        cases.push(refused(format!("{name} after others"), &late));
        let empty = GET.map(|field| if field.0 == name { (name, "") } else { field });
        // An empty scheme is harmless, because it is not used.
        if name != ":scheme" {
            cases.push(refused(format!("{name} empty"), &empty));
        }
    }
    for (name, value) in [
        (":status", "200"),
        (":protocol", "websocket"),
        (":unknown", "1"),
        (":", "1"),
        (":Method", "GET"),
    ] {
        cases.push(refused(format!("with {name}"), &with(&[(name, value)])));
    }
    check(cases).await;
}

#[tokio::test]
async fn fields_with_line_ends_are_refused() {
    let mut cases = Vec::new();
    for name in [
        "X-Upper", "x upper", "x:a", "x\r\na", "x\0", "", "x\u{e9}", "x\x7f",
    ] {
        cases.push(refused(format!("name {name:?}"), &with(&[(name, "1")])));
    }
    for value in ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "a\x01b", "a\x7fb"] {
        cases.push(refused(
            format!("value {value:?}"),
            &with(&[("x-a", value)]),
        ));
    }
    for (name, value) in [
        (":path", "/a b"),
        (":path", "/ HTTP/1.1\r\nHost: other\r\n\r\nGET /"),
        (":path", "page"),
        (":path", "*"),
        (":path", "/a\0b"),
        (":path", "http://other.example/"),
        (":method", "GET / HTTP/1.1\r\nX-A: b\r\n"),
        (":method", "G ET"),
        (":method", "GET\0"),
        (":authority", "user@site.example"),
        (":authority", "a b"),
        (":authority", "a/b"),
        (":authority", "a\r\nX-A: b"),
        (":scheme", "ht tp"),
        (":scheme", "http\r\n"),
    ] {
        let fields = GET.map(|field| {
            if field.0 == name {
                (name, value)
            } else {
                field
            }
        });
        cases.push(refused(format!("{name} {value:?}"), &fields));
    }
    check(cases).await;
}

#[tokio::test]
async fn fields_are_parsed_as_in_http_1() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut wire = Wire::connect(front.addr).await;
    let fields = GET.map(|field| match field.0 {
        ":path" => (":path", "/caf\u{e9}?\u{e9}"),
        _ => field,
    });
    let fields = [
        &fields[..],
        &[
            ("user-agent", " \tExampleBot/1.0 \t"),
            ("x-a", "\ta b "),
            ("x-empty", " "),
            ("user_agent", "person"),
            ("x_forwarded_for", "192.0.2.9"),
            ("grpc_key", "1"),
        ],
    ]
    .concat();
    wire.send(headers(1, END_STREAM, &fields)).await;
    assert_eq!(wire.outcome(1).await.to_string(), "200");
    let received = upstream.last_request();
    assert!(
        received.starts_with("GET /caf%C3%A9?%C3%A9 HTTP/1.1\r\n"),
        "{received}"
    );
    for line in [
        "user-agent: ExampleBot/1.0",
        "x-a: a b",
        "x-empty: ",
        "grpc_key: 1",
    ] {
        assert!(
            received.contains(&format!("\r\n{line}\r\n")),
            "{line}: {received}"
        );
    }
    for name in ["user_agent", "x_forwarded_for"] {
        assert!(header(&received, name).is_empty(), "{name}: {received}");
    }
}

#[tokio::test]
async fn connection_specific_fields_of_http_1_are_refused() {
    let mut cases = Vec::new();
    for (name, value) in [
        ("connection", "close"),
        ("connection", "x-a"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("upgrade", "h2c"),
        ("te", "gzip"),
        ("te", "trailers, deflate"),
    ] {
        cases.push(refused(format!("{name}: {value}"), &with(&[(name, value)])));
    }
    let trailers = with(&[("te", "trailers")]);
    cases.push(Case {
        name: "te: trailers".to_owned(),
        frames: headers(1, END_STREAM, &trailers),
        expected: &["200"],
    });
    check(cases).await;
}

#[tokio::test]
async fn exactly_one_host_is_named() {
    let host_only = [GET[0], GET[1], GET[2], ("host", "site.example")];
    let no_host = [GET[0], GET[1], GET[2]];
    let mut cases = vec![
        Case {
            name: "host without :authority".to_owned(),
            frames: headers(1, END_STREAM, &host_only),
            expected: &["200"],
        },
        Case {
            name: "the same host".to_owned(),
            frames: headers(1, END_STREAM, &with(&[("host", "site.example")])),
            expected: &["200"],
        },
        refused("no host", &no_host),
    ];
    for hosts in [
        &["other.example"][..],
        &["site.example", "site.example"],
        &["site.example", "other.example"],
        &["site.example:81"],
        &[""],
    ] {
        let fields: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
        cases.push(refused(format!("hosts {hosts:?}"), &with(&fields)));
    }
    check(cases).await;
}

#[tokio::test]
async fn bodies_have_the_declared_length() {
    let upload = |length: &[&str], pieces: &[&str]| {
        let mut fields = POST.to_vec();
        fields.extend(length.iter().map(|length| ("content-length", *length)));
        let mut frames = headers(1, 0, &fields);
        for (at, piece) in pieces.iter().enumerate() {
            let flags = u8::from(at + 1 == pieces.len());
            frames.extend(data(1, flags, piece));
        }
        frames
    };
    let case = |name: &str, length: &[&str], pieces: &[&str], expected| Case {
        name: name.to_owned(),
        frames: upload(length, pieces),
        expected,
    };
    check(vec![
        case("right", &["4"], &["da", "ta"], &["200"]),
        case("none", &[], &["data"], &["200"]),
        case("signed", &["+4"], &["data"], REFUSED),
        case("negative", &["-4"], &["data"], REFUSED),
        case("with a space", &[" 4"], &["data"], REFUSED),
        case("no number", &["four"], &["data"], REFUSED),
        case("hexadecimal", &["0x4"], &["data"], REFUSED),
        case("a list", &["4, 4"], &["data"], REFUSED),
        case("two that differ", &["4", "5"], &["data"], REFUSED),
        case(
            "beyond every number",
            &["99999999999999999999"],
            &["data"],
            REFUSED,
        ),
        case("empty", &[""], &["data"], REFUSED),
    ])
    .await;
}

#[tokio::test]
async fn a_body_of_the_wrong_length_is_never_complete_at_the_upstream() {
    for (length, pieces) in [("3", ["da", "ta"]), ("5", ["da", "ta"]), ("0", ["d", ""])] {
        let upstream = RawServer::answering(OK).await;
        let front = ProxyServer::proxy(upstream.addr).await;
        let mut wire = Wire::connect(front.addr).await;
        let fields = [&POST[..], &[("content-length", length)]].concat();
        wire.send(headers(1, 0, &fields)).await;
        wire.send(data(1, 0, pieces[0])).await;
        wire.send(data(1, END_STREAM, pieces[1])).await;
        let outcome = wire.outcome(1).await.to_string();
        assert_eq!(outcome, "reset PROTOCOL_ERROR", "{length}");
        // The test server records a request once it is complete.
        assert!(
            upstream.requests().is_empty(),
            "{length}: {:?}",
            upstream.requests()
        );
    }
}

#[tokio::test]
async fn trailers_are_headers_at_the_end() {
    let upload = |trailers: Vec<u8>| [headers(1, 0, &POST), data(1, 0, "data"), trailers].concat();
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut wire = Wire::connect(front.addr).await;
    let trailers = [
        ("x-checksum", " abc\t"),
        ("x-silent", "1"),
        ("x-forwarded-for", "192.0.2.9"),
        ("x-robot-detection", "googlebot"),
        ("authorization", "Basic eA=="),
        ("cookie", "a=b"),
        ("via", "1.1 forged"),
    ];
    let announced = "x-checksum, x-forwarded-for, x-robot-detection, authorization, cookie, via";
    let fields = [&POST[..], &[("trailer", announced)]].concat();
    let head = headers(1, 0, &fields);
    let trailers = headers(1, END_STREAM, &trailers);
    wire.send([head, data(1, 0, "data"), trailers].concat())
        .await;
    assert_eq!(wire.outcome(1).await.to_string(), "200");
    let received = upstream.last_request();
    assert_eq!(header(&received, "transfer-encoding"), ["chunked"]);
    let expected = "4\r\ndata\r\n0\r\nx-checksum: abc\r\n\r\n";
    assert_eq!(body(&received), expected, "{received}");

    // The library drops pseudo-headers, so the upstream does not see them.
    let mut wire = Wire::connect(front.addr).await;
    let trailers = headers(
        1,
        END_STREAM,
        &[(":path", "/other"), (":authority", "other")],
    );
    wire.send(upload(trailers)).await;
    wire.outcome(1).await;
    assert!(
        upstream
            .requests()
            .iter()
            .all(|request| !request.contains("other"))
    );

    let refused = |name: &str, trailers| Case {
        name: name.to_owned(),
        frames: upload(trailers),
        expected: REFUSED,
    };
    check(vec![
        refused("not at the end", headers(1, 0, &[("x-checksum", "abc")])),
        refused(
            "upper case",
            headers(1, END_STREAM, &[("X-Checksum", "abc")]),
        ),
        refused(
            "of a connection",
            headers(1, END_STREAM, &[("transfer-encoding", "chunked")]),
        ),
    ])
    .await;
}

#[tokio::test]
async fn heads_beyond_the_limit_are_refused() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    for (name, fields) in [
        ("one", vec![("x-a".to_owned(), "a".repeat(70_000))]),
        (
            "many",
            (0..2_000)
                .map(|number| (format!("x-{number}"), "a".repeat(30)))
                .collect(),
        ),
    ] {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let whole = block(&with(&fields));
        let (first, rest) = whole.split_at(16_000);
        let mut frames = frame(HEADERS, END_STREAM, 1, first);
        let mut pieces = rest.chunks(16_000).peekable();
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_none() {
                END_HEADERS
            } else {
                0
            };
            frames.extend(frame(CONTINUATION, flags, 1, piece));
        }
        let mut wire = Wire::connect(front.addr).await;
        wire.send(frames).await;
        let outcome = wire.outcome(1).await.to_string();
        assert!(
            [
                "431",
                "reset PROTOCOL_ERROR",
                "goaway COMPRESSION_ERROR",
                "goaway ENHANCE_YOUR_CALM"
            ]
            .contains(&outcome.as_str()),
            "{name}: {outcome}"
        );
    }
    assert!(upstream.requests().is_empty());
}

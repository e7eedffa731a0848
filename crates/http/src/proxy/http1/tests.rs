//! Tests with responses that use each kind of framing. The bytes are divided in every possible way.

use bytes::Bytes;
use http::{HeaderMap, Method};
use proptest::prelude::*;

use super::{ResponsePart, ResponseReader};

/// The result of a reader that received some bytes and the end of the connection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Read {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
    /// Whether the end of the response was reached; the bytes after the end belong to no response.
    is_done: bool,
    rest: Vec<u8>,
    error: bool,
}

fn read<'a>(method: &Method, parts: impl IntoIterator<Item = &'a [u8]>, ends: bool) -> Read {
    let mut reader = ResponseReader::new(method);
    let mut read = Read::default();
    let mut step = |reader: &mut ResponseReader| {
        loop {
            match reader.part() {
                Ok(Some(ResponsePart::Head(status, headers))) => {
                    read.status = status.as_u16();
                    read.headers = headers;
                }
                Ok(Some(ResponsePart::Data(data))) => read.body.extend(data),
                Ok(Some(ResponsePart::Trailers(trailers))) => read.trailers = trailers,
                Ok(None) => return true,
                Err(_) => {
                    read.error = true;
                    return false;
                }
            }
        }
    };
    let mut is_good = true;
    for part in parts {
        reader.push(part);
        is_good = is_good && step(&mut reader);
    }
    if is_good && ends && !reader.is_done() {
        read.error = reader.end().is_err();
    }
    read.is_done = !read.error && reader.is_done();
    read.rest = if read.is_done {
        reader.rest().to_vec()
    } else {
        Vec::new()
    };
    read
}

/// Returns the reader's result; for a failed response, only the error is kept.
fn outcome(read: Read) -> Read {
    if read.error {
        Read {
            error: true,
            ..Read::default()
        }
    } else {
        read
    }
}

fn at_once(method: &Method, response: &[u8]) -> Read {
    outcome(read(method, [response], true))
}

/// A method and a response, with the expected body and remaining bytes if the response is valid.
type Case = (
    &'static str,
    &'static [u8],
    Option<(&'static [u8], &'static [u8])>,
);

/// The test cases: methods and responses, with the expected body and remaining bytes, or `None` if
/// the response is rejected.
const TABLE: &[Case] = &[
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Some((b"hello", b""))),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1", Some((b"hello", b"HTTP/1.1"))),
    ("GET", b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\nmore", Some((b"", b"more"))),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", None),
    ("GET", b"HTTP/1.1 200 OK\r\n\r\nhello", Some((b"hello", b""))),
    ("GET", b"HTTP/1.0 200 OK\r\n\r\nhello", Some((b"hello", b""))),
    ("GET", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Some((b"ok", b""))),
    ("GET", b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Some((b"ok", b""))),
    ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil", Some((b"", b"evil"))),
    ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Some((b"", b""))),
    ("GET", b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nevil", Some((b"", b"evil"))),
    ("GET", b"HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\nevil", Some((b"", b"evil"))),
    ("GET", b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nbytes", Some((b"", b"bytes"))),
    ("GET", b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Go\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Some((b"ok", b""))),
    ("GET", b"HTTP/1.1 100 Go\r\n\r\n", None),
    // Lengths.
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", Some((b"ok", b""))),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", Some((b"ok", b""))),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok!", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nok", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nok", None),
    ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", None),
    // Codings.
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\nmore", Some((b"hello", b"more"))),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", Some((b"ok", b""))),
    ("GET", b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", None),
    // Chunks.
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Some((b"", b""))),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00000a ;x=\"y\"\r\n0123456789\r\n1;z\r\n!\r\n000\r\n\r\n", Some((b"0123456789!", b""))),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\nmore", Some((b"ok", b"more"))),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\rb\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok!\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n +2\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 2\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000002\r\nok\r\n0\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\nZ: a\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nnonsense\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n folded\r\n\r\n", None),
    // Heads.
    ("GET", b"", None),
    ("GET", b"\r\n\r\n", None),
    ("GET", b"hello", None),
    ("GET", b"HTTP/2.0 200 OK\r\n\r\n", None),
    ("GET", b"HTTP/1.2 200 OK\r\n\r\n", None),
    ("GET", b"http/1.1 200 OK\r\n\r\n", None),
    ("GET", b"HTTP/1.1 20 OK\r\n\r\n", None),
    ("GET", b"HTTP/1.1 2000 OK\r\n\r\n", None),
    ("GET", b"HTTP/1.1 099 OK\r\n\r\n", None),
    ("GET", b"HTTP/1.1 abc OK\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\rX: y\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nX\x01: y\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nX Y: z\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", None),
    ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 2", None),
];

#[test]
fn responses_end_where_they_should() {
    for (method, response, expected) in TABLE {
        let read = at_once(&method.parse().unwrap(), response);
        let name = String::from_utf8_lossy(response);
        match expected {
            None => assert!(read.error, "{name:?}: {read:?}"),
            Some((body, rest)) => {
                assert!(!read.error && read.is_done, "{name:?}: {read:?}");
                assert_eq!((&*read.body, &*read.rest), (*body, *rest), "{name:?}");
            }
        }
    }
}

#[test]
fn division_of_the_bytes_makes_no_difference() {
    for (method, response, _) in TABLE {
        let method = method.parse().unwrap();
        let whole = at_once(&method, response);
        let bytes = outcome(read(&method, response.chunks(1), true));
        assert_eq!(bytes, whole, "{:?}", String::from_utf8_lossy(response));
        for at in 0..=response.len() {
            let (one, two) = response.split_at(at);
            let parted = outcome(read(&method, [one, two], true));
            assert_eq!(
                parted,
                whole,
                "{:?} at {at}",
                String::from_utf8_lossy(response)
            );
        }
    }
}

#[test]
fn hop_by_hop_headers_are_removed_and_others_kept() {
    let read = at_once(
        &Method::GET,
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nTE: x\r\n\
          Proxy-Connection: close\r\nX-A: \xe4\xff\r\nx-a: 2\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n",
    );
    let lines: Vec<_> = read
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let expected: &[(&str, &[u8])] = &[
        ("x-a", b"\xe4\xff"),
        ("x-a", b"2"),
        ("x-empty", b""),
        ("content-length", b"0"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn everything_is_limited() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (limit, start, repeated, end) in [
        (100, "HTTP/1.1 200 OK\r\n", "X: y\r\n", "\r\n"),
        (64 * 1024, "HTTP/1.1 200 OK\r\nX: ", "y", "\r\n\r\n"),
        (4 * 1024, chunked, "0", "\r\n\r\n"),
        (4 * 1024, &*format!("{chunked}0;"), "x", "\r\n\r\n"),
        (16 * 1024 / 5, chunked, "1;xxxx\r\n!\r\n", "0\r\n\r\n"),
        (16 * 1024, &*format!("{chunked}0\r\nX: "), "y", "\r\n\r\n"),
        (100, &*format!("{chunked}0\r\n"), "X: y\r\n", "\r\n"),
    ] {
        for (times, is_error) in [(limit / 2, false), (limit * 2, true)] {
            let response = format!("{start}{}{end}", repeated.repeat(times));
            let whole = at_once(&Method::GET, response.as_bytes());
            assert_eq!(whole.error, is_error, "{start:?} {repeated:?} {times}");
            // The reader does not wait for the end of unterminated input either, unless the input
            // is small.
            let endless = format!("{start}{}", repeated.repeat(times));
            let begun = read(&Method::GET, [endless.as_bytes()], false);
            let is_large = is_error && limit > 100;
            assert_eq!(begun.error, is_large, "{start:?} {repeated:?} {times}");
        }
    }
}

/// Generates valid responses, and some that are nearly valid.
fn responses() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::sample::select(vec![
        "Content-Length: 5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 7\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close, x-a\r\n",
        "X-A: b\n",
        "Upgrade: h2c\r\n",
    ]);
    let parts = prop::sample::select(vec![
        "5\r\nhello\r\n",
        "1;a=b\r\n!\r\n",
        "0\r\n",
        "\r\n",
        "X: y\r\n",
        "a\r\n",
        "\n",
        "hello",
        "\r",
        "HTTP/1.1 200 OK\r\n",
    ]);
    (
        prop::sample::select(vec![
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 404 No\r\n",
            "HTTP/1.0 200 OK\r\n",
            "HTTP/1.1 204 No\r\n",
            "\r\nHTTP/1.1 200\r\n",
        ]),
        prop::collection::vec(lines, 0..3),
        prop::collection::vec(parts, 0..8),
    )
        .prop_map(|(start, lines, parts)| {
            format!("{start}{}\r\n{}", lines.concat(), parts.concat()).into_bytes()
        })
}

proptest! {
    #[test]
    fn any_division_of_any_bytes_gives_the_same_result(
        response in prop_oneof![responses(), prop::collection::vec(any::<u8>(), 0..64)],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        is_head in any::<bool>(),
    ) {
        let method = if is_head { Method::HEAD } else { Method::GET };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(response.len() + 1)).collect();
        cuts.sort_unstable();
        let mut parts = Vec::new();
        let mut from = 0;
        for cut in cuts {
            parts.push(&response[from..cut]);
            from = cut;
        }
        parts.push(&response[from..]);
        prop_assert_eq!(outcome(read(&method, parts, true)), at_once(&method, &response));
    }

    #[test]
    fn chunked_body_is_decoded_unchanged(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..8),
        size in 1..40usize,
    ) {
        let mut response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            response.extend(format!("{:X}\r\n", chunk.len()).bytes());
            response.extend(chunk);
            response.extend(b"\r\n");
        }
        response.extend(b"0\r\n\r\nmore");
        let read = read(&Method::GET, response.chunks(size), true);
        prop_assert!(read.is_done);
        prop_assert_eq!(Bytes::from(read.body), chunks.concat());
        prop_assert_eq!(read.rest, b"more");
    }
}

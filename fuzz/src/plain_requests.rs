//! Requests handled without hyper must be read exactly as hyper's parser reads them.
//!
//! `cargo +nightly fuzz run plain_requests fuzz/corpus`: the first two bytes determine where the
//! others are split.

use http::{HeaderMap, HeaderName, HeaderValue};
use robot_detection::listen::{ListenSettings, PlainHead, PlainReader};

/// Upper bound for the number of headers in a plain request.
const MAX_LINES: usize = 100;

/// A request, and whether the client closes the connection after it.
type PlainRequest = (http::Request<()>, bool);

/// Returns the plain requests, and the remaining bytes.
fn read(input: &[u8], pieces: &[&[u8]]) -> (Vec<PlainRequest>, Vec<u8>) {
    let mut reader = PlainReader::new(&ListenSettings::default());
    let mut taken = Vec::new();
    let mut came = 0;
    let mut pieces = pieces.iter();
    let mut piece: &[u8] = b"";
    loop {
        came += piece.len();
        match reader.push(piece) {
            PlainHead::Plain { request, closes } => {
                taken.push((*request, closes));
                piece = b"";
            }
            PlainHead::Partial => {
                let Some(next) = pieces.next() else {
                    assert_waited_for(reader.rest());
                    break;
                };
                piece = next;
            }
            _ => break,
        }
    }
    // The bytes not yet passed follow the unread ones.
    let rest = [reader.rest(), &input[came..]].concat();
    (taken, rest)
}

/// Asserts that hyper would wait for more bytes as well.
fn assert_waited_for(rest: &[u8]) {
    let mut lines = [httparse::EMPTY_HEADER; MAX_LINES];
    let result = httparse::Request::new(&mut lines).parse(rest);
    // With split input, an error is found only where a head may have ended.
    assert!(
        !matches!(result, Ok(httparse::Status::Complete(_))),
        "{rest:?}"
    );
}

/// Asserts that hyper's parser finds the same request; returns its length.
fn checked(input: &[u8], (request, closes): &PlainRequest) -> usize {
    let mut lines = [httparse::EMPTY_HEADER; MAX_LINES];
    let mut parsed = httparse::Request::new(&mut lines);
    let Ok(httparse::Status::Complete(len)) = parsed.parse(input) else {
        panic!("hyper refuses {:?}", String::from_utf8_lossy(input));
    };
    assert_eq!(parsed.method, Some(request.method().as_str()));
    // As hyper parses it, dropping a fragment.
    let uri = parsed.path.and_then(|path| path.parse().ok());
    assert_eq!(uri.as_ref(), Some(request.uri()));
    assert_eq!(parsed.version, Some(1));
    assert_eq!(request.version(), http::Version::HTTP_11);
    let mut expected = HeaderMap::new();
    for line in parsed.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).expect("a name");
        let value = HeaderValue::from_bytes(line.value).expect("a value");
        expected.append(name, value);
    }
    assert!(expected.iter().eq(request.headers()), "{request:?}");
    let is_close = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"close");
    assert_eq!(*closes, expected.get("connection").is_some_and(is_close));
    for name in ["content-length", "transfer-encoding", "expect", "upgrade"] {
        assert!(!expected.contains_key(name), "{request:?}");
    }
    assert_eq!(expected.get_all("host").iter().count(), 1);
    len
}

fn told(taken: &[PlainRequest]) -> Vec<String> {
    taken.iter().map(|taken| format!("{taken:?}")).collect()
}

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let [one, two, input @ ..] = bytes else {
        return;
    };
    let (taken, rest) = read(input, &[input]);
    let mut at = 0;
    for request in &taken {
        at += checked(&input[at..], request);
    }
    assert_eq!(rest, &input[at..]);

    let (first, behind) = input.split_at(usize::from(*one).min(input.len()));
    let (second, third) = behind.split_at(usize::from(*two).min(behind.len()));
    let single: Vec<_> = input.chunks(1).collect();
    // Here the earlier pieces are already parsed.
    for pieces in [&[first, second, third][..], &single, &[input]] {
        let (again, left) = read(input, pieces);
        assert_eq!((told(&again), left), (told(&taken), rest.clone()));
    }
}

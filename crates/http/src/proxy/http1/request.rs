//! Writer of request heads (RFC 9112 §3, §5, §6).

use std::io::Write as _;

use http::{
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
    request::Parts,
    uri::PathAndQuery,
};
use hyper::body::Body;

use super::super::request::AddedHeaders;

/// How a request's body is framed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Framing {
    /// Returns the framing by the body itself, whose header may be wrong (RFC 9112 §6.3).
    pub(super) fn of(body: &impl Body) -> Self {
        if body.is_end_stream() {
            return Self::None;
        }
        match body.size_hint().exact() {
            Some(length) => Self::Length(length),
            None => Self::Chunked,
        }
    }
}

/// Writes the head.
///
/// `HeaderName` and `HeaderValue` have no line ends, so that nothing can be injected
/// (RFC 9112 §11.1).
pub(super) fn write(
    output: &mut Vec<u8>,
    request: &Parts,
    added: Option<&AddedHeaders>,
    framing: Framing,
) {
    write_line(output, request);
    let mut has_length = false;
    for (name, value) in &request.headers {
        // Both are written below, by the body itself: never both at once (RFC 9112 §6.2).
        if *name == CONTENT_LENGTH {
            has_length = true;
            continue;
        }
        if *name == TRANSFER_ENCODING {
            continue;
        }
        output.extend_from_slice(name.as_str().as_bytes());
        output.extend_from_slice(b": ");
        output.extend_from_slice(value.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
    if let Some(added) = added {
        added.write(output);
    }
    match framing {
        // RFC 9110 §8.6: a POST without a body says `0`; only what the client has said is repeated.
        Framing::None if has_length => output.extend_from_slice(b"content-length: 0\r\n\r\n"),
        Framing::None => output.extend_from_slice(b"\r\n"),
        Framing::Chunked => output.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n"),
        Framing::Length(length) => {
            // Writing to a `Vec` does not fail.
            drop(write!(output, "content-length: {length}\r\n\r\n"));
        }
    }
}

/// Writes the request line.
fn write_line(output: &mut Vec<u8>, request: &Parts) {
    output.extend_from_slice(request.method.as_str().as_bytes());
    output.push(b' ');
    let target = request.uri.path_and_query();
    let target = target.map_or("/", PathAndQuery::as_str).as_bytes();
    if !matches!(target, [b'/' | b'*', ..]) {
        // A query without a path, of a target in absolute-form,
        // begins with `/` in origin-form (RFC 9112 §3.2.1).
        output.push(b'/');
    }
    output.extend_from_slice(target);
    output.extend_from_slice(b" HTTP/1.1\r\n");
}

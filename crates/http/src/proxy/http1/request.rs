//! Heads of requests (RFC 9112 §3, §5, §6).

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
    /// By the body itself: what a header says of it may be wrong.
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

/// Writes the head; what comes from a client is in names and values that were checked.
pub(super) fn write(
    output: &mut Vec<u8>,
    request: &Parts,
    added: Option<&AddedHeaders>,
    framing: Framing,
) {
    write_line(output, request);
    let mut has_length = false;
    for (name, value) in &request.headers {
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
        Framing::None if has_length => output.extend_from_slice(b"content-length: 0\r\n\r\n"),
        Framing::None => output.extend_from_slice(b"\r\n"),
        Framing::Chunked => output.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n"),
        Framing::Length(length) => {
            // Writing into memory does not fail.
            drop(write!(output, "content-length: {length}\r\n\r\n"));
        }
    }
}

/// Writes the request line.
pub(in super::super) fn write_line(output: &mut Vec<u8>, request: &Parts) {
    output.extend_from_slice(request.method.as_str().as_bytes());
    output.push(b' ');
    let target = request.uri.path_and_query();
    let target = target.map_or("/", PathAndQuery::as_str).as_bytes();
    if !matches!(target, [b'/' | b'*', ..]) {
        // Of a target with a host, and a query without a path (RFC 9112 §3.2.1).
        output.push(b'/');
    }
    output.extend_from_slice(target);
    output.extend_from_slice(b" HTTP/1.1\r\n");
}

/// Writes the head of a request that has no body.
#[cfg(test)]
pub(in super::super) fn write_bodiless(
    output: &mut Vec<u8>,
    request: &Parts,
    added: &AddedHeaders,
) {
    write(output, request, Some(added), Framing::None);
}

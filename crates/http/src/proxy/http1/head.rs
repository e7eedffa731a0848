//! A parser for response heads (RFC 9112 §4, §5).

use std::mem::MaybeUninit;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};

use super::{
    Http1Error,
    framing::Framing,
    line_cache::LineCache,
    lines::{HeaderRole, MAX_HEADERS, ResponseFacts},
};

/// The maximum size of a response's head.
pub(in super::super) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The head of a response, without its headers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) struct Head {
    pub(in super::super) status: StatusCode,
    pub(super) framing: Framing,
    /// Whether the connection cannot be reused after the response.
    pub(super) closes: bool,
    /// Whether the response's headers include hop-by-hop headers that have not been removed.
    pub(super) has_hop_headers: bool,
}

impl Head {
    /// Returns `true` if the response can be passed to the client without rewriting.
    pub(in super::super) fn is_plain(&self) -> bool {
        !self.has_hop_headers && self.status != StatusCode::SWITCHING_PROTOCOLS
    }
}

/// The result of parsing the bytes received so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ParseResult {
    /// More bytes of the response head are needed.
    Partial,
    /// An interim response (1xx), which is skipped (RFC 9110 §15.2).
    Interim,
    Final(Head),
}

/// Takes the head of a response out of the input, and stores its headers in `headers`.
///
/// `seen` is the number of input bytes known to be an incomplete head, or 0 for a new head. `known`
/// is the connection's cache of header lines, if any. The previous contents of `headers` may be
/// lost even if the head is incomplete.
///
/// # Errors
///
/// Returns an error if the input is not an HTTP/1.0 or HTTP/1.1 head, if the head is too large, or
/// if the end of the body is ambiguous.
pub(super) fn parse(
    input: &mut BytesMut,
    seen: &mut usize,
    is_head: bool,
    mut known: Option<&mut LineCache>,
    headers: &mut HeaderMap,
) -> Result<ParseResult, Http1Error> {
    if *seen == 0
        && let Some(known) = known.as_deref_mut()
        && let Some((len, head)) = known.head(input, is_head, headers)
    {
        input.advance(len);
        return Ok(ParseResult::Final(head));
    }
    let Some(len) = end(input, *seen) else {
        // If the server uses another protocol and waits for its client, the visitor gets a 502
        // response immediately.
        if !may_begin(input) {
            return Err(Http1Error::Head("it does not start with a status line"));
        }
        if input.len() > MAX_HEAD_BYTES {
            return Err(Http1Error::HeadTooLarge);
        }
        *seen = input.len();
        return Ok(ParseResult::Partial);
    };
    if len > MAX_HEAD_BYTES {
        return Err(Http1Error::HeadTooLarge);
    }
    *seen = 0;
    let head = input.split_to(len).freeze();
    parse_complete(&head, is_head, known, headers)
}

/// Parses a complete response head.
fn parse_complete(
    head: &Bytes,
    is_head: bool,
    known: Option<&mut LineCache>,
    headers: &mut HeaderMap,
) -> Result<ParseResult, Http1Error> {
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        head,
        &mut lines,
    );
    match parsed {
        Ok(httparse::Status::Complete(parsed)) if parsed == head.len() => {}
        Ok(_) => return Err(Http1Error::Head("it ends too early")),
        Err(httparse::Error::TooManyHeaders) => return Err(Http1Error::HeadTooLarge),
        Err(error) => return Err(Http1Error::Head(reason(error))),
    }
    let status = response
        .code
        .and_then(|code| StatusCode::from_u16(code).ok())
        .ok_or(Http1Error::Head(
            "the status is not a number from 100 to 999",
        ))?;
    // RFC 9110 §15.2: a client has to accept any interim response; only 101 ends the HTTP exchange.
    if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(ParseResult::Interim);
    }
    // RFC 9112 §2.3: HTTP/1 servers do not send other minor versions, and the parser rejects them.
    let version = match response.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    let mut learner = known.map(|known| known.learn(head, status));
    headers.clear();
    headers.reserve(response.headers.len());
    let mut facts = ResponseFacts::default();
    for line in &*response.headers {
        let name = HeaderName::from_bytes(line.name.as_bytes())
            .map_err(|_| Http1Error::Head("a header name is invalid"))?;
        let value = HeaderValue::from_maybe_shared(head.slice_ref(line.value))
            .map_err(|_| Http1Error::Head("a header value contains a control character"))?;
        if let Some(learner) = &mut learner {
            learner.add(line, &name);
        }
        if facts.add(HeaderRole::classify(&name, line.value)) {
            let added = headers.try_append(name, value);
            added.map_err(|_| Http1Error::HeadTooLarge)?;
        }
    }
    let head = facts.head(headers, status, version, is_head);
    head.map(ParseResult::Final)
}

/// Returns the position after the first empty line, which ends the response head.
///
/// A recipient may treat a bare line feed as a line end (RFC 9112 §2.2).
fn end(input: &[u8], seen: usize) -> Option<usize> {
    // The empty line may have started within the bytes seen before.
    let from = seen.saturating_sub(3);
    memchr::memchr_iter(b'\n', input.get(from..)?).find_map(|at| {
        let next = from + at + 1;
        match input.get(next..)? {
            [b'\n', ..] => Some(next + 1),
            [b'\r', b'\n', ..] => Some(next + 2),
            _ => None,
        }
    })
}

/// Returns `true` if the input may be the start of a status line (RFC 9112 §4).
fn may_begin(input: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/1.";
    let start = input.trim_ascii_start();
    let len = start.len().min(START.len());
    start.get(..len) == START.get(..len)
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "a header name is invalid",
        httparse::Error::HeaderValue => "a header value contains a control character",
        httparse::Error::NewLine => "a line end is malformed",
        httparse::Error::Status => "the status is not a number from 100 to 999",
        httparse::Error::Version => "the version is not 1.0 or 1.1",
        _ => "invalid token",
    }
}

//! A parser for the heads of plain requests (RFC 9112 §3, §5).

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{Method, Request, Uri};

use super::{
    super::settings::ListenSettings,
    line_cache::{self, MAX_LINES, RequestNotes},
    reuse,
};

/// The limits beyond which a request is left to hyper, which responds with status 414 or 431.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLimits {
    /// The maximum size of a head. This size never exceeds the limit for one line, so lines need
    /// not be measured separately.
    max_bytes: usize,
    max_headers: usize,
}

impl HeadLimits {
    pub(super) fn new(settings: &ListenSettings) -> Self {
        Self {
            max_bytes: settings
                .max_header_line_bytes
                .min(settings.max_header_bytes)
                .min(reuse::READ_BYTES),
            max_headers: settings.max_headers,
        }
    }

    pub(super) fn max_bytes(self) -> usize {
        self.max_bytes
    }
}

/// The result of parsing the bytes received so far.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ParseResult {
    /// More bytes of the request head are needed.
    Partial,
    Plain {
        /// The size of the request head in bytes.
        len: usize,
        notes: RequestNotes,
    },
    /// The request is not plain and must be handled by hyper.
    Odd,
}

/// Parses the bytes received since the last request, and stores a plain request in `request`.
pub(super) fn parse(
    input: &[u8],
    limits: HeadLimits,
    request: &mut Option<Request<()>>,
) -> ParseResult {
    let head = input.get(..limits.max_bytes).unwrap_or(input);
    if let Some((len, notes)) = plain(head, limits.max_headers, request) {
        return ParseResult::Plain { len, notes };
    }
    // hyper's parser detects whether the head is incomplete; a head that hyper would reject is
    // passed to hyper immediately.
    let mut lines = [const { MaybeUninit::uninit() }; MAX_LINES];
    let result = httparse::ParserConfig::default().parse_request_with_uninit_headers(
        &mut httparse::Request::new(&mut []),
        input,
        &mut lines,
    );
    match result {
        Ok(httparse::Status::Partial) if input.len() < limits.max_bytes => ParseResult::Partial,
        Ok(_) | Err(_) => ParseResult::Odd,
    }
}

/// Returns `true` if a head may end in the bytes after the first `seen` bytes.
///
/// Without this check, a head that arrives byte by byte would be parsed again for each byte.
pub(super) fn may_be_complete(input: &[u8], seen: usize) -> bool {
    // Up to three of the four bytes CR LF CR LF may be among the bytes seen before.
    let new = input.get(seen.saturating_sub(3)..).unwrap_or_default();
    memchr::memchr_iter(b'\n', new).any(|at| {
        let rest = new.get(at + 1..).unwrap_or_default();
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

/// Parses the complete head of a plain request, and returns the head's length and notes about the
/// request.
fn plain(
    input: &[u8],
    max_headers: usize,
    request: &mut Option<Request<()>>,
) -> Option<(usize, RequestNotes)> {
    // Methods are case-sensitive (RFC 9110 §9.1); a body or a tunnel may follow a request with
    // another method.
    let (method, rest) = match input {
        [b'G', b'E', b'T', b' ', rest @ ..] => (Method::GET, rest),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => (Method::HEAD, rest),
        _ => return None,
    };
    // There is exactly one space between the parts of the request line (RFC 9112 §3).
    let target = rest.get(..memchr::memchr(b' ', rest)?)?;
    // The loop has no early exit, so that the compiler checks many bytes with one instruction.
    let is_graphic = (target.iter()).fold(true, |all, byte| all & byte.is_ascii_graphic());
    // Only the origin form is accepted (RFC 9112 §3.2.1), because other forms of the target change
    // the host or are not paths.
    let is_origin = target.first() == Some(&b'/') && is_graphic;
    // A fragment is not allowed in a target, and is encoded instead of being cut off.
    let is_origin = is_origin && memchr::memchr(b'#', target).is_none();
    // HTTP/1.0 does not support chunks, and its connections do not persist by default (RFC 9112
    // §6.1, §9.3). hyper handles a bare line feed (RFC 9112 §2.2).
    let rest = rest.get(target.len()..)?.strip_prefix(b" HTTP/1.1\r\n")?;
    if !is_origin {
        return None;
    }
    let uri = Uri::from_maybe_shared(Bytes::copy_from_slice(target)).ok()?;
    let mut headers = reuse::take_for_request();
    let max_lines = max_headers.min(MAX_LINES);
    let lines = line_cache::with_cache(|known| known.fill(&mut headers, rest, max_lines))?;
    let request = request.insert(Request::new(()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Some((input.len() - rest.len() + lines.len, lines.notes))
}

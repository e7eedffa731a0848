//! Heads of plain requests (RFC 9112 §3, §5).

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{Method, Request, Uri};

use super::{
    super::{header_map_pool, listener::ListenSettings},
    line_cache::{self, MAX_LINES, RequestNotes},
    scratch,
};

/// Beyond them a request is for hyper.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLimits {
    /// Bytes of a head; no more than a line may have.
    max_bytes: usize,
    max_headers: usize,
}

impl HeadLimits {
    pub(super) fn new(settings: &ListenSettings) -> Self {
        Self {
            max_bytes: settings
                .max_header_line_bytes
                .min(settings.max_header_bytes)
                .min(scratch::READ_BYTES),
            max_headers: settings.max_headers,
        }
    }

    pub(super) fn max_bytes(self) -> usize {
        self.max_bytes
    }
}

/// What has come up to now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Parsed {
    /// More has to come.
    Partial,
    Plain {
        /// Bytes of the head.
        len: usize,
        notes: RequestNotes,
    },
    /// It is for hyper to judge.
    Odd,
}

/// Parses what has come since the last request; one that is plain is in `request` then.
pub(super) fn parse(input: &[u8], limits: HeadLimits, request: &mut Option<Request<()>>) -> Parsed {
    let head = input.get(..limits.max_bytes).unwrap_or(input);
    if let Some((len, notes)) = plain(head, limits.max_headers, request) {
        return Parsed::Plain { len, notes };
    }
    // hyper's own parser tells whether more has to come.
    let mut lines = [const { MaybeUninit::uninit() }; MAX_LINES];
    let result = httparse::ParserConfig::default().parse_request_with_uninit_headers(
        &mut httparse::Request::new(&mut []),
        input,
        &mut lines,
    );
    match result {
        Ok(httparse::Status::Partial) if input.len() < limits.max_bytes => Parsed::Partial,
        Ok(_) | Err(_) => Parsed::Odd,
    }
}

/// Returns `true` if a head may have ended with what came behind the first `seen` bytes.
pub(super) fn may_be_whole(input: &[u8], seen: usize) -> bool {
    let new = input.get(seen.saturating_sub(3)..).unwrap_or_default();
    memchr::memchr_iter(b'\n', new).any(|at| {
        let rest = new.get(at + 1..).unwrap_or_default();
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

/// Takes a head that is there and plain; tells its length, and what is noted of it.
fn plain(
    input: &[u8],
    max_headers: usize,
    request: &mut Option<Request<()>>,
) -> Option<(usize, RequestNotes)> {
    let (method, rest) = match input {
        [b'G', b'E', b'T', b' ', rest @ ..] => (Method::GET, rest),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => (Method::HEAD, rest),
        _ => return None,
    };
    let target = rest.get(..memchr::memchr(b' ', rest)?)?;
    // All of it, as that is done by many bytes at once.
    let is_graphic = (target.iter()).fold(true, |all, byte| all & byte.is_ascii_graphic());
    let is_origin = target.first() == Some(&b'/') && is_graphic;
    let rest = rest.get(target.len()..)?.strip_prefix(b" HTTP/1.1\r\n")?;
    if !is_origin {
        return None;
    }
    let uri = Uri::from_maybe_shared(Bytes::copy_from_slice(target)).ok()?;
    let mut headers = header_map_pool::take_for_request();
    let max_lines = max_headers.min(MAX_LINES);
    let lines = line_cache::with_cache(|known| known.fill(&mut headers, rest, max_lines))?;
    let request = request.insert(Request::new(()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Some((input.len() - rest.len() + lines.len, lines.notes))
}

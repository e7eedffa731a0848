//! Encoding of response heads and body framing (RFC 9112 §6, §7).
//!
//! The output is identical to hyper's output for the same response; a test compares both outputs.

use std::{
    cell::RefCell,
    io::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::{Buf, Bytes};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, DATE, TRAILER, TRANSFER_ENCODING},
};
use httpdate::HttpDate;
use hyper::{
    body::{Body, SizeHint},
    ext::ReasonPhrase,
};

use super::super::http_service::ReadyHead;

/// The number of bytes reserved for a head in one step; most heads are shorter.
const USUAL_BYTES: usize = 1024;

/// The most common status line.
const OK_LINE: &[u8] = b"HTTP/1.1 200 OK\r\n";
const CLOSE_LINE: &[u8] = b"connection: close\r\n";
const EMPTY_LINE: &[u8] = b"content-length: 0\r\n";

/// The properties of a response that depend on its request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseOptions {
    /// Whether the response has no body, regardless of what its head announces.
    pub(super) is_head: bool,
    /// Whether the connection is closed after the response.
    pub(super) closes: bool,
}

/// The length of a response's body, if known before the body is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BodyLength {
    /// The response has no body left to send.
    Ended,
    Known(u64),
    Unknown,
}

/// The framing of a response's body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    /// The body has a known length, of which this number of bytes is left to send.
    Length(u64),
    Chunked,
}

/// The result of encoding a response head.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EncodedHead {
    pub(super) framing: Framing,
    /// Whether the connection is closed after the response.
    pub(super) is_last: bool,
}

/// An error for a response whose headers contradict each other or the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Contradiction;

impl BodyLength {
    pub(super) fn from_body<B: Body>(body: &B) -> Self {
        if body.is_end_stream() {
            return Self::Ended;
        }
        SizeHint::exact(&body.size_hint()).map_or(Self::Unknown, Self::Known)
    }
}

impl Framing {
    /// Appends a non-empty piece of the body; bytes beyond the announced length are dropped.
    pub(super) fn append(&mut self, out: &mut Vec<u8>, piece: impl Buf) {
        match self {
            Self::Length(left) => {
                let len = taken(left, &piece);
                append_all(out, piece.take(len));
            }
            Self::Chunked => {
                // A chunk consists of its size in hexadecimal, CRLF, data and CRLF (RFC 9112 §7.1).
                // Writing to memory does not fail.
                let _ = write!(out, "{:X}\r\n", piece.remaining());
                append_all(out, piece);
                out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Returns a piece of the body unchanged if the framing adds nothing around it.
    pub(super) fn pass_through(&mut self, piece: &mut impl Buf) -> Option<Bytes> {
        let Self::Length(left) = self else {
            return None;
        };
        let len = taken(left, piece);
        Some(piece.copy_to_bytes(len))
    }

    /// Returns `true` if the framing allows no more body bytes.
    pub(super) fn is_full(self) -> bool {
        self == Self::Length(0)
    }

    /// Ends the body; returns an error if part of the body is missing.
    pub(super) fn end(self, out: &mut Vec<u8>) -> Result<(), Contradiction> {
        match self {
            Self::Length(0) => Ok(()),
            // There are fewer bytes than announced, so the connection must end, or the next
            // response would be mistaken for the rest of the body (RFC 9112 §8).
            Self::Length(_) => Err(Contradiction),
            Self::Chunked => {
                // The last chunk, without trailers (RFC 9112 §7.1).
                out.extend_from_slice(b"0\r\n\r\n");
                Ok(())
            }
        }
    }
}

/// Subtracts a piece's size from the remaining length, at most to zero; returns the difference.
fn taken(left: &mut u64, piece: &impl Buf) -> usize {
    let len = usize::try_from(*left).unwrap_or(usize::MAX);
    let len = len.min(piece.remaining());
    *left -= len as u64;
    len
}

fn append_all(out: &mut Vec<u8>, mut piece: impl Buf) {
    out.reserve(piece.remaining());
    while piece.has_remaining() {
        let chunk = piece.chunk();
        out.extend_from_slice(chunk);
        let len = chunk.len();
        piece.advance(len);
    }
}

/// Appends the head of a response.
///
/// # Errors
///
/// Returns an error if the `Content-Length` values in the head conflict or are not numbers.
pub(super) fn head<B>(
    out: &mut Vec<u8>,
    response: &Response<B>,
    length: BodyLength,
    options: ResponseOptions,
) -> Result<EncodedHead, Contradiction> {
    let status = response.status();
    let has_length = has_length(status);
    let may_have_body = has_length && !options.is_head;
    let mut writer = Writer {
        out,
        length,
        options,
        may_have_body,
        framing: None,
        is_written: [false; 2],
        // After a 101 response, the connection switches to another protocol (RFC 9110 §15.2.2).
        closes: options.closes || status == StatusCode::SWITCHING_PROTOCOLS,
        has_date: false,
    };
    writer.out.reserve(USUAL_BYTES);
    writer.status_line(status, response.extensions().get());
    writer.headers(response.headers())?;
    let framing = match writer.framing {
        Some(framing) => framing,
        None => writer.own_framing(has_length),
    };
    let (closes, has_date) = (writer.closes, writer.has_date);
    // A server with a clock sends a date (RFC 9110 §6.6.1); a date from the upstream is kept.
    if !has_date {
        append(out);
    }
    out.extend_from_slice(b"\r\n");
    Ok(EncodedHead {
        framing: if may_have_body {
            framing
        } else {
            Framing::Length(0)
        },
        is_last: closes,
    })
}

/// Appends the head of a response without a body, whose header lines were encoded earlier.
pub(super) fn ready(out: &mut Vec<u8>, head: &impl ReadyHead, options: ResponseOptions) {
    out.reserve(USUAL_BYTES);
    out.extend_from_slice(head.lines());
    // RFC 9112 §9.6: the last response contains `close`.
    if options.closes {
        out.extend_from_slice(CLOSE_LINE);
    }
    // A response to HEAD need not announce a length (RFC 9110 §8.6).
    if has_length(head.status()) && !options.is_head {
        out.extend_from_slice(EMPTY_LINE);
    }
    append(out);
    out.extend_from_slice(b"\r\n");
}

/// Returns `true` if a response with the given status may have a body (RFC 9112 §6.3, rule 1).
fn has_length(status: StatusCode) -> bool {
    !(status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED))
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    length: BodyLength,
    options: ResponseOptions,
    may_have_body: bool,
    /// The framing that the response's headers specify, if any.
    framing: Option<Framing>,
    /// Whether the `Connection` and `Trailer` headers have been written.
    is_written: [bool; 2],
    closes: bool,
    has_date: bool,
}

impl Writer<'_> {
    fn status_line(&mut self, status: StatusCode, reason: Option<&ReasonPhrase>) {
        if status == StatusCode::OK && reason.is_none() {
            self.out.extend_from_slice(OK_LINE);
            return;
        }
        self.out.extend_from_slice(b"HTTP/1.1 ");
        self.out.extend_from_slice(status.as_str().as_bytes());
        self.out.push(b' ');
        self.out.extend_from_slice(match reason {
            Some(reason) => reason.as_bytes(),
            None => status.canonical_reason().unwrap_or("<none>").as_bytes(),
        });
        self.out.extend_from_slice(b"\r\n");
    }

    fn headers(&mut self, headers: &HeaderMap) -> Result<(), Contradiction> {
        for (name, value) in headers {
            let is_said = match *name {
                CONTENT_LENGTH => self.length(value)?,
                // The framing is decided here (RFC 9112 §6.1); a coding set by the service would
                // not match the framing that is used.
                TRANSFER_ENCODING => false,
                // Several lines are equivalent to one list (RFC 9110 §5.3); our `close` can be
                // added to a single line.
                CONNECTION => {
                    self.joined(0, headers, name);
                    false
                }
                TRAILER => {
                    // Without a body, there are no trailers to announce (RFC 9110 §6.6.2).
                    if self.may_have_body {
                        self.joined(1, headers, name);
                    }
                    false
                }
                DATE => {
                    self.has_date = true;
                    true
                }
                _ => true,
            };
            if is_said {
                self.line(name, value);
            }
        }
        let [is_written, _] = self.is_written;
        if self.options.closes && !is_written {
            self.out.extend_from_slice(CLOSE_LINE);
        }
        Ok(())
    }

    fn line(&mut self, name: &HeaderName, value: &HeaderValue) {
        let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
        self.out.extend_from_slice(name);
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Records the length set by the service, and returns whether the length should be written.
    fn length(&mut self, value: &HeaderValue) -> Result<bool, Contradiction> {
        let framing = match self.length {
            BodyLength::Known(len) => Framing::Length(len),
            BodyLength::Unknown => Framing::Length(number(value).ok_or(Contradiction)?),
            BodyLength::Ended if self.options.is_head => Framing::Length(0),
            // The client would wait for bytes that never arrive (RFC 9110 §8.6).
            BodyLength::Ended => return Ok(false),
        };
        // Equal lengths are sent once; conflicting lengths must not be sent (RFC 9110 §8.6).
        match self.framing.replace(framing) {
            Some(before) if before == framing => Ok(false),
            Some(_) => Err(Contradiction),
            None => Ok(true),
        }
    }

    /// Writes all values of a response header on one line.
    fn joined(&mut self, which: usize, headers: &HeaderMap, name: &HeaderName) {
        let Some(is_written) = self.is_written.get_mut(which).filter(|written| !**written) else {
            return;
        };
        *is_written = true;
        self.out.extend_from_slice(name.as_str().as_bytes());
        let mut separator: &[u8] = b": ";
        let mut says_close = false;
        for value in headers.get_all(name) {
            self.out.extend_from_slice(separator);
            self.out.extend_from_slice(value.as_bytes());
            separator = b", ";
            says_close |= has_close(value);
        }
        if *name == CONNECTION {
            // RFC 9112 §9.6.
            if self.options.closes && !says_close {
                self.out.extend_from_slice(b", close");
            }
            self.closes |= says_close;
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// Returns the framing for a body if the headers do not specify any.
    fn own_framing(&mut self, has_length: bool) -> Framing {
        match self.length {
            // Only HTTP/1.1 is served here, so the client supports chunks (RFC 9112 §6.1, §7.1).
            BodyLength::Unknown if self.may_have_body => {
                self.out
                    .extend_from_slice(b"transfer-encoding: chunked\r\n");
                Framing::Chunked
            }
            BodyLength::Ended | BodyLength::Known(0) => {
                if self.may_have_body {
                    self.out.extend_from_slice(EMPTY_LINE);
                }
                Framing::Length(0)
            }
            // This applies to HEAD too, with the length that a response to GET would have (RFC 9110
            // §8.6).
            BodyLength::Known(len) if has_length => {
                // Writing to memory does not fail.
                let _ = write!(self.out, "content-length: {len}\r\n");
                Framing::Length(len)
            }
            BodyLength::Unknown | BodyLength::Known(_) => Framing::Length(0),
        }
    }
}

/// Parses a `Content-Length`, which consists of digits without a sign (RFC 9110 §8.6).
fn number(value: &HeaderValue) -> Option<u64> {
    let digits = value.as_bytes();
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    });
    number.filter(|_| !digits.is_empty())
}

fn has_close(value: &HeaderValue) -> bool {
    let mut tokens = value.as_bytes().split(|byte| *byte == b',');
    tokens.any(|token| token.trim_ascii().eq_ignore_ascii_case(b"close"))
}

const EMPTY: [u8; 37] = *b"date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";

/// The line with the `Date` header, and the second for which the line is valid.
struct Line {
    bytes: [u8; EMPTY.len()],
    from: SystemTime,
    until: SystemTime,
}

thread_local! {
    static LINE: RefCell<Line> = const {
        RefCell::new(Line {
            bytes: EMPTY,
            from: UNIX_EPOCH,
            until: UNIX_EPOCH,
        })
    };
}

/// Appends the line with the `Date` header.
pub(super) fn append(out: &mut Vec<u8>) {
    LINE.with_borrow_mut(|line| {
        let now = now();
        // The clock may have been set back.
        if now >= line.until || now < line.from {
            line.set(now);
        }
        out.extend_from_slice(&line.bytes);
    });
}

impl Line {
    fn set(&mut self, now: SystemTime) {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.from = now - Duration::from_nanos(since.subsec_nanos().into());
        self.until = self.from + Duration::from_secs(1);
        let mut value = self.bytes.get_mut("date: ".len()..).unwrap_or_default();
        // The buffer has exactly the required size; a date after the year 9999 is truncated.
        let _ = write!(value, "{}\r\n", HttpDate::from(now));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a response contains the system's time, and no decision depends on it"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

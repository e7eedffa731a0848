//! Heads of responses (RFC 9112 §4, §5).

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH},
};

use super::{super::headers, error::Http1Error, framing::Framing};

/// Bytes of a response's head.
pub(in super::super) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Headers of a response.
const MAX_HEADERS: usize = 100;
/// Lengths beyond that are no response's: others would take them for negative.
const MAX_LENGTH: u64 = i64::MAX as u64;

/// What a head says beside its headers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) framing: Framing,
    /// The connection is not used again.
    pub(super) closes: bool,
    /// Some of the headers are for this hop, and have not been removed yet.
    pub(super) is_for_hop: bool,
}

/// What has come up to now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Parsed {
    /// More has to come.
    Partial,
    /// A response in between (1xx), which is left out.
    Interim,
    Final(Head),
}

/// Takes the head of a response out of what has come, and its headers into `headers`.
///
/// `seen` is how much of the input has been looked at before; zero for a new head.
/// Until the head of a final response is there the headers stay what they are.
///
/// # Errors
///
/// Fails when what has come is no head of HTTP/1.0 or 1.1, when it is too large, or
/// when it does not say clearly where the body ends.
pub(super) fn parse(
    input: &mut BytesMut,
    seen: &mut usize,
    is_head: bool,
    headers: &mut HeaderMap,
) -> Result<Parsed, Http1Error> {
    let Some(len) = end(input, *seen) else {
        if !may_begin(input) {
            return Err(Http1Error::Head("it begins with something else"));
        }
        if input.len() > MAX_HEAD_BYTES {
            return Err(Http1Error::HeadTooLarge);
        }
        *seen = input.len();
        return Ok(Parsed::Partial);
    };
    if len > MAX_HEAD_BYTES {
        return Err(Http1Error::HeadTooLarge);
    }
    *seen = 0;
    let head = input.split_to(len).freeze();
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        &head,
        &mut lines,
    );
    match parsed {
        Ok(httparse::Status::Complete(parsed)) if parsed == len => {}
        Ok(_) => return Err(Http1Error::Head("it ends too early")),
        Err(httparse::Error::TooManyHeaders) => return Err(Http1Error::HeadTooLarge),
        Err(error) => return Err(Http1Error::Head(reason(error))),
    }
    let status = response
        .code
        .and_then(|code| StatusCode::from_u16(code).ok())
        .ok_or(Http1Error::Head("its status is no number from 100 to 999"))?;
    if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Parsed::Interim);
    }
    let version = match response.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    let mut lines = Lines::new(headers, response.headers.len());
    for line in &*response.headers {
        lines.add(&head, line)?;
    }
    lines.head(status, version, is_head).map(Parsed::Final)
}

/// Returns where the head ends: behind the first empty line.
fn end(input: &[u8], seen: usize) -> Option<usize> {
    // The end may have begun in what has been looked at.
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

/// Tells whether a status line may still come of it.
fn may_begin(input: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/1.";
    let start = input.trim_ascii_start();
    let len = start.len().min(START.len());
    start.get(..len) == START.get(..len)
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "a header's name is no token",
        httparse::Error::HeaderValue => "a header's value has a control byte",
        httparse::Error::NewLine => "a line does not end as lines do",
        httparse::Error::Status => "its status is no number from 100 to 999",
        httparse::Error::Version => "its version is not 1.0 or 1.1",
        _ => "it is no token where one has to be",
    }
}

/// Headers on their way into the map, and what they say about the message.
struct Lines<'a> {
    headers: &'a mut HeaderMap,
    coding: Coding,
    lengths: usize,
    /// The length, when it is a plain number in a line of its own.
    length: Option<u64>,
    closes: bool,
    keeps: bool,
    is_for_hop: bool,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Coding {
    None,
    Chunked,
    Other,
}

impl<'a> Lines<'a> {
    fn new(headers: &'a mut HeaderMap, len: usize) -> Self {
        headers.clear();
        headers.reserve(len);
        Self {
            headers,
            coding: Coding::None,
            lengths: 0,
            length: None,
            closes: false,
            keeps: false,
            is_for_hop: false,
        }
    }

    /// Adds a header; what is for this hop only, and usual, is left out at once.
    fn add(&mut self, head: &Bytes, line: &httparse::Header<'_>) -> Result<(), Http1Error> {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        match line.name.len() {
            14 if is("content-length") => {
                self.lengths += 1;
                self.length = headers::decimal(line.value);
            }
            17 if is("transfer-encoding") => {
                let is_plain = line.value.eq_ignore_ascii_case(b"chunked");
                self.coding = if is_plain && self.coding == Coding::None {
                    Coding::Chunked
                } else {
                    Coding::Other
                };
                return Ok(());
            }
            10 if is("connection") => {
                if line.value.eq_ignore_ascii_case(b"keep-alive") {
                    self.keeps = true;
                    return Ok(());
                }
                if line.value.eq_ignore_ascii_case(b"close") {
                    self.closes = true;
                    return Ok(());
                }
                self.is_for_hop = true;
            }
            10 if is("keep-alive") => return Ok(()),
            16 if is("proxy-connection") => return Ok(()),
            2 if is("te") => return Ok(()),
            7 if is("upgrade") => self.is_for_hop = true,
            _ => {}
        }
        let name = HeaderName::from_bytes(line.name.as_bytes())
            .map_err(|_| Http1Error::Head("a header's name is no token"))?;
        let value = HeaderValue::from_maybe_shared(head.slice_ref(line.value))
            .map_err(|_| Http1Error::Head("a header's value has a control byte"))?;
        self.headers
            .try_append(name, value)
            .map_err(|_| Http1Error::HeadTooLarge)?;
        Ok(())
    }

    fn head(
        mut self,
        status: StatusCode,
        version: Version,
        is_head: bool,
    ) -> Result<Head, Http1Error> {
        // Who sends both, length and chunks, may mean either (RFC 9112 §6.3).
        self.closes |= self.coding == Coding::Chunked && self.lengths > 0;
        if self.is_for_hop {
            self.closes |= headers::has_token(self.headers, &CONNECTION, "close");
            self.keeps |= headers::has_token(self.headers, &CONNECTION, "keep-alive");
        }
        let framing = self.framing(status, version, is_head)?;
        Ok(Head {
            status,
            framing,
            closes: self.closes
                || framing == Framing::Close
                || (version == Version::HTTP_10 && !self.keeps),
            is_for_hop: self.is_for_hop,
        })
    }

    fn framing(
        &mut self,
        status: StatusCode,
        version: Version,
        is_head: bool,
    ) -> Result<Framing, Http1Error> {
        let is_coded = self.coding != Coding::None;
        if self.coding == Coding::Other {
            return Err(Http1Error::Head("its transfer coding was not asked for"));
        }
        if is_coded && version == Version::HTTP_10 {
            return Err(Http1Error::Head("HTTP/1.0 has no chunks"));
        }
        let is_bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        // The chunks say where the body ends (RFC 9112 §6.3). Without a body no
        // length is needed (RFC 9110 §8.6).
        if self.lengths > 0 && (is_bodiless || is_coded) {
            self.headers.remove(CONTENT_LENGTH);
        } else if self.lengths > 0 {
            self.length = Some(self.one_length()?);
        }
        Ok(match (self.coding, self.length) {
            _ if is_head || is_bodiless || status == StatusCode::SWITCHING_PROTOCOLS => {
                Framing::None
            }
            (Coding::Chunked, _) => Framing::Chunked,
            (_, Some(length)) => Framing::Length(length),
            (_, None) => Framing::Close,
        })
    }

    /// Several that say the same are one (RFC 9110 §8.6); what differs is refused.
    fn one_length(&mut self) -> Result<u64, Http1Error> {
        let wrong = Http1Error::Head("its length is no number, or not one number");
        let length = match self.length {
            Some(length) if self.lengths == 1 => Some(length),
            _ if headers::make_length_one(self.headers) => self
                .headers
                .get(CONTENT_LENGTH)
                .and_then(|length| headers::decimal(length.as_bytes())),
            _ => None,
        };
        length.filter(|length| *length <= MAX_LENGTH).ok_or(wrong)
    }
}

//! A decoder for chunked bodies (RFC 9112 §7.1).

use bytes::{Buf as _, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    Http1Error,
    framing::{Piece, take},
};

/// The maximum size of a line with a chunk's size and its extensions.
const MAX_LINE_BYTES: usize = 4 * 1024;
/// The maximum size of all chunk extensions, which are ignored but must be limited (RFC 9112
/// §7.1.1).
const MAX_EXTENSION_BYTES: usize = 16 * 1024;
/// The maximum total size of the trailers.
const MAX_TRAILER_BYTES: usize = 16 * 1024;
/// The maximum number of trailer lines (RFC 9112 §7.1.2).
const MAX_TRAILERS: usize = 100;

/// A decoder for the chunked transfer coding.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: State,
    extension_bytes: usize,
}

// Size → Data → DataEnd → Size → … → Trailers → Done, as in RFC 9112 §7.1.3.
#[derive(Debug, Default)]
enum State {
    #[default]
    Size,
    Data(u64),
    /// The line end after a chunk's data.
    DataEnd,
    Trailers,
    Done,
}

impl Chunks {
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Returns the next data or the trailers, or `None` at the end of the body or if more input is
    /// needed.
    pub(super) fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Piece>, Http1Error> {
        loop {
            match &mut self.state {
                State::Size => match self.size(input)? {
                    None => return Ok(None),
                    Some(0) => self.state = State::Trailers,
                    Some(size) => self.state = State::Data(size),
                },
                State::Data(_) if input.is_empty() => return Ok(None),
                State::Data(left) => {
                    let data = take(input, left);
                    if *left == 0 {
                        self.state = State::DataEnd;
                        // If the end of the body has already arrived, this piece completes the
                        // response, and the length can be announced.
                        self.end_data(input)?;
                        self.end_body(input);
                    }
                    return Ok(Some(Piece::Data(data)));
                }
                State::DataEnd => {
                    if !self.end_data(input)? {
                        return Ok(None);
                    }
                }
                State::Trailers => {
                    let Some(trailers) = trailers(input)? else {
                        return Ok(None);
                    };
                    self.state = State::Done;
                    return Ok(Some(trailers)
                        .filter(|trailers| !trailers.is_empty())
                        .map(|trailers| Piece::Trailers(Box::new(trailers))));
                }
                State::Done => return Ok(None),
            }
        }
    }

    /// Parses the line that contains a chunk's size, and ignores chunk extensions (RFC 9112
    /// §7.1.1).
    ///
    /// The parser is strict: the line must end with CR LF. Parsers that disagree about line ends
    /// see different chunks (RFC 9112 §2.2, §11.2).
    fn size(&mut self, input: &mut BytesMut) -> Result<Option<u64>, Http1Error> {
        let Some(end) = memchr::memchr(b'\n', input) else {
            return if input.len() > MAX_LINE_BYTES {
                Err(Http1Error::Chunks("a chunk size is unterminated"))
            } else {
                // A line that cannot be a size is rejected without waiting for the line end.
                let begun = input.strip_suffix(b"\r").unwrap_or(input);
                if !begun.is_empty() {
                    parse_size(begun)?;
                }
                Ok(None)
            };
        };
        if end > MAX_LINE_BYTES {
            return Err(Http1Error::Chunks("a chunk size is unterminated"));
        }
        let line = input.get(..end).unwrap_or_default();
        let line = line
            .strip_suffix(b"\r")
            // Some parsers treat a bare CR as a line end (RFC 9112 §2.2).
            .filter(|line| !line.contains(&b'\r'));
        let (size, extension_len) =
            parse_size(line.ok_or(Http1Error::Chunks("a line end is malformed"))?)?;
        self.extension_bytes += extension_len;
        if self.extension_bytes > MAX_EXTENSION_BYTES {
            return Err(Http1Error::Chunks("there are too many chunk extensions"));
        }
        input.advance(end + 1);
        Ok(Some(size))
    }

    /// Reads the line end after a chunk's data; returns `false` if more input is needed.
    fn end_data(&mut self, input: &mut BytesMut) -> Result<bool, Http1Error> {
        match input.get(..2) {
            Some(b"\r\n") => {
                input.advance(2);
                self.state = State::Size;
                Ok(true)
            }
            None if b"\r\n".starts_with(input) => Ok(false),
            _ => Err(Http1Error::Chunks("a chunk is longer than its size")),
        }
    }

    /// Reads the end of a body without trailers, if it has arrived.
    fn end_body(&mut self, input: &mut BytesMut) {
        if matches!(self.state, State::Size) && input.starts_with(b"0\r\n\r\n") {
            input.advance(5);
            self.state = State::Done;
        }
    }
}

/// Returns the size of a chunk, and the number of extension bytes that follow the size on the line.
fn parse_size(line: &[u8]) -> Result<(u64, usize), Http1Error> {
    let mut size = 0_u64;
    let mut len = 0;
    for byte in line {
        let Some(digit) = char::from(*byte).to_digit(16) else {
            break;
        };
        size = size
            .checked_mul(16)
            .map(|size| size | u64::from(digit))
            // RFC 9112 §7.1: a chunk's size must not overflow.
            .ok_or(Http1Error::Chunks("a chunk size exceeds 64 bits"))?;
        len += 1;
    }
    let rest = line.get(len..).unwrap_or_default();
    let extension = rest.trim_ascii_start();
    let is_extension = extension.is_empty() || extension.starts_with(b";");
    // Spaces are allowed before an extension (RFC 9112 §7.1.1: BWS), but other white space is not.
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let blank_len = rest.len() - extension.len();
    if len == 0 || !is_extension || !rest.iter().take(blank_len).all(is_blank) {
        return Err(Http1Error::Chunks("a chunk size is not a number"));
    }
    Ok((size, rest.len()))
}

/// Reads the trailer section (RFC 9112 §7.1.2), which ends with an empty line.
fn trailers(input: &mut BytesMut) -> Result<Option<HeaderMap>, Http1Error> {
    if input.starts_with(b"\r\n") {
        input.advance(2);
        return Ok(Some(HeaderMap::new()));
    }
    let within = input.get(..MAX_TRAILER_BYTES).unwrap_or(input);
    let end = memchr::memmem::find(within, b"\r\n\r\n").map(|at| at + 4);
    // A malformed line end is rejected immediately, because the empty line that ends the section
    // may never arrive (RFC 9112 §2.2).
    if has_bare_line_feed(
        within
            .get(..end.unwrap_or(within.len()))
            .unwrap_or_default(),
    ) {
        return Err(Http1Error::Chunks("the line end of a trailer is malformed"));
    }
    let Some(end) = end else {
        return if input.len() >= MAX_TRAILER_BYTES {
            Err(Http1Error::Chunks("the trailers are unterminated"))
        } else {
            Ok(None)
        };
    };
    let block = input.split_to(end).freeze();
    let mut lines = [httparse::EMPTY_HEADER; MAX_TRAILERS];
    let parsed = httparse::parse_headers(&block, &mut lines);
    let Ok(httparse::Status::Complete((len, lines))) = parsed else {
        return Err(Http1Error::Chunks("the trailers are malformed"));
    };
    if len != end {
        return Err(Http1Error::Chunks("the trailers are malformed"));
    }
    let mut trailers = HeaderMap::with_capacity(lines.len());
    for line in lines {
        let name = HeaderName::from_bytes(line.name.as_bytes());
        let value = HeaderValue::from_bytes(line.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Http1Error::Chunks("the trailers are malformed"));
        };
        trailers.append(name, value);
    }
    Ok(Some(trailers))
}

fn has_bare_line_feed(block: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', block)
        .any(|at| at.checked_sub(1).and_then(|at| block.get(at)) != Some(&b'\r'))
}

//! Detection of where the requests on an HTTP/1 connection begin and end (RFC 9112 §2.1, §6.3,
//! §7.1).

use std::{borrow::Cow, io::Write as _, mem};

use http::{Uri, uri::InvalidUri};

/// The number of bytes that are kept of a line that arrives in pieces, which suffices for a name
/// and a length.
const KEPT_BYTES: usize = 256;

/// A scanner that checks a client's bytes before the parser reads them.
///
/// hyper treats a bare line feed as the end of the trailers, or as the first byte of a trailer, and
/// so skips the next request. It removes a `Content-Length` next to a `Transfer-Encoding` before
/// any check, rejects targets with non-ASCII bytes that are not UTF-8, and cuts targets off at `#`.
/// The scanner discards all bytes from the start of a line that violates the chunked coding,
/// detects requests with two lengths, and encodes non-ASCII bytes and `#` in a target as `%XX`.
///
/// # Example
///
/// ```
/// use robot_detection_http::listen::RequestFraming;
///
/// let mut framing = RequestFraming::default();
/// assert_eq!(&*framing.follow(b"GET /caf\xe9 HTTP/1.1\r\n\r\n"), b"GET /caf%E9 HTTP/1.1\r\n\r\n");
/// framing.follow(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
/// assert_eq!(&*framing.follow(b"0\r\n\nGET /next"), b"0\r\n");
/// assert!(framing.has_ended());
/// ```
#[derive(Debug, Default)]
pub struct RequestFraming {
    state: State,
    head: Head,
    /// The start of a line whose end has not arrived.
    partial: PartialLine,
    heads: u32,
    longest_line: usize,
    /// Whether the last request asked for a protocol switch, so that bytes other than HTTP may
    /// follow.
    may_switch: bool,
    /// Whether the last request head leaves the end of the body ambiguous.
    is_unclear: bool,
}

// Head → Length → Head for a body of known length; Head → Size → Data → DataEnd → Size → … →
// Trailers → Head for chunks (RFC 9112 §7.1); Over from any state.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Head,
    /// A body with a known length, of which the given number of bytes is left (RFC 9112 §6.2).
    Length(u64),
    /// A line that contains a chunk's size.
    Size,
    Data(u64),
    /// The line end after a chunk's data.
    DataEnd,
    Trailers,
    /// No more bytes of the connection may be read (RFC 9112 §11.2).
    Over,
}

/// The properties of a head that follow from its lines so far.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the facts are independent of each other"
)]
struct Head {
    has_line: bool,
    is_http10: bool,
    has_coding: bool,
    length: Option<u64>,
    /// Whether the body length is invalid, which ends the connection (RFC 9112 §6.3, rule 5).
    is_wrong: bool,
    asks_to_switch: bool,
}

/// The kept start of a line that arrives in pieces.
#[derive(Debug, Default)]
struct PartialLine {
    start: Vec<u8>,
    len: usize,
    ends_with_cr: bool,
    /// Whether the line is a request line and its target has begun.
    is_target: bool,
}

/// A complete line without its line end.
#[derive(Clone, Copy)]
struct Line<'l> {
    /// The whole line, or the start of the line that was kept.
    start: &'l [u8],
    len: usize,
    ends_with_cr: bool,
}

/// An error for a line that violates the grammar of HTTP/1.
struct Malformed;

impl RequestFraming {
    /// Scans the next bytes, and returns the bytes that the parser may read.
    ///
    /// The returned bytes end before the first error, and raw bytes in targets are encoded.
    pub fn follow<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut rest = bytes;
        let mut rewritten = RewrittenBytes::default();
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            match &mut self.state {
                State::Over => return rewritten.all(bytes.get(..at).unwrap_or_default()),
                State::Length(left) => {
                    rest = skip(rest, left);
                    if *left == 0 {
                        self.state = State::Head;
                    }
                }
                State::Data(left) => {
                    rest = skip(rest, left);
                    if *left == 0 {
                        self.state = State::DataEnd;
                    }
                }
                State::Head | State::Size | State::DataEnd | State::Trailers => {
                    let end = memchr::memchr(b'\n', rest);
                    let len = end.map_or(rest.len(), |end| end + 1);
                    let (part, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                    if let Some(raw) = self.raw_target(part) {
                        rewritten.encode(bytes, at + raw, at + len);
                        // The line limit applies to the encoded line, which may be three times as
                        // long.
                        let may_be = "%XX".len() * (self.partial.len + len);
                        self.longest_line = self.longest_line.max(may_be);
                    }
                    if self.part(part, end.is_some()).is_err() {
                        self.state = State::Over;
                        return rewritten.all(bytes.get(..at).unwrap_or_default());
                    }
                    rest = behind;
                }
            }
        }
        rewritten.all(bytes)
    }

    /// Returns `true` if the following bytes are malformed or ambiguous and must not be read.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Returns the number of complete request heads scanned so far.
    pub(super) fn heads(&self) -> u32 {
        self.heads
    }

    /// Returns `true` if the last request head leaves the end of its body ambiguous, so that
    /// reading stops.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.is_unclear
    }

    /// Returns the size of the longest head line scanned so far.
    pub(super) fn longest_line(&self) -> usize {
        self.longest_line.max(self.partial.len)
    }

    /// Forgets the request for a protocol switch after a response that does not switch protocols.
    pub(super) fn reset_switch(&mut self) {
        self.may_switch = false;
    }

    /// Returns the start of the target in a part of a line if the part contains bytes to encode.
    fn raw_target(&mut self, part: &[u8]) -> Option<usize> {
        if self.head.has_line || !matches!(self.state, State::Head) {
            return None;
        }
        let mut start = 0;
        if !self.partial.is_target {
            start = memchr::memchr(b' ', part)?;
            self.partial.is_target = true;
        }
        let is_raw = part.get(start..).is_some_and(is_raw);
        // After an upgrade, the bytes may belong to another protocol and must not be changed.
        (is_raw && !self.may_switch).then_some(start)
    }

    /// Processes a part of a line; the part may include the line end.
    fn part(&mut self, part: &[u8], is_end: bool) -> Result<(), Malformed> {
        if !is_end {
            self.partial.add(part);
            return Ok(());
        }
        if self.partial.len == 0 {
            self.partial.is_target = false;
            return self.line(Line::of(part));
        }
        self.partial.add(part);
        let partial = mem::take(&mut self.partial);
        self.line(Line {
            start: trimmed(&partial.start),
            len: partial.len,
            ends_with_cr: partial.ends_with_cr,
        })
    }

    fn line(&mut self, line: Line<'_>) -> Result<(), Malformed> {
        match self.state {
            State::Head => {
                self.longest_line = self.longest_line.max(line.len);
                if self.head.add(line) {
                    self.end_head();
                }
            }
            // RFC 9112 §7.1: the chunk of size 0 is the last chunk.
            State::Size => {
                self.state = match line.size().ok_or(Malformed)? {
                    0 => State::Trailers,
                    size => State::Data(size),
                };
            }
            // Both line ends must be exactly CR LF, because parsers disagree about a bare line feed
            // here (RFC 9112 §2.2, §7.1).
            State::DataEnd if line.is_empty_and_strict() => self.state = State::Size,
            State::Trailers if line.is_empty_and_strict() => self.state = State::Head,
            State::Trailers if line.ends_with_cr && !line.start.is_empty() => {}
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn end_head(&mut self) {
        let head = mem::take(&mut self.head);
        self.heads = self.heads.wrapping_add(1);
        self.may_switch = head.asks_to_switch;
        // A transfer coding together with a length, or in HTTP/1.0, is faulty framing (RFC 9112
        // §6.1).
        let has_both = head.has_coding && (head.is_http10 || head.length.is_some());
        self.is_unclear = head.is_wrong || has_both;
        self.state = match head.length {
            _ if self.is_unclear => State::Over,
            // hyper rejects codings that do not end with `chunked` (RFC 9112 §6.3, rule 4).
            _ if head.has_coding => State::Size,
            Some(length @ 1..) => State::Length(length),
            // A request with neither a length nor a coding has no body (RFC 9112 §6.3, rule 7).
            Some(0) | None => State::Head,
        };
    }
}

impl Head {
    /// Adds a line of a head; returns `true` if the line ends the head.
    fn add(&mut self, line: Line<'_>) -> bool {
        let text = line.start;
        if text.is_empty() {
            // Empty lines before a request are skipped (RFC 9112 §2.2).
            return self.has_line;
        }
        if !self.has_line {
            self.has_line = true;
            self.is_http10 = text.ends_with(b" HTTP/1.0");
            // RFC 9110 §9.3.6: a tunnel follows a successful CONNECT.
            self.asks_to_switch = text.starts_with(b"CONNECT ");
            // If the line is longer than the kept part, the version is unknown. The version matters
            // only with chunks, which hyper rejects in HTTP/1.0.
            return false;
        }
        let Some(colon) = memchr::memchr(b':', text) else {
            // hyper rejects a line without a colon (RFC 9112 §5).
            return false;
        };
        let (name, value) = text.split_at_checked(colon).unwrap_or_default();
        match colon {
            // RFC 9110 §7.8.
            7 => self.asks_to_switch |= name.eq_ignore_ascii_case(b"upgrade"),
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let value = value.get(1..).unwrap_or_default();
                let length = decimal(value.trim_ascii()).filter(|_| !line.is_cut());
                // A length consists of digits, and several lengths must be equal (RFC 9110 §8.6,
                // RFC 9112 §6.3, rule 5).
                self.is_wrong |=
                    length.is_none() || self.length.is_some_and(|it| Some(it) != length);
                self.length = length;
            }
            // RFC 9112 §6.1.
            17 => self.has_coding |= name.eq_ignore_ascii_case(b"transfer-encoding"),
            _ => {}
        }
        false
    }
}

impl PartialLine {
    fn add(&mut self, part: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.start.len());
        self.start.extend(part.iter().take(room));
        self.len += part.len();
        self.ends_with_cr = match part {
            [.., last, b'\n'] => *last == b'\r',
            // CR and LF arrived separately: the CR was the last byte of the previous part.
            [b'\n'] => self.ends_with_cr,
            part => part.ends_with(b"\r"),
        };
    }
}

impl<'l> Line<'l> {
    fn of(line: &'l [u8]) -> Self {
        Self {
            start: trimmed(line),
            len: line.len(),
            ends_with_cr: line.ends_with(b"\r\n"),
        }
    }

    fn is_cut(self) -> bool {
        self.len > self.start.len() + "\r\n".len()
    }

    fn is_empty_and_strict(self) -> bool {
        self.start.is_empty() && self.len == "\r\n".len()
    }

    /// Parses a chunk's size (RFC 9112 §7.1). Chunk extensions (§7.1.1) are left to the parser.
    fn size(self) -> Option<u64> {
        let digits = self
            .start
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit());
        let len = digits.count();
        // An extension, or spaces before one, may follow the digits (RFC 9112 §7.1.1).
        let is_ended = matches!(self.start.get(len), Some(b';' | b' ' | b'\t'));
        let is_whole = self.start.len() == len && !self.is_cut();
        let digits = std::str::from_utf8(self.start.get(..len)?).ok()?;
        // A size that overflows must not wrap around (RFC 9112 §7.1).
        let size = u64::from_str_radix(digits, 16).ok()?;
        (self.ends_with_cr && (is_ended || is_whole)).then_some(size)
    }
}

/// The rewritten bytes that are passed on instead of the received bytes.
#[derive(Default)]
struct RewrittenBytes {
    made: Vec<u8>,
    /// The number of received bytes that the rewritten bytes already include.
    taken: usize,
}

impl RewrittenBytes {
    /// Writes a range of bytes, and percent-encodes unsafe bytes.
    #[cold]
    fn encode(&mut self, bytes: &[u8], start: usize, end: usize) {
        let before = bytes.get(self.taken..start).unwrap_or_default();
        self.made.extend_from_slice(before);
        percent_encode(bytes.get(start..end).unwrap_or_default(), &mut self.made);
        self.taken = end;
    }

    fn all(mut self, bytes: &[u8]) -> Cow<'_, [u8]> {
        if self.taken == 0 {
            return Cow::Borrowed(bytes);
        }
        // Discarded bytes are never included, because they start with a line that follows all
        // rewritten lines.
        let rest = bytes.get(self.taken..).unwrap_or_default();
        self.made.extend_from_slice(rest);
        Cow::Owned(self.made)
    }
}

/// Parses the target of a request line in the same way as this crate's listeners.
///
/// Non-ASCII bytes and `#` become `%XX` (RFC 3986 §2.1): programs disagree about the end of a
/// target with a fragment, which RFC 9112 §3.2 does not allow.
///
/// # Errors
///
/// Returns an error for a target that no listener accepts.
pub fn read_target(target: &[u8]) -> Result<Uri, InvalidUri> {
    if !is_raw(target) {
        return Uri::try_from(target);
    }
    let mut encoded = Vec::with_capacity(2 * target.len());
    percent_encode(target, &mut encoded);
    Uri::try_from(encoded)
}

/// Returns `true` if a request target contains bytes that must be percent-encoded.
pub(super) fn is_raw(target: &[u8]) -> bool {
    !target.is_ascii() || memchr::memchr(b'#', target).is_some()
}

/// Appends a request target with its non-ASCII bytes and `#` encoded as `%XX`.
pub(super) fn percent_encode(text: &[u8], output: &mut Vec<u8>) {
    for byte in text {
        if byte.is_ascii() && *byte != b'#' {
            output.push(*byte);
        } else {
            // Writing to a `Vec` does not fail.
            drop(write!(output, "%{byte:02X}"));
        }
    }
}

fn skip<'b>(bytes: &'b [u8], left: &mut u64) -> &'b [u8] {
    let len = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    *left -= len as u64;
    bytes.get(len..).unwrap_or_default()
}

/// Returns a line without its line end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let digits = is_number
        .then(|| std::str::from_utf8(digits).ok())
        .flatten()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNKS: &str = "Transfer-Encoding: chunked\r\n";

    /// Returns the readable part of bytes that arrive in pieces, whether reading has ended, and the
    /// number of heads.
    fn followed(bytes: &[u8], piece: usize) -> (String, bool, u32) {
        let (read, is_over, heads) = followed_bytes(bytes, piece);
        (String::from_utf8_lossy(&read).into_owned(), is_over, heads)
    }

    fn followed_bytes(bytes: &[u8], piece: usize) -> (Vec<u8>, bool, u32) {
        let (mut framing, mut read) = (RequestFraming::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            read.extend_from_slice(&framing.follow(piece));
        }
        (read, framing.has_ended(), framing.heads())
    }

    #[test]
    fn length_together_with_chunks_ends_the_connection() {
        for (lines, expected) in [
            ("", false),
            ("Content-Length: 5\r\n", false),
            ("Content-Length: 5\r\nContent-Length: 05\r\n", false),
            (CHUNKS, false),
            (
                "Transfer-Encoding: chunked\r\nContent-Length: abc\r\n",
                true,
            ),
            ("Transfer-Encoding: chunked\r\nCONTENT-LENGTH:5\r\n", true),
            ("content-length: 5\r\ntRANSFER-eNCODING: chunked\r\n", true),
            ("Transfer-Encoding: chunked\nContent-Length: 5\n", true),
            ("Content-Length: 5\r\nContent-Length: 6\r\n", true),
            ("Content-Length: +5\r\n", true),
            (
                "Transfer-Encoding: chunked\r\nX: Content-Length: 5\r\n",
                false,
            ),
        ] {
            let head = format!("POST /x?a HTTP/1.1\r\n{lines}\r\n");
            for piece in [1, 2, 7, 1000] {
                assert_eq!(
                    followed(head.as_bytes(), piece),
                    (head.clone(), expected, 1),
                    "{lines}"
                );
            }
        }
    }

    #[test]
    fn malformed_chunks_are_not_read() {
        let head = format!("POST / HTTP/1.1\r\n{CHUNKS}\r\n");
        for (body, passed) in [
            ("0\r\n\n", "0\r\n"),
            ("0\r\n\nGET / HTTP/1.1\r\n\r\n", "0\r\n"),
            ("0\r\nX: y\n\nGET / HTTP/1.1\r\n\r\n", "0\r\n"),
            ("0\r\nX: y\r\n\nGET / HTTP/1.1\r\n\r\n", "0\r\nX: y\r\n"),
            ("0\r\nX: y\nZ: 1\r\n\r\n", "0\r\n"),
            ("0\n\r\n", ""),
            ("5\n", ""),
            ("5\r\nhelloXX\n", "5\r\nhello"),
            ("5\r\nhello\n0", "5\r\nhello"),
            ("5g\r\n", ""),
            ("\r\n", ""),
            ("10000000000000000\r\n", ""),
        ] {
            let sent = head.clone() + body;
            let expected = (head.clone() + passed, true, 1);
            assert_eq!(followed(sent.as_bytes(), 1000), expected, "{body:?}");
            let (read, is_over, _) = followed(sent.as_bytes(), 1);
            assert!(
                is_over && sent.starts_with(&read) && read.len() < sent.len(),
                "{body:?}"
            );
        }
    }

    #[test]
    fn successive_requests_are_counted() {
        let sent = format!(
            "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\nContent-Length: 4\n\nG\n\n\n\
             POST / HTTP/1.1\r\n{CHUNKS}\r\n00a;x=\"\r\nGET / H\n\r\n\r\n0 \r\nX: \r\n\r\nGET "
        );
        for piece in [1, 3, 1000] {
            assert_eq!(followed(sent.as_bytes(), piece), (sent.clone(), false, 3));
        }
    }

    #[test]
    fn raw_bytes_are_encoded_in_targets_only() {
        let sent = b"G\xe4T /caf\xe9?\xff=%e9 HTTP/1.1\r\nX: \xe4\r\nContent-Length: 1\r\n\r\n\xe9GET \xc3\xa4\r\n";
        let expected = b"G\xe4T /caf%E9?%FF=%e9 HTTP/1.1\r\nX: \xe4\r\nContent-Length: 1\r\n\r\n\xe9GET %C3%A4\r\n";
        let expected = String::from_utf8_lossy(expected).into_owned();
        for piece in [1, 3, 1000] {
            assert_eq!(followed(sent, piece).0, expected);
        }
    }

    #[test]
    fn bytes_of_another_protocol_are_unchanged() {
        let mut framing = RequestFraming::default();
        framing.follow(b"GET / HTTP/1.1\r\nUpgrade: a\r\n\r\n");
        assert_eq!(&*framing.follow(b"A \xe4\n"), b"A \xe4\n");
        let mut framing = RequestFraming::default();
        framing.follow(b"GET / HTTP/1.1\r\nUpgrade: a\r\n\r\n");
        framing.reset_switch();
        assert_eq!(&*framing.follow(b"A \xe4\n"), b"A %E4\n");
    }

    #[test]
    fn kept_part_of_a_line_is_limited() {
        let mut framing = RequestFraming::default();
        framing.follow(b"GET / HTTP/1.1\r\nX: ");
        for _ in 0..1000 {
            framing.follow(&[b'a'; 100]);
        }
        assert!(framing.partial.start.capacity() <= 2 * KEPT_BYTES);
        assert!(framing.longest_line() > 100_000);
        framing.follow(b"\r\nContent-Length: ");
        framing.follow(&[b'0'; 1000]);
        framing.follow(b"5\r\n\r\n");
        assert!(framing.has_ended(), "a length beyond the kept part");
    }

    proptest! {
        #[test]
        fn pieces_only_affect_malformed_input(
            parts in prop::collection::vec(prop::sample::select(vec![
                "GET / HTTP/1.1\r\n", "POST /\u{e4} HTTP/1.1\r\n", CHUNKS, "Content-Length: 3\r\n",
                "X: y\r\n", "\r\n", "\n", "\r", "0\r\n", "3\r\nabc\r\n", "abc", "a", ";",
            ]), 0..30),
            piece in 1..9_usize,
        ) {
            let sent = parts.concat();
            let (whole, is_over, heads) = followed_bytes(sent.as_bytes(), sent.len().max(1));
            let (read, is_over_too, heads_too) = followed_bytes(sent.as_bytes(), piece);
            prop_assert_eq!((is_over, heads), (is_over_too, heads_too));
            if is_over {
                prop_assert!(read.starts_with(&whole));
            } else {
                prop_assert_eq!(read, whole);
            }
        }
    }
}

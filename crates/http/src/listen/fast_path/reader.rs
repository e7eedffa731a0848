//! A reader for plain requests that needs no connection, for tests and fuzzing.

use bytes::{Buf as _, BytesMut};
use http::Request;

use super::{
    super::settings::ListenSettings,
    head::{self, HeadLimits, ParseResult},
    line_cache::RequestNotes,
};

/// A reader for the requests that a listener serves without hyper.
///
/// The reader accepts a client's bytes in pieces of any size and returns the plain requests. A
/// plain request is a GET or HEAD request of HTTP/1.1, without a body, in the strict grammar of RFC
/// 9112. All other requests are [odd](PlainHead::Odd), and their bytes remain unread.
///
/// # Example
///
/// ```
/// use robot_detection_http::listen::{ListenSettings, PlainHead, PlainReader};
///
/// let mut reader = PlainReader::new(&ListenSettings::default());
/// assert!(matches!(reader.push(b"GET /a HTTP/1.1\r\nHo"), PlainHead::Partial));
/// let PlainHead::Plain { request, closes } = reader.push(b"st: a\r\n\r\nPOST / HT") else {
///     panic!("it is plain")
/// };
/// assert_eq!((request.uri().path(), closes), ("/a", false));
/// assert!(matches!(reader.push(b"TP/1.1\r\nHost: a\r\n\r\n"), PlainHead::Odd));
/// assert_eq!(reader.rest(), b"POST / HTTP/1.1\r\nHost: a\r\n\r\n");
/// ```
#[derive(Debug)]
pub struct PlainReader {
    limits: HeadLimits,
    unread: BytesMut,
    seen: usize,
}

/// The result of adding bytes to a [`PlainReader`].
#[derive(Debug)]
#[non_exhaustive]
pub enum PlainHead {
    /// A request that the fast path can serve.
    Plain {
        /// The request, which has no body.
        request: Box<Request<()>>,
        /// Whether the client closes the connection after the response.
        closes: bool,
    },
    /// More bytes of the request head are needed.
    Partial,
    /// The next request is not plain, so hyper must handle the remaining bytes.
    Odd,
}

impl PlainReader {
    /// Creates a reader with the limits of a listener.
    pub fn new(settings: &ListenSettings) -> Self {
        Self {
            limits: HeadLimits::new(settings),
            unread: BytesMut::new(),
            seen: 0,
        }
    }

    /// Adds bytes, and returns the next request if it is complete.
    ///
    /// If the slice is empty, the method returns another request from the bytes added earlier.
    pub fn push(&mut self, bytes: &[u8]) -> PlainHead {
        let mut request = None;
        let mut head_reader = HeadReader {
            unread: &mut self.unread,
            seen: &mut self.seen,
            limits: self.limits,
            request: &mut request,
        };
        let next = match head_reader.parse_unread() {
            Some(next) => {
                // These bytes belong to a later request.
                head_reader.unread.extend_from_slice(bytes);
                Some(next)
            }
            None if bytes.is_empty() => None,
            None => head_reader.parse_read(bytes),
        };
        match (next, request) {
            (Some(Next::Request(notes)), Some(request)) => PlainHead::Plain {
                request: Box::new(request),
                closes: notes.closes,
            },
            (None, _) => PlainHead::Partial,
            _ => PlainHead::Odd,
        }
    }

    /// Returns the added bytes that do not belong to a complete request yet.
    pub fn rest(&self) -> &[u8] {
        &self.unread
    }
}

/// The next event on a connection that carries plain requests.
pub(super) enum Next {
    Request(RequestNotes),
    End,
    Odd,
    Broken,
}

/// A reader for the next request head on a connection.
pub(super) struct HeadReader<'r> {
    /// The bytes that were read but do not belong to a complete request yet.
    pub(super) unread: &'r mut BytesMut,
    /// The number of unread bytes known to be an incomplete head.
    pub(super) seen: &'r mut usize,
    pub(super) limits: HeadLimits,
    pub(super) request: &'r mut Option<Request<()>>,
}

impl HeadReader<'_> {
    /// Parses bytes that were read together with an earlier request; returns `None` if the head is
    /// incomplete.
    pub(super) fn parse_unread(&mut self) -> Option<Next> {
        if self.unread.len() == *self.seen {
            return None;
        }
        let (len, notes) = match head::parse(self.unread, self.limits, self.request) {
            ParseResult::Plain { len, notes } => (len, notes),
            ParseResult::Odd => return Some(Next::Odd),
            ParseResult::Partial => {
                *self.seen = self.unread.len();
                return None;
            }
        };
        *self.seen = 0;
        self.unread.advance(len);
        if self.unread.is_empty() {
            *self.unread = BytesMut::new(); // An idle connection holds no memory.
        }
        Some(Next::Request(notes))
    }

    /// Parses bytes that have just been read; returns `None` if the head is incomplete.
    pub(super) fn parse_read(&mut self, read: &[u8]) -> Option<Next> {
        if !self.unread.is_empty() {
            let seen = self.unread.len();
            self.unread.extend_from_slice(read);
            let is_long = self.unread.len() >= self.limits.max_bytes();
            if is_long || head::may_be_complete(self.unread, seen) {
                return self.parse_unread();
            }
            *self.seen = self.unread.len();
            return None;
        }
        // The head is parsed directly in the read buffer, so that a head that arrives in one piece,
        // as nearly all do, is not copied.
        let parsed = head::parse(read, self.limits, self.request);
        let (len, next) = match parsed {
            ParseResult::Plain { len, notes } => (len, Some(Next::Request(notes))),
            ParseResult::Odd => (0, Some(Next::Odd)),
            ParseResult::Partial => {
                *self.seen = read.len();
                (0, None)
            }
        };
        let rest = read.get(len..).unwrap_or_default();
        if !rest.is_empty() {
            self.unread.extend_from_slice(rest);
        }
        next
    }
}

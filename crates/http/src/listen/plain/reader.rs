//! Heads of plain requests without a connection.

use bytes::BytesMut;
use http::Request;

use super::{
    super::listener::ListenSettings,
    head::HeadLimits,
    head_reader::{HeadReader, Next},
};

/// Reader of the requests that a listener answers without hyper.
///
/// It takes what a client sends, in whatever pieces, and gives back requests that
/// are plain: GET or HEAD, HTTP/1.1, without a body, formed as strictly as RFC 9112
/// has it. Everything else is odd, and left as it came.
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

/// What a [`PlainReader`] makes of what came.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlainHead {
    /// A plain request.
    Plain {
        /// The request.
        request: Box<Request<()>>,
        /// Whether the client wants no more than its answer.
        closes: bool,
    },
    /// More has to come.
    Partial,
    /// What is left is for hyper.
    Odd,
}

impl PlainReader {
    /// Creates a reader with the limits of a listener.
    #[must_use]
    pub fn new(settings: &ListenSettings) -> Self {
        Self {
            limits: HeadLimits::new(settings),
            unread: BytesMut::new(),
            seen: 0,
        }
    }

    /// Returns what comes next, after more has come; nothing more may be pushed at the end.
    #[must_use]
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
                // It came while the one before was answered.
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

    /// Returns what came and is in no request yet.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.unread
    }
}

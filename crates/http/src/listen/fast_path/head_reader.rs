//! Cuts request heads out of the bytes of a connection, in whatever pieces they arrive.

use bytes::{Buf as _, BytesMut};
use http::Request;

use super::{
    head::{self, HeadLimits, ParseResult},
    line_cache::RequestNotes,
};

/// Next event on a connection.
pub(super) enum Next {
    Request(RequestNotes),
    End,
    Odd,
    Broken,
}

/// Reader of the next head.
pub(super) struct HeadReader<'r> {
    /// Bytes that have been read and belong to no request yet.
    pub(super) unread: &'r mut BytesMut,
    /// How many of them were found to be an incomplete head.
    pub(super) seen: &'r mut usize,
    pub(super) limits: HeadLimits,
    pub(super) request: &'r mut Option<Request<()>>,
}

impl HeadReader<'_> {
    /// Parses bytes that were read with an earlier request; `None`: more has to come.
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

    /// Parses bytes that have just been read; `None`: more has to come.
    pub(super) fn parse_read(&mut self, read: &[u8]) -> Option<Next> {
        if !self.unread.is_empty() {
            let seen = self.unread.len();
            self.unread.extend_from_slice(read);
            let is_long = self.unread.len() >= self.limits.max_bytes();
            if is_long || head::may_be_whole(self.unread, seen) {
                return self.parse_unread();
            }
            *self.seen = self.unread.len();
            return None;
        }
        // Straight from the read buffer: a head that comes
        // in one piece, as nearly all do, is not copied.
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

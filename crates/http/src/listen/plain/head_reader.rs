//! Heads out of what comes, in whatever pieces.

use bytes::{Buf as _, BytesMut};
use http::Request;

use super::{
    head::{self, HeadLimits, Parsed},
    line_cache::RequestNotes,
};

/// What comes next on a connection.
pub(super) enum Next {
    Request(RequestNotes),
    End,
    Odd,
    Broken,
}

/// Head that is being read.
pub(super) struct HeadReader<'r> {
    /// What has been read, and is not answered.
    pub(super) unread: &'r mut BytesMut,
    /// How much of that is known to be no whole head.
    pub(super) seen: &'r mut usize,
    pub(super) limits: HeadLimits,
    pub(super) request: &'r mut Option<Request<()>>,
}

impl HeadReader<'_> {
    /// What is said by bytes that came with another request; `None`: more has to come.
    pub(super) fn parse_unread(&mut self) -> Option<Next> {
        if self.unread.len() == *self.seen {
            return None;
        }
        let (len, notes) = match head::parse(self.unread, self.limits, self.request) {
            Parsed::Plain { len, notes } => (len, notes),
            Parsed::Odd => return Some(Next::Odd),
            Parsed::Partial => {
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

    /// What is said by bytes that have just been read.
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
        let parsed = head::parse(read, self.limits, self.request);
        let (len, next) = match parsed {
            Parsed::Plain { len, notes } => (len, Some(Next::Request(notes))),
            Parsed::Odd => (0, Some(Next::Odd)),
            Parsed::Partial => {
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

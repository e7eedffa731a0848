//! Connections of a listener, counted.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Why a connection was not served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unserved {
    AddressLimit,
    ProxyNotTrusted,
    Handshake,
    Timeout,
    ClientLeft,
}

/// Counts of a listener's connections; nothing is counted by request.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    accepted: AtomicU64,
    ended: AtomicU64,
    unserved: [AtomicU64; Unserved::ALL.len()],
    malformed: AtomicU64,
    too_large: AtomicU64,
}

/// Connection that has not ended; counted when dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<ConnectionCounts>);

impl ConnectionCounts {
    /// Returns the connections that were accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Returns the connections that are open, tunnels among them.
    #[must_use]
    pub fn open(&self) -> u64 {
        let ended = self.ended.load(Relaxed);
        self.accepted().saturating_sub(ended)
    }

    /// Returns the connections that ended before a request could come, by reason.
    ///
    /// The reasons are `address_limit`, `proxy_not_trusted`, `handshake` (TLS or
    /// PROXY header), `timeout` and `client_left`.
    pub fn unserved(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let numbers = self.unserved.iter().map(|number| number.load(Relaxed));
        Unserved::ALL.iter().map(|why| why.word()).zip(numbers)
    }

    /// Returns the heads of requests that could not be read, by the answer they got.
    ///
    /// No service sees them: `400`, or `431` for those that are too large (of an
    /// overlong URL 414).
    pub fn unreadable(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let numbers = [("400", &self.malformed), ("431", &self.too_large)];
        let numbers = numbers.into_iter();
        numbers.map(|(status, number)| (status, number.load(Relaxed)))
    }

    pub(super) fn accept(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Relaxed);
        OpenConnection(Arc::clone(self))
    }

    pub(super) fn count_unserved(&self, why: Unserved) {
        let known = Unserved::ALL.iter().zip(&self.unserved);
        for (_, number) in known.filter(|(known, _)| **known == why) {
            number.fetch_add(1, Relaxed);
        }
    }

    /// Counts how a connection ended that had been served.
    pub(super) fn count_end(&self, error: &hyper::Error) {
        if error.is_parse_too_large() {
            self.too_large.fetch_add(1, Relaxed);
        } else if error.is_parse() {
            self.malformed.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

impl Unserved {
    const ALL: [Self; 5] = [
        Self::AddressLimit,
        Self::ProxyNotTrusted,
        Self::Handshake,
        Self::Timeout,
        Self::ClientLeft,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::AddressLimit => "address_limit",
            Self::ProxyNotTrusted => "proxy_not_trusted",
            Self::Handshake => "handshake",
            Self::Timeout => "timeout",
            Self::ClientLeft => "client_left",
        }
    }
}

/// What an error means before the first request.
impl From<&io::Error> for Unserved {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::QuotaExceeded => Self::AddressLimit,
            io::ErrorKind::PermissionDenied => Self::ProxyNotTrusted,
            io::ErrorKind::InvalidData => Self::Handshake,
            _ => Self::ClientLeft,
        }
    }
}

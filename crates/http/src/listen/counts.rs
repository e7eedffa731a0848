//! Counters of a listener's connections.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use http::StatusCode;

/// Status codes of the responses that a listener itself sends.
const REFUSALS: [(StatusCode, &str); 4] = [
    (StatusCode::BAD_REQUEST, "400"),
    (StatusCode::PAYLOAD_TOO_LARGE, "413"),
    (StatusCode::URI_TOO_LONG, "414"),
    (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "431"),
];

/// The reason why a connection was not served.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum UnservedReason {
    AddressLimit,
    ProxyNotTrusted,
    Handshake,
    Timeout,
    ClientLeft,
}

/// Counters of a listener's connections and of the requests that the listener refuses.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    accepted: AtomicU64,
    ended: AtomicU64,
    unserved: [AtomicU64; UnservedReason::ALL.len()],
    refused: [AtomicU64; REFUSALS.len()],
}

/// The record of an open connection, which counts the connection as ended when it is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<ConnectionCounts>);

impl ConnectionCounts {
    /// Returns the number of accepted connections.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Returns the number of open connections, including tunnels.
    pub fn open(&self) -> u64 {
        // The count of ended connections is read before `accepted`, so that a connection that ends
        // in between does not make the difference negative.
        let ended = self.ended.load(Relaxed);
        self.accepted().saturating_sub(ended)
    }

    /// Returns the number of connections that ended before their first request, by reason.
    ///
    /// The reasons are `address_limit`, `proxy_not_trusted`, `handshake` (TLS or PROXY header),
    /// `timeout` and `client_left`.
    pub fn unserved(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let numbers = self.unserved.iter().map(|number| number.load(Relaxed));
        UnservedReason::ALL
            .iter()
            .map(|why| why.word())
            .zip(numbers)
    }

    /// Returns the number of requests that did not reach a service, by status.
    ///
    /// Status `400` means that the request is not HTTP; `413`, `414` and `431` mean that its body,
    /// target or head exceeds a limit.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let numbers = self.refused.iter().map(|number| number.load(Relaxed));
        REFUSALS.iter().map(|(_, word)| *word).zip(numbers)
    }

    pub(super) fn accept(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Relaxed);
        OpenConnection(Arc::clone(self))
    }

    pub(super) fn count_unserved(&self, why: UnservedReason) {
        let known = UnservedReason::ALL.iter().zip(&self.unserved);
        for (_, number) in known.filter(|(known, _)| **known == why) {
            number.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn count_refused(&self, status: StatusCode) {
        let known = REFUSALS.iter().zip(&self.refused);
        for (_, number) in known.filter(|((known, _), _)| *known == status) {
            number.fetch_add(1, Relaxed);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

impl UnservedReason {
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

/// Classifies an error that ended a connection before its first request.
impl From<&io::Error> for UnservedReason {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::QuotaExceeded => Self::AddressLimit,
            io::ErrorKind::PermissionDenied => Self::ProxyNotTrusted,
            io::ErrorKind::InvalidData => Self::Handshake,
            _ => Self::ClientLeft,
        }
    }
}

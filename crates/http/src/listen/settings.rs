//! Settings of a listener.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use super::{address::ListenAddr, client_addr::TrustedProxies, tls::Tls};

/// Settings of one listener.
///
/// [`Default`] listens on 127.0.0.1:8080 without TLS and trusts no proxy.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// Address to listen on.
    pub addr: ListenAddr,
    /// Permissions of a Unix socket's file.
    pub unix_mode: u32,
    /// Proxies whose forwarding headers and PROXY headers are trusted.
    pub trusted_proxies: TrustedProxies,
    /// Whether every connection must start with a PROXY header (version 1 or 2).
    ///
    /// Peers that are not trusted proxies are then not served.
    pub proxy_protocol: bool,
    /// Certificates; without them connections are not encrypted.
    pub tls: Option<Tls>,
    /// Timeout for the head of a request, from the connection's start or the head's first byte.
    ///
    /// The PROXY header and TLS handshake together have the same timeout.
    pub header_timeout: Duration,
    /// Time that a connection stays open without a request, or while the client neither reads nor
    /// sends.
    pub idle_timeout: Duration,
    /// Maximum number of headers of a request; more result in status 431.
    pub max_headers: usize,
    /// Maximum size of a request's head, at least 8,192 bytes; more result in status 431.
    pub max_header_bytes: usize,
    /// Maximum size of one line of a request's head; more result in status 431.
    ///
    /// The target counts as a line too; a longer one results in status 414.
    pub max_header_line_bytes: usize,
    /// Maximum size of a request's body; 0 means no limit. More result in status 413 or a cut.
    pub max_body_bytes: u64,
    /// Maximum number of concurrent connections; more wait to be accepted.
    pub max_connections: usize,
    /// Maximum number of connections per address or IPv6 /64; 0 means no limit. More are closed.
    ///
    /// Trusted proxies and Unix sockets have no limit.
    pub max_connections_per_address: usize,
    /// Header line, with its line end, in responses that no service creates: those to requests that
    /// are malformed or exceed a limit.
    pub refusal_line: Option<&'static str>,
    /// Whether our own parser serves requests without a body and hyper all others; if not, hyper
    /// serves all.
    ///
    /// The responses are the same.
    pub fast_path: bool,
    /// Time for requests in flight to finish at shutdown.
    pub drain_timeout: Duration,
}

impl Default for ListenSettings {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)).into(),
            unix_mode: 0o660,
            trusted_proxies: TrustedProxies::default(),
            proxy_protocol: false,
            tls: None,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            max_headers: 100,
            max_header_bytes: 32 * 1024,
            max_header_line_bytes: 8 * 1024,
            max_body_bytes: 0,
            max_connections: 10_000,
            max_connections_per_address: 0,
            refusal_line: None,
            fast_path: true,
            drain_timeout: Duration::from_secs(30),
        }
    }
}

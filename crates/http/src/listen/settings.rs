//! The settings of a listener.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use super::{address::ListenAddr, client_addr::TrustedProxies, tls::Tls};

/// The settings of one listener.
///
/// With the [`Default`] settings, a listener listens on 127.0.0.1:8080 without TLS and trusts no
/// proxy.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// The address on which the listener accepts connections.
    pub addr: ListenAddr,
    /// The permissions of a Unix socket's file.
    pub unix_mode: u32,
    /// The proxies whose forwarding headers and PROXY headers are trusted.
    pub trusted_proxies: TrustedProxies,
    /// Whether every connection must start with a PROXY header (version 1 or 2).
    ///
    /// If set, peers that are not trusted proxies are not served.
    pub proxy_protocol: bool,
    /// The certificates for TLS; if `None`, connections are not encrypted.
    pub tls: Option<Tls>,
    /// The timeout for the head of a request, measured from the start of the connection or the
    /// head's first byte.
    ///
    /// The same timeout applies to the PROXY header and TLS handshake together.
    pub header_timeout: Duration,
    /// The time for which a connection stays open without a request, or while the client neither
    /// receives nor sends data.
    pub idle_timeout: Duration,
    /// The maximum number of headers in a request; requests with more headers get status 431.
    pub max_headers: usize,
    /// The maximum size of a request's head in bytes, at least 8,192; larger heads get status 431.
    pub max_header_bytes: usize,
    /// The maximum size of one line of a request's head; longer lines get status 431.
    ///
    /// The request target is also treated as a line; a request with a longer target gets status
    /// 414.
    pub max_header_line_bytes: usize,
    /// The maximum size of a request's body; 0 means no limit. Requests with larger bodies get
    /// status 413 or are aborted.
    pub max_body_bytes: u64,
    /// The maximum number of concurrent connections; further connections wait to be accepted.
    pub max_connections: usize,
    /// The maximum number of connections per address or IPv6 /64; 0 means no limit. Further
    /// connections are closed.
    ///
    /// Connections from trusted proxies and Unix sockets are not limited.
    pub max_connections_per_address: usize,
    /// A header line, including its line end, for responses that the listener itself sends to
    /// requests that are malformed or exceed a limit.
    pub refusal_line: Option<&'static str>,
    /// Whether the built-in parser serves requests without a body and hyper serves only the other
    /// requests; if not, hyper serves all requests.
    ///
    /// The responses are the same, whether the fast path is used or not.
    pub fast_path: bool,
    /// The time that requests in flight have to finish at shutdown.
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

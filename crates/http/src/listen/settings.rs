//! Settings of a listener.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use super::{address::ListenAddr, client_addr::TrustedProxies, tls::Tls};

/// Settings of one listener.
///
/// [`Default`] listens on 127.0.0.1:8080 without TLS and trusts nobody.
#[derive(Clone, Debug)]
pub struct ListenSettings {
    /// Address to listen at.
    pub addr: ListenAddr,
    /// Permissions of a Unix socket's file.
    pub unix_mode: u32,
    /// Proxies whose forwarding headers, and PROXY headers, are believed.
    pub trusted_proxies: TrustedProxies,
    /// Whether every connection begins with a PROXY header (version 1 or 2).
    ///
    /// Other peers than trusted proxies are not served then.
    pub proxy_protocol: bool,
    /// Certificates; without them connections are not encrypted.
    pub tls: Option<Tls>,
    /// Time for the head of a request to arrive, from the connection or its first byte.
    ///
    /// PROXY header and TLS handshake together get as long.
    pub header_timeout: Duration,
    /// Time that a connection stays open without a request,
    /// or while the client takes and sends nothing.
    pub idle_timeout: Duration,
    /// Headers of a request; more are answered with 431.
    pub max_headers: usize,
    /// Bytes of a request's head, 8,192 at least; more are answered with 431.
    pub max_header_bytes: usize,
    /// Bytes of one line of a request's head; more are answered with 431.
    ///
    /// The target counts as a line too; a longer one is answered with 414.
    pub max_header_line_bytes: usize,
    /// Bytes of a request's body; 0: no limit. More are answered with 413, or cut.
    pub max_body_bytes: u64,
    /// Connections at one time; more wait to be accepted.
    pub max_connections: usize,
    /// Connections of one address, or /64 of IPv6; 0: no limit. More are closed.
    ///
    /// Trusted proxies and Unix sockets have no limit.
    pub max_connections_per_address: usize,
    /// Header line, with its line end, in answers that no service gives: those to requests which are
    /// malformed or exceed a limit.
    pub refusal_line: Option<&'static str>,
    /// Serve requests without a body by a parser of our own, and the others by hyper; else all
    /// by hyper.
    ///
    /// The answers are the same.
    pub fast_path: bool,
    /// Time for requests in flight to end at shutdown.
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

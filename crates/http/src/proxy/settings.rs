use std::{path::PathBuf, sync::Arc, time::Duration};

use http::uri::PathAndQuery;

use super::error::ProxyError;

/// The settings of a reverse proxy.
#[derive(Clone, Debug)]
pub struct ProxySettings {
    /// The URLs of the upstream's servers: one to 64 equivalent servers.
    ///
    /// A URL has the form `http(s)://host[:port]`, optionally with a path that is prepended to the
    /// path of each request (the same for all servers), `h2c://host:port` for HTTP/2 without TLS,
    /// or `unix:/path/of/socket`.
    pub servers: Vec<String>,
    /// The timeout for opening a connection, including the TLS handshake.
    pub connect_timeout: Duration,
    /// The timeout for the response's head, measured from the end of the request. The timeout is
    /// also the maximum time for which the request's body may stall.
    pub response_timeout: Duration,
    /// The maximum time for which a response may stall once it has begun.
    pub idle_timeout: Duration,
    /// Whether to preserve the client's `Host` header instead of sending the server's name.
    pub preserve_host: bool,
    /// Whether to offer HTTP/2 (by ALPN) to servers with an `https://` URL.
    ///
    /// Requests that switch protocols, such as for a WebSocket connection, still use HTTP/1.1.
    pub http2: bool,
    /// A PEM file with the authorities trusted for `https://` servers, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether to cache the header lines that a server sends, so that the same lines need not be
    /// parsed again.
    ///
    /// The cache saves a sixth of the instructions for a proxied request.
    pub fast_path: bool,
    /// The health check of the servers, which supplements the results of requests.
    pub health_check: Option<HealthCheck>,
}

/// A health check: a request that shows whether a server is healthy.
///
/// The check succeeds if the response status is from 200 to 399. A server whose check fails twice
/// in a row is excluded until a check succeeds, unless the upstream has no other server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HealthCheck {
    pub(super) path: Arc<str>,
    pub(super) interval: Duration,
}

/// The state of one server of an upstream, as returned by [`Proxy::servers`].
///
/// [`Proxy::servers`]: super::Proxy::servers
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServerState {
    /// The URL of the upstream server.
    pub url: String,
    /// Whether the server is healthy, so that requests are sent to it normally.
    pub is_healthy: bool,
    /// The number of requests whose responses have not ended, including open tunnels.
    pub in_flight: u64,
    /// The number of requests since the proxy started, including those in flight.
    pub requests: u64,
    /// The current number of consecutive failed requests or health checks.
    pub failures: u32,
    /// The number of connections that are idle or shared by requests.
    pub kept_connections: usize,
    /// The most recent error since the proxy started, even if the server has recovered.
    pub last_error: Option<String>,
}

impl Default for ProxySettings {
    /// Returns settings without a server, with timeouts of five seconds for connecting, one minute
    /// for the start of a response, and five minutes for a stalled response.
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_mins(5),
            preserve_host: true,
            http2: false,
            ca_file: None,
            fast_path: true,
            health_check: None,
        }
    }
}

impl HealthCheck {
    /// Creates a health check that requests a path at an interval.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is invalid.
    pub fn new(path: &str, interval: Duration) -> Result<Self, ProxyError> {
        if !path.starts_with('/') || PathAndQuery::try_from(path).is_err() {
            return Err(ProxyError::HealthPath(path.to_owned()));
        }
        Ok(Self {
            path: path.into(),
            interval,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_must_start_with_a_slash() {
        for (path, is_right) in [
            ("/health", true),
            ("/health?deep=1", true),
            ("health", false),
            ("http://a/health", false),
            ("/a b", false),
            ("", false),
        ] {
            let check = HealthCheck::new(path, Duration::from_secs(1));
            assert_eq!(check.is_ok(), is_right, "{path:?}");
        }
    }
}

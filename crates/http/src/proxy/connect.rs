//! Connections to servers.

use std::{error::Error, io, path::Path, pin::pin, sync::Arc, time::Duration};

use hyper::client::conn::http2;
use hyper_util::{
    client::legacy::connect::{Connection as _, HttpConnector},
    rt::{TokioIo, TokioTimer},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{self, Instant},
};
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use tracing::debug;

use crate::listen::TrackedExecutor;

use super::{
    error::chain,
    http1::{Connection, MAX_HEAD_BYTES, Stream},
    sender::{SharedConnection, Streams},
    settings::ProxySettings,
    tls::Tls,
    upstream::{Address, Protocol, Upstream},
};

/// The time without received data after which a PING is sent to a server with open streams (RFC
/// 9113 §6.7).
const PING_AFTER: Duration = Duration::from_secs(20);

/// The maximum number of streams on a connection until the server's SETTINGS arrive (RFC 9113
/// §6.5.2).
///
/// The maximum is one stream, because a server with a low limit would refuse further streams.
const FIRST_STREAMS: usize = 1;

/// The error numbers ENFILE and EMFILE, which are the same on every Unix; `io::ErrorKind` has no
/// stable kind for them.
const OUT_OF_FILES: [i32; 2] = [23, 24];

type BoxError = Box<dyn Error + Send + Sync>;

/// A connector that opens connections to servers.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    http: HttpConnector,
    tls: Option<Tls>,
    timeout: Duration,
    /// Whether each connection caches the header lines that its server sends.
    fast_path: bool,
    tasks: TaskTracker,
}

/// A new connection; an HTTP/2 connection already has a running task.
#[derive(Debug)]
pub(super) enum NewConnection {
    Http1(Box<Connection>),
    Http2(SharedConnection),
}

/// An error that occurred while connecting to a server.
#[derive(Debug)]
pub(super) enum ConnectError {
    Timeout(Duration),
    Failed(BoxError),
}

impl ConnectError {
    /// Returns `true` if the connection failed because the process or the system cannot open more
    /// files.
    pub(super) fn is_out_of_files(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = match self {
            Self::Timeout(_) => None,
            Self::Failed(error) => Some(&**error),
        };
        while let Some(error) = cause {
            let code = error.downcast_ref().and_then(io::Error::raw_os_error);
            if code.is_some_and(|code| OUT_OF_FILES.contains(&code)) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

/// Returns a connector for TCP, without TLS.
pub(super) fn http_connector() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    // The TLS connector passes on `https` URLs, which would otherwise be rejected here.
    http.enforce_http(false);
    http.set_keepalive(Some(Duration::from_mins(1)));
    http
}

impl Connector {
    pub(super) fn new(settings: &ProxySettings, tls: Option<Tls>, tasks: TaskTracker) -> Self {
        Self {
            http: http_connector(),
            tls,
            timeout: settings.connect_timeout,
            fast_path: settings.fast_path,
            tasks,
        }
    }

    /// Returns the timeout for connecting to a server.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn offers_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.offers_http2)
    }

    /// Connects to the server, and starts the connection's task if the protocol is HTTP/2.
    ///
    /// If `switches` is set, only HTTP/1.1 is offered, because HTTP/2 cannot switch protocols (RFC
    /// 9113 §8.6).
    pub(super) async fn connect(
        &self,
        upstream: &Upstream,
        switches: bool,
    ) -> Result<NewConnection, ConnectError> {
        let shared = match self.stream(upstream, switches).await? {
            Stream::Tcp(stream) if upstream.protocol == Protocol::H2c => {
                self.http2(stream, false).await
            }
            Stream::Tls(stream) if stream.inner().connected().is_negotiated_h2() => {
                self.http2(*stream, true).await
            }
            stream => {
                // The connection is boxed, because it is moved several times with every request.
                let connection = Connection::new(stream, Instant::now(), self.fast_path);
                return Ok(NewConnection::Http1(Box::new(connection)));
            }
        };
        shared
            .map(NewConnection::Http2)
            .map_err(|error| ConnectError::Failed(error.into()))
    }

    /// Connects to the server and performs the TLS handshake, if any.
    pub(super) async fn stream(
        &self,
        upstream: &Upstream,
        switches: bool,
    ) -> Result<Stream, ConnectError> {
        let connecting = async {
            match &upstream.address {
                Address::Unix(path) => unix(path).await.map_err(BoxError::from),
                Address::Tcp(uri) if upstream.protocol == Protocol::Tls => {
                    let tls = self.tls.as_ref().ok_or("TLS is not configured")?;
                    let connector = if switches { &tls.http1 } else { &tls.any };
                    let stream = connector.clone().oneshot(uri.clone()).await?;
                    Ok(Stream::Tls(Box::new(TokioIo::new(stream))))
                }
                Address::Tcp(uri) => {
                    let stream = self.http.clone().oneshot(uri.clone()).await?;
                    Ok(Stream::Tcp(stream.into_inner()))
                }
            }
        };
        match time::timeout(self.timeout, connecting).await {
            Ok(connected) => connected.map_err(ConnectError::Failed),
            Err(_) => Err(ConnectError::Timeout(self.timeout)),
        }
    }

    async fn http2<T>(&self, stream: T, is_tls: bool) -> hyper::Result<SharedConnection>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http2::Builder::new(TrackedExecutor(self.tasks.clone()))
            .timer(TokioTimer::new())
            .initial_max_send_streams(FIRST_STREAMS)
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(self.timeout)
            .initial_stream_window_size(256 * 1024)
            .initial_connection_window_size(1024 * 1024)
            .max_send_buf_size(128 * 1024)
            .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
            .handshake(TokioIo::new(stream))
            .await?;
        let streams = Arc::<Streams>::default();
        let allowed = Arc::clone(&streams);
        self.tasks.spawn(async move {
            let mut connection = pin!(connection);
            let ended = std::future::poll_fn(|cx| {
                let polled = connection.as_mut().poll(cx);
                let max = connection.current_max_send_streams();
                // Until the server's SETTINGS arrive, hyper reports the maximum number of streams
                // that was passed above.
                if max != FIRST_STREAMS {
                    allowed.set_max(max);
                }
                polled
            });
            if let Err(error) = ended.await {
                debug!("connection to the upstream ended: {}", chain(&error));
            }
        });
        Ok(SharedConnection::new(sender, streams, is_tls))
    }
}

#[cfg(unix)]
async fn unix(path: &Path) -> io::Result<Stream> {
    tokio::net::UnixStream::connect(path)
        .await
        .map(Stream::Unix)
}

#[cfg(not(unix))]
async fn unix(_: &Path) -> io::Result<Stream> {
    Err(io::ErrorKind::Unsupported.into())
}

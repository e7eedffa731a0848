//! Connections to servers.

use std::{
    error::Error,
    io,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hyper::{
    client::conn::{http1, http2},
    rt::Executor,
};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::{
    client::legacy::connect::{Connection as _, HttpConnector},
    rt::{TokioIo, TokioTimer},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{self, Instant},
};
use tokio_util::{io::InspectReader, task::TaskTracker};
use tower::ServiceExt as _;
use tracing::debug;

use super::{
    error::chain,
    sender::{Http1, Shared, Streams},
    tls::Tls,
    upstream::{Address, Protocol, Upstream},
};

/// Bytes of a response's head, and of what is buffered beyond it.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Silence after which a server with open streams is asked whether it is there.
const PING_AFTER: Duration = Duration::from_secs(20);

/// Streams of a connection before the server has said how many it allows.
const FIRST_STREAMS: usize = 1;

type BoxError = Box<dyn Error + Send + Sync>;

/// Connector that makes connections to servers.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    http: HttpConnector,
    tls: Option<Tls>,
    timeout: Duration,
    tasks: TaskTracker,
}

/// A connection, whose task runs.
#[derive(Debug)]
pub(super) enum Connected {
    Http1(Box<Http1>),
    Http2(Shared),
}

/// A stream of bytes, after the handshake of TLS.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(Box<TokioIo<MaybeHttpsStream<TokioIo<TcpStream>>>>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum ConnectError {
    Timeout(Duration),
    Failed(BoxError),
}

/// Returns a connector for TCP, without TLS.
pub(super) fn http_connector() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    http.enforce_http(false);
    http.set_keepalive(Some(Duration::from_mins(1)));
    http
}

impl Connector {
    pub(super) fn new(timeout: Duration, tls: Option<Tls>, tasks: TaskTracker) -> Self {
        Self {
            http: http_connector(),
            tls,
            timeout,
            tasks,
        }
    }

    /// Time for a connection.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn offers_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.offers_http2)
    }

    /// Connects, and starts the task that drives the connection.
    ///
    /// With `switches` HTTP/1.1 is spoken, which can switch protocols.
    pub(super) async fn connect(
        &self,
        upstream: &Upstream,
        switches: bool,
    ) -> Result<Connected, ConnectError> {
        let stream = self.stream(upstream, switches).await?;
        match stream {
            Stream::Tcp(stream) if upstream.protocol == Protocol::H2c => {
                self.http2(stream, false).await.map(Connected::Http2)
            }
            Stream::Tcp(stream) => self.http1(stream).await.map(Connected::Http1),
            Stream::Tls(stream) if stream.inner().connected().is_negotiated_h2() => {
                self.http2(*stream, true).await.map(Connected::Http2)
            }
            Stream::Tls(stream) => self.http1(*stream).await.map(Connected::Http1),
            #[cfg(unix)]
            Stream::Unix(stream) => self.http1(stream).await.map(Connected::Http1),
        }
        .map_err(|error| ConnectError::Failed(error.into()))
    }

    /// Connects, with the handshake of TLS.
    pub(super) async fn stream(
        &self,
        upstream: &Upstream,
        switches: bool,
    ) -> Result<Stream, ConnectError> {
        let connecting = async {
            match &upstream.address {
                Address::Unix(path) => unix(path).await.map_err(BoxError::from),
                Address::Tcp(uri) if upstream.protocol == Protocol::Tls => {
                    let tls = self.tls.as_ref().ok_or("there is no TLS")?;
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

    async fn http1<T>(&self, stream: T) -> hyper::Result<Box<Http1>>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let reads = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&reads);
        let counted = InspectReader::new(stream, move |bytes: &[u8]| {
            counter.fetch_add(usize::from(!bytes.is_empty()), Ordering::Release);
        });
        let (sender, connection) = http1::Builder::new()
            .writev(false)
            .max_buf_size(MAX_HEAD_BYTES)
            .handshake(TokioIo::new(counted))
            .await?;
        self.tasks.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                // The request in flight, if there was one, has been told.
                debug!("connection to the upstream ended: {}", chain(&error));
            }
        });
        Ok(Http1::new(sender, reads, Instant::now()))
    }

    async fn http2<T>(&self, stream: T, is_tls: bool) -> hyper::Result<Shared>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = http2::Builder::new(Tracked(self.tasks.clone()))
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
                if max != FIRST_STREAMS {
                    allowed.allow(max);
                }
                polled
            });
            if let Err(error) = ended.await {
                debug!("connection to the upstream ended: {}", chain(&error));
            }
        });
        Ok(Shared::new(sender, streams, is_tls))
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

/// Executor whose tasks are waited for at the end.
#[derive(Clone, Debug)]
struct Tracked(TaskTracker);

impl<F> Executor<F> for Tracked
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

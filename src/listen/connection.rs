use std::{
    error::Error,
    io::{self, ErrorKind},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::BytesMut;
use hyper::{
    rt::Executor,
    server::conn::{http1, http2},
};
use hyper_util::rt::TokioTimer;
use tokio::{
    io::AsyncReadExt,
    time::{self, Instant},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use super::{
    client_addr::{Origin, TrustedProxies},
    counts::{ConnectionCounts, Unserved},
    heads::Overheard,
    http_service::HttpService,
    idle::{Activity, Verdict, Watch},
    io::ConnectionIo,
    listener::ListenSettings,
    places::{Addresses, Place},
    proxy_protocol::{self, ProxySource},
    refused::{self, HearsOfRefused, Refused},
    seldom::Seldom,
    service::ConnectionService,
    stream::{Peer, Stream, Transport},
};

/// Bytes of the smallest buffer for a request's head.
const MIN_HEAD_BYTES: usize = 8 * 1024;
/// Bytes of a body that are read, and written, at once at most.
const MAX_READ_BYTES: usize = 64 * 1024;
/// Headers for which hyper has room without asking for memory.
const FREE_HEADERS: usize = 100;
/// Streams that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 128;
/// Streams that a client may reset before they are taken up (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 32;
/// Streams that we may have to reset for a client's errors (CVE-2025-8671).
const MAX_ERROR_RESETS: usize = 64;
/// Time at shutdown to see what clients had sent before: a request that lies in
/// the system's buffer would be lost by closing at once.
const MOMENT: Duration = Duration::from_millis(100);
/// Bytes that are read at once to tell the protocol; most requests have fewer.
const SNIFFED_BYTES: usize = 1024;
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: ListenSettings,
    pub(super) trusted_proxies: Arc<TrustedProxies>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) counts: Arc<ConnectionCounts>,
    /// No new requests; what is in flight ends.
    pub(super) stop: CancellationToken,
    /// The time to end is over.
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
    /// The log has told of a peer that may not send PROXY headers.
    pub(super) told_of_stranger: AtomicBool,
    pub(super) hears_of_refused: Option<Box<dyn HearsOfRefused>>,
}

impl Shared {
    /// Tells of a request with which a connection ended, as it could not be read.
    fn ended(&self, error: &hyper::Error, origin: Origin) {
        if let Some(status) = refused::status_of(error) {
            self.refused(&Refused {
                client: origin.peer.ip(),
                status,
                request: None,
            });
        }
    }

    /// Counts a request that was answered here, and tells of it.
    pub(super) fn refused(&self, refused: &Refused<'_>) {
        self.counts.count_refused(refused.status);
        if let Some(log) = &self.hears_of_refused {
            log.refused(refused);
        }
    }
}

/// Connection that is ready for its first request.
struct Opened {
    stream: Stream,
    origin: Origin,
    place: Place,
    is_http2: bool,
}

/// Serves one connection until it ends, is idle for too long, or is drained.
pub(super) async fn serve<S: HttpService>(
    shared: Arc<Shared>,
    stream: Transport,
    peer: Peer,
    place: Place,
    service: S,
) {
    let opened = tokio::select! {
        biased;
        opened = open(&shared, stream, peer, place) => opened,
        // Behind `async`: no timer is made for what has come already.
        () = async { time::sleep(shared.settings.header_timeout).await } => {
            shared.counts.count_unserved(Unserved::Timeout);
            return debug!(?peer, "connection cut: no request in time");
        }
        () = a_moment_after(&shared.stop) => return,
    };
    let Opened {
        stream,
        origin,
        place,
        is_http2,
    } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            shared.counts.count_unserved(Unserved::from(&error));
            return debug!(?peer, %error, "connection ended before its first request: {error}");
        }
    };
    let activity = Arc::new(Activity::new(is_http2));
    let service = ConnectionService {
        service,
        origin,
        shared: Arc::clone(&shared),
        activity: Arc::clone(&activity),
    };
    let settings = &shared.settings;
    let hearing = (!is_http2).then(|| Arc::clone(&activity));
    let stream = Overheard::new(stream, hearing, settings);
    let io = ConnectionIo::new(stream, Arc::clone(&activity), place);
    let limits = Limits::new(&shared, &activity);
    let result = if is_http2 {
        let connection = http2_builder(settings, &shared.tasks).serve_connection(io, service);
        let finish = http2::Connection::graceful_shutdown;
        // In a box, so that the other's future is no larger than it need be.
        let mut connection = Box::pin(connection);
        drive(connection.as_mut(), finish, limits).await
    } else {
        let connection = http1_builder(settings)
            .serve_connection(io, service)
            .with_upgrades();
        let finish = http1::UpgradeableConnection::graceful_shutdown;
        drive(pin!(connection), finish, limits).await
    };
    if let Err(error) = result {
        shared.ended(&error, origin);
        // The client's fault or its network's: nothing for an operator to do.
        debug!(
            ?peer,
            error = &error as &dyn Error,
            "connection ended with an error"
        );
    }
}

/// PROXY header, limit by address, TLS handshake, protocol: in this order.
async fn open(
    shared: &Shared,
    mut stream: Transport,
    peer: Peer,
    place: Place,
) -> io::Result<Opened> {
    let mut origin = Origin {
        peer: peer.addr(),
        trusted: shared.trusted_proxies.trusts(peer),
        https: shared.settings.tls.is_some(),
    };
    let mut is_counted = !origin.trusted && peer != Peer::Unix;
    if shared.settings.proxy_protocol {
        let client = Box::pin(proxied_client(shared, &mut stream, origin)).await?;
        // Headers of a client whose address nobody knows are nobody's.
        origin.trusted = client.is_some_and(|client| shared.trusted_proxies.contains(client.ip()));
        origin.peer = client.unwrap_or(origin.peer);
        is_counted = client.is_some() && !origin.trusted;
    }
    let place = if is_counted {
        let address = shared.addresses.take(origin.peer.ip());
        place.with_address(address.map_err(|_| ErrorKind::QuotaExceeded)?)
    } else {
        place
    };
    let (stream, is_http2) = if let Some(tls) = &shared.settings.tls {
        let stream = Box::new(Box::pin(tls.accept(stream)).await?);
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        (Stream::Tls(stream), is_http2)
    } else {
        let is_http2 = sniff(&mut stream).await?;
        (Stream::Plain(stream), is_http2)
    };
    Ok(Opened {
        stream,
        origin,
        place,
        is_http2,
    })
}

/// The client that a trusted peer speaks for, when it knows one.
async fn proxied_client(
    shared: &Shared,
    stream: &mut Transport,
    origin: Origin,
) -> io::Result<Option<SocketAddr>> {
    if !origin.trusted {
        let peer = origin.peer;
        if !shared.told_of_stranger.swap(true, Relaxed) {
            warn!(%peer, "closed a connection from {peer}, whose PROXY header is not believed; name the proxy in trusted_proxies");
        }
        return Err(ErrorKind::PermissionDenied.into());
    }
    let (source, rest) = proxy_protocol::read(stream).await?;
    stream.unread(rest);
    Ok(match source {
        ProxySource::Client(addr) => Some(Peer::Tcp(addr).addr()),
        ProxySource::Unknown | ProxySource::Local => None,
    })
}

/// Serves a connection, and looks seldom whether it is to end.
async fn drive<C>(
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
    mut limits: Limits<'_>,
) -> hyper::Result<()>
where
    C: Future<Output = hyper::Result<()>>,
{
    let verdict = tokio::select! {
        biased;
        result = &mut connection => return result,
        verdict = Seldom::new(limits.until_finish()) => verdict,
    };
    if verdict == Verdict::Cut {
        return Ok(());
    }
    finish(connection.as_mut());
    tokio::select! {
        biased;
        result = &mut connection => result,
        () = Seldom::new(limits.until_cut()) => Ok(()),
    }
}

/// What ends a connection that does not end by itself.
struct Limits<'c> {
    shared: &'c Shared,
    activity: &'c Activity,
    watch: Watch,
}

impl<'c> Limits<'c> {
    fn new(shared: &'c Shared, activity: &'c Activity) -> Self {
        let ListenSettings {
            header_timeout,
            idle_timeout,
            ..
        } = shared.settings;
        let now = Instant::now();
        Self {
            shared,
            activity,
            watch: Watch::new(header_timeout, idle_timeout, now),
        }
    }

    /// Waits until the connection is to take up no more requests, or to be cut at once.
    async fn until_finish(&mut self) -> Verdict {
        let mut order = pin!(a_moment_after(&self.shared.stop));
        loop {
            if time::timeout(self.watch.period(), &mut order).await.is_ok() {
                return Verdict::Close;
            }
            match self.watch.look(self.activity, Instant::now()) {
                Verdict::Keep => {}
                Verdict::Close => {
                    time::sleep(MOMENT).await;
                    return Verdict::Close;
                }
                Verdict::Cut => return Verdict::Cut,
            }
        }
    }

    /// Waits until the connection has had its time to end.
    async fn until_cut(&mut self) {
        let mut order = pin!(self.shared.cut.cancelled());
        while time::timeout(self.watch.period(), &mut order)
            .await
            .is_err()
        {
            if self.watch.look(self.activity, Instant::now()) != Verdict::Keep {
                return;
            }
        }
    }
}

/// Waits until nothing that had been sent before the order is still on its way.
pub(super) async fn a_moment_after(order: &CancellationToken) {
    order.cancelled().await;
    time::sleep(MOMENT).await;
}

/// Reads until it is clear whether the client speaks HTTP/2.
async fn sniff(stream: &mut Transport) -> io::Result<bool> {
    let mut start = BytesMut::with_capacity(SNIFFED_BYTES);
    loop {
        if stream.read_buf(&mut start).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let is_http2 = start.starts_with(HTTP2_PREFACE);
        if is_http2 || !HTTP2_PREFACE.starts_with(&start) {
            stream.unread(start);
            return Ok(is_http2);
        }
    }
}

fn http1_builder(settings: &ListenSettings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    let max_head_bytes = settings.max_header_bytes.max(MIN_HEAD_BYTES);
    builder
        .writev(false)
        .max_header_size(max_head_bytes)
        .max_buf_size(max_head_bytes.max(MAX_READ_BYTES))
        .header_read_timeout(None); // `Watch` does it without a timer for each request.
    if settings.max_headers != FREE_HEADERS {
        builder.max_headers(settings.max_headers);
    }
    builder
}

fn http2_builder(
    settings: &ListenSettings,
    tasks: &TaskTracker,
) -> http2::Builder<TrackedExecutor> {
    let max_head_bytes = settings.max_header_bytes.max(MIN_HEAD_BYTES);
    let mut builder = http2::Builder::new(TrackedExecutor(tasks.clone()));
    builder
        .timer(TokioTimer::new())
        .enable_connect_protocol() // WebSockets (RFC 8441).
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1024 * 1024)
        .max_send_buf_size(128 * 1024);
    builder
}

/// Executor whose tasks are waited for at shutdown.
#[derive(Clone, Debug)]
struct TrackedExecutor(TaskTracker);

impl<F> Executor<F> for TrackedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

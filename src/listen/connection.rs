use std::{
    convert::Infallible,
    error::Error,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::{
    body::{Body, Incoming},
    rt::Executor,
    server::conn::{http1, http2},
};
use hyper_util::rt::TokioTimer;
use tokio::{
    io::AsyncReadExt,
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{self, Instant, MissedTickBehavior, interval_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::debug;

use super::{
    client_addr::TrustedProxies,
    idle::{Activity, Verdict, Watch},
    io::ConnectionIo,
    listener::ListenSettings,
    service::ConnectionService,
};

/// Bytes of one request's head, and of what is buffered beyond it.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Streams that one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 128;
/// Streams that a client may reset before they are taken up (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 32;
/// Streams that we may have to reset for a client's errors (CVE-2025-8671).
const MAX_ERROR_RESETS: usize = 64;
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What all connections of a listener share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: ListenSettings,
    pub(super) trusted_proxies: Arc<TrustedProxies>,
    /// No new requests; what is in flight ends.
    pub(super) stop: CancellationToken,
    /// The time to end is over.
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// Serves one connection until it ends, is idle for too long, or is drained.
pub(super) async fn serve<S, B>(
    shared: Arc<Shared>,
    mut stream: TcpStream,
    peer: SocketAddr,
    place: OwnedSemaphorePermit,
    service: S,
) where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let sniffed = tokio::select! {
        sniffed = time::timeout(shared.settings.header_timeout, sniff(&mut stream)) => sniffed,
        () = shared.stop.cancelled() => return,
    };
    let (read_ahead, is_http2) = match sniffed {
        Ok(Ok(sniffed)) => sniffed,
        Ok(Err(error)) => return debug!(%peer, %error, "connection ended before its first request"),
        Err(_) => return debug!(%peer, "connection cut: no request in time"),
    };
    let activity = Arc::<Activity>::default();
    let service = ConnectionService {
        service,
        peer,
        trusted_proxies: Arc::clone(&shared.trusted_proxies),
        activity: Arc::clone(&activity),
    };
    let io = ConnectionIo::new(stream, read_ahead, Arc::clone(&activity), place);
    let result = if is_http2 {
        let connection = http2_builder(&shared.tasks).serve_connection(io, service);
        let watch = watch(&shared, true);
        drive(
            &shared,
            connection,
            http2::Connection::graceful_shutdown,
            &activity,
            watch,
        )
        .await
    } else {
        let connection = http1_builder()
            .serve_connection(io, service)
            .with_upgrades();
        let watch = watch(&shared, false);
        drive(
            &shared,
            connection,
            http1::UpgradeableConnection::graceful_shutdown,
            &activity,
            watch,
        )
        .await
    };
    if let Err(error) = result {
        // The client's fault or its network's: nothing for an operator to do.
        debug!(%peer, error = &error as &dyn Error, "connection ended with an error");
    }
}

fn watch(shared: &Shared, multiplexed: bool) -> Watch {
    let ListenSettings {
        header_timeout,
        idle_timeout,
        ..
    } = shared.settings;
    Watch::new(header_timeout, idle_timeout, multiplexed, Instant::now())
}

async fn drive<C>(
    shared: &Shared,
    connection: C,
    finish: impl Fn(Pin<&mut C>),
    activity: &Activity,
    mut watch: Watch,
) -> hyper::Result<()>
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut ticks = interval_at(Instant::now() + watch.period(), watch.period());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stop = shared.stop.child_token();
    let mut connection = pin!(connection);
    let mut order = pin!(stop.cancelled());
    let mut draining = false;
    loop {
        tokio::select! {
            biased;
            result = &mut connection => return result,
            () = &mut order => {
                if draining {
                    return Ok(());
                }
                draining = true;
                finish(connection.as_mut());
                order.set(shared.cut.cancelled());
            }
            now = ticks.tick() => match watch.look(activity, now) {
                Verdict::Keep => {}
                Verdict::Close if !draining => stop.cancel(),
                Verdict::Close | Verdict::Cut => return Ok(()),
            },
        }
    }
}

/// Reads until it is clear whether the client speaks HTTP/2.
async fn sniff(stream: &mut TcpStream) -> io::Result<(Bytes, bool)> {
    let mut buffer = [0; 1024];
    let mut len = 0;
    loop {
        let read = stream
            .read(buffer.get_mut(len..).unwrap_or_default())
            .await?;
        len += read;
        let start = buffer.get(..len).unwrap_or_default();
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if start.starts_with(HTTP2_PREFACE) {
            return Ok((Bytes::copy_from_slice(start), true));
        }
        if !HTTP2_PREFACE.starts_with(start) {
            return Ok((Bytes::copy_from_slice(start), false));
        }
    }
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .writev(false)
        .title_case_headers(true) // As other servers spell them; some old clients insist.
        .max_buf_size(MAX_HEAD_BYTES)
        .header_read_timeout(None); // `Watch` does it without a timer for each request.
    builder
}

fn http2_builder(tasks: &TaskTracker) -> http2::Builder<TrackedExecutor> {
    let mut builder = http2::Builder::new(TrackedExecutor(tasks.clone()));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX))
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

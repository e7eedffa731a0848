//! Connections that hyper serves: HTTP/2 connections, and HTTP/1 connections with requests that are
//! not plain.

use std::{
    pin::{Pin, pin},
    sync::Arc,
};

use bytes::BytesMut;
use hyper::{
    rt::Executor,
    server::conn::{http1, http2},
};
use hyper_util::rt::TokioTimer;
use tokio_util::task::TaskTracker;

use super::{
    connection::{Deadlines, drive},
    connection_permit::ConnectionPermit,
    gathered_io::Gathered,
    head_tap::TappedStream,
    http_service::HttpService,
    io::ConnectionIo,
    service::ConnectionService,
    settings::ListenSettings,
    stream::Stream,
};

/// The minimum buffer size for a request's head.
const MIN_HEAD_BYTES: usize = 8 * 1024;
/// The maximum number of body bytes that are read or written at a time.
const MAX_READ_BYTES: usize = 64 * 1024;
/// The number of headers that hyper parses on the stack; any other limit costs an allocation.
const FREE_HEADERS: usize = 100;
/// The maximum number of open streams on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;
/// The maximum number of streams that a client may reset before they are processed
/// (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 32;
/// The maximum number of streams that the listener may reset because of a client's errors
/// (CVE-2025-8671).
const MAX_ERROR_RESETS: usize = 64;

/// Serves the rest of a connection with hyper; `unread` contains the bytes already read from the
/// connection.
pub(super) async fn serve<S: HttpService>(
    service: ConnectionService<S>,
    stream: Stream,
    unread: BytesMut,
    permit: ConnectionPermit,
    deadlines: &mut Deadlines<'_>,
) -> Option<hyper::Result<()>> {
    let (shared, activity) = (Arc::clone(&service.shared), Arc::clone(&service.activity));
    let settings = &shared.settings;
    let is_http2 = activity.is_multiplexed();
    // HTTP/2 frames mark the end of a message (RFC 9113 §8.1), so nothing else has to be checked.
    let tapped_by = (!is_http2).then(|| Arc::clone(&activity));
    let stream = TappedStream::new(stream, unread, tapped_by, settings);
    let io = ConnectionIo::new(stream, activity, permit, settings.refusal_line);
    if is_http2 {
        let builder = http2_builder(settings, &shared.tasks);
        let connection = Gathered::new(io, |io| builder.serve_connection(io, service));
        let finish = |connection: Pin<&mut Gathered<_, _>>| {
            connection.update(http2::Connection::graceful_shutdown);
        };
        // The state is boxed, because it is much larger than that of HTTP/1 and would enlarge
        // HTTP/1 connections.
        let mut connection = Box::pin(connection);
        drive(connection.as_mut(), finish, deadlines).await
    } else {
        let connection = http1_builder(settings)
            // During a drain, the first response already contains `close` (RFC 9112 §9.6).
            .keep_alive(!deadlines.is_finishing)
            .serve_connection(io, service)
            .with_upgrades();
        let finish = http1::UpgradeableConnection::graceful_shutdown;
        drive(pin!(connection), finish, deadlines).await
    }
}

fn http1_builder(settings: &ListenSettings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    let max_head_bytes = settings.max_header_bytes.max(MIN_HEAD_BYTES);
    builder
        .writev(false)
        .max_header_size(max_head_bytes)
        .max_buf_size(max_head_bytes.max(MAX_READ_BYTES))
        .header_read_timeout(None); // `IdleWatch` does it without a timer for each request.
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
        .enable_connect_protocol() // WebSockets (RFC 8441 §3).
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_ERROR_RESETS)
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1024 * 1024)
        .max_send_buf_size(128 * 1024);
    builder
}

/// An executor that tracks its tasks, so that they are awaited at shutdown.
#[derive(Clone, Debug)]
pub(crate) struct TrackedExecutor(pub(crate) TaskTracker);

impl<F> Executor<F> for TrackedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

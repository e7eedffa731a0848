//! Dispatch of a request to one of the upstream's servers: selection, attempts and failures.

use std::{error::Error, mem, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode, Uri, header::HOST, request::Parts};
use hyper::body::Incoming;
use tokio::time::{self, Instant};
use tracing::debug;

use super::{
    body::{Progress, RequestBody, Upload},
    connect::ConnectError,
    error::chain,
    error_page::ErrorPage,
    health::Health,
    http1::{CallOutcome, Connection, PendingBody, call},
    http2::{self, StreamOutcome},
    request::AddedHeaders,
    sender::{Http2Stream, Sender},
    server::{Server, ServerSlot},
    servers::{ServerSet, Servers},
};

/// The maximum number of kept connections that are tried before a new connection is opened. A
/// restarted server has closed all kept connections.
const MAX_REUSE_TRIES: usize = 3;
/// The maximum number of servers that are tried before any byte of a request has been sent. With
/// more servers, the client would have to wait for too many connect timeouts.
const MAX_SERVERS: u32 = 3;

/// A request that is ready to be sent to an upstream server.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) parts: Parts,
    pub(super) body: RequestBody,
    /// The headers that the proxy adds, if they are not in the request yet.
    pub(super) added: Option<AddedHeaders>,
}

/// The head of a response, and the source of its body.
#[derive(Debug)]
pub(super) struct UpstreamResponse {
    pub(super) response: Response<()>,
    pub(super) source: BodySource,
    pub(super) slot: ServerSlot,
}

/// The source of a response's body.
#[derive(Debug)]
pub(super) enum BodySource {
    Http1(Box<Connection>, PendingBody),
    Http2(Box<Http2Stream>, Incoming),
}

impl Default for Message {
    /// Returns an empty message, which replaces a message that was taken out.
    fn default() -> Self {
        let (parts, body) = Request::<RequestBody>::default().into_parts();
        Self {
            parts,
            body,
            added: None,
        }
    }
}

impl Message {
    /// Swaps the head of a request with the head of the message.
    pub(super) fn take_head<B>(&mut self, request: &mut Request<B>) {
        let parts = &mut self.parts;
        parts.version = request.version();
        mem::swap(&mut parts.method, request.method_mut());
        mem::swap(&mut parts.uri, request.uri_mut());
        mem::swap(&mut parts.headers, request.headers_mut());
        mem::swap(&mut parts.extensions, request.extensions_mut());
    }

    /// Clears the message, but keeps the memory of its header map.
    pub(super) fn clear(&mut self) {
        self.parts.uri = Uri::default();
        self.parts.headers.clear();
        self.parts.extensions.clear();
        self.body = RequestBody::default();
        self.added = None;
    }
}

/// A dispatch in progress, for which a slot has been taken and a first attempt may have failed.
pub(super) struct StartedDispatch {
    pub(super) slot: ServerSlot,
    pub(super) tried: ServerSet,
    pub(super) attempt: Option<Attempt>,
}

/// The reason why there is no response from the upstream.
#[derive(Debug)]
pub(super) enum Failure {
    Connect(ConnectError),
    /// The connection to the server failed, or the response is not valid HTTP.
    Response(Box<dyn Error + Send + Sync>),
    /// The connection ended before any byte of a response was received.
    NoResponse(Box<dyn Error + Send + Sync>),
    /// The upstream did not respond within this time.
    Timeout(Duration),
    /// The client did not send the rest of its request.
    ClientSilent,
    /// The client disconnected or violated the framing of its request's body.
    ClientBroke,
    /// The request's body exceeds the listener's limit.
    BodyTooLarge,
}

impl Failure {
    /// Returns the failure that the client caused while it sent its request's body, if any.
    pub(super) fn from_client(progress: &Progress) -> Option<Self> {
        match progress.state().0 {
            Upload::Broken => Some(Self::ClientBroke),
            Upload::TooLarge => Some(Self::BodyTooLarge),
            Upload::AwaitsClient | Upload::AwaitsUpstream | Upload::Done => None,
        }
    }

    pub(super) fn error_page(&self) -> ErrorPage {
        match self {
            Self::Connect(ConnectError::Timeout(_)) | Self::Timeout(_) => ErrorPage::GatewayTimeout,
            Self::Connect(ConnectError::Failed(_)) | Self::Response(_) | Self::NoResponse(_) => {
                ErrorPage::BadGateway
            }
            Self::ClientSilent => ErrorPage::RequestTimeout,
            Self::ClientBroke => ErrorPage::BadRequest,
            Self::BodyTooLarge => ErrorPage::ContentTooLarge,
        }
    }

    /// Returns the reason for the failure, or `None` if the client caused the failure.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Connect(ConnectError::Timeout(after)) => {
                Some(format!("no connection after {after:?}"))
            }
            Self::Connect(ConnectError::Failed(error))
            | Self::Response(error)
            | Self::NoResponse(error) => Some(chain(error.as_ref())),
            Self::Timeout(after) => Some(format!("no response after {after:?}")),
            Self::ClientSilent | Self::ClientBroke | Self::BodyTooLarge => None,
        }
    }
}

/// The options for sending a request to the upstream.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendOptions {
    pub(super) response_timeout: Duration,
    /// Whether the `Host` header is set to the server's own name.
    pub(super) sets_host: bool,
    /// Whether the request asks for a switch to another protocol.
    pub(super) switches: bool,
}

/// Sends the request, and returns the head of the response with the connection to read the body
/// from.
///
/// `begun` contains a slot that has already been taken and the result of a first attempt. The body
/// is taken out of the message; over HTTP/2, the whole message is taken.
///
/// If a server does not accept a connection, the request is sent to another server. If a server
/// closes a kept connection while a request is in transit, an idempotent request without a body
/// (RFC 9110 §9.2.2, RFC 9112 §9.3.1) is repeated over a new connection, unless a byte of a
/// response has arrived.
///
/// # Errors
///
/// Returns the failure of the last server that was tried.
pub(super) async fn dispatch(
    servers: &Servers,
    options: &SendOptions,
    message: &mut Message,
    begun: Option<StartedDispatch>,
) -> Result<UpstreamResponse, (Failure, Arc<str>)> {
    let (mut tried, mut begun) = match begun {
        Some(begun) => (begun.tried, Some((begun.slot, begun.attempt))),
        None => (ServerSet::default(), None),
    };
    let mut last = None;
    while let Some((slot, attempt)) = begun
        .take()
        .or_else(|| Some((choose(servers, &mut tried, options, message)?, None)))
    {
        let Server {
            upstream, health, ..
        } = &*slot.server;
        let upload = message.body.progress();
        let attempting = at_server(&slot, options, message, upload.as_deref(), attempt);
        let failure = match attempting.await {
            Attempt::Answered(response, source) => {
                health.record_success();
                return Ok(UpstreamResponse {
                    response,
                    source,
                    slot,
                });
            }
            Attempt::Unsent(failure) if tried.count() < MAX_SERVERS => {
                note(health, &failure);
                debug!(upstream = %upstream.name, "trying another server: {failure:?}");
                last = Some((failure, Arc::clone(&upstream.name)));
                continue;
            }
            Attempt::Unsent(failure) | Attempt::Failed(failure) => failure,
        };
        note(health, &failure);
        return Err((failure, Arc::clone(&upstream.name)));
    }
    // There is at least one server, so at least one attempt has failed.
    Err(last.unwrap_or_else(|| {
        let none = ConnectError::Failed("no server".into());
        (Failure::Connect(none), Arc::from(""))
    }))
}

/// Takes a slot at a server, and sets `Host` to the server's name unless the client's `Host` is
/// preserved.
pub(super) fn choose(
    servers: &Servers,
    tried: &mut ServerSet,
    options: &SendOptions,
    message: &mut Message,
) -> Option<ServerSlot> {
    let slot = servers.choose(tried)?;
    // If there is a single server, its name is already set.
    if options.sets_host && servers.has_several() {
        let host = slot.server.upstream.host.clone();
        message.parts.headers.insert(HOST, host);
    }
    Some(slot)
}

/// Sends a request without a body over a newly opened connection.
pub(super) async fn exchange(
    sender: Sender,
    mut message: Message,
    options: &SendOptions,
) -> Result<StatusCode, Failure> {
    match send(sender, &mut message, None, options, Instant::now()).await {
        Attempt::Answered(response, _) => Ok(response.status()),
        Attempt::Unsent(failure) | Attempt::Failed(failure) => Err(failure),
    }
}

fn note(health: &Health, failure: &Failure) {
    if let Some(reason) = failure.reason() {
        health.fail(&reason);
    }
}

/// The result of trying to send a request to one server.
pub(super) enum Attempt {
    Answered(Response<()>, BodySource),
    /// Nothing was sent, so the request can be sent to another server.
    Unsent(Failure),
    Failed(Failure),
}

impl From<CallOutcome> for Attempt {
    fn from(outcome: CallOutcome) -> Self {
        match outcome {
            CallOutcome::Answered(response, connection, rest) => {
                Self::Answered(response, BodySource::Http1(connection, rest))
            }
            CallOutcome::Unsent(error) => Self::Unsent(Failure::Response(Box::new(error))),
            CallOutcome::Failed(failure) => Self::Failed(failure),
        }
    }
}

async fn at_server(
    slot: &ServerSlot,
    options: &SendOptions,
    message: &mut Message,
    upload: Option<&Progress>,
    mut begun: Option<Attempt>,
) -> Attempt {
    let switches = options.switches && slot.server.can_switch();
    // A body that has been sent in part is lost, because it is not buffered for a second attempt.
    let may_repeat = upload.is_none() && message.parts.method.is_idempotent();
    let now = Instant::now();
    for _ in 0..MAX_REUSE_TRIES {
        let attempt = match begun.take() {
            Some(attempt) => attempt,
            None => match slot.take(switches, now) {
                Some(sender) => send(sender, message, upload, options, now).await,
                None => break,
            },
        };
        match attempt {
            // The server had closed the connection before anything was sent: try the next
            // connection.
            Attempt::Unsent(_) => {}
            // The server closed the connection while the request was in transit (RFC 9112 §9.3.1):
            // retry once over a newly opened connection.
            Attempt::Failed(Failure::NoResponse(_)) if may_repeat => break,
            attempt => return attempt,
        }
    }
    // The future is boxed, because this rare case would make the future of every request large.
    let sender = match Box::pin(slot.connect(switches)).await {
        Ok(sender) => sender,
        Err(error) => return Attempt::Unsent(Failure::Connect(error)),
    };
    send(sender, message, upload, options, Instant::now()).await
}

async fn send(
    sender: Sender,
    message: &mut Message,
    upload: Option<&Progress>,
    options: &SendOptions,
    now: Instant,
) -> Attempt {
    let timeout = options.response_timeout;
    match sender {
        Sender::Http1(connection) => call(connection, message, upload, timeout, now).await.into(),
        // The future is boxed, because it is much larger than the future for HTTP/1.
        Sender::Http2(mut stream) => {
            match Box::pin(http2::send(&mut stream, message, upload, timeout)).await {
                StreamOutcome::Answered(response) => {
                    let (parts, body) = response.into_parts();
                    let response = Response::from_parts(parts, ());
                    Attempt::Answered(response, BodySource::Http2(stream, body))
                }
                StreamOutcome::Returned(error) => Attempt::Unsent(Failure::Response(error.into())),
                StreamOutcome::Failed(failure) => Attempt::Failed(failure),
            }
        }
    }
}

/// Waits until the upload has made no progress for the timeout.
///
/// A large upload as a whole may take longer than the timeout.
pub(super) async fn wait_for_stall(progress: &Progress, timeout: Duration) -> Failure {
    loop {
        let (upload, since) = progress.state();
        let deadline = since + timeout;
        if Instant::now() >= deadline {
            return match upload {
                Upload::AwaitsClient => Failure::ClientSilent,
                Upload::Broken => Failure::ClientBroke,
                Upload::TooLarge => Failure::BodyTooLarge,
                Upload::AwaitsUpstream | Upload::Done => Failure::Timeout(timeout),
            };
        }
        time::sleep_until(deadline).await;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;

    use super::*;

    const TIMEOUT: Duration = Duration::from_mins(1);

    #[test]
    fn message_contains_nothing_of_the_previous_request() {
        let mut message = Message::default();
        let first = Request::post("/first?token=1").header("cookie", "first=1");
        let mut first = first.extension("first").body(()).unwrap();
        message.take_head(&mut first);
        message.body = RequestBody::new(Full::new(Bytes::from_static(b"first")));
        assert_eq!(message.parts.uri, "/first?token=1");
        message.clear();
        assert!(message.body.is_empty() && message.parts.extensions.is_empty());
        assert!(!format!("{message:?}").contains("first"), "{message:?}");
        let mut second = Request::get("/second").body(()).unwrap();
        message.take_head(&mut second);
        assert_eq!(message.parts.method, "GET");
        assert_eq!(message.parts.uri, "/second");
        assert!(message.parts.headers.is_empty());
    }

    /// Returns the failure of an exchange with the given upload steps, and the time until the
    /// failure.
    async fn failure(steps: &[(u64, Upload)]) -> (u64, Failure) {
        let progress = Progress::default();
        let start = Instant::now();
        let moving = async {
            for (seconds, upload) in steps {
                time::sleep_until(start + Duration::from_secs(*seconds)).await;
                progress.record_progress(*upload);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            failure = wait_for_stall(&progress, TIMEOUT) => (start.elapsed().as_secs(), failure),
            () = moving => unreachable!("it waits forever"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn response_timeout_starts_at_the_end_of_the_upload() {
        let steps = [50, 100, 150].map(|at| (at, Upload::AwaitsUpstream));
        let (seconds, failure) = failure(&[&steps[..], &[(200, Upload::Done)]].concat()).await;
        assert_eq!(seconds, 260);
        assert!(matches!(failure, Failure::Timeout(TIMEOUT)));
    }

    #[tokio::test(start_paused = true)]
    async fn silent_client_is_not_the_upstreams_fault() {
        let steps = [(10, Upload::AwaitsClient), (30, Upload::AwaitsClient)];
        let (seconds, failure) = failure(&steps).await;
        assert_eq!(seconds, 70);
        assert!(matches!(failure, Failure::ClientSilent));
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_upstream_times_out() {
        let (seconds, failure) = failure(&[(10, Upload::AwaitsUpstream)]).await;
        assert_eq!(seconds, 70);
        assert!(matches!(failure, Failure::Timeout(TIMEOUT)));
    }
}

//! One request and its response over a connection to one of the servers.

use std::{
    error::Error as _, future::poll_fn, mem, pin::pin, sync::Arc, task::Poll, time::Duration,
};

use http::{Request, Response, header::HOST};
use hyper::{body::Incoming, client::conn::TrySendError};
use tokio::time::{self, Instant};
use tracing::debug;

use super::{
    body::{Lease, Progress, RequestBody, Upload},
    connect::ConnectError,
    error::chain,
    health::Health,
    http2,
    page::Page,
    sender::{Http1, Http2, Sender},
    server::{Place, Server},
    servers::{Servers, Tried},
};

/// Kept connections that are tried before a new one is made.
const MAX_KEPT_TRIES: usize = 3;
/// Servers that a request is tried at, while nothing of it has been sent.
const MAX_SERVERS: u32 = 3;

/// Why there is no response.
#[derive(Debug)]
pub(super) enum Failure {
    Connect(ConnectError),
    /// The connection broke, or what came back is not HTTP.
    Response(hyper::Error),
    /// The connection ended without a byte of a response.
    NoResponse(hyper::Error),
    /// No response in this time.
    Timeout(Duration),
    /// The client did not send the rest of its request.
    ClientSilent,
    /// The client went away, or broke the framing of its request's body.
    ClientBroke,
}

impl Failure {
    pub(super) fn page(&self) -> Page {
        match self {
            Self::Connect(ConnectError::Timeout(_)) | Self::Timeout(_) => Page::GatewayTimeout,
            Self::Connect(ConnectError::Failed(_)) | Self::Response(_) | Self::NoResponse(_) => {
                Page::BadGateway
            }
            Self::ClientSilent => Page::RequestTimeout,
            Self::ClientBroke => Page::BadRequest,
        }
    }

    /// Says what the server did wrong; nothing where it was the client.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Connect(ConnectError::Timeout(after)) => {
                Some(format!("no connection after {after:?}"))
            }
            Self::Connect(ConnectError::Failed(error)) => Some(chain(error.as_ref())),
            Self::Response(error) | Self::NoResponse(error) => Some(chain(error)),
            Self::Timeout(after) => Some(format!("no response after {after:?}")),
            Self::ClientSilent | Self::ClientBroke => None,
        }
    }
}

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) response_timeout: Duration,
    /// `Host` is the server's own.
    pub(super) sets_host: bool,
    /// The request asks for another protocol.
    pub(super) switches: bool,
}

/// Sends the request, and returns the response's head with the loan of its connection.
///
/// The request is taken only when it goes: what is small is not moved often.
///
/// A server that does not accept a connection is no obstacle: the request goes
/// to another one. Over a kept connection the server may close it at the same
/// moment. A request that may be repeated (RFC 9110 §9.2.2) is then sent once
/// more, over a new one, unless a byte of a response has come.
///
/// # Errors
///
/// Fails with what went wrong at the last server that was tried.
pub(super) async fn exchange(
    servers: &Servers,
    manner: &Manner,
    request: &mut Request<RequestBody>,
) -> Result<(Response<Incoming>, Lease), (Failure, Arc<str>)> {
    let mut tried = Tried::default();
    let mut last = None;
    while let Some(place) = servers.choose(&mut tried) {
        let Server {
            upstream, health, ..
        } = &*place.server;
        // The first server's is there already.
        if manner.sets_host && servers.are_several() {
            request.headers_mut().insert(HOST, upstream.host.clone());
        }
        let upload = request.body().progress();
        let failure = match at_server(&place, manner, request, upload.as_deref()).await {
            Attempt::Answered(response, sender) => {
                health.succeeded();
                return Ok((response, Lease::new(sender, place, upload)));
            }
            Attempt::Unsent(failure) if tried.count() < MAX_SERVERS => {
                note(health, &failure);
                debug!(upstream = %upstream.name, "the request goes to another server: {failure:?}");
                last = Some((failure, Arc::clone(&upstream.name)));
                continue;
            }
            Attempt::Unsent(failure) | Attempt::Failed(failure) => failure,
        };
        note(health, &failure);
        return Err((failure, Arc::clone(&upstream.name)));
    }
    // There is at least one server, so something went wrong at one.
    Err(last.unwrap_or_else(|| {
        let none = ConnectError::Failed("there is no server".into());
        (Failure::Connect(none), Arc::from(""))
    }))
}

/// Sends a request without a body over a connection that was made for it.
pub(super) async fn ask(
    sender: &mut Sender,
    mut request: Request<RequestBody>,
    manner: &Manner,
) -> Result<Response<Incoming>, Failure> {
    match send(sender, &mut request, None, manner, Instant::now()).await {
        Sent::Answered(response) => Ok(response),
        Sent::Returned(error) => Err(Failure::NoResponse(error)),
        Sent::Failed(failure) => Err(failure),
    }
}

fn note(health: &Health, failure: &Failure) {
    if let Some(reason) = failure.reason() {
        health.failed(&reason);
    }
}

/// What became of a request at one server.
enum Attempt {
    Answered(Response<Incoming>, Sender),
    /// Nothing of it was sent: it can go to another server.
    Unsent(Failure),
    Failed(Failure),
}

async fn at_server(
    place: &Place,
    manner: &Manner,
    request: &mut Request<RequestBody>,
    upload: Option<&Progress>,
) -> Attempt {
    let switches = manner.switches && place.server.can_switch();
    let now = Instant::now();
    for _ in 0..MAX_KEPT_TRIES {
        let Some(mut sender) = place.take(switches, now) else {
            break;
        };
        sender.copy().take(request);
        match send(&mut sender, request, upload, manner, now).await {
            Sent::Answered(response) => return Attempt::Answered(response, sender),
            // The upstream had closed the connection: nothing of the request was sent.
            Sent::Returned(_) => {}
            // The upstream closed the connection while the request was on its way.
            Sent::Failed(failure @ Failure::NoResponse(_)) => match sender.copy().request() {
                Some(copy) => {
                    *request = copy;
                    break;
                }
                None => return Attempt::Failed(failure),
            },
            Sent::Failed(failure) => return Attempt::Failed(failure),
        }
    }
    // In a box, as what is seldom done would make every request's future large.
    let mut sender = match Box::pin(place.connect(switches)).await {
        Ok(sender) => sender,
        Err(error) => return Attempt::Unsent(Failure::Connect(error)),
    };
    let now = Instant::now();
    match send(&mut sender, request, upload, manner, now).await {
        Sent::Answered(response) => Attempt::Answered(response, sender),
        Sent::Returned(error) => Attempt::Unsent(Failure::Response(error)),
        Sent::Failed(failure) => Attempt::Failed(failure),
    }
}

enum Sent {
    Answered(Response<Incoming>),
    /// Not a byte was sent: the request is back, and can go over another connection.
    Returned(hyper::Error),
    Failed(Failure),
}

type Answer = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

async fn send(
    sender: &mut Sender,
    request: &mut Request<RequestBody>,
    upload: Option<&Progress>,
    manner: &Manner,
    now: Instant,
) -> Sent {
    match sender {
        Sender::Http1(http1) => send_http1(http1, request, upload, manner, now).await,
        // In a box, so that the other's future is no larger than it need be.
        Sender::Http2(http2) => Box::pin(send_http2(http2, request, upload, manner)).await,
    }
}

async fn send_http1(
    http1: &mut Http1,
    request: &mut Request<RequestBody>,
    upload: Option<&Progress>,
    manner: &Manner,
    now: Instant,
) -> Sent {
    let reads = http1.reads();
    let mut answer = pin!(http1.sender.try_send_request(mem::take(request)));
    let answered = match upload {
        None => {
            let timer = &mut http1.timer;
            timer.as_mut().reset(now + manner.response_timeout);
            poll_fn(|cx| match answer.as_mut().poll(cx) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => timer
                    .as_mut()
                    .poll(cx)
                    .map(|()| Err(Failure::Timeout(manner.response_timeout))),
            })
            .await
        }
        Some(progress) => Box::pin(uploading(answer, progress, manner.response_timeout)).await,
    };
    match answered {
        Err(failure) => Sent::Failed(failure),
        Ok(Ok(response)) => Sent::Answered(response),
        Ok(Err(mut error)) => {
            if let Some(returned) = error.take_message() {
                *request = returned;
                return Sent::Returned(error.into_error());
            }
            let nothing_came = http1.reads() == reads;
            Sent::Failed(failed(error.into_error(), upload, nothing_came))
        }
    }
}

async fn send_http2(
    http2: &mut Http2,
    request: &mut Request<RequestBody>,
    upload: Option<&Progress>,
    manner: &Manner,
) -> Sent {
    http2::from_http1(request, http2.is_tls);
    let answer = pin!(http2.sender.try_send_request(mem::take(request)));
    let answered = match upload {
        None => time::timeout(manner.response_timeout, answer)
            .await
            .map_err(|_| Failure::Timeout(manner.response_timeout)),
        Some(progress) => uploading(answer, progress, manner.response_timeout).await,
    };
    match answered {
        Err(failure) => Sent::Failed(failure),
        Ok(Ok(response)) => Sent::Answered(response),
        Ok(Err(mut error)) => {
            if let Some(returned) = error.take_message() {
                *request = returned;
                http2::to_http1(request);
                return Sent::Returned(error.into_error());
            }
            let error = error.into_error();
            let was_taken_up = was_taken_up(&error);
            Sent::Failed(failed(error, upload, !was_taken_up))
        }
    }
}

/// Waits for the answer as long as the upload moves, and a while longer.
async fn uploading(
    answer: impl Future<Output = Answer>,
    progress: &Progress,
    timeout: Duration,
) -> Result<Answer, Failure> {
    tokio::select! {
        biased;
        answer = answer => Ok(answer),
        failure = stall(progress, timeout) => Err(failure),
    }
}

/// Tells whether the server reset the one stream, after it had looked at it.
///
/// Streams beyond the last of a GOAWAY, and refused ones, it has not (RFC 9113 §8.7).
fn was_taken_up(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|error: &h2::Error| {
        error.is_reset() && error.reason() != Some(h2::Reason::REFUSED_STREAM)
    })
}

/// Waits until the exchange has stood still for the timeout.
///
/// A large upload may take longer than that, as long as it moves.
async fn stall(progress: &Progress, timeout: Duration) -> Failure {
    loop {
        let (upload, since) = progress.state();
        let deadline = since + timeout;
        if Instant::now() >= deadline {
            return match upload {
                Upload::AwaitsClient => Failure::ClientSilent,
                Upload::Broken => Failure::ClientBroke,
                Upload::AwaitsUpstream | Upload::Done => Failure::Timeout(timeout),
            };
        }
        time::sleep_until(deadline).await;
    }
}

fn failed(error: hyper::Error, upload: Option<&Progress>, nothing_came: bool) -> Failure {
    // hyper calls an error of the request's body the user's.
    if error.is_user() || upload.is_some_and(Progress::is_broken) {
        Failure::ClientBroke
    } else if nothing_came {
        Failure::NoResponse(error)
    } else {
        Failure::Response(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_mins(1);

    /// Time until the exchange fails, when these things happen one by one.
    async fn failure(steps: &[(u64, Upload)]) -> (u64, Failure) {
        let progress = Progress::default();
        let start = Instant::now();
        let moving = async {
            for (seconds, upload) in steps {
                time::sleep_until(start + Duration::from_secs(*seconds)).await;
                progress.moved(*upload);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            failure = stall(&progress, TIMEOUT) => (start.elapsed().as_secs(), failure),
            () = moving => unreachable!("it waits for ever"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_response_is_waited_for_from_the_end_of_the_upload() {
        let steps = [50, 100, 150].map(|at| (at, Upload::AwaitsUpstream));
        let (seconds, failure) = failure(&[&steps[..], &[(200, Upload::Done)]].concat()).await;
        assert_eq!(seconds, 260);
        assert!(matches!(failure, Failure::Timeout(TIMEOUT)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_more_is_not_the_upstreams_fault() {
        let steps = [(10, Upload::AwaitsClient), (30, Upload::AwaitsClient)];
        let (seconds, failure) = failure(&steps).await;
        assert_eq!(seconds, 70);
        assert!(matches!(failure, Failure::ClientSilent));
    }

    #[tokio::test(start_paused = true)]
    async fn an_upstream_that_takes_nothing_more_is_timed_out() {
        let (seconds, failure) = failure(&[(10, Upload::AwaitsUpstream)]).await;
        assert_eq!(seconds, 70);
        assert!(matches!(failure, Failure::Timeout(TIMEOUT)));
    }
}

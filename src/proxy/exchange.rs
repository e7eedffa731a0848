//! One request and its response over a connection to the upstream.

use std::{sync::Arc, time::Duration};

use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use tokio::time::{self, Instant};

use super::{
    body::{Lease, Progress, RequestBody, Upload},
    connect::{ConnectError, Connector, Sender},
    page::Page,
    pool::Pool,
    upstream::Upstream,
};

/// Kept connections that are tried before a new one is made.
const MAX_KEPT_TRIES: usize = 3;

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
}

/// Sends the request, and returns the response's head with the loan of its connection.
///
/// Over a kept connection the upstream may close it at the same moment. A
/// request that may be repeated (RFC 9110 §9.2.2) is then sent once more,
/// over a new one, unless a byte of a response has come.
pub(super) async fn exchange(
    pool: &Arc<Pool>,
    connector: &Connector,
    upstream: &Upstream,
    response_timeout: Duration,
    mut request: Request<RequestBody>,
) -> Result<(Response<Incoming>, Lease), Failure> {
    let upload = request.body().progress();
    for _ in 0..MAX_KEPT_TRIES {
        let Some(sender) = pool.take() else { break };
        let copy = copy_to_repeat(&request);
        match send(sender, request, upload.as_ref(), response_timeout).await {
            Ok(Sent::Answered(response, sender)) => {
                return Ok((response, lease(pool, sender, upload)));
            }
            // The upstream had closed the connection: nothing of the request was sent.
            Ok(Sent::Returned(returned, _)) => request = returned,
            // The upstream closed the connection while the request was on its way.
            Err(failure @ Failure::NoResponse(_)) => {
                request = copy.ok_or(failure)?;
                break;
            }
            Err(failure) => return Err(failure),
        }
    }
    let sender = connector
        .connect(upstream)
        .await
        .map_err(Failure::Connect)?;
    match send(sender, request, upload.as_ref(), response_timeout).await? {
        Sent::Answered(response, sender) => Ok((response, lease(pool, sender, upload))),
        Sent::Returned(_, error) => Err(Failure::Response(error)),
    }
}

/// A copy of a request without a body whose repetition has no further effect.
fn copy_to_repeat(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let may_be_repeated = request.method().is_idempotent() && request.body().is_empty();
    may_be_repeated.then(|| {
        let mut copy = Request::new(RequestBody::new(Empty::new()));
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        copy.headers_mut().clone_from(request.headers());
        copy
    })
}

fn lease(pool: &Arc<Pool>, sender: Sender, upload: Option<Arc<Progress>>) -> Lease {
    Lease {
        sender,
        pool: Arc::clone(pool),
        upload,
        closes: false,
    }
}

enum Sent {
    Answered(Response<Incoming>, Sender),
    /// Not a byte was sent: the request can go over another connection.
    Returned(Request<RequestBody>, hyper::Error),
}

async fn send(
    mut sender: Sender,
    request: Request<RequestBody>,
    upload: Option<&Arc<Progress>>,
    response_timeout: Duration,
) -> Result<Sent, Failure> {
    let reads = sender.reads();
    let answer = sender.try_send_request(request);
    let answer = match upload {
        None => time::timeout(response_timeout, answer)
            .await
            .map_err(|_| Failure::Timeout(response_timeout))?,
        Some(progress) => tokio::select! {
            biased;
            answer = answer => answer,
            failure = stall(progress, response_timeout) => return Err(failure),
        },
    };
    match answer {
        Ok(response) => Ok(Sent::Answered(response, sender)),
        Err(mut error) => match error.take_message() {
            Some(request) => Ok(Sent::Returned(request, error.into_error())),
            None => Err(failed(error.into_error(), sender.reads() == reads)),
        },
    }
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
                Upload::AwaitsUpstream | Upload::Done => Failure::Timeout(timeout),
            };
        }
        time::sleep_until(deadline).await;
    }
}

fn failed(error: hyper::Error, nothing_came: bool) -> Failure {
    // hyper calls an error of the request's body the user's.
    if error.is_user() {
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

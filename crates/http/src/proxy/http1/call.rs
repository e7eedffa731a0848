//! A request over a connection, up to the head of its response.

use std::{
    future::poll_fn,
    io, mem,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::{HeaderMap, Method, Response};
use tokio::time::Instant;

use crate::listen::fast_path::reuse;

use super::{
    super::{
        body::Progress,
        dispatch::{Failure, Message, wait_for_stall},
    },
    Http1Error,
    connection::Connection,
    download::PendingBody,
    framing::{self, Decoder},
    head::{self, Head, ParseResult},
    upload::{self, ClientBodyError, Framing, Upload},
};

/// The maximum number of interim responses (1xx) that are skipped before other tasks on the thread
/// run.
const MAX_INTERIM: usize = 16;

/// The result of sending a request over a connection.
pub(in super::super) enum CallOutcome {
    Answered(Response<()>, Box<Connection>, PendingBody),
    /// Not a single byte was sent, so the request can be sent over another connection.
    Unsent(Http1Error),
    Failed(Failure),
}

/// Sends a request and reads the head of its response.
///
/// The request's head stays in the message, while its body is taken out.
pub(in super::super) async fn call(
    connection: Box<Connection>,
    message: &mut Message,
    progress: Option<&Progress>,
    timeout: Duration,
    now: Instant,
) -> CallOutcome {
    let mut call = Call::new(connection, message, timeout, now);
    let mut headers = None;
    let ended =
        match progress {
            None => poll_fn(|cx| call.poll(cx, &mut headers)).await,
            // The upload is boxed, because few requests have a body and all futures would become large.
            Some(progress) => Box::pin(async {
                tokio::select! {
                    biased;
                    ended = poll_fn(|cx| call.poll_untimed(cx, &mut headers)) => ended,
                    failure = wait_for_stall(progress, timeout) => Err(CallError::Failed(failure)),
                }
            })
            .await,
        };
    call.into_outcome(ended, headers, progress)
}

fn call_failure(error: ConnectionFailure) -> Failure {
    let cause = Box::new(error.error);
    if error.nothing_came {
        Failure::NoResponse(cause)
    } else {
        Failure::Response(cause)
    }
}

/// A request in progress over a connection.
pub(in super::super) struct Call {
    connection: Box<Connection>,
    timeout: Duration,
    upload: Option<Box<Upload>>,
    sending: Sending,
    is_head: bool,
    has_come: bool,
    /// The number of input bytes known to be an incomplete head.
    seen: usize,
}

/// The state of sending a request.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Sending {
    Underway,
    /// The operating system has accepted the whole request.
    Done,
    /// The upstream no longer accepts data, but may already have responded (RFC 9112 §9.3).
    Broken,
}

/// The reason why there is no response from the upstream.
pub(in super::super) enum CallError {
    Unsent(io::Error),
    Failed(Failure),
    /// The client's request body failed, or its length is wrong or exceeds the limit.
    ClientBroke,
    ConnectionFailure(ConnectionFailure),
}

pub(in super::super) struct ConnectionFailure {
    error: Http1Error,
    /// Whether the connection ended before the upstream sent any byte of a response.
    nothing_came: bool,
}

impl Call {
    /// Creates a call and writes the request's head into the connection's buffer.
    pub(in super::super) fn new(
        mut connection: Box<Connection>,
        message: &mut Message,
        timeout: Duration,
        now: Instant,
    ) -> Self {
        let framing = Framing::from_body(&message.body);
        let added = message.added.as_ref();
        upload::write(&mut connection.output.bytes, &message.parts, added, framing);
        let upload = match framing {
            Framing::None => None,
            framing => {
                let body = mem::take(&mut message.body);
                Upload::new(body, framing).map(Box::new)
            }
        };
        connection.start_timer(now, timeout);
        Self {
            connection,
            timeout,
            upload,
            is_head: message.parts.method == Method::HEAD,
            sending: Sending::Underway,
            has_come: false,
            seen: 0,
        }
    }

    /// Sends the request, reads the response within the timeout, and fills `headers` with the
    /// response's headers.
    pub(in super::super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        headers: &mut Option<HeaderMap>,
    ) -> Poll<Result<(Head, PendingBody), CallError>> {
        let polled = self.poll_untimed(cx, headers);
        if polled.is_pending() && self.connection.poll_timer(cx).is_ready() {
            return Poll::Ready(Err(CallError::Failed(Failure::Timeout(self.timeout))));
        }
        polled
    }

    /// Returns the connection, from which the response's body can be read.
    pub(in super::super) fn into_connection(self) -> Box<Connection> {
        self.connection
    }

    /// Converts the result of polling into the outcome of the call.
    pub(in super::super) fn into_outcome(
        self,
        ended: Result<(Head, PendingBody), CallError>,
        headers: Option<HeaderMap>,
        progress: Option<&Progress>,
    ) -> CallOutcome {
        match ended {
            Ok((head, rest)) => {
                let mut response = Response::new(());
                *response.status_mut() = head.status;
                *response.headers_mut() = headers.unwrap_or_default();
                CallOutcome::Answered(response, self.connection, rest)
            }
            Err(CallError::Unsent(error)) => CallOutcome::Unsent(error.into()),
            Err(CallError::Failed(failure)) => CallOutcome::Failed(failure),
            // The body's own error is more specific than the connection's: the body was too large,
            // or failed.
            Err(CallError::ClientBroke) => {
                let fault = progress.and_then(Failure::from_client);
                CallOutcome::Failed(fault.unwrap_or(Failure::ClientBroke))
            }
            Err(CallError::ConnectionFailure(error)) => {
                let fault = progress.and_then(Failure::from_client);
                CallOutcome::Failed(fault.unwrap_or_else(|| call_failure(error)))
            }
        }
    }

    /// Sends the request and reads the response concurrently, because an upstream may respond
    /// early.
    fn poll_untimed(
        &mut self,
        cx: &mut Context<'_>,
        headers: &mut Option<HeaderMap>,
    ) -> Poll<Result<(Head, PendingBody), CallError>> {
        if self.sending == Sending::Underway {
            self.send(cx)?;
        }
        let head = match ready!(self.poll_head(cx, headers)) {
            Ok(head) => head,
            Err(error) => return Poll::Ready(Err(self.broke(error))),
        };
        let rest = self.rest(cx, &head);
        Poll::Ready(match rest {
            Ok(rest) => Ok((head, rest)),
            Err(error) => Err(self.broke(error)),
        })
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), CallError> {
        loop {
            let gathered = match &mut self.upload {
                None => Poll::Ready(Ok(())),
                Some(upload) => upload.poll_gather(cx, &mut self.connection.output),
            };
            if let Poll::Ready(Err(ClientBodyError)) = gathered {
                return Err(CallError::ClientBroke);
            }
            match self.connection.poll_write(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error))
                    // Not a single byte was sent, so even a POST can be sent to another server (RFC
                    // 9110 §9.2.2).
                    if self.upload.is_none() && !self.connection.has_begun() =>
                {
                    return Err(CallError::Unsent(error));
                }
                Poll::Ready(Err(_)) => {
                    // An upstream may respond and close the connection without reading the whole
                    // body (RFC 9112 §9.3, §9.6); its response still has to be read.
                    self.sending = Sending::Broken;
                    self.upload = None;
                    return Ok(());
                }
                Poll::Ready(Ok(())) => {}
            }
            if self.upload.as_ref().is_none_or(|upload| upload.is_done()) {
                self.sending = Sending::Done;
                self.upload = None;
                return Ok(());
            }
            if gathered.is_pending() {
                return Ok(());
            }
        }
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        headers: &mut Option<HeaderMap>,
    ) -> Poll<Result<Head, Http1Error>> {
        let mut interim = 0;
        loop {
            if !self.connection.input.is_empty() {
                let headers = headers.get_or_insert_with(reuse::take_for_response);
                let Connection { input, known, .. } = &mut *self.connection;
                let known = known.as_mut();
                match head::parse(input, &mut self.seen, self.is_head, known, headers)? {
                    ParseResult::Final(head) => return Poll::Ready(Ok(head)),
                    ParseResult::Partial => {}
                    // RFC 9110 §15.2 allows any number of interim responses, but a flood must not
                    // prevent the timeout.
                    ParseResult::Interim if interim == MAX_INTERIM => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    ParseResult::Interim => {
                        interim += 1;
                        continue;
                    }
                }
            }
            if ready!(self.connection.poll_read(cx))? == 0 {
                // RFC 9112 §8: an incomplete head is not a response.
                return Poll::Ready(Err(Http1Error::NoHead));
            }
            self.has_come = true;
        }
    }

    /// Reads the first bytes of the body, which usually arrive with the head.
    ///
    /// If the connection ends before these bytes arrive, the client can still get a 502 response.
    fn rest(&mut self, cx: &mut Context<'_>, head: &Head) -> Result<PendingBody, Http1Error> {
        let mut decoder = Decoder::new(head.framing);
        let input = &mut self.connection.input;
        let mut first = decoder.decode(input)?;
        if first.is_none() && !decoder.is_done() {
            match self.connection.poll_read(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(0)) => decoder.end()?,
                Poll::Ready(Ok(_)) => first = decoder.decode(&mut self.connection.input)?,
                Poll::Ready(Err(error)) => return Err(error.into()),
            }
        }
        Ok(PendingBody {
            has_length: matches!(head.framing, framing::Framing::Length(_)),
            has_hop_headers: head.has_hop_headers,
            // A connection over which only part of a request was sent cannot be reused (RFC 9112
            // §9.3).
            closes: head.closes || self.sending != Sending::Done,
            decoder,
            first,
            upload: self.upload.take(),
        })
    }

    fn broke(&self, error: Http1Error) -> CallError {
        CallError::ConnectionFailure(ConnectionFailure {
            error,
            nothing_came: !self.has_come,
        })
    }
}

//! Sending of request bodies.

use std::{
    io::Write as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{
    HeaderMap,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
    request::Parts,
    uri::PathAndQuery,
};
use hyper::body::Body;
use tokio::io::{AsyncWriteExt as _, WriteHalf};
use tracing::debug;

use super::{
    super::{body::RequestBody, request::AddedHeaders},
    connection::Output,
    stream::Stream,
};

/// The maximum number of body bytes that are gathered for one write.
const MAX_GATHERED_BYTES: usize = 64 * 1024;

/// The body of a request, with the amount that still has to be sent.
#[derive(Debug)]
pub(in super::super) struct Upload {
    body: RequestBody,
    sending: Sending,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sending {
    Length(u64),
    Chunked,
    Done,
}

/// An error for a client that disconnected, or sent a body that does not have the announced length.
#[derive(Debug)]
pub(super) struct ClientBodyError;

impl Upload {
    /// Creates an upload from a request's body; returns `None` if there is no body.
    pub(super) fn new(body: RequestBody, framing: Framing) -> Option<Self> {
        let sending = match framing {
            Framing::None => return None,
            Framing::Length(length) => Sending::Length(length),
            Framing::Chunked => Sending::Chunked,
        };
        Some(Self { body, sending })
    }

    pub(super) fn is_done(&self) -> bool {
        self.sending == Sending::Done
    }

    /// Gathers the client's data; ready if there is enough data for a write or no more data is
    /// available.
    pub(super) fn poll_gather(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut Output,
    ) -> Poll<Result<(), ClientBodyError>> {
        while !self.is_done() && output.remaining() < MAX_GATHERED_BYTES {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.add(&data, &mut output.bytes)?,
                    Err(frame) => {
                        if let Ok(trailers) = frame.into_trailers() {
                            self.end(Some(&trailers), &mut output.bytes)?;
                        }
                    }
                },
                Some(Err(_)) => return Poll::Ready(Err(ClientBodyError)),
                None => self.end(None, &mut output.bytes)?,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the rest of the request's body after the response has begun.
    pub(super) async fn run(mut self, mut output: Output, mut write: WriteHalf<Box<Stream>>) {
        let mut is_sent = false;
        let sending = std::future::poll_fn(|cx| {
            loop {
                let gathered = self.poll_gather(cx, &mut output);
                if let Poll::Ready(Err(ClientBodyError)) = gathered {
                    return Poll::Ready(Err(std::io::ErrorKind::UnexpectedEof.into()));
                }
                ready!(output.poll_write(Pin::new(&mut write), cx))?;
                if self.is_done() {
                    is_sent = true;
                    return Poll::Ready(Ok::<_, std::io::Error>(()));
                }
                ready!(gathered).ok();
            }
        });
        if let Err(error) = sending.await {
            debug!(%error, "the request was not sent completely: {error}");
        }
        if !is_sent {
            // The upstream must detect that the body is truncated (RFC 9112 §8).
            drop(write.shutdown().await);
        }
    }

    fn add(&mut self, data: &Bytes, output: &mut Vec<u8>) -> Result<(), ClientBodyError> {
        match &mut self.sending {
            _ if data.is_empty() => {}
            Sending::Length(left) => {
                // Bytes beyond the announced length would be mistaken for another request (RFC 9112
                // §6.2, §11.2).
                *left = left.checked_sub(data.len() as u64).ok_or(ClientBodyError)?;
                output.extend_from_slice(data);
                // A body with a known length is not polled for its end.
                if *left == 0 && self.body.is_end_stream() {
                    self.sending = Sending::Done;
                }
            }
            Sending::Chunked => {
                // RFC 9112 §7.1. Writing to a `Vec` does not fail.
                drop(write!(output, "{:x}\r\n", data.len()));
                output.extend_from_slice(data);
                output.extend_from_slice(b"\r\n");
            }
            Sending::Done => return Err(ClientBodyError),
        }
        Ok(())
    }

    fn end(
        &mut self,
        trailers: Option<&HeaderMap>,
        output: &mut Vec<u8>,
    ) -> Result<(), ClientBodyError> {
        match std::mem::replace(&mut self.sending, Sending::Done) {
            // RFC 9112 §8: the body has fewer bytes than announced.
            Sending::Length(1..) => return Err(ClientBodyError),
            Sending::Chunked => {
                output.extend_from_slice(b"0\r\n");
                // RFC 9112 §7.1.2; `trailers::retain_announced` has removed the trailers that must not be
                // forwarded.
                for (name, value) in trailers.into_iter().flatten() {
                    for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                        output.extend_from_slice(part);
                    }
                }
                output.extend_from_slice(b"\r\n");
            }
            Sending::Length(0) | Sending::Done => {}
        }
        Ok(())
    }
}

/// The framing of a request's body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Framing {
    /// Returns the framing of a request's body, based on the body itself, because the header may be
    /// wrong (RFC 9112 §6.3).
    pub(super) fn from_body(body: &impl Body) -> Self {
        if body.is_end_stream() {
            return Self::None;
        }
        match body.size_hint().exact() {
            Some(length) => Self::Length(length),
            None => Self::Chunked,
        }
    }
}

/// Writes the head of a request.
///
/// `HeaderName` and `HeaderValue` contain no line ends, so nothing can be injected (RFC 9112
/// §11.1).
pub(super) fn write(
    output: &mut Vec<u8>,
    request: &Parts,
    added: Option<&AddedHeaders>,
    framing: Framing,
) {
    write_line(output, request);
    let mut has_length = false;
    for (name, value) in &request.headers {
        // Either `Content-Length` or `Transfer-Encoding` is written below, depending on the body,
        // but never both (RFC 9112 §6.2).
        if *name == CONTENT_LENGTH {
            has_length = true;
            continue;
        }
        if *name == TRANSFER_ENCODING {
            continue;
        }
        output.extend_from_slice(name.as_str().as_bytes());
        output.extend_from_slice(b": ");
        output.extend_from_slice(value.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
    if let Some(added) = added {
        added.write(output);
    }
    match framing {
        // RFC 9110 §8.6: a POST without a body has length `0`; only the client's own header is
        // repeated.
        Framing::None if has_length => output.extend_from_slice(b"content-length: 0\r\n\r\n"),
        Framing::None => output.extend_from_slice(b"\r\n"),
        Framing::Chunked => output.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n"),
        Framing::Length(length) => {
            // Writing to a `Vec` does not fail.
            drop(write!(output, "content-length: {length}\r\n\r\n"));
        }
    }
}

/// Writes the HTTP/1.1 request line.
fn write_line(output: &mut Vec<u8>, request: &Parts) {
    output.extend_from_slice(request.method.as_str().as_bytes());
    output.push(b' ');
    let target = request.uri.path_and_query();
    let target = target.map_or("/", PathAndQuery::as_str).as_bytes();
    if !matches!(target, [b'/' | b'*', ..]) {
        // If a target in absolute form has a query but no path, the origin form begins with `/`
        // (RFC 9112 §3.2.1).
        output.push(b'/');
    }
    output.extend_from_slice(target);
    output.extend_from_slice(b" HTTP/1.1\r\n");
}

//! Bodies of requests on their way.

use std::{
    io::Write as _,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Body as _;
use tokio::io::{AsyncWriteExt as _, WriteHalf};
use tracing::debug;

use super::{super::body::RequestBody, connection::Output, request::Framing, stream::Stream};

/// Bytes that are gathered for one write.
const MAX_GATHERED_BYTES: usize = 64 * 1024;

/// A request's body, and how much of it is to be sent.
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

/// The client went away, or its body is not what it said.
#[derive(Debug)]
pub(super) struct ClientBroke;

impl Upload {
    /// Takes the body; nothing when there is none.
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

    /// Gathers what the client has sent; ready when there is enough for a write, or no more.
    pub(super) fn poll_gather(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut Output,
    ) -> Poll<Result<(), ClientBroke>> {
        while !self.is_done() && output.left() < MAX_GATHERED_BYTES {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.add(&data, &mut output.bytes)?,
                    Err(frame) => {
                        if let Ok(trailers) = frame.into_trailers() {
                            self.end(Some(&trailers), &mut output.bytes)?;
                        }
                    }
                },
                Some(Err(_)) => return Poll::Ready(Err(ClientBroke)),
                None => self.end(None, &mut output.bytes)?,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the rest, though the response has begun already.
    pub(super) async fn run(mut self, mut output: Output, mut write: WriteHalf<Box<Stream>>) {
        let mut is_sent = false;
        let sending = std::future::poll_fn(|cx| {
            loop {
                let gathered = self.poll_gather(cx, &mut output);
                if let Poll::Ready(Err(ClientBroke)) = gathered {
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
            debug!(%error, "the request was not sent to its end: {error}");
        }
        if !is_sent {
            // The upstream must not take it for whole.
            drop(write.shutdown().await);
        }
    }

    fn add(&mut self, data: &Bytes, output: &mut Vec<u8>) -> Result<(), ClientBroke> {
        match &mut self.sending {
            _ if data.is_empty() => {}
            Sending::Length(left) => {
                *left = left.checked_sub(data.len() as u64).ok_or(ClientBroke)?;
                output.extend_from_slice(data);
                // The end of a body of known length is not polled for, but looked at.
                if *left == 0 && self.body.is_end_stream() {
                    self.sending = Sending::Done;
                }
            }
            Sending::Chunked => {
                // Writing into memory does not fail.
                drop(write!(output, "{:x}\r\n", data.len()));
                output.extend_from_slice(data);
                output.extend_from_slice(b"\r\n");
            }
            Sending::Done => return Err(ClientBroke),
        }
        Ok(())
    }

    fn end(
        &mut self,
        trailers: Option<&HeaderMap>,
        output: &mut Vec<u8>,
    ) -> Result<(), ClientBroke> {
        match std::mem::replace(&mut self.sending, Sending::Done) {
            Sending::Length(1..) => return Err(ClientBroke),
            Sending::Chunked => {
                output.extend_from_slice(b"0\r\n");
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

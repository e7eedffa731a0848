//! Reading of response bodies.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::{proxy_body::ProxyBodyError, server::ServerSlot, trailers},
    Http1Error,
    connection::Connection,
    framing::{Decoder, Piece},
    upload::Upload,
};

/// The body of a response whose head has been read.
#[derive(Debug)]
pub(in super::super) struct PendingBody {
    pub(super) decoder: Decoder,
    /// The first piece of the body, if it arrived with the head.
    pub(super) first: Option<Piece>,
    pub(super) has_length: bool,
    pub(super) closes: bool,
    /// The rest of the request that still has to be sent.
    pub(super) upload: Option<Box<Upload>>,
    /// Whether the response's headers include hop-by-hop headers.
    pub(in super::super) has_hop_headers: bool,
}

/// The body of a response, read from its connection on demand.
#[derive(Debug)]
pub(in super::super) struct Download {
    /// The connection, which is returned to the pool at the end of the body; dropping the
    /// connection earlier closes it.
    loan: Option<(Box<Connection>, ServerSlot)>,
    decoder: Decoder,
    first: Option<Piece>,
    has_length: bool,
    closes: bool,
    uploading: Option<AbortOnDropHandle<()>>,
    idle_timeout: Duration,
    /// Whether the timer is running for the current wait.
    is_timed: bool,
    /// The error to report after the preceding bytes have been passed on.
    error: Option<Http1Error>,
}

impl PendingBody {
    /// Returns the body if it has arrived completely, and whether the body's length was announced.
    ///
    /// The connection is then free for the next request.
    pub(in super::super) fn complete_body(&mut self) -> Option<(Option<Bytes>, bool)> {
        let is_whole = self.decoder.is_done() && self.upload.is_none();
        if !is_whole || matches!(self.first, Some(Piece::Trailers(_))) {
            return None;
        }
        let data = match self.first.take() {
            Some(Piece::Data(data)) => Some(data),
            _ => None,
        };
        let has_length = self.has_length || data.is_none();
        Some((data, has_length))
    }

    /// Puts a connection whose response has been read completely back into the pool.
    pub(in super::super) fn release(&self, connection: Box<Connection>, slot: &ServerSlot) {
        give_back(connection, slot, self.closes);
    }
}

impl Download {
    pub(in super::super) fn new(
        connection: Box<Connection>,
        slot: ServerSlot,
        rest: PendingBody,
        idle_timeout: Duration,
    ) -> Self {
        let (connection, uploading) = match rest.upload {
            None => (connection, None),
            Some(upload) => {
                let (connection, output, write) = connection.split();
                let sending = slot.server.spawn(upload.run(output, write));
                (Box::new(connection), Some(AbortOnDropHandle::new(sending)))
            }
        };
        Self {
            loan: Some((connection, slot)),
            decoder: rest.decoder,
            first: rest.first,
            has_length: rest.has_length,
            closes: rest.closes,
            uploading,
            idle_timeout,
            is_timed: false,
            error: None,
        }
    }

    pub(in super::super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(ProxyBodyError::Upstream(Box::new(error)))));
        }
        let polled = self.poll_piece(cx);
        if !polled.is_pending() {
            self.is_timed = false;
        }
        match polled {
            Poll::Pending => self.poll_idle(cx),
            Poll::Ready(Ok(piece)) => {
                // hyper does not poll for the end of a body with a known length.
                if self.decoder.is_done() {
                    self.end();
                }
                Poll::Ready(piece.and_then(frame).map(Ok))
            }
            Poll::Ready(Err(error)) => {
                // hyper drops unwritten bytes when a body fails, so the error is delayed until the
                // next poll, when the bytes have been written.
                self.cut();
                self.error = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    pub(in super::super) fn is_end(&self) -> bool {
        self.first.is_none() && self.decoder.is_done() && self.error.is_none()
    }

    pub(in super::super) fn size_hint(&self) -> SizeHint {
        let left = self.decoder.remaining().filter(|_| self.has_length);
        let first = match &self.first {
            Some(Piece::Data(data)) => data.len() as u64,
            _ => 0,
        };
        left.map_or_else(SizeHint::default, |left| SizeHint::with_exact(left + first))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Piece>, Http1Error>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(Some(first)));
        }
        let Some((connection, _)) = &mut self.loan else {
            return Poll::Ready(Ok(None));
        };
        loop {
            let piece = self.decoder.decode(&mut connection.input)?;
            if piece.is_some() || self.decoder.is_done() {
                return Poll::Ready(Ok(piece));
            }
            match connection.poll_read(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => self.decoder.end()?,
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_idle(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProxyBodyError>>> {
        let idle_timeout = self.idle_timeout;
        let Some((connection, _)) = &mut self.loan else {
            return Poll::Pending;
        };
        if !std::mem::replace(&mut self.is_timed, true) {
            connection.start_timer(Instant::now(), idle_timeout);
        }
        if connection.poll_timer(cx).is_pending() {
            return Poll::Pending;
        }
        self.cut();
        Poll::Ready(Some(Err(ProxyBodyError::timed_out(idle_timeout))))
    }

    fn end(&mut self) {
        let uploading = self.uploading.take();
        if let Some((mut connection, slot)) = self.loan.take() {
            connection.used = Instant::now();
            // Part of the request is still being sent, and no other request may follow it (RFC 9112
            // §9.3).
            let closes = self.closes || uploading.is_some();
            give_back(connection, &slot, closes);
        }
        // The upstream has responded, and may still read the rest of the request.
        if let Some(uploading) = uploading {
            drop(uploading.detach());
        }
    }

    fn cut(&mut self) {
        self.loan = None;
        self.uploading = None;
    }
}

fn give_back(mut connection: Box<Connection>, slot: &ServerSlot, closes: bool) {
    // Bytes after a response must not be treated as the response to the next request (RFC 9112
    // §9.2).
    if !closes && connection.input.is_empty() {
        connection.release_buffers();
        slot.return_connection(connection);
    }
}

/// Converts a piece of the body into a frame; returns `None` for trailers that must not be
/// forwarded (RFC 9110 §6.5.1).
fn frame(piece: Piece) -> Option<Frame<Bytes>> {
    match piece {
        Piece::Data(data) => Some(Frame::data(data)),
        Piece::Trailers(mut trailers) => {
            trailers::clean(&mut trailers);
            (!trailers.is_empty()).then(|| Frame::trailers(*trailers))
        }
    }
}

//! Serving of the plain requests on one connection, one after the other.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Body;
use pin_project_lite::pin_project;

use super::{
    super::{
        http_service::{HttpService, ServiceResponse},
        request_context::RequestContext,
        service::{ConnectionService, CountedBody, InFlightGuard},
    },
    encode::{self, BodyLength, Framing, ResponseOptions},
    head::HeadLimits,
    io::{Out, PlainIo},
    line_cache::RequestNotes,
    reader::{HeadReader, Next},
    reuse,
};

/// The maximum number of pipelined requests that are answered before other tasks on the thread run
/// (RFC 9112 §9.3.2).
///
/// Without the limit, a client that fills its socket buffer would block all other clients on the
/// thread.
const MAX_AT_ONCE: u32 = 16;

/// The reason why serving plain requests on a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum End {
    /// The connection has ended.
    Over,
    /// hyper must handle the bytes that were read but not answered.
    Odd,
}

pin_project! {
    /// The state of serving plain requests on a connection.
    pub(in super::super) struct Plain<'c, S: HttpService> {
        service: &'c mut ConnectionService<S>,
        io: &'c mut PlainIo,
        // The bytes that were read but not answered yet.
        unread: &'c mut BytesMut,
        // The number of these bytes known to be an incomplete head.
        seen: usize,
        limits: HeadLimits,
        out: Out,
        options: ResponseOptions,
        // Whether no more requests are accepted.
        is_finishing: bool,
        #[pin]
        stage: Stage<S::ResponseBody, S::Future>,
    }
}

pin_project! {
    // Head → Response or Body → Sending → Head, or Shutdown after the last response. An immediate
    // response skips Response, and a response without a body skips Body (RFC 9112 §9.3: requests
    // are answered one at a time, in order).
    #[project = StageProjection]
    enum Stage<B, F> {
        /// The connection waits for the next request.
        Head,
        Response {
            in_flight: Option<InFlightGuard>,
            #[pin]
            future: F,
        },
        Body {
            #[pin]
            body: CountedBody<B>,
            framing: Framing,
            is_last: bool,
        },
        /// The response has been encoded completely, but may not have been sent completely.
        Sending {
            is_last: bool,
        },
        Shutdown,
    }
}

/// The result of one step in serving a request; an error ends the connection.
type StageResult = Result<(), ConnectionLost>;

/// An error for a connection that closes without a shutdown, because the response is incomplete or
/// the client has disconnected.
struct ConnectionLost;

impl<'c, S: HttpService> Plain<'c, S> {
    /// Creates the state for a connection, with the bytes already read in `unread`.
    pub(in super::super) fn new(
        service: &'c mut ConnectionService<S>,
        io: &'c mut PlainIo,
        unread: &'c mut BytesMut,
    ) -> Self {
        Self {
            limits: HeadLimits::new(&service.shared.settings),
            service,
            io,
            unread,
            seen: 0,
            out: Out::default(),
            options: ResponseOptions::default(),
            is_finishing: false,
            stage: Stage::Head,
        }
    }

    /// Ends the connection after the request in flight, or immediately if there is none.
    pub(in super::super) fn finish(self: Pin<&mut Self>) {
        let mut this = self.project();
        *this.is_finishing = true;
        // If the first request of a connection has been read in part, the client still gets a
        // response. After a response, an incomplete head may be dropped, because the client can
        // send the request again (RFC 9112 §9.3.1).
        let is_kept = this.io.activity().requests() > 0;
        let has_none = this.unread.is_empty() || (is_kept && *this.seen == this.unread.len());
        if has_none && matches!(this.stage.as_mut().project(), StageProjection::Head) {
            this.stage.set(Stage::Shutdown);
        }
    }

    fn run(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<End, ConnectionLost>> {
        let mut answered = 0;
        loop {
            let mut this = self.as_mut().project();
            match this.stage.as_mut().project() {
                // Wake the task now, because no socket event reports bytes in our own buffer.
                StageProjection::Head if answered == MAX_AT_ONCE => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                StageProjection::Head => {
                    let mut request = None;
                    match ready!(self.as_mut().poll_head(cx, &mut request)) {
                        Next::Request(notes) => {
                            let service = &*self.service;
                            let request = request.map(|it| service.bodiless_context(it, notes));
                            self.as_mut()
                                .take_up(request.ok_or(ConnectionLost)?, notes)?;
                        }
                        Next::Odd => return Poll::Ready(Ok(End::Odd)),
                        Next::End => self.as_mut().project().stage.set(Stage::Shutdown),
                        Next::Broken => return Poll::Ready(Err(ConnectionLost)),
                    }
                }
                StageProjection::Response { in_flight, future } => match future.poll(cx) {
                    Poll::Ready(Ok(response)) => {
                        let in_flight = in_flight.take().ok_or(ConnectionLost)?;
                        self.as_mut().answer(in_flight, response)?;
                    }
                    // If the client disconnects, its request is cancelled, so that the service
                    // stops working on the request.
                    Poll::Pending => return self.poll_gone(cx),
                },
                StageProjection::Body { .. } => {
                    if self.as_mut().poll_body(cx)?.is_pending() {
                        return self.poll_gone(cx);
                    }
                }
                StageProjection::Sending { is_last } => {
                    // The drain may have begun after the head was written without `close`; clients
                    // have to expect that (RFC 9112 §9.5).
                    let is_last = *is_last || *this.is_finishing;
                    if send(this.io, cx, this.out)?.is_pending() {
                        return self.poll_gone(cx);
                    }
                    answered += 1;
                    this.stage.set(if is_last {
                        Stage::Shutdown
                    } else {
                        Stage::Head
                    });
                }
                StageProjection::Shutdown => {
                    let shut_down = ready!(this.io.poll_shutdown(cx));
                    return Poll::Ready(shut_down.map(|()| End::Over).map_err(|_| ConnectionLost));
                }
            }
        }
    }

    /// Reads until a request head is complete, or until it is clear that no head will arrive.
    fn poll_head(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        request: &mut Option<Request<()>>,
    ) -> Poll<Next> {
        let this = self.project();
        let mut head_reader = HeadReader {
            unread: this.unread,
            seen: this.seen,
            limits: *this.limits,
            request,
        };
        if let Some(next) = head_reader.parse_unread() {
            return Poll::Ready(next);
        }
        loop {
            let io = &mut **this.io;
            let next = reuse::with_read_buffer(|buffer| {
                Poll::Ready(match ready!(io.poll_read(cx, buffer)) {
                    Err(_) => Some(Next::Broken),
                    Ok([]) if head_reader.unread.is_empty() => Some(Next::End),
                    // An incomplete head (RFC 9112 §8): hyper decides how to handle it.
                    Ok([]) => Some(Next::Odd),
                    Ok(read) => head_reader.parse_read(read),
                })
            });
            if let Some(next) = ready!(next) {
                return Poll::Ready(next);
            }
        }
    }

    fn take_up(
        mut self: Pin<&mut Self>,
        mut request: Request<RequestContext>,
        notes: RequestNotes,
    ) -> StageResult {
        let mut this = self.as_mut().project();
        *this.options = ResponseOptions {
            // A response to HEAD has the same head as a response to GET, but no body (RFC 9110
            // §9.3.2).
            is_head: *request.method() == Method::HEAD,
            closes: notes.closes || *this.is_finishing,
        };
        let in_flight = this.service.begin_bodiless(&request, notes);
        match this.service.service.respond(&mut request) {
            ServiceResponse::Now(response) => self.answer(in_flight, response),
            ServiceResponse::Ready(head) => {
                // The request ends before its response is sent.
                drop(in_flight);
                encode::ready(&mut this.out.made, &head, *this.options);
                reuse::recycle_request(mem::take(request.headers_mut()));
                let is_last = this.options.closes;
                this.stage.set(Stage::Sending { is_last });
                Ok(())
            }
            ServiceResponse::Later(future) => {
                this.stage.set(Stage::Response {
                    in_flight: Some(in_flight),
                    future,
                });
                Ok(())
            }
        }
    }

    /// Starts a response: encodes its head, and requests its body.
    fn answer(
        self: Pin<&mut Self>,
        mut in_flight: InFlightGuard,
        mut response: Response<S::ResponseBody>,
    ) -> StageResult {
        let mut this = self.project();
        in_flight.record_response(&mut response);
        // The drain may have begun while the service was working (RFC 9112 §9.6).
        this.options.closes |= *this.is_finishing;
        let mut length = BodyLength::from_body(response.body());
        let status = response.status();
        if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
            // An interim response is never the last response (RFC 9110 §15.2), so the client would
            // wait for another response. As in hyper, the interim response is replaced by a 500
            // response.
            response.headers_mut().clear();
            response.extensions_mut().clear();
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            (length, this.options.closes) = (BodyLength::Ended, true);
        }
        let encoded = encode::head(&mut this.out.made, &response, length, *this.options);
        let (parts, body) = response.into_parts();
        reuse::recycle_response(parts.headers);
        let encode::EncodedHead { framing, is_last } = encoded.map_err(|_| ConnectionLost)?;
        if framing.is_full() {
            // The request ends before its response is sent.
            drop((in_flight, body));
            this.stage.set(Stage::Sending { is_last });
        } else {
            this.stage.set(Stage::Body {
                body: CountedBody::new(in_flight, body),
                framing,
                is_last,
            });
        }
        Ok(())
    }

    /// Sends pieces of the body until the last piece is encoded.
    fn poll_body(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Result<Poll<()>, ConnectionLost> {
        let mut this = self.project();
        let StageProjection::Body {
            mut body,
            framing,
            is_last,
        } = this.stage.as_mut().project()
        else {
            return Ok(Poll::Ready(()));
        };
        let is_last = *is_last;
        loop {
            // The next piece is requested only when the previous piece has been sent, so that data
            // for a slow client stays at the upstream.
            if this.out.is_full() && send(this.io, cx, this.out)?.is_pending() {
                return Ok(Poll::Pending);
            }
            match body.as_mut().poll_frame(cx) {
                Poll::Pending => {
                    // Available data is sent now, because an event stream may then be silent for
                    // minutes.
                    let _ = send(this.io, cx, this.out)?;
                    return Ok(Poll::Pending);
                }
                // If the last chunk or announced bytes are missing, the client detects that the
                // body is truncated (RFC 9112 §8).
                Poll::Ready(Some(Err(_))) => return Err(ConnectionLost),
                Poll::Ready(Some(Ok(frame))) => {
                    let is_trailers = frame.is_trailers();
                    if let Ok(piece) = frame.into_data()
                        && piece.has_remaining()
                    {
                        this.out.add(framing, piece);
                    }
                    if framing.is_full() {
                        break;
                    }
                    if is_trailers || body.is_end_stream() {
                        // Trailers are only for clients that sent `TE: trailers` (RFC 9110 §6.5.1),
                        // which hyper serves.
                        framing
                            .end(&mut this.out.made)
                            .map_err(|_| ConnectionLost)?;
                        break;
                    }
                }
                Poll::Ready(None) => {
                    framing
                        .end(&mut this.out.made)
                        .map_err(|_| ConnectionLost)?;
                    break;
                }
            }
        }
        this.stage.set(Stage::Sending { is_last });
        Ok(Poll::Ready(()))
    }

    /// Checks whether the client has disconnected while the connection waits for something else.
    ///
    /// Bytes of the next request are kept, and no more bytes are read until that request is served.
    fn poll_gone(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<End, ConnectionLost>> {
        let this = self.project();
        // If more were read, a pipelining client could fill the memory; a full socket buffer slows
        // the client down instead.
        if !this.unread.is_empty() {
            return Poll::Pending;
        }
        let (io, unread) = (this.io, this.unread);
        reuse::with_read_buffer(|buffer| match ready!(io.poll_read(cx, buffer)) {
            Ok([]) | Err(_) => Poll::Ready(Err(ConnectionLost)),
            Ok(read) => {
                unread.extend_from_slice(read);
                Poll::Pending
            }
        })
    }
}

fn send(io: &mut PlainIo, cx: &mut Context<'_>, out: &mut Out) -> Result<Poll<()>, ConnectionLost> {
    match io.poll_send(cx, out) {
        Poll::Ready(result) => result.map(Poll::Ready).map_err(|_| ConnectionLost),
        Poll::Pending => Ok(Poll::Pending),
    }
}

impl<S: HttpService> Future for Plain<'_, S> {
    type Output = End;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<End> {
        let out = self.as_mut().project().out;
        if out.made.is_empty() {
            out.made = reuse::take_write_buffer();
        }
        let polled = self.as_mut().run(cx);
        let out = self.project().out;
        if polled.is_ready() || out.made.is_empty() {
            reuse::return_write_buffer(mem::take(&mut out.made));
        }
        polled.map(|end| end.unwrap_or(End::Over))
    }
}

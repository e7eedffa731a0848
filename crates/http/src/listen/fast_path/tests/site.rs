//! A test service with responses of all kinds.

use std::{
    convert::Infallible,
    fmt::Write as _,
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Frame, ext::ReasonPhrase};
use tokio::sync::Notify;

use super::super::super::{
    http_service::{HttpService, ReadyHead, ServiceResponse},
    request_context::RequestContext,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// A service whose response depends on the request's path and repeats the request in its body.
#[derive(Clone, Default)]
pub(super) struct Site<const IS_PLAIN: bool>(pub(super) Arc<ReceivedRequest>);

#[derive(Default)]
pub(super) struct ReceivedRequest {
    requests: AtomicUsize,
    /// The number of requests that did not reach hyper.
    pub(super) plain: AtomicUsize,
    pub(super) pieces: AtomicUsize,
    pub(super) was_cancelled: AtomicBool,
    pub(super) cancelled: Notify,
    pub(super) go: Notify,
}

/// A pre-encoded head of a redirect.
#[derive(Debug)]
pub(super) struct Elsewhere;

impl ReadyHead for Elsewhere {
    fn status(&self) -> StatusCode {
        StatusCode::FOUND
    }

    fn lines(&self) -> &[u8] {
        b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\nvary: User-Agent\r\n"
    }

    fn response<B>(&self, body: B, mut buffer: HeaderMap) -> Response<B> {
        buffer.clear();
        buffer.insert(header::LOCATION, HeaderValue::from_static("/elsewhere"));
        buffer.insert(header::VARY, HeaderValue::from_static("User-Agent"));
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        *response.headers_mut() = buffer;
        response
    }
}

/// A future that records when it is dropped.
struct DropRecorder(Arc<ReceivedRequest>);

impl Drop for DropRecorder {
    fn drop(&mut self) {
        self.0.was_cancelled.store(true, SeqCst);
        self.0.cancelled.notify_one();
    }
}

impl<const IS_PLAIN: bool> HttpService for Site<IS_PLAIN> {
    type ResponseBody = AnyBody;
    type ReadyHead = Elsewhere;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, Infallible>> + Send>>;

    const TAKES_BODILESS: bool = IS_PLAIN;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<AnyBody, Elsewhere, Self::Future> {
        let seen = Arc::clone(&self.0);
        seen.requests.fetch_add(1, SeqCst);
        if request.body().body.is_none() {
            seen.plain.fetch_add(1, SeqCst);
        }
        let path = request.uri().path().to_owned();
        match path.as_str() {
            "/never" => ServiceResponse::Later(Box::pin(async move {
                let _told = DropRecorder(seen);
                pending().await
            })),
            "/later" => {
                let request = RequestContext::take(request);
                ServiceResponse::Later(Box::pin(async move {
                    tokio::task::yield_now().await;
                    Ok(echo(&request))
                }))
            }
            "/go" => {
                let request = RequestContext::take(request);
                ServiceResponse::Later(Box::pin(async move {
                    seen.go.notified().await;
                    Ok(echo(&request))
                }))
            }
            "/large" => ServiceResponse::Now(large(seen)),
            "/ready" | "/ready-changed" | "/ready-renamed" => {
                match path.as_str() {
                    "/ready-changed" => change(request.headers_mut()),
                    "/ready-renamed" => rename(request.headers_mut()),
                    _ => {}
                }
                ServiceResponse::Ready(Elsewhere)
            }
            path => ServiceResponse::Now(by_path(path, request)),
        }
    }
}

/// Changes headers as a service might do after it has read a request.
fn change(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        *value = HeaderValue::from_static("another");
    }
}

fn rename(headers: &mut HeaderMap) {
    if headers.remove(header::HOST).is_some() {
        headers.insert("x-another", HeaderValue::from_static("1"));
    }
}

fn by_path(path: &str, request: &Request<RequestContext>) -> Response<AnyBody> {
    let mut response = echo(request);
    if let Some(lengths) = said_lengths(path) {
        headers_of(&mut response, "content-length", lengths);
        *response.body_mut() = pieces(&["ab", "cd"], path == "/cut-length");
        return response;
    }
    if let Some(is_long) = path.strip_prefix("/large-pieces").map(|it| it == "-long") {
        return large_pieces(is_long);
    }
    let headers = response.headers_mut();
    match path {
        "/chunks" => *response.body_mut() = pieces(&["ab", "", "cdefghijklmnopqrst"], false),
        "/cut-chunks" => *response.body_mut() = pieces(&["ab", "cd"], true),
        "/trailers" => {
            headers.insert(header::TRAILER, HeaderValue::from_static("x-sum"));
            *response.body_mut() = trailers();
        }
        "/empty" => *response.body_mut() = nothing(),
        "/none" => *response.status_mut() = StatusCode::NO_CONTENT,
        "/none-length" | "/switched-length" => {
            *response.status_mut() = match path {
                "/none-length" => StatusCode::NO_CONTENT,
                _ => StatusCode::SWITCHING_PROTOCOLS,
            };
            headers_of(&mut response, "content-length", &["4", "4"]);
            *response.body_mut() = pieces(&["ab", "cd"], false);
        }
        "/unmodified" => *response.status_mut() = StatusCode::NOT_MODIFIED,
        "/odd-status" => *response.status_mut() = StatusCode::from_u16(799).unwrap(),
        "/own-reason" => say_why(&mut response),
        "/interim" => {
            *response.status_mut() = StatusCode::EARLY_HINTS;
            headers_of(&mut response, "link", &["</a>; rel=preload"]);
            say_why(&mut response);
        }
        "/coded" => {
            headers_of(&mut response, "transfer-encoding", &["gzip, chunked"]);
            *response.body_mut() = pieces(&["ab", "cd"], false);
        }
        "/head-length" => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("123"));
            *response.body_mut() = nothing();
        }
        "/closes" => drop(headers.insert(header::CONNECTION, HeaderValue::from_static("close"))),
        "/connection" => {
            headers.append(header::CONNECTION, HeaderValue::from_static("x"));
            headers.append(header::CONNECTION, HeaderValue::from_static("y, z"));
        }
        "/dated" => {
            let date = HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT");
            headers.insert(header::DATE, date);
            headers.append("x-two", HeaderValue::from_static("1"));
            headers.append("x-two", HeaderValue::from_static("2"));
        }
        _ => {}
    }
    response
}

/// Returns the `Content-Length` values that are announced for a body of four bytes.
fn said_lengths(path: &str) -> Option<&'static [&'static str]> {
    Some(match path {
        "/cut-length" | "/short" => &["10"],
        "/long" => &["3"],
        "/lengths" => &["4", "4"],
        "/other-lengths" => &["4", "5"],
        "/wrong-length" => &["x"],
        "/no-length" => &[""],
        "/signed-length" => &["+4"],
        "/huge-length" => &["18446744073709551620"],
        _ => return None,
    })
}

fn headers_of(response: &mut Response<AnyBody>, name: &'static str, values: &[&'static str]) {
    for value in values {
        let value = HeaderValue::from_static(value);
        response.headers_mut().append(name, value);
    }
}

fn say_why(response: &mut Response<AnyBody>) {
    let reason = ReasonPhrase::from_static(b"As Asked");
    response.extensions_mut().insert(reason);
}

fn echo(request: &Request<RequestContext>) -> Response<AnyBody> {
    let mut text = format!(
        "{} {:?} {:?}\n",
        request.method(),
        request.uri(),
        request.version()
    );
    for (name, value) in request.headers() {
        writeln!(text, "{name}: {value:?}").unwrap();
    }
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    Response::new(body.boxed_unsync())
}

fn nothing() -> AnyBody {
    let body = Empty::new().map_err(|never: Infallible| match never {});
    body.boxed_unsync()
}

/// Returns a body of unknown length, which may end early.
fn pieces(pieces: &[&'static str], is_cut: bool) -> AnyBody {
    let pieces = pieces
        .iter()
        .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
    let pieces = stream::iter(pieces.collect::<Vec<Result<_, BoxError>>>());
    let end = stream::iter(is_cut.then(|| Err("broken".into())));
    let waits = stream::once(tokio::task::yield_now()).filter_map(|()| async { None });
    StreamBody::new(pieces.chain(waits).chain(end)).boxed_unsync()
}

/// Returns body pieces of different sizes, which are in total larger than one read of the client.
fn large_pieces(is_long: bool) -> Response<AnyBody> {
    let sizes = [
        5, 20_000, 3, 16_384, 16_383, 70_000, 1, 40_000, 100_000, 4000,
    ];
    let said: usize = sizes.into_iter().sum();
    let too_long = is_long.then_some(30_000);
    let pieces = sizes.into_iter().chain(too_long).zip(b'a'..);
    let pieces =
        pieces.map(|(size, letter)| Ok::<_, BoxError>(Frame::data(vec![letter; size].into())));
    let body = StreamBody::new(stream::iter(pieces.collect::<Vec<_>>()));
    let mut response = Response::new(body.boxed_unsync());
    let said = HeaderValue::from(said - usize::from(is_long));
    response.headers_mut().insert(header::CONTENT_LENGTH, said);
    response
}

fn trailers() -> AnyBody {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("1"));
    let frames = [
        Ok(Frame::data(Bytes::from_static(b"body"))),
        Ok::<_, BoxError>(Frame::trailers(trailers)),
    ];
    StreamBody::new(stream::iter(frames)).boxed_unsync()
}

/// Returns more data than any buffer in between can hold.
fn large(seen: Arc<ReceivedRequest>) -> Response<AnyBody> {
    let piece = Bytes::from(vec![b'x'; 64 * 1024]);
    let pieces = stream::iter(0..1024).map(move |_| {
        seen.pieces.fetch_add(1, SeqCst);
        Ok(Frame::data(piece.clone()))
    });
    Response::new(StreamBody::new(pieces).boxed_unsync())
}

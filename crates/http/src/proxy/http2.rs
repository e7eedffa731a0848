//! Sending of requests over HTTP/2 (RFC 9113 §8.2.2, §8.3.1).

use std::{error::Error as _, mem, pin::pin, time::Duration};

use http::{
    HeaderValue, Request, Response, Uri, Version,
    header::{CONNECTION, HOST, TE, TRANSFER_ENCODING, UPGRADE},
    uri::{Authority, PathAndQuery, Scheme},
};
use hyper::{body::Incoming, client::conn::TrySendError};
use tokio::time;

use super::{
    body::{Progress, RequestBody},
    dispatch::{Failure, Message, wait_for_stall},
    headers,
    sender::Http2Stream,
};

/// The result of sending a request as a stream.
pub(super) enum StreamOutcome {
    Answered(Response<Incoming>),
    /// Not a single byte was sent; the request is returned and can be sent over another connection.
    Returned(hyper::Error),
    Failed(Failure),
}

type SendResult = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

/// Sends a request as a stream on an HTTP/2 connection.
///
/// If no byte of a response has arrived and the request may be repeated, it is returned.
pub(super) async fn send(
    stream: &mut Http2Stream,
    message: &mut Message,
    upload: Option<&Progress>,
    timeout: Duration,
) -> StreamOutcome {
    if let Some(added) = message.added.take() {
        added.insert(&mut message.parts.headers);
    }
    let Message { parts, body, .. } = mem::take(message);
    let mut request = Request::from_parts(parts, body);
    // The copy is taken before the request is changed, because a retry may go to a server that uses
    // HTTP/1.1.
    stream.copy.take(&request);
    from_http1(&mut request, stream.is_tls);
    let answer = pin!(stream.sender.try_send_request(request));
    let answered = match upload {
        None => time::timeout(timeout, answer)
            .await
            .map_err(|_| Failure::Timeout(timeout)),
        Some(progress) => uploading(answer, progress, timeout).await,
    };
    match answered {
        Err(failure) => StreamOutcome::Failed(failure),
        Ok(Ok(response)) => StreamOutcome::Answered(response),
        Ok(Err(mut error)) => {
            if let Some(mut returned) = error.take_message() {
                to_http1(&mut returned);
                (message.parts, message.body) = returned.into_parts();
                return StreamOutcome::Returned(error.into_error());
            }
            let error = error.into_error();
            let was_taken_up = was_taken_up(&error);
            if let Some(copy) = stream.copy.request().filter(|_| !was_taken_up) {
                (message.parts, message.body) = copy.into_parts();
            }
            StreamOutcome::Failed(failed(error, upload, !was_taken_up))
        }
    }
}

/// Waits for the response as long as the upload makes progress, and then for the duration of the
/// timeout.
async fn uploading(
    answer: impl Future<Output = SendResult>,
    progress: &Progress,
    timeout: Duration,
) -> Result<SendResult, Failure> {
    tokio::select! {
        biased;
        answer = answer => Ok(answer),
        failure = wait_for_stall(progress, timeout) => Err(failure),
    }
}

/// Returns `true` if the server may have processed the request before it reset the stream.
///
/// Refused streams, and streams after the last stream named in a GOAWAY frame, were not processed
/// (RFC 9113 §8.7).
fn was_taken_up(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    cause.is_some_and(|error: &h2::Error| {
        error.is_reset() && error.reason() != Some(h2::Reason::REFUSED_STREAM)
    })
}

fn failed(error: hyper::Error, upload: Option<&Progress>, nothing_came: bool) -> Failure {
    if let Some(fault) = upload.and_then(Failure::from_client) {
        fault
    } else if error.is_user() {
        // hyper reports a failing request body as a user error.
        Failure::ClientBroke
    } else if nothing_came {
        Failure::NoResponse(error.into())
    } else {
        Failure::Response(error.into())
    }
}

/// Converts a request that is ready for HTTP/1.1 into one for HTTP/2.
///
/// A request without a usable `Host` is left unchanged.
pub(super) fn from_http1<B>(request: &mut Request<B>, is_tls: bool) {
    let map = request.headers_mut();
    // RFC 9113 §8.2.2: connection-specific headers are forbidden, except `TE: trailers`.
    map.remove(CONNECTION);
    map.remove(UPGRADE);
    map.remove(TRANSFER_ENCODING);
    let authority = map
        .get(HOST)
        .and_then(|host| Authority::try_from(host.as_bytes()).ok());
    let path = request.uri().path_and_query().cloned();
    let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
    let uri = authority.and_then(|authority| {
        Uri::builder()
            .scheme(scheme)
            .authority(authority)
            .path_and_query(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
            .build()
            .ok()
    });
    if let Some(uri) = uri {
        *request.uri_mut() = uri;
        // `:authority` replaces `Host` (RFC 9113 §8.3.1).
        request.headers_mut().remove(HOST);
    }
    *request.version_mut() = Version::HTTP_2;
}

/// Converts an unsent request for HTTP/2 back into a request for HTTP/1.1.
pub(super) fn to_http1<B: hyper::body::Body>(request: &mut Request<B>) {
    let uri = mem::take(request.uri_mut()).into_parts();
    let host = uri
        .authority
        .and_then(|authority| HeaderValue::try_from(authority.as_str()).ok());
    *request.uri_mut() = uri
        .path_and_query
        .unwrap_or_else(|| PathAndQuery::from_static("/"))
        .into();
    *request.version_mut() = Version::HTTP_11;
    let is_chunked = request.body().size_hint().exact().is_none();
    let map = request.headers_mut();
    if let Some(host) = host {
        map.insert(HOST, host);
    }
    if map.contains_key(TE) {
        headers::set(map, CONNECTION, "te");
    }
    if is_chunked {
        headers::set(map, TRANSFER_ENCODING, "chunked");
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Empty, StreamBody, combinators::UnsyncBoxBody};

    use super::*;

    type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

    fn request(target: &str, body: Body) -> Request<Body> {
        let builder = Request::get(target).header("host", "site.example:81");
        let builder = builder.header("te", "trailers").header("connection", "te");
        builder.header("x-a", "1").body(body).unwrap()
    }

    fn streamed() -> Body {
        let frames = futures_util::stream::empty::<Result<hyper::body::Frame<Bytes>, _>>();
        StreamBody::new(frames).boxed_unsync()
    }

    #[test]
    fn host_and_target_are_joined_and_split() {
        for target in ["/a//b?c;d", "*"] {
            let mut request = request(target, Empty::new().boxed_unsync());
            from_http1(&mut request, true);
            let uri = request.uri();
            assert_eq!(uri.scheme_str(), Some("https"));
            assert_eq!(uri.authority().unwrap(), "site.example:81");
            assert_eq!(uri.path_and_query().unwrap(), target);
            assert_eq!(request.headers().len(), 2);
            assert!(!request.headers().contains_key(CONNECTION));
            to_http1(&mut request);
            assert_eq!(request.uri(), target);
            assert_eq!(request.headers()[HOST], "site.example:81");
            assert_eq!(request.headers()[CONNECTION], "te");
            assert_eq!(request.version(), Version::HTTP_11);
            assert!(!request.headers().contains_key(TRANSFER_ENCODING));
        }
    }

    #[test]
    fn body_of_unknown_length_is_chunked_again() {
        let mut request = request("/", streamed());
        headers::set(request.headers_mut(), TRANSFER_ENCODING, "chunked");
        from_http1(&mut request, false);
        assert!(!request.headers().contains_key(TRANSFER_ENCODING));
        assert_eq!(request.uri().scheme_str(), Some("http"));
        to_http1(&mut request);
        assert_eq!(request.headers()[TRANSFER_ENCODING], "chunked");
    }
}

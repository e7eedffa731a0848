//! The state shared by all requests to one upstream, and the handling of the upstream's responses.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE},
};
use hyper::upgrade::OnUpgrade;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use crate::listen::trim_values;

use super::{
    dispatch::{BodySource, SendOptions, UpstreamResponse},
    error_page::ErrorPage,
    headers,
    proxy_body::ProxyBody,
    request::Rules,
    servers::Servers,
    service::Checks,
    tunnel, websocket,
};

/// The state shared by all requests to one upstream.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) rules: Rules,
    pub(super) servers: Servers,
    pub(super) response_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) checks: Option<Checks>,
    pub(super) tasks: TaskTracker,
    pub(super) tunnels: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// A requested protocol switch that waits for the upstream's consent.
pub(super) struct PendingUpgrade {
    pub(super) asked: HeaderValue,
    pub(super) client: OnUpgrade,
    /// The WebSocket key sent on behalf of an HTTP/2 client; the proxy checks the server's proof
    /// (RFC 8441 §5).
    pub(super) key: Option<websocket::Key>,
}

impl Inner {
    pub(super) fn options(&self, switches: bool) -> SendOptions {
        SendOptions {
            response_timeout: self.response_timeout,
            sets_host: !self.rules.preserve_host,
            switches,
        }
    }

    pub(super) fn answer(
        &self,
        answer: UpstreamResponse,
        switch: Option<Box<PendingUpgrade>>,
    ) -> Result<Response<ProxyBody>, ErrorPage> {
        let status = answer.response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(answer, switch);
        }
        let UpstreamResponse {
            mut response,
            source,
            slot,
        } = answer;
        if status.is_success() && switch.is_some_and(|switch| switch.key.is_some()) {
            // For an HTTP/2 client, a 2xx status means that the WebSocket is open (RFC 8441 §5).
            warn!(
                upstream = slot.name(),
                "the upstream answered a WebSocket handshake without switching protocols"
            );
            return Err(ErrorPage::BadGateway);
        }
        // The HTTP/1.1 reader has already removed the usual hop-by-hop headers.
        let is_clean = matches!(&source, BodySource::Http1(_, rest) if !rest.has_hop_headers);
        if !is_clean && !clean(&mut response) {
            warn!(
                upstream = slot.name(),
                "the upstream's response has an unrequested transfer coding or a length that is not a number"
            );
            return Err(ErrorPage::BadGateway);
        }
        let idle_timeout = self.idle_timeout;
        let body = match source {
            BodySource::Http1(connection, rest) => {
                ProxyBody::http1(connection, slot, rest, idle_timeout)
            }
            BodySource::Http2(stream, body) => {
                response.extensions_mut().clear();
                ProxyBody::http2(body, stream, slot, idle_timeout)
            }
        };
        Ok(response.map(|()| body))
    }

    fn switch(
        &self,
        answer: UpstreamResponse,
        switch: Option<Box<PendingUpgrade>>,
    ) -> Result<Response<ProxyBody>, ErrorPage> {
        let UpstreamResponse {
            mut response,
            source,
            slot,
        } = answer;
        // The server may switch only to a protocol that the client requested (RFC 9110 §7.8), and
        // only over HTTP/1.1, because HTTP/2 has no 101 (RFC 9113 §8.6).
        let accepted =
            switch.and_then(|switch| switched_to(&response, &switch.asked).zip(Some(switch)));
        let (Some((protocol, switch)), BodySource::Http1(connection, _)) = (accepted, source)
        else {
            warn!(
                upstream = slot.name(),
                "the upstream switched to a protocol that was not requested"
            );
            return Err(ErrorPage::BadGateway);
        };
        if !clean(&mut response) {
            return Err(ErrorPage::BadGateway);
        }
        match &switch.key {
            None => set_upgrade(&mut response, protocol),
            // RFC 8441 §5: the status is 200 instead of 101.
            Some(key) if key.accepts(response.headers_mut()) => {
                *response.status_mut() = StatusCode::OK;
            }
            Some(_) => {
                warn!(
                    upstream = slot.name(),
                    "the upstream switched protocols without the correct response to the WebSocket key"
                );
                return Err(ErrorPage::BadGateway);
            }
        }
        let upstream = connection.into_stream();
        let tunnel = tunnel::run(switch.client, upstream, self.stop.clone());
        self.tunnels.spawn(async move {
            tunnel.await;
            drop(slot);
        });
        Ok(response.map(|()| ProxyBody::page(Bytes::new())))
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("rules", &self.rules)
            .field("servers", &self.servers)
            .field("response_timeout", &self.response_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("checks", &self.checks)
            .finish_non_exhaustive()
    }
}

/// Removes hop-by-hop headers from a response, and makes the response's length unambiguous.
///
/// Returns `false` if the response must not be forwarded.
pub(super) fn clean<B>(response: &mut Response<B>) -> bool {
    // The proxy sends no `TE` except `trailers`, so only `chunked` is allowed (RFC 9112 §7.4).
    if headers::has_unknown_coding(response.headers()) {
        return false;
    }
    // "Upgrade Required" refers to the client's next request (RFC 9110 §15.5.22).
    let upgrade = (response.status() == StatusCode::UPGRADE_REQUIRED)
        .then(|| response.headers().get(UPGRADE).cloned())
        .flatten();
    // RFC 9110 §15.3.5, §15.4.5.
    let is_bodiless = matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    // The chunks determine the end of the body (RFC 9112 §6.3). Without a body, no length is needed
    // (RFC 9110 §8.6).
    if is_bodiless || response.headers().contains_key(TRANSFER_ENCODING) {
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    if !headers::merge_content_lengths(response.headers_mut()) {
        return false;
    }
    headers::strip_hop_by_hop(response.headers_mut(), &[]);
    if let Some(protocol) = upgrade {
        set_upgrade(response, protocol);
    }
    // HTTP/2 values may have spaces around them, which RFC 9113 §8.2.1 forbids.
    trim_values(response.headers_mut());
    *response.version_mut() = Version::HTTP_11;
    true
}

/// Returns the protocol of a 101 response if the request asked for that protocol (RFC 9110 §7.8).
pub(super) fn switched_to<B>(response: &Response<B>, asked: &HeaderValue) -> Option<HeaderValue> {
    let mut lines = response.headers().get_all(UPGRADE).iter();
    // The header must contain one protocol: a list would be an unrequested stack of layers (RFC
    // 9110 §15.2.2).
    let protocol = lines.next().filter(|_| lines.next().is_none())?;
    asked
        .as_bytes()
        .split(|byte| *byte == b',')
        .any(|asked| asked.trim_ascii().eq_ignore_ascii_case(protocol.as_bytes()))
        .then(|| protocol.clone())
}

/// Adds the `Upgrade` header and the connection option for it (RFC 9110 §7.8).
pub(super) fn set_upgrade<B>(response: &mut Response<B>, protocol: HeaderValue) {
    headers::set(response.headers_mut(), CONNECTION, "upgrade");
    response.headers_mut().insert(UPGRADE, protocol);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requested_protocols_are_switched_to() {
        let asked = HeaderValue::from_static("websocket, foo/2");
        for (answer, expected) in [
            (&["WebSocket"][..], true),
            (&["foo/2"], true),
            (&["foo"], false),
            (&["h2c"], false),
            (&["websocket", "foo/2"], false),
            (&[], false),
        ] {
            let mut response = Response::new(());
            for protocol in answer {
                response
                    .headers_mut()
                    .append(UPGRADE, HeaderValue::from_static(protocol));
            }
            assert_eq!(
                switched_to(&response, &asked).is_some(),
                expected,
                "{answer:?}"
            );
        }
    }
}

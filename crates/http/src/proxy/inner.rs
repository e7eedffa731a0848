//! State that all requests to one upstream share, and the treatment of its responses.

use std::{fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use super::{
    dispatch::{BodySource, SendOptions, UpstreamResponse},
    error_page::ErrorPage,
    proxy_body::ProxyBody,
    request::Rules,
    response,
    servers::Servers,
    service::Checks,
    tunnel, websocket,
};

/// State that all requests to one upstream share.
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

/// Protocol to switch to, when the upstream agrees.
pub(super) struct PendingUpgrade {
    pub(super) asked: HeaderValue,
    pub(super) client: OnUpgrade,
    /// The client asked over HTTP/2: its key, whose proof is checked here (RFC 8441 §5).
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
            // To a client of HTTP/2 a 2xx means that the WebSocket is open (RFC 8441 §5).
            warn!(
                upstream = slot.name(),
                "the upstream answers a WebSocket's handshake without switching"
            );
            return Err(ErrorPage::BadGateway);
        }
        // The reader of HTTP/1.1 has left out the usual hop-by-hop headers already.
        let is_clean = matches!(&source, BodySource::Http1(_, rest) if !rest.has_hop_headers);
        if !is_clean && !response::clean(&mut response) {
            warn!(
                upstream = slot.name(),
                "the upstream's response has a transfer coding that was not asked for, or a length that is no number"
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
        // Only to a protocol that the client asked for (RFC 9110 §7.8), and only over HTTP/1.1:
        // HTTP/2 has no 101 (RFC 9113 §8.6).
        let accepted = switch
            .and_then(|switch| response::switched_to(&response, &switch.asked).zip(Some(switch)));
        let (Some((protocol, switch)), BodySource::Http1(connection, _)) = (accepted, source)
        else {
            warn!(
                upstream = slot.name(),
                "the upstream switched to a protocol that was not asked for"
            );
            return Err(ErrorPage::BadGateway);
        };
        if !response::clean(&mut response) {
            return Err(ErrorPage::BadGateway);
        }
        match &switch.key {
            None => response::set_upgrade(&mut response, protocol),
            // RFC 8441 §5: 200 in place of 101.
            Some(key) if key.accepts(response.headers_mut()) => {
                *response.status_mut() = StatusCode::OK;
            }
            Some(_) => {
                warn!(
                    upstream = slot.name(),
                    "the upstream switched without the answer to the WebSocket's key"
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

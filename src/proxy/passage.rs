//! One request's way to the upstream, and its response's way back.

use std::{
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderValue, Method, Response, StatusCode, Version,
    header::{ACCEPT, CONNECTION},
    request::Parts,
    uri::PathAndQuery,
};
use hyper::{body::Body as _, upgrade::OnUpgrade};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, warn};

use crate::listen::ClientAddr;

use super::{
    body::RequestBody,
    exchange::{self, Answer, Begun, Failure, Manner, Message, Source},
    headers,
    http1::{Call, Connection, Head, Rest},
    page::{self, Page},
    proxy_body::ProxyBody,
    request::{self, Rules, Traits},
    response,
    server::Place,
    servers::{Servers, Tried},
    service::Checks,
    tunnel, websocket,
};

/// What all requests share.
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

/// Future of the response to one request.
///
/// Nearly always a kept connection of HTTP/1.1 takes a request without a body:
/// this is a state of the future itself. All else goes on in a box.
pub(super) struct Passage {
    inner: Arc<Inner>,
    message: Message,
    switch: Option<Switch>,
    asker: Asker,
    stage: Stage,
}

// Allocators are several times as fast up to here, and every request has one in a box.
const _: () = assert!(size_of::<Passage>() <= 1024);

/// What a page of ours depends on.
struct Asker {
    accept: Option<HeaderValue>,
    is_http2: bool,
}

enum Stage {
    Refused(Page),
    Ready,
    Sent(Call, Place, Tried),
    Boxed(Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Page>> + Send>>),
    /// Nobody polls again what was ready; if so, it waits for ever.
    Over,
}

/// Protocol to switch to, when the upstream agrees.
struct Switch {
    asked: HeaderValue,
    client: OnUpgrade,
    /// The client asked by HTTP/2, and gets its answer so.
    key: Option<websocket::Key>,
}

impl Passage {
    pub(super) fn new(
        inner: Arc<Inner>,
        parts: Parts,
        body: RequestBody,
        client: Option<ClientAddr>,
    ) -> Self {
        let asker = Asker {
            accept: None,
            is_http2: parts.version == Version::HTTP_2,
        };
        let mut passage = Self {
            inner,
            message: Message {
                parts,
                body,
                added: None,
            },
            switch: None,
            asker,
            stage: Stage::Ready,
        };
        if let Err(page) = passage.prepare(client) {
            passage.asker.accept = passage.message.parts.headers.get(ACCEPT).cloned();
            passage.stage = Stage::Refused(page);
        }
        passage
    }

    /// Rewrites the request for the upstream.
    fn prepare(&mut self, client: Option<ClientAddr>) -> Result<(), Page> {
        let Message { parts, body, added } = &mut self.message;
        body.strips_forwarding = client.is_none_or(|client| !client.trusted);
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let key = (parts.method == Method::CONNECT && upgrade.is_some())
            .then(|| websocket::from_connect(parts))
            .flatten();
        let traits = Traits {
            is_empty: body.is_empty(),
            has_known_length: body.size_hint().exact().is_some(),
            can_upgrade: upgrade.is_some(),
        };
        let rewritten = request::rewrite(&self.inner.rules, parts, client.as_ref(), traits)?;
        parts.extensions.clear();
        *added = Some(rewritten.added);
        self.asker.accept = rewritten.accept;
        self.switch = rewritten
            .protocol
            .zip(upgrade)
            .map(|(asked, client)| Switch { asked, client, key });
        Ok(())
    }

    /// Sends the request, if it has no body and there is a kept connection for it.
    fn begin(&mut self) -> Stage {
        let manner = self.inner.manner(self.switch.is_some());
        let (servers, message) = (&self.inner.servers, &mut self.message);
        if !message.body.is_empty() {
            return self.go_on(None);
        }
        let mut tried = Tried::default();
        let Some(place) = exchange::choose(servers, &mut tried, &manner, message) else {
            return self.go_on(None);
        };
        let switches = manner.switches && place.server.can_switch();
        let now = Instant::now();
        match place.take_http1(switches, now) {
            Some(connection) => {
                let call = Call::new(connection, message, manner.response_timeout, now);
                Stage::Sent(call, place, tried)
            }
            None => self.go_on(Some(Begun {
                place,
                tried,
                attempt: None,
            })),
        }
    }

    /// Does in a box what is left to do.
    fn go_on(&mut self, begun: Option<Begun>) -> Stage {
        let inner = Arc::clone(&self.inner);
        let mut message = mem::take(&mut self.message);
        let switch = self.switch.take();
        let manner = inner.manner(switch.is_some());
        Stage::Boxed(Box::pin(async move {
            let (method, target) = (
                message.parts.method.clone(),
                message.parts.uri.path_and_query().cloned(),
            );
            let answered = exchange::exchange(&inner.servers, &manner, &mut message, begun).await;
            let answer = answered.map_err(|(failure, server)| {
                let path = target.as_ref().map_or("", PathAndQuery::path);
                log(&failure, &server, method.as_str(), path);
                failure.page()
            })?;
            inner.answer(answer, switch)
        }))
    }

    /// Makes the response of a head that has nothing to remove or to decide about.
    fn answer(
        &mut self,
        head: Head,
        rest: Rest,
        connection: Box<Connection>,
        place: Place,
    ) -> Response<ProxyBody> {
        place.server.health.succeeded();
        let body = ProxyBody::http1(connection, place, rest, self.inner.idle_timeout);
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        *response.headers_mut() = mem::take(&mut self.message.parts.headers);
        response
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<ProxyBody>, Page>> {
        loop {
            match &mut self.stage {
                Stage::Refused(page) => return Poll::Ready(Err(*page)),
                Stage::Ready => self.stage = self.begin(),
                Stage::Sent(call, ..) => {
                    let ended = ready!(call.poll(cx, &mut self.message.parts.headers));
                    let stage = mem::replace(&mut self.stage, Stage::Over);
                    let Stage::Sent(call, place, tried) = stage else {
                        return Poll::Pending;
                    };
                    let begun = match ended {
                        Ok((head, rest)) if self.switch.is_none() && head.is_plain() => {
                            let connection = call.into_connection();
                            let response = self.answer(head, rest, connection, place);
                            return Poll::Ready(Ok(response));
                        }
                        ended => {
                            let headers = &mut self.message.parts.headers;
                            let attempt = Some(call.called(ended, headers, None).into());
                            Begun {
                                place,
                                tried,
                                attempt,
                            }
                        }
                    };
                    self.stage = self.go_on(Some(begun));
                }
                Stage::Boxed(future) => return future.as_mut().poll(cx),
                Stage::Over => return Poll::Pending,
            }
        }
    }
}

impl Future for Passage {
    type Output = Response<ProxyBody>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response<ProxyBody>> {
        let this = self.get_mut();
        let answered = ready!(this.poll_answer(cx));
        Poll::Ready(answered.unwrap_or_else(|page| this.asker.page(page)))
    }
}

impl Asker {
    fn page(&self, page: Page) -> Response<ProxyBody> {
        let mut response = page.response(self.accept.as_ref().is_some_and(page::accepts_html));
        if page.is_last() && !self.is_http2 {
            headers::set(response.headers_mut(), CONNECTION, "close");
        }
        response
    }
}

impl Inner {
    fn manner(&self, switches: bool) -> Manner {
        Manner {
            response_timeout: self.response_timeout,
            sets_host: !self.rules.preserve_host,
            switches,
        }
    }

    fn answer(&self, answer: Answer, switch: Option<Switch>) -> Result<Response<ProxyBody>, Page> {
        let status = answer.response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return self.switch(answer, switch);
        }
        let Answer {
            mut response,
            source,
            place,
        } = answer;
        if status.is_success() && switch.is_some_and(|switch| switch.key.is_some()) {
            // By HTTP/2 it would mean that the protocols have been switched.
            warn!(
                upstream = place.name(),
                "the upstream answers a WebSocket's handshake without switching"
            );
            return Err(Page::BadGateway);
        }
        // Of an answer of HTTP/1.1 most have been read so that nothing is left to remove.
        let is_clean = matches!(&source, Source::Http1(_, rest) if !rest.is_for_hop);
        if !is_clean && !response::clean(&mut response) {
            warn!(
                upstream = place.name(),
                "the upstream's response has a transfer coding that was not asked for, or a length that is no number"
            );
            return Err(Page::BadGateway);
        }
        let idle_timeout = self.idle_timeout;
        let body = match source {
            Source::Http1(connection, rest) => {
                ProxyBody::http1(connection, place, rest, idle_timeout)
            }
            Source::Http2(stream, body) => {
                response.extensions_mut().clear();
                ProxyBody::http2(body, stream, place, idle_timeout)
            }
        };
        Ok(response.map(|()| body))
    }

    fn switch(&self, answer: Answer, switch: Option<Switch>) -> Result<Response<ProxyBody>, Page> {
        let Answer {
            mut response,
            source,
            place,
        } = answer;
        let accepted = switch
            .and_then(|switch| response::switched_to(&response, &switch.asked).zip(Some(switch)));
        let (Some((protocol, switch)), Source::Http1(connection, _)) = (accepted, source) else {
            warn!(
                upstream = place.name(),
                "the upstream switched to a protocol that was not asked for"
            );
            return Err(Page::BadGateway);
        };
        if !response::clean(&mut response) {
            return Err(Page::BadGateway);
        }
        match &switch.key {
            None => response::set_upgrade(&mut response, protocol),
            Some(key) if key.accepts(response.headers_mut()) => {
                *response.status_mut() = StatusCode::OK;
            }
            Some(_) => {
                warn!(
                    upstream = place.name(),
                    "the upstream switched without the answer to the WebSocket's key"
                );
                return Err(Page::BadGateway);
            }
        }
        let upstream = connection.into_stream();
        let tunnel = tunnel::run(switch.client, upstream, self.stop.clone());
        self.tunnels.spawn(async move {
            tunnel.await;
            drop(place);
        });
        Ok(response.map(|()| ProxyBody::page(Bytes::new())))
    }
}

fn log(failure: &Failure, upstream: &str, method: &str, path: &str) {
    if let Some(reason) = failure.reason() {
        warn!(
            upstream,
            method, path, "the upstream {upstream} did not answer: {reason}"
        );
    } else {
        debug!(
            method,
            path, "the client did not send its whole request: {failure:?}"
        );
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

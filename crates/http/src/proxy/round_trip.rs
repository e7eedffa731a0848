//! The path of a request to the upstream, up to the head of the response.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{
    HeaderMap, HeaderValue, Method, Response,
    header::{ACCEPT, ACCEPT_LANGUAGE, CONNECTION},
    uri::PathAndQuery,
};
use hyper::{body::Body as _, upgrade::OnUpgrade};
use tokio::time::Instant;
use tracing::{debug, warn};

use robot_detection_texts::Language;

use crate::listen::ClientAddr;

use super::{
    dispatch::{self, Attempt, Failure, Message, StartedDispatch},
    error_page::{self, ErrorPage},
    headers,
    http1::{Call, CallError, Head, PendingBody},
    inner::{Inner, PendingUpgrade},
    proxy_body::ProxyBody,
    request::{self, RequestFacts},
    server::ServerSlot,
    servers::ServerSet,
    trailers, websocket,
};

/// The process of forwarding one request, up to the head of the response.
///
/// Nearly all requests have no body and use a kept HTTP/1.1 connection; this case has its own
/// state, without a box. All other requests continue in a boxed future.
pub(super) struct RoundTrip {
    inner: Arc<Inner>,
    client: Option<ClientAddr>,
    /// The time when the request started, if the listener recorded it.
    begun: Option<Instant>,
    /// The requested protocol switch, boxed because such requests are rare.
    switch: Option<Box<PendingUpgrade>>,
    page_context: PageContext,
    stage: Stage,
}

/// The properties of the request that determine the format of an error page.
struct PageContext {
    accept: Option<HeaderValue>,
    accept_language: Option<HeaderValue>,
    is_http2: bool,
}

// Ready → Sent → a response, or → Boxed if the first attempt yields no response. All unusual cases
// (a body, no kept connection, HTTP/2) go from Ready to Boxed.
enum Stage {
    Ready,
    Refused(ErrorPage),
    SentRequest(SentRequest),
    Boxed(Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, ErrorPage>> + Send>>),
    /// The response has been returned, and the future must not be polled again.
    Over,
}

/// A request in progress over a kept connection.
struct SentRequest {
    call: Call,
    slot: ServerSlot,
    tried: ServerSet,
}

impl RoundTrip {
    pub(super) fn new(
        inner: Arc<Inner>,
        client: Option<ClientAddr>,
        is_http2: bool,
        begun: Option<Instant>,
    ) -> Self {
        let page_context = PageContext {
            accept: None,
            accept_language: None,
            is_http2,
        };
        Self {
            inner,
            client,
            begun,
            switch: None,
            page_context,
            stage: Stage::Ready,
        }
    }

    /// Rewrites the request for the upstream.
    fn prepare(&mut self, message: &mut Message) -> Result<(), ErrorPage> {
        let Message { parts, body, added } = message;
        let client = self.client.as_ref();
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        // RFC 8441 §5: the request becomes a GET request of HTTP/1.1.
        let key = (parts.method == Method::CONNECT && upgrade.is_some())
            .then(|| websocket::from_connect(parts))
            .flatten();
        let facts = RequestFacts {
            is_empty: body.is_empty(),
            has_known_length: body.size_hint().exact().is_some(),
            can_upgrade: upgrade.is_some(),
        };
        let rules = &self.inner.rules;
        let rewritten = request::rewrite(rules, parts, client, facts)?;
        // Read before `Trailer` is removed, because only announced trailers are forwarded (RFC 9110
        // §6.6.2).
        if !body.is_empty() {
            body.trailers = trailers::announced_names(&parts.headers, &rules.kept);
        }
        // Extensions left by middleware would live as long as the request, and have no meaning for
        // the upstream.
        parts.extensions.clear();
        *added = Some(rewritten.added);
        self.page_context.accept = rewritten.accept;
        self.page_context.accept_language = rewritten.accept_language;
        self.switch = rewritten
            .protocol
            .zip(upgrade)
            .map(|(asked, client)| Box::new(PendingUpgrade { asked, client, key }));
        Ok(())
    }

    fn begin(&mut self, message: &mut Message) -> Stage {
        if let Err(page) = self.prepare(message) {
            let headers = &message.parts.headers;
            self.page_context.accept = headers.get(ACCEPT).cloned();
            self.page_context.accept_language = headers.get(ACCEPT_LANGUAGE).cloned();
            return Stage::Refused(page);
        }
        if message.body.is_empty() {
            self.send(message)
        } else {
            self.go_on(message, None)
        }
    }

    /// Sends a request without a body over a kept connection, if one is available.
    fn send(&mut self, message: &mut Message) -> Stage {
        let options = self.inner.options(self.switch.is_some());
        let servers = &self.inner.servers;
        let mut tried = ServerSet::default();
        let Some(slot) = dispatch::choose(servers, &mut tried, &options, message) else {
            return self.go_on(message, None);
        };
        let switches = options.switches && slot.server.can_switch();
        let now = self.begun.unwrap_or_else(Instant::now);
        let Some(connection) = slot.take_http1(switches, now) else {
            let begun = StartedDispatch {
                slot,
                tried,
                attempt: None,
            };
            return self.go_on(message, Some(begun));
        };
        let call = Call::new(connection, message, options.response_timeout, now);
        Stage::SentRequest(SentRequest { call, slot, tried })
    }

    /// Continues forwarding the request in a boxed future.
    fn go_on(&mut self, message: &mut Message, begun: Option<StartedDispatch>) -> Stage {
        let inner = Arc::clone(&self.inner);
        let mut message = mem::take(message);
        let switch = self.switch.take();
        let options = inner.options(switch.is_some());
        Stage::Boxed(Box::pin(async move {
            let (method, target) = (
                message.parts.method.clone(),
                message.parts.uri.path_and_query().cloned(),
            );
            let answered = dispatch::dispatch(&inner.servers, &options, &mut message, begun).await;
            let answer = answered.map_err(|(failure, server)| {
                let path = target.as_ref().map_or("", PathAndQuery::path);
                log(&failure, &server, method.as_str(), path);
                failure.error_page()
            })?;
            inner.answer(answer, switch)
        }))
    }

    /// Creates the response to the client from a head that has no hop-by-hop headers.
    fn answer(&self, head: Head, rest: PendingBody, sent: SentRequest) -> Response<ProxyBody> {
        let (connection, slot) = (sent.call.into_connection(), sent.slot);
        slot.server.health.record_success();
        let body = ProxyBody::http1(connection, slot, rest, self.inner.idle_timeout);
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        response
    }

    /// Polls the forwarding of the request; ready with the response.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        message: &mut Message,
    ) -> Poll<Response<ProxyBody>> {
        loop {
            match &mut self.stage {
                Stage::Ready => self.stage = self.begin(message),
                Stage::Refused(page) => return Poll::Ready(self.page_context.page(*page)),
                Stage::SentRequest(sent) => {
                    let mut headers = None;
                    let ended = ready!(sent.call.poll(cx, &mut headers));
                    let stage = mem::replace(&mut self.stage, Stage::Over);
                    let Stage::SentRequest(sent) = stage else {
                        return Poll::Pending;
                    };
                    match ended {
                        Ok((head, rest)) if self.switch.is_none() && head.is_plain() => {
                            let mut response = self.answer(head, rest, sent);
                            if let Some(headers) = headers {
                                *response.headers_mut() = headers;
                            }
                            return Poll::Ready(response);
                        }
                        ended => self.stage = self.attempted(message, sent, ended, headers),
                    }
                }
                Stage::Boxed(future) => {
                    let answered = ready!(future.as_mut().poll(cx));
                    return Poll::Ready(
                        answered.unwrap_or_else(|page| self.page_context.page(page)),
                    );
                }
                Stage::Over => return Poll::Pending,
            }
        }
    }

    /// Continues after an attempt that did not yield a response that can be forwarded unchanged.
    fn attempted(
        &mut self,
        message: &mut Message,
        sent: SentRequest,
        ended: Result<(Head, PendingBody), CallError>,
        headers: Option<HeaderMap>,
    ) -> Stage {
        let attempt: Attempt = sent.call.into_outcome(ended, headers, None).into();
        let begun = StartedDispatch {
            slot: sent.slot,
            tried: sent.tried,
            attempt: Some(attempt),
        };
        self.go_on(message, Some(begun))
    }
}

impl PageContext {
    fn page(&self, page: ErrorPage) -> Response<ProxyBody> {
        let is_html = self.accept.as_ref().is_some_and(error_page::accepts_html);
        let mut response = page.response(is_html, Language::accepted(&self.accept_language));
        // HTTP/2 has no `Connection` (RFC 9113 §8.2.2).
        if page.is_last() && !self.is_http2 {
            headers::set(response.headers_mut(), CONNECTION, "close");
        }
        response
    }
}

fn log(failure: &Failure, upstream: &str, method: &str, path: &str) {
    if let Some(reason) = failure.reason() {
        warn!(
            upstream,
            method, path, "the upstream {upstream} did not respond: {reason}"
        );
    } else {
        debug!(
            method,
            path, "the client did not send its complete request: {failure:?}"
        );
    }
}

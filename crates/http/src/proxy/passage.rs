//! One request's way to the upstream, and its response's way back.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{
    HeaderMap, HeaderValue, Method, Response,
    header::{ACCEPT, CONNECTION},
    uri::PathAndQuery,
};
use hyper::{body::Body as _, upgrade::OnUpgrade};
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::listen::ClientAddr;

use super::{
    exchange::{self, Attempt, Begun, Failure, Message},
    headers,
    http1::{Call, Ended, Head, Rest},
    inner::{Inner, Switch},
    page::{self, Page},
    proxy_body::ProxyBody,
    request::{self, Traits},
    server::Place,
    servers::Tried,
    trailers,
    untouched::Untouched,
    websocket,
};

/// One request's way, up to the head of its response.
///
/// Nearly always a kept connection of HTTP/1.1 takes a request without a body:
/// this is a state of the way itself. All else goes on in a box.
pub(super) struct Passage {
    inner: Arc<Inner>,
    client: Option<ClientAddr>,
    /// When it began; nothing where it begins only now.
    begun: Option<Instant>,
    /// In a box, as it is seldom.
    switch: Option<Box<Switch>>,
    asker: Asker,
    stage: Stage,
}

/// What a page of ours depends on.
struct Asker {
    accept: Option<HeaderValue>,
    is_http2: bool,
}

enum Stage {
    Ready,
    Refused(Page),
    Sent(Sent),
    Boxed(Pin<Box<dyn Future<Output = Result<Response<ProxyBody>, Page>> + Send>>),
    /// Nobody polls again what was ready; if so, it waits for ever.
    Over,
}

/// A request that is on its way over a kept connection.
struct Sent {
    call: Call,
    place: Place,
    tried: Tried,
    /// The message is still as it came.
    is_untouched: bool,
}

impl Passage {
    pub(super) fn new(
        inner: Arc<Inner>,
        client: Option<ClientAddr>,
        is_http2: bool,
        begun: Option<Instant>,
    ) -> Self {
        let asker = Asker {
            accept: None,
            is_http2,
        };
        Self {
            inner,
            client,
            begun,
            switch: None,
            asker,
            stage: Stage::Ready,
        }
    }

    /// Rewrites the request for the upstream.
    fn prepare(&mut self, message: &mut Message) -> Result<(), Page> {
        let Message { parts, body, added } = message;
        let client = self.client.as_ref();
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let key = (parts.method == Method::CONNECT && upgrade.is_some())
            .then(|| websocket::from_connect(parts))
            .flatten();
        let traits = Traits {
            is_empty: body.is_empty(),
            has_known_length: body.size_hint().exact().is_some(),
            can_upgrade: upgrade.is_some(),
        };
        let rules = &self.inner.rules;
        let rewritten = request::rewrite(rules, parts, client, traits)?;
        if !body.is_empty() {
            body.trailers = trailers::announced(&parts.headers, &rules.kept);
        }
        parts.extensions.clear();
        *added = Some(rewritten.added);
        self.asker.accept = rewritten.accept;
        self.switch = rewritten
            .protocol
            .zip(upgrade)
            .map(|(asked, client)| Box::new(Switch { asked, client, key }));
        Ok(())
    }

    fn begin(&mut self, message: &mut Message) -> Stage {
        let untouched = self.untouched(message);
        if untouched.is_none() {
            if let Err(page) = self.prepare(message) {
                self.asker.accept = message.parts.headers.get(ACCEPT).cloned();
                return Stage::Refused(page);
            }
            if !message.body.is_empty() {
                return self.go_on(message, None);
            }
        }
        self.send(message, untouched)
    }

    /// Writes the head of a request that has nothing to rewrite.
    fn untouched(&mut self, message: &Message) -> Option<Untouched> {
        let Inner { rules, servers, .. } = &*self.inner;
        let Message { parts, body, .. } = message;
        if !body.is_empty() || !servers.take_heads() {
            return None;
        }
        let mut untouched = Untouched::new(rules, parts, self.client.as_ref())?;
        self.asker.accept = untouched.accept.take();
        Some(untouched)
    }

    /// Sends a request without a body, if there is a kept connection for it.
    fn send(&mut self, message: &mut Message, untouched: Option<Untouched>) -> Stage {
        let manner = self.inner.manner(self.switch.is_some());
        let servers = &self.inner.servers;
        let is_untouched = untouched.is_some();
        let mut tried = Tried::default();
        let Some(place) = exchange::choose(servers, &mut tried, &manner, message) else {
            return self.go_on_prepared(message, None, is_untouched);
        };
        let switches = manner.switches && place.server.can_switch();
        let now = self.begun.unwrap_or_else(Instant::now);
        let timeout = manner.response_timeout;
        let Some(mut connection) = place.take_http1(switches, now) else {
            let begun = Begun {
                place,
                tried,
                attempt: None,
            };
            return self.go_on_prepared(message, Some(begun), is_untouched);
        };
        let call = match untouched {
            Some(mut untouched) => {
                connection.swap_output(&mut untouched.head);
                Call::written(connection, &message.parts.method, timeout, now)
            }
            None => Call::new(connection, message, timeout, now),
        };
        Stage::Sent(Sent {
            call,
            place,
            tried,
            is_untouched,
        })
    }

    /// Does in a box what is left to do, with a message that can be sent.
    fn go_on_prepared(
        &mut self,
        message: &mut Message,
        begun: Option<Begun>,
        is_untouched: bool,
    ) -> Stage {
        if is_untouched && let Err(page) = self.prepare(message) {
            return Stage::Refused(page);
        }
        self.go_on(message, begun)
    }

    /// Does in a box what is left to do.
    fn go_on(&mut self, message: &mut Message, begun: Option<Begun>) -> Stage {
        let inner = Arc::clone(&self.inner);
        let mut message = mem::take(message);
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
    fn answer(&self, head: Head, rest: Rest, sent: Sent) -> Response<ProxyBody> {
        let (connection, place) = (sent.call.into_connection(), sent.place);
        place.server.health.succeeded();
        let body = ProxyBody::http1(connection, place, rest, self.inner.idle_timeout);
        let mut response = Response::new(body);
        *response.status_mut() = head.status;
        response
    }

    /// Goes on with the way of the message.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        message: &mut Message,
    ) -> Poll<Response<ProxyBody>> {
        loop {
            match &mut self.stage {
                Stage::Ready => self.stage = self.begin(message),
                Stage::Refused(page) => return Poll::Ready(self.asker.page(*page)),
                Stage::Sent(sent) => {
                    let mut headers = None;
                    let ended = ready!(sent.call.poll(cx, &mut headers));
                    let stage = mem::replace(&mut self.stage, Stage::Over);
                    let Stage::Sent(sent) = stage else {
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
                    return Poll::Ready(answered.unwrap_or_else(|page| self.asker.page(page)));
                }
                Stage::Over => return Poll::Pending,
            }
        }
    }

    /// Goes on after an attempt that has no plain answer.
    fn attempted(
        &mut self,
        message: &mut Message,
        sent: Sent,
        ended: Result<(Head, Rest), Ended>,
        headers: Option<HeaderMap>,
    ) -> Stage {
        let attempt: Attempt = sent.call.called(ended, headers, None).into();
        // Else it is answered, or not sent again.
        let may_be_sent = matches!(
            attempt,
            Attempt::Unsent(_) | Attempt::Failed(Failure::NoResponse(_))
        );
        let begun = Begun {
            place: sent.place,
            tried: sent.tried,
            attempt: Some(attempt),
        };
        self.go_on_prepared(message, Some(begun), sent.is_untouched && may_be_sent)
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

//! Access log lines of requests that a listener refused by itself.

use std::time::Duration;

use axum::http::HeaderValue;

use crate::access_log::Line;
use crate::listen::{RefusalObserver, RefusedRequest};

use super::{Observer, request_head::RequestHead};

/// Word for an unknown site or visitor.
const UNKNOWN: &str = "-";

impl RefusalObserver for Observer {
    fn refused(&self, refused: &RefusedRequest<'_>) {
        let Some(log) = &self.inner.log else { return };
        let received_ms = self.inner.clock.now_ms();
        let head = refused
            .request
            .map(|request| RequestHead::new(request, refused.client, received_ms));
        let head = head.as_ref();
        let target = head.map(RequestHead::target);
        let line = Line {
            client: refused.client,
            received_ms,
            host: head.and_then(|head| head.host.as_deref()),
            method: head.map_or("", |head| head.method.as_str()),
            target: target.as_deref().unwrap_or_default(),
            version: head.map_or("", RequestHead::version),
            status: refused.status.as_u16(),
            body_bytes: 0,
            duration: Duration::ZERO,
            referer: head.and_then(|head| head.referer.as_ref().map(HeaderValue::as_bytes)),
            user_agent: head.and_then(RequestHead::user_agent),
            // The listener refuses before a site or a visitor is looked up.
            site: UNKNOWN,
            robot: None,
            visitor: UNKNOWN,
            decision: "refuse",
            cause: "listener",
            verdict: None,
        };
        log.writer.line(|out| line.write(log.format, out));
    }
}

//! Requests that a listener answered by itself: the access log has them too.

use std::time::Duration;

use axum::http::HeaderValue;

use crate::access_log::Line;
use crate::listen::{RefusalObserver, RefusedRequest};

use super::{Observer, kept::Kept};

/// Stands for what nobody knows.
const UNKNOWN: &str = "-";

impl RefusalObserver for Observer {
    fn refused(&self, refused: &RefusedRequest<'_>) {
        let Some(log) = &self.inner.log else { return };
        let received_ms = self.inner.clock.now_ms();
        let kept = refused
            .request
            .map(|request| Kept::new(request, refused.client, received_ms));
        let kept = kept.as_ref();
        let target = kept.map(Kept::target);
        let line = Line {
            client: refused.client,
            received_ms,
            host: kept.and_then(|kept| kept.host.as_deref()),
            method: kept.map_or("", |kept| kept.method.as_str()),
            target: target.as_deref().unwrap_or_default(),
            version: kept.map_or("", Kept::version),
            status: refused.status.as_u16(),
            body_bytes: 0,
            duration: Duration::ZERO,
            referer: kept.and_then(|kept| kept.referer.as_ref().map(HeaderValue::as_bytes)),
            user_agent: kept.and_then(Kept::user_agent),
            // No site was asked, and nobody looked who it was.
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

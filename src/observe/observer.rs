//! Observer of all requests, which maintains metrics and an access log.

use std::{io, sync::Arc, time::Duration};

use axum::http::HeaderValue;

use crate::access_log::{Line, LineFormat, LoggedAnswer};
use crate::clock::Clock;
use crate::config::AccessLogSection;
use crate::listen::{RefusalObserver, RefusedRequest};
use crate::suspect::Reasons;
use crate::telemetry::LineWriter;
use crate::traffic::Traffic;

use super::{Metrics, SiteObserver, request_head::RequestHead};

/// The word that stands for the unknown site and visitor of a request that a listener rejected.
const UNKNOWN: &str = "-";

/// An observer of requests, with metrics and, if configured, an access log.
///
/// Clones share the metrics and the access log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observer {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) metrics: Metrics,
    pub(super) log: Option<AccessLog>,
    pub(super) clock: Clock,
}

#[derive(Debug)]
pub(super) struct AccessLog {
    pub(super) writer: LineWriter,
    pub(super) format: LineFormat,
}

impl Observer {
    /// Opens the access log, if configured.
    pub(crate) fn open(settings: &AccessLogSection) -> io::Result<Self> {
        let path = &*settings.path;
        let log = match path {
            "" => None,
            _ => Some(AccessLog {
                writer: LineWriter::open(path).map_err(|error| explain(path, &error))?,
                format: settings.format,
            }),
        };
        let inner = Arc::new(Inner {
            log,
            ..Inner::default()
        });
        Ok(Self { inner })
    }

    /// Returns the observer for a site; the site's name becomes a label of the metrics.
    pub(crate) fn site(&self, traffic: &Traffic, name: &str) -> SiteObserver {
        let counters = traffic.site(name);
        let metrics = self.inner.metrics.site(counters.name());
        SiteObserver::new(
            self.clone(),
            counters,
            metrics,
            traffic.suspicion().cloned(),
        )
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Returns the number of lost access log lines.
    pub(crate) fn lost_lines(&self) -> u64 {
        let log = self.inner.log.as_ref();
        log.map_or(0, |log| log.writer.lost())
    }

    /// Counts a reload of the configuration.
    pub(crate) fn record_reload(&self, succeeded: bool) {
        self.inner.metrics.record_reload(succeeded);
    }

    /// Writes the remaining log lines; call this method after serving has ended.
    pub(crate) async fn close(&self) {
        if let Some(log) = &self.inner.log {
            log.writer.close().await;
        }
    }
}

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
            answer: Some(LoggedAnswer {
                status: refused.status.as_u16(),
                body_bytes: 0,
                duration: Duration::ZERO,
            }),
            referer: head.and_then(|head| head.referer.as_ref().map(HeaderValue::as_bytes)),
            user_agent: head.and_then(RequestHead::user_agent),
            // The listener rejects requests before the site or visitor is determined.
            site: UNKNOWN,
            robot: None,
            visitor: UNKNOWN,
            decision: "refuse",
            cause: "listener",
            verdict: None,
            reasons: Reasons::default(),
        };
        log.writer.line(|out| line.write(log.format, out));
    }
}

fn explain(path: &str, error: &io::Error) -> io::Error {
    let text = format!(
        "cannot open the access log {path}: {error}: create its directory, writable for this user, or change access_log.path"
    );
    io::Error::new(error.kind(), text)
}

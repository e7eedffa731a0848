//! Observer of all requests, which maintains metrics, an access log and traces.

use std::{io, sync::Arc, time::Duration};

use axum::http::HeaderValue;

use crate::access_log::{Line, LineFormat, LoggedAnswer};
use crate::clock::Clock;
use crate::config::{AccessLogSection, ConfigErrors, Loaded, Settings};
use crate::listen::{RefusalObserver, RefusedRequest};
use crate::suspect::Reasons;
use crate::telemetry::LineWriter;
use crate::traffic::Traffic;

use super::{
    Metrics, SiteObserver,
    request_head::RequestHead,
    traces::{TraceExport, TraceSettings},
};

/// The word that stands for the unknown site and visitor of a request that a listener rejected.
const UNKNOWN: &str = "-";

/// The destination and format of the access log.
#[derive(Clone, Debug)]
struct AccessLogSettings {
    path: String,
    format: LineFormat,
}

/// Settings for access log and traces.
#[derive(Clone, Debug)]
pub(crate) struct ObserveSettings {
    access_log: Option<AccessLogSettings>,
    traces: TraceSettings,
}

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
    pub(super) traces: TraceExport,
    pub(super) clock: Clock,
}

#[derive(Debug)]
pub(super) struct AccessLog {
    pub(super) writer: LineWriter,
    pub(super) format: LineFormat,
}

impl ObserveSettings {
    pub(crate) fn new(loaded: &Loaded, settings: &Settings) -> Result<Self, ConfigErrors> {
        Ok(Self {
            access_log: AccessLogSettings::new(&settings.access_log),
            traces: TraceSettings::new(loaded)?,
        })
    }
}

impl AccessLogSettings {
    /// Reads the access log settings; returns `None` if no access log is configured.
    fn new(settings: &AccessLogSection) -> Option<Self> {
        let (path, format) = (settings.path.clone(), settings.format);
        (!path.is_empty()).then_some(Self { path, format })
    }
}

impl Observer {
    /// Opens the access log and starts traces, if configured.
    pub(crate) fn open(settings: &ObserveSettings) -> io::Result<Self> {
        let log = match &settings.access_log {
            Some(AccessLogSettings { path, format }) => Some(AccessLog {
                writer: LineWriter::open(path).map_err(|error| explain(path, &error))?,
                format: *format,
            }),
            None => None,
        };
        let inner = Arc::new(Inner {
            log,
            traces: TraceExport::open(&settings.traces)?,
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

    /// Reopens the access log file.
    pub(crate) fn reopen_log(&self) {
        if let Some(log) = &self.inner.log {
            log.writer.reopen();
        }
    }

    /// Writes the remaining log lines and spans; call this method after serving has ended.
    pub(crate) async fn close(&self) {
        if let Some(log) = &self.inner.log {
            log.writer.close().await;
        }
        self.inner.traces.close().await;
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

impl Inner {
    /// Returns `true` if an access log or traces need the heads of requests.
    pub(super) fn keeps_heads(&self) -> bool {
        self.log.is_some() || self.traces.is_on()
    }
}

fn explain(path: &str, error: &io::Error) -> io::Error {
    let text = format!(
        "cannot open the access log {path}: {error}: create its directory, writable for this user, or change access_log.path"
    );
    io::Error::new(error.kind(), text)
}

//! One request, from its head to the end of the response's body.

use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, StatusCode};
use tokio::time::Instant;

use crate::access_log::Line;
use crate::detect::{UNLISTED, Verdict};
use crate::layer::Outcome;
use crate::listen::RequestContext;
#[cfg(feature = "otel")]
use crate::telemetry::RequestSpan;

#[cfg(feature = "otel")]
use super::traces;
use super::{
    FromUpstream, ObservedBody, SiteObserver, kept::Kept, metrics::Labels, observer::AccessLog,
};

/// Status of a request whose client went away before the response, as nginx has it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Observation of one request; it is counted and logged when dropped.
#[derive(Debug)]
pub(crate) struct Observation {
    site: SiteObserver,
    #[cfg(feature = "otel")]
    span: Option<RequestSpan>,
    /// Only where there is an access log, or traces.
    kept: Option<Box<Kept>>,
    begun: Instant,
    status: u16,
    outcome: Option<Outcome>,
    body_bytes: u64,
}

impl Observation {
    pub(super) fn begin(site: &SiteObserver, request: &mut Request<RequestContext>) -> Self {
        let inner = &site.shared.observer.inner;
        let kept = inner.keeps().then(|| {
            Box::new(Kept::new(
                request,
                request.body().client().client,
                inner.clock.now_ms(),
            ))
        });
        Self {
            site: site.clone(),
            #[cfg(feature = "otel")]
            span: inner.traces.as_ref().map(|traces| {
                let method = request.method().clone();
                traces.begin(&method, request.headers_mut())
            }),
            kept,
            begun: request.body().started_at(),
            status: CLIENT_CLOSED_REQUEST,
            outcome: None,
            body_bytes: 0,
        }
    }

    /// Takes note of what was decided; of a person's request nothing is.
    pub(crate) fn decided(&mut self, outcome: Option<Outcome>) {
        self.outcome = outcome;
    }

    /// Takes note of the response, and goes on observing its body.
    pub(crate) fn answered<B: FromUpstream>(mut self, response: &mut Response<ObservedBody<B>>) {
        self.status = response.status().as_u16();
        if response.body().is_from_upstream() {
            let metrics = &self.site.shared.observer.inner.metrics;
            metrics.first_byte.record(self.begun.elapsed());
        }
        response.body_mut().observe(self);
    }

    /// Takes note of a response that has no body, and ends.
    pub(crate) fn ended(mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.body_bytes = self.body_bytes.saturating_add(bytes);
    }

    fn log(
        &self,
        log: &AccessLog,
        kept: &Kept,
        outcome: &Outcome,
        labels: Labels,
        duration: Duration,
    ) {
        let target = kept.target();
        let line = Line {
            client: kept.client,
            received_ms: kept.received_ms,
            host: kept.host.as_deref(),
            method: kept.method.as_str(),
            target: &target,
            version: kept.version(),
            status: self.status,
            body_bytes: self.body_bytes,
            duration,
            referer: kept.referer.as_ref().map(HeaderValue::as_bytes),
            user_agent: kept.user_agent(),
            site: &self.site.shared.site.name,
            robot: outcome.robot(),
            visitor: labels.visitor(),
            decision: labels.decision(),
            cause: outcome.cause(),
            verdict: outcome.verdict().map(Verdict::as_str),
        };
        log.writer.line(|out| line.write(log.format, out));
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let shared = &*self.site.shared;
        let inner = &shared.observer.inner;
        let duration = self.begun.elapsed();
        let labels = Labels::new(self.outcome.as_ref());
        shared.site.count(labels, self.status, duration);
        if let Some(outcome) = &self.outcome {
            inner.metrics.count_robot(outcome, labels);
            // The verdict on who signs is that on all whom no registry lists.
            let signer = outcome.signer().map(|_| UNLISTED);
            if let Some(robot) = signer.or(outcome.robot()) {
                shared.site.count_verdict(robot, outcome.verdict());
            }
        }
        let Some(kept) = &self.kept else { return };
        let nobody = Outcome::default();
        let outcome = self.outcome.as_ref().unwrap_or(&nobody);
        if let Some(log) = &inner.log {
            self.log(log, kept, outcome, labels, duration);
        }
        #[cfg(feature = "otel")]
        if let Some(span) = self.span.take() {
            span.end(self.status, traces::attributes(kept, outcome, labels));
        }
    }
}

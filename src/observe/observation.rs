//! Observation of one request, from its head to the end of the response body.

use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, StatusCode};
use tokio::time::Instant;

use crate::access_log::{Line, LoggedAnswer};
use crate::detect::{Kind, Verdict};
use crate::layer::Outcome;
use crate::listen::RequestContext;
use crate::probe::Probe;
use crate::suspicion::ObservationTicket;
use crate::traffic::{Ticket, decision_name};

use super::{
    FromUpstream, ObservedBody, SiteObserver, observer::AccessLog, request_head::RequestHead,
};

/// The status recorded if the client disconnected before the response, as in nginx.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The word that represents a missing visitor in the access log.
const NOBODY: &str = "-";

/// An observation of one request, which is counted and logged when dropped.
#[derive(Debug)]
pub(crate) struct Observation {
    site: SiteObserver,
    /// The request head; only set if there is an access log, because copying a head allocates.
    head: Option<Box<RequestHead>>,
    begun: Instant,
    /// The status of the response; `None` if another program answers and its response is unknown.
    status: Option<u16>,
    outcome: Option<Outcome>,
    /// The ticket for the stored path of the request.
    ticket: Option<Ticket>,
    /// The ticket for the stored data that shows whether the request is suspicious.
    slip: Option<ObservationTicket>,
    body_bytes: u64,
    counts: bool,
    /// The probe, if `doctor` sent the request; such a request is neither counted nor logged.
    probe: Option<Box<Probe>>,
}

impl Observation {
    pub(super) fn begin(site: &SiteObserver, request: &Request<RequestContext>) -> Self {
        let inner = &site.shared.observer.inner;
        let head = inner.log.is_some().then(|| {
            Box::new(RequestHead::new(
                request,
                request.body().client().client,
                inner.clock.now_ms(),
            ))
        });
        Self {
            site: site.clone(),
            head,
            begun: request.body().started_at(),
            status: Some(CLIENT_CLOSED_REQUEST),
            outcome: None,
            ticket: site.shared.counters.record_path(request.uri().path()),
            slip: site.store(request),
            body_bytes: 0,
            counts: true,
            probe: None,
        }
    }

    /// Marks the request as a probe, if `doctor` sent the request.
    pub(crate) fn store_for(&mut self, probe: Option<Box<Probe>>) {
        if probe.is_some() {
            (self.slip, self.ticket, self.probe) = (None, None, probe);
        }
    }

    /// Records the decision for the request; `None` for a human visitor's request.
    pub(crate) fn set_outcome(&mut self, outcome: Option<Outcome>) {
        self.outcome = outcome;
    }

    /// Records the response, and continues to observe its body.
    pub(crate) fn record<B: FromUpstream>(mut self, response: &mut Response<ObservedBody<B>>) {
        let status = response.status().as_u16();
        self.status = Some(status);
        let outcome = self.outcome.as_ref();
        let is_person = outcome.is_none_or(Outcome::is_person_passing);
        if let (true, Some(ticket)) = (is_person, self.ticket) {
            self.site.shared.counters.settle_path(ticket, status);
            self.ticket = None;
        }
        self.judge(status);
        if response.body().is_from_upstream() {
            let metrics = &self.site.shared.observer.inner.metrics;
            metrics.first_byte.record(self.begun.elapsed());
        }
        response.body_mut().observe(self);
    }

    /// Records a response without a body, and ends the observation of the request.
    pub(crate) fn end_with_status(mut self, status: StatusCode) {
        self.status = Some(status.as_u16());
    }

    /// Records a decision that another program applies, and ends the observation.
    ///
    /// Status, bytes and time of the response are unknown. Unless `counts`, the other program
    /// counts the request.
    pub(crate) fn record_external(mut self, outcome: Option<Outcome>, counts: bool) {
        self.outcome = outcome;
        self.status = None;
        self.counts = counts;
    }

    /// Evaluates whether a human visitor's request is suspicious.
    fn judge(&mut self, status: u16) {
        if let (Some(suspicion), Some(slip)) = (&self.site.shared.suspicion, self.slip.take()) {
            let kind = |outcome: &Outcome| outcome.kind() == Some(Kind::Person);
            let is_person = self.outcome.as_ref().is_none_or(kind);
            let is_trap = self.outcome.as_ref().is_some_and(Outcome::is_trap);
            suspicion.record(slip, is_person, status, is_trap);
        }
    }

    pub(super) fn record_sent_bytes(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.body_bytes = self.body_bytes.saturating_add(bytes);
    }

    fn log(&self, log: &AccessLog, head: &RequestHead, outcome: &Outcome, duration: Duration) {
        let target = head.target();
        let line = Line {
            client: head.client,
            received_ms: head.received_ms,
            host: head.host.as_deref(),
            method: head.method.as_str(),
            target: &target,
            version: head.version(),
            answer: self.status.map(|status| LoggedAnswer {
                status,
                body_bytes: self.body_bytes,
                duration,
            }),
            referer: head.referer.as_ref().map(HeaderValue::as_bytes),
            user_agent: head.user_agent(),
            site: self.site.shared.counters.name(),
            robot: outcome.robot(),
            visitor: outcome.kind().map_or(NOBODY, Kind::as_str),
            decision: decision_name(outcome),
            cause: outcome.cause(),
            verdict: outcome.verdict().map(Verdict::as_str),
            reasons: outcome.reasons(),
        };
        log.writer.line(|out| line.write(log.format, out));
    }
}

impl Drop for Observation {
    // Only a drop happens at the end of every request: if a client disconnects, hyper drops the
    // future and body in any state.
    fn drop(&mut self) {
        if let Some(probe) = self.probe.take() {
            return probe.store(self.outcome.as_ref());
        }
        self.judge(self.status.unwrap_or_default());
        let shared = &*self.site.shared;
        let is_seen = self.status.is_some();
        let duration = if is_seen {
            self.begun.elapsed()
        } else {
            Duration::ZERO
        };
        let outcome = self.outcome.as_ref();
        let bytes = self.body_bytes;
        let (status, ticket) = (self.status.unwrap_or_default(), self.ticket);
        let counters = &shared.counters;
        if self.counts {
            counters.count(outcome, status, bytes, duration, ticket);
        } else {
            counters.record_evidence_only(outcome, ticket);
        }
        // The program's own requests do not count as visits.
        if is_seen && outcome.is_none_or(|outcome| !outcome.is_internal()) {
            shared.metrics.durations.record(duration);
        }
        if let (Some(log), Some(head)) = (&shared.observer.inner.log, &self.head) {
            let nobody = Outcome::default();
            let outcome = self.outcome.as_ref().unwrap_or(&nobody);
            self.log(log, head, outcome, duration);
        }
    }
}

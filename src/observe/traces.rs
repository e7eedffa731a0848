//! Spans of requests, and the client that exports them.

use std::io;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::config::{ConfigErrors, Loaded};
use crate::detect::{Kind, Verdict};
use crate::fetch::{FetchLimits, PlainClient};
use crate::layer::Outcome;
use crate::telemetry::{RequestSpan, Traces};
use crate::traffic::decision_name;

use super::{observation::NOBODY, request_head::RequestHead};

/// Settings for traces.
#[derive(Clone, Debug)]
pub(super) struct TraceSettings {
    /// The URL of the collector to which traces are sent; `None` if traces are disabled.
    endpoint: Option<String>,
}

/// An exporter of spans, if configured.
#[derive(Debug, Default)]
pub(super) struct TraceExport(Option<Traces>);

/// The span of one request, if spans are exported.
#[derive(Debug)]
pub(super) struct Span(Option<RequestSpan>);

impl TraceSettings {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a build without traces refuses an endpoint"
    )]
    pub(super) fn new(loaded: &Loaded) -> Result<Self, ConfigErrors> {
        let endpoint = loaded.settings().otel.endpoint.clone();
        let endpoint = Some(endpoint).filter(|url| !url.is_empty());
        Ok(Self { endpoint })
    }
}

impl TraceExport {
    /// Starts the export of spans; must be called within a Tokio runtime.
    pub(super) fn open(settings: &TraceSettings) -> io::Result<Self> {
        let Some(endpoint) = &settings.endpoint else {
            return Ok(Self(None));
        };
        let error = |error| {
            io::Error::other(format!(
                "cannot send traces to {endpoint}: {error}: set otel.endpoint to a URL such as http://127.0.0.1:4318/v1/traces"
            ))
        };
        start(endpoint)
            .map(|traces| Self(Some(traces)))
            .map_err(error)
    }

    /// Returns `true` if spans are exported.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Starts the span of a request, and puts the span's ID into the request's `traceparent`
    /// header.
    pub(super) fn begin<B>(&self, request: &mut Request<B>) -> Span {
        Span(self.0.as_ref().map(|traces| {
            let method = request.method().clone();
            traces.begin(&method, request.headers_mut())
        }))
    }

    /// Exports the remaining spans on a thread that serves no requests.
    pub(super) async fn close(&self) {
        let Some(traces) = self.0.clone() else { return };
        // Closing logs its own errors.
        let _ = TaskTracker::new()
            .spawn_blocking(move || traces.close())
            .await;
    }
}

impl Span {
    /// Ends the span with the data of its request; a second call has no effect.
    pub(super) fn end(&mut self, status: Option<u16>, head: &RequestHead, outcome: &Outcome) {
        if let Some(span) = self.0.take() {
            span.end(status, attributes(head, outcome));
        }
    }
}

/// An HTTP client that sends on our Tokio runtime, because the exporter's thread has no runtime.
#[derive(Debug)]
struct RuntimeClient {
    poster: PlainClient,
    runtime: Handle,
    tasks: TaskTracker,
}

#[async_trait]
impl HttpClient for RuntimeClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let poster = self.poster.clone();
        let sending = async move { poster.send(request).await };
        // The exporter's thread only waits here: HTTP needs the timers and sockets of a Tokio
        // runtime.
        let sent = self.tasks.spawn_on(sending, &self.runtime);
        // The outer error means that the task panicked or the runtime ended.
        Ok(sent.await??)
    }
}

fn start(endpoint: &str) -> Result<Traces, HttpError> {
    let client = RuntimeClient {
        poster: PlainClient::new(FetchLimits::default())?,
        runtime: Handle::current(),
        tasks: TaskTracker::new(),
    };
    Ok(Traces::start(endpoint, client)?)
}

/// Returns the attributes of a span: attributes of OpenTelemetry's HTTP conventions, and our own
/// attributes.
fn attributes(head: &RequestHead, outcome: &Outcome) -> Vec<KeyValue> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = vec![
        KeyValue::new("http.request.method", head.method.to_string()),
        KeyValue::new("url.path", head.uri.path().to_owned()),
        KeyValue::new(
            "robot_detection.visitor",
            outcome.kind().map_or(NOBODY, Kind::as_str),
        ),
        KeyValue::new("robot_detection.decision", decision_name(outcome)),
        KeyValue::new("robot_detection.cause", outcome.cause().to_owned()),
    ];
    let more = [
        ("url.query", head.uri.query().map(str::to_owned)),
        ("client.address", Some(head.client.to_string())),
        ("server.address", head.host.as_deref().map(text)),
        ("user_agent.original", head.user_agent().map(text)),
        ("robot_detection.robot", outcome.robot().map(str::to_owned)),
        (
            "robot_detection.verdict",
            outcome.verdict().map(Verdict::as_str).map(str::to_owned),
        ),
        (
            "robot_detection.suspect",
            Some(outcome.reasons().to_string()).filter(|reasons| !reasons.is_empty()),
        ),
    ];
    attributes.extend(
        more.into_iter()
            .filter_map(|(name, value)| Some(KeyValue::new(name, value?))),
    );
    attributes
}

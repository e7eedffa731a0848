//! Spans of requests, and the client that exports them.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::detect::{Kind, Verdict};
use crate::fetch::{FetchLimits, Poster};
use crate::layer::Outcome;
use crate::telemetry::Traces;
use crate::traffic::decision_word;

use super::{observation::NOBODY, request_head::RequestHead};

/// Client that sends on our runtime, as the exporter's thread has none.
#[derive(Debug)]
struct RuntimeClient {
    poster: Poster,
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
        // Of the two errors the outer one tells of a task that panicked, or of a runtime that
        // ended.
        Ok(sent.await??)
    }
}

/// Starts the export; call it on a runtime.
pub(super) fn start(endpoint: &str) -> Result<Traces, HttpError> {
    let client = RuntimeClient {
        poster: Poster::new(FetchLimits::default())?,
        runtime: Handle::current(),
        tasks: TaskTracker::new(),
    };
    Ok(Traces::start(endpoint, client)?)
}

/// Exports the last spans, off the threads that serve.
pub(super) async fn close(traces: &Traces) {
    let traces = traces.clone();
    // Closing logs its own errors.
    let _ = TaskTracker::new()
        .spawn_blocking(move || traces.close())
        .await;
}

/// Returns the attributes of a span: those of OpenTelemetry's conventions for HTTP, and ours.
pub(super) fn attributes(head: &RequestHead, outcome: &Outcome) -> Vec<KeyValue> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = vec![
        KeyValue::new("http.request.method", head.method.to_string()),
        KeyValue::new("url.path", head.path().to_owned()),
        KeyValue::new(
            "robot_detection.visitor",
            outcome.kind().map_or(NOBODY, Kind::as_str),
        ),
        KeyValue::new("robot_detection.decision", decision_word(outcome)),
        KeyValue::new("robot_detection.cause", outcome.cause().to_owned()),
    ];
    let more = [
        ("url.query", head.query().map(str::to_owned)),
        ("client.address", Some(head.client.to_string())),
        ("server.address", head.host.as_deref().map(text)),
        ("user_agent.original", head.user_agent().map(text)),
        ("robot_detection.robot", outcome.robot().map(str::to_owned)),
        (
            "robot_detection.verdict",
            outcome.verdict().map(Verdict::as_str).map(str::to_owned),
        ),
    ];
    attributes.extend(
        more.into_iter()
            .filter_map(|(name, value)| Some(KeyValue::new(name, value?))),
    );
    attributes
}

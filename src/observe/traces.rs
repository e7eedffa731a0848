//! Spans of requests, and the client that exports them.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::detect::Verdict;
use crate::fetch::{FetchLimits, Poster};
use crate::layer::Outcome;
use crate::telemetry::Traces;

use super::{kept::Kept, metrics::Labels};

/// Client that works on our runtime; the exporter has a thread without one.
#[derive(Debug)]
struct OnRuntime {
    poster: Poster,
    runtime: Handle,
    tasks: TaskTracker,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let poster = self.poster.clone();
        let sending = async move { poster.send(request).await };
        let sent = self.tasks.spawn_on(sending, &self.runtime);
        Ok(sent.await??)
    }
}

/// Starts the export; to be called on a runtime.
pub(super) fn start(endpoint: &str) -> Result<Traces, HttpError> {
    let client = OnRuntime {
        poster: Poster::new(FetchLimits::default())?,
        runtime: Handle::current(),
        tasks: TaskTracker::new(),
    };
    Ok(Traces::start(endpoint, client)?)
}

/// Exports the last spans, off the threads that serve.
pub(super) async fn close(traces: &Traces) {
    let traces = traces.clone();
    // What comes of it is logged there.
    let _ = TaskTracker::new()
        .spawn_blocking(move || traces.close())
        .await;
}

/// Returns the attributes of a span: those of HTTP by their usual names, and ours.
pub(super) fn attributes(kept: &Kept, outcome: &Outcome, labels: Labels) -> Vec<KeyValue> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = vec![
        KeyValue::new("http.request.method", kept.method.to_string()),
        KeyValue::new("url.path", kept.path().to_owned()),
        KeyValue::new("robot_detection.visitor", labels.visitor()),
        KeyValue::new("robot_detection.decision", labels.decision()),
        KeyValue::new("robot_detection.cause", outcome.cause().to_owned()),
    ];
    let more = [
        ("url.query", kept.query().map(str::to_owned)),
        ("client.address", Some(kept.client.to_string())),
        ("server.address", kept.host.as_deref().map(text)),
        ("user_agent.original", kept.user_agent().map(text)),
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

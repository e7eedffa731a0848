//! A span for each request, exported by OTLP.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use opentelemetry::{
    Context, KeyValue,
    propagation::TextMapPropagator as _,
    trace::{Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector, HttpClient};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider, Span},
};
use tracing::warn;

/// Longest time that closing waits for the last spans.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Spans on their way to a collector; a queue that is full drops them.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// Span of one request.
#[derive(Debug)]
pub struct RequestSpan(Span);

impl Traces {
    /// Starts the export to the URL of a collector, with a client that posts to it.
    ///
    /// # Errors
    ///
    /// Fails when the URL is not valid.
    pub fn start(
        endpoint: &str,
        client: impl HttpClient + 'static,
    ) -> Result<Self, ExporterBuildError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(endpoint)
            .build()?;
        let resource = Resource::builder_empty()
            .with_service_name("robot-detection")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        let tracer = provider.tracer("robot-detection");
        Ok(Self { provider, tracer })
    }

    /// Begins the span of a request, below the one that its `traceparent` names.
    ///
    /// Afterwards the header names the new span, for the server that the request is passed to
    /// (W3C Trace Context §3.2).
    #[must_use]
    pub fn begin(&self, method: &Method, headers: &mut HeaderMap) -> RequestSpan {
        let propagator = TraceContextPropagator::new();
        // From an empty context: a span that happens to be current on this thread is not the
        // parent.
        let parent = propagator.extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let span = self
            .tracer
            .span_builder(name(method))
            .with_kind(SpanKind::Server)
            .start_with_context(&self.tracer, &parent);
        let own = Context::new().with_remote_span_context(span.span_context().clone());
        propagator.inject_context(&own, &mut HeaderInjector(headers));
        // The propagator writes one even where the request came without.
        if headers.get(&TRACESTATE).is_some_and(HeaderValue::is_empty) {
            headers.remove(&TRACESTATE);
        }
        RequestSpan(span)
    }

    /// Exports the spans that have ended, within five seconds; blocks.
    pub fn close(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(CLOSE_TIMEOUT) {
            warn!(%error, "the last traces are lost: {error}");
        }
    }
}

impl RequestSpan {
    /// Ends the span with the status of its response, where that is known, and attributes.
    pub fn end(mut self, status: Option<u16>, attributes: impl IntoIterator<Item = KeyValue>) {
        self.0.set_attributes(attributes);
        if let Some(status) = status {
            let status_code = KeyValue::new("http.response.status_code", i64::from(status));
            self.0.set_attribute(status_code);
        }
        // OpenTelemetry's conventions for HTTP servers: a 4xx is the client's error, not the span's.
        if status.is_some_and(|status| status >= 500) {
            self.0.set_status(Status::error(""));
        }
        self.0.end();
    }
}

/// Returns the name of a span: the method if it is a usual one, else `HTTP`.
///
/// Clients choose the method, and names of spans must be few (OpenTelemetry, low cardinality).
fn name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        "CONNECT" => "CONNECT",
        _ => "HTTP",
    }
}

//! Trace spans for requests, exported over OTLP.

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

/// The maximum time for which closing waits until the last spans are exported.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// An exporter of spans to a collector; spans are dropped if the queue is full.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The trace span of one request.
#[derive(Debug)]
pub struct RequestSpan(Span);

impl Traces {
    /// Starts the export to a collector's URL; `client` sends the spans.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is invalid.
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

    /// Starts the span of a request, as a child of the span in its `traceparent` header.
    ///
    /// The header is then set to the new span, for the server to which the request is forwarded
    /// (W3C Trace Context §3.2).
    #[must_use]
    pub fn begin(&self, method: &Method, headers: &mut HeaderMap) -> RequestSpan {
        let propagator = TraceContextPropagator::new();
        // Starts from an empty context, so that the current span of this thread is not the parent.
        let parent = propagator.extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let span = self
            .tracer
            .span_builder(name(method))
            .with_kind(SpanKind::Server)
            .start_with_context(&self.tracer, &parent);
        let own = Context::new().with_remote_span_context(span.span_context().clone());
        propagator.inject_context(&own, &mut HeaderInjector(headers));
        // The propagator writes this header even if the request had none.
        if headers.get(&TRACESTATE).is_some_and(HeaderValue::is_empty) {
            headers.remove(&TRACESTATE);
        }
        RequestSpan(span)
    }

    /// Exports the ended spans; blocks for up to five seconds.
    pub fn close(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(CLOSE_TIMEOUT) {
            warn!(%error, "could not export the last traces: {error}");
        }
    }
}

impl RequestSpan {
    /// Ends the span with attributes and the status of its response, if known.
    pub fn end(mut self, status: Option<u16>, attributes: impl IntoIterator<Item = KeyValue>) {
        self.0.set_attributes(attributes);
        if let Some(status) = status {
            let status_code = KeyValue::new("http.response.status_code", i64::from(status));
            self.0.set_attribute(status_code);
        }
        // In OpenTelemetry's conventions for HTTP servers, a 4xx status is not an error of the
        // span.
        if status.is_some_and(|status| status >= 500) {
            self.0.set_status(Status::error(""));
        }
        self.0.end();
    }
}

/// Returns the name of a span: the request method if it is a standard method, otherwise `HTTP`.
///
/// Clients choose the method, but span names must have low cardinality (OpenTelemetry).
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

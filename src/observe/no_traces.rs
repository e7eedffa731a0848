//! Replaces trace spans in builds without the feature `otel`.

use std::io;

use http::Request;

use crate::config::{ConfigErrors, Loaded, OtelSection};
use crate::layer::Outcome;

use super::request_head::RequestHead;

/// Settings for traces; empty in builds without traces.
#[derive(Clone, Debug)]
pub(super) struct TraceSettings;

/// An exporter of spans; empty in builds without traces.
#[derive(Debug, Default)]
pub(super) struct TraceExport;

/// The span of one request; empty in builds without traces.
#[derive(Debug)]
pub(super) struct Span;

impl TraceSettings {
    pub(super) fn new(loaded: &Loaded) -> Result<Self, ConfigErrors> {
        if loaded.settings().otel.endpoint.is_empty() {
            return Ok(Self);
        }
        let reason = "this build does not support traces; build with --features otel";
        Err(loaded.invalid(&OtelSection::KEY.endpoint, reason))
    }
}

#[expect(
    clippy::unused_self,
    reason = "the method needs self in builds with spans"
)]
impl TraceExport {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the function can fail in builds with spans"
    )]
    pub(super) fn open(_: &TraceSettings) -> io::Result<Self> {
        Ok(Self)
    }

    /// Returns `false`, because this build exports no spans and needs no request heads for them.
    pub(super) fn is_on(&self) -> bool {
        false
    }

    pub(super) fn begin<B>(&self, _: &mut Request<B>) -> Span {
        Span
    }

    #[expect(
        clippy::unused_async,
        reason = "the function waits in builds with spans"
    )]
    pub(super) async fn close(&self) {}
}

#[expect(
    clippy::unused_self,
    reason = "the method needs self in builds with spans"
)]
impl Span {
    pub(super) fn end(&mut self, _: Option<u16>, _: &RequestHead, _: &Outcome) {}
}

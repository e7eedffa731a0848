//! A replacement for the module `acme` in builds without that feature, which orders no
//! certificates.

use std::{convert::Infallible, sync::Arc};

use rustls::{server::ClientHello, sign::CertifiedKey};

use super::certificate::{Certificate, CertificateState};

pub(super) const PROTOCOL: &[u8] = b"acme-tls/1";

/// An empty type that replaces `Acme` in builds without the feature `acme`.
#[derive(Debug)]
pub(super) enum Acme {}

impl Acme {
    pub(super) fn certificates(&self) -> Vec<(&str, Option<Certificate>)> {
        match *self {}
    }

    pub(super) fn states(&self) -> Vec<CertificateState> {
        match *self {}
    }

    pub(super) fn certificate(&self, _name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "its counterpart in `acme` is async")]
    pub(super) async fn run_renewals(&self, _changed: impl Fn()) -> Infallible {
        match *self {}
    }
}

pub(super) fn is_challenge(_hello: &ClientHello<'_>) -> bool {
    false
}

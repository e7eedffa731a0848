//! Choice of the certificate by the name that the client asks for (SNI, RFC 6066 §3).

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use rustls::sign::CertifiedKey;
use tracing::warn;

use super::certificate::Certificate;

/// Certificates by the names that they are served for.
#[derive(Debug, Default)]
pub(super) struct CertificatesByName {
    first: Option<Arc<CertifiedKey>>,
    exact: HashMap<String, Arc<CertifiedKey>>,
    /// Without the `*`: `.example.com`.
    wildcard: HashMap<String, Arc<CertifiedKey>>,
    /// Names whose certificate has not been issued yet, and whether the log has said so.
    awaited: HashMap<String, AtomicBool>,
}

impl CertificatesByName {
    /// Ordered certificates go before files, but the first file serves unknown names.
    pub(super) fn new<'a>(
        files: impl Iterator<Item = &'a Certificate>,
        ordered: impl Iterator<Item = (&'a str, Option<Certificate>)>,
    ) -> Self {
        let mut names = Self::default();
        let mut first_ordered = None;
        for (host, certificate) in ordered {
            if let Some(Certificate { key, .. }) = certificate {
                first_ordered.get_or_insert_with(|| Arc::clone(&key));
                names.exact.insert(host.to_owned(), key);
            } else {
                names.awaited.insert(host.to_owned(), AtomicBool::default());
            }
        }
        for Certificate {
            key, names: all, ..
        } in files
        {
            names.first.get_or_insert_with(|| Arc::clone(key));
            for name in all {
                let (map, name) = match name.strip_prefix('*') {
                    Some(suffix) => (&mut names.wildcard, suffix),
                    None => (&mut names.exact, name.as_str()),
                };
                map.entry(name.to_owned())
                    .or_insert_with(|| Arc::clone(key));
            }
        }
        names.first = names.first.or(first_ordered);
        names
    }

    pub(super) fn find(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let Some(name) = name else {
            return self.first.clone();
        };
        let name = name.to_ascii_lowercase();
        // SNI has no trailing dot (RFC 6066 §3); some clients send it.
        let name = name.trim_end_matches('.');
        // A wildcard stands for one label (RFC 9525 §6.3).
        let suffix = name.find('.').and_then(|dot| name.get(dot..));
        let by_name = self
            .exact
            .get(name)
            .or_else(|| suffix.and_then(|suffix| self.wildcard.get(suffix)));
        if by_name.is_some() {
            return by_name.cloned();
        }
        if let Some(has_warned) = self.awaited.get(name) {
            if !has_warned.swap(true, Relaxed) {
                warn!("closed a connection to {name}: its certificate has not been issued yet");
            }
            return None;
        }
        self.first.clone()
    }
}

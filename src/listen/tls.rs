//! TLS: certificates by name, taken over from their files when these change.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{task, time};
use tokio_rustls::TlsAcceptor;
use tracing::{error, info, warn};

use super::certificate::{Certificate, CertificateError, CertificateFiles, Stamp};

/// Time between two looks at the files.
const LOOK_PERIOD: Duration = Duration::from_secs(5);

/// Certificates of a listener: TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1.
///
/// The certificate is chosen by the name that the client asks for (SNI):
/// one with that name, else one with a wildcard for it, else the first.
/// Running listeners look at the files every five seconds; those that have
/// changed are taken over for new connections. While a new one is broken the
/// old one stays, and the log says why once.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificates: Arc<Certificates>,
}

struct Certificates {
    provider: CryptoProvider,
    names: ArcSwap<Names>,
    pairs: Mutex<Vec<Pair>>,
}

/// Certificates by the names that they are for.
#[derive(Debug)]
struct Names {
    first: Option<Arc<CertifiedKey>>,
    exact: HashMap<String, Arc<CertifiedKey>>,
    /// Without the `*`: `.example.com`.
    wildcard: HashMap<String, Arc<CertifiedKey>>,
}

/// Two files, and what was last taken from them.
#[derive(Debug)]
struct Pair {
    files: CertificateFiles,
    stamps: [Option<Stamp>; 2],
    certificate: Certificate,
    /// Why the files as they are now are not served.
    trouble: Option<String>,
}

impl Tls {
    /// Reads the files; the first pair serves names that are in none.
    ///
    /// A certificate that has expired, or is about to, is served all the same;
    /// the log warns of it.
    ///
    /// # Errors
    ///
    /// Fails without any files, when one is missing or holds nothing of use,
    /// when a key is encrypted or does not fit its certificate.
    pub fn load(files: Vec<CertificateFiles>) -> Result<Self, CertificateError> {
        let provider = ring::default_provider();
        if files.is_empty() {
            return Err(CertificateError::no_file("a listener needs a certificate"));
        }
        let pairs = files
            .into_iter()
            .map(|files| Pair::load(files, &provider))
            .collect::<Result<Vec<_>, _>>()?;
        let certificates = Arc::new(Certificates {
            names: ArcSwap::from_pointee(Names::new(&pairs)),
            provider: provider.clone(),
            pairs: Mutex::new(pairs),
        });
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| CertificateError::no_file(error.to_string()))?;
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Certificates>::clone(&certificates);
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        match ring::Ticketer::new() {
            Ok(ticketer) => config.ticketer = ticketer,
            Err(error) => warn!(%error, "TLS sessions are not resumed by tickets: {error}"),
        }
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificates,
        })
    }

    /// Takes over the files that have changed.
    ///
    /// Running listeners do it by themselves.
    pub fn reload(&self) {
        self.certificates.reload();
    }

    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Looks at the files for ever.
    pub(super) async fn watch(self) {
        loop {
            time::sleep(LOOK_PERIOD).await;
            let certificates = Arc::clone(&self.certificates);
            if let Err(ended) = task::spawn_blocking(move || certificates.reload()).await {
                error!("looking for changed certificates failed: {ended}");
            }
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

impl Certificates {
    fn reload(&self) {
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = pairs
            .iter_mut()
            .map(|pair| pair.reload(&self.provider))
            .fold(false, |any, one| any | one);
        if changed {
            self.names.store(Arc::new(Names::new(&pairs)));
        }
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.names.load().find(hello.server_name())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names.load();
        f.debug_struct("Certificates")
            .field("exact", &names.exact.keys())
            .field("wildcard", &names.wildcard.keys())
            .finish_non_exhaustive()
    }
}

impl Names {
    fn new(pairs: &[Pair]) -> Self {
        let certificates = || pairs.iter().map(|pair| &pair.certificate);
        let mut names = Self {
            first: certificates().next().map(|first| Arc::clone(&first.key)),
            exact: HashMap::new(),
            wildcard: HashMap::new(),
        };
        for Certificate { key, names: all } in certificates() {
            for name in all {
                let (map, name) = match name.strip_prefix('*') {
                    Some(suffix) => (&mut names.wildcard, suffix),
                    None => (&mut names.exact, name.as_str()),
                };
                map.entry(name.to_owned())
                    .or_insert_with(|| Arc::clone(key));
            }
        }
        names
    }

    fn find(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let by_name = name.and_then(|name| {
            let name = name.to_ascii_lowercase();
            let name = name.trim_end_matches('.');
            // A wildcard stands for one label (RFC 9525 §6.3).
            let suffix = name.find('.').and_then(|dot| name.get(dot..));
            self.exact
                .get(name)
                .or_else(|| suffix.and_then(|suffix| self.wildcard.get(suffix)))
        });
        by_name.or(self.first.as_ref()).cloned()
    }
}

impl Pair {
    fn load(files: CertificateFiles, provider: &CryptoProvider) -> Result<Self, CertificateError> {
        let stamps = files.stamps();
        let certificate = Certificate::load(&files, provider)?;
        Ok(Self {
            files,
            stamps,
            certificate,
            trouble: None,
        })
    }

    /// Takes over what has changed; tells whether something has.
    fn reload(&mut self, provider: &CryptoProvider) -> bool {
        let stamps = self.files.stamps();
        // After trouble the files are read even so: they may have been read half written.
        if stamps == self.stamps && self.trouble.is_none() {
            return false;
        }
        match Certificate::load(&self.files, provider) {
            Ok(certificate) => {
                info!(
                    "reloaded the certificate {}",
                    self.files.certificate_file.display()
                );
                self.certificate = certificate;
                self.stamps = stamps;
                self.trouble = None;
                true
            }
            Err(error) => {
                let trouble = error.to_string();
                if self.trouble.as_ref() != Some(&trouble) {
                    error!("the changed certificate is not served, the old one stays: {trouble}");
                    self.trouble = Some(trouble);
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;

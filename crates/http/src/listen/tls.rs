//! TLS with certificates that are selected by name and reloaded when their files change.

use std::{
    collections::HashMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{io::AsyncWriteExt as _, task, time};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tracing::{error, info, warn};

use super::{
    acme::{self, Acme},
    certificate::{Certificate, CertificateError, CertificateFiles, CertificateState, Stamp},
    stream::Transport,
};

/// The time between two checks of the certificate files.
const CHECK_PERIOD: Duration = Duration::from_secs(5);

/// The certificates of a listener that serves HTTP/2 and HTTP/1.1 over TLS 1.2 and 1.3.
///
/// The certificate is selected by the name that the client requests (SNI): a certificate with that
/// name, otherwise a certificate with a matching wildcard, otherwise the first certificate. Running
/// listeners check the files every five seconds, and use changed certificates for new connections.
/// If a new certificate is unusable, the old one is kept, and the error is logged once. For their
/// names, certificates ordered by the program itself take precedence.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificates: Arc<Certificates>,
}

struct Certificates {
    provider: CryptoProvider,
    names: ArcSwap<CertificatesByName>,
    pairs: Mutex<Vec<FilePair>>,
    acme: Option<Acme>,
}

/// The certificate and key files, and the certificate that was last loaded from them.
#[derive(Debug)]
struct FilePair {
    files: CertificateFiles,
    stamps: [Option<Stamp>; 2],
    certificate: Certificate,
    /// The reason why the files in their current state cannot be used.
    problem: Option<String>,
}

impl Tls {
    /// Loads certificate and key files. The first pair is used for names that match no certificate.
    ///
    /// A certificate that has expired or will expire soon is still served, and a warning is logged.
    ///
    /// # Errors
    ///
    /// Returns an error if the list is empty, if a file is missing or unusable, or if a key is
    /// encrypted or does not match its certificate.
    pub fn load(files: Vec<CertificateFiles>) -> Result<Self, CertificateError> {
        if files.is_empty() {
            return Err(CertificateError::no_file("a listener needs a certificate"));
        }
        Self::new(files, None)
    }

    /// Loads certificate files, if any, for a listener that also serves ordered certificates.
    ///
    /// If the certificate for a name has not been issued yet, a matching certificate from a file is
    /// used. If no file matches, handshakes for that name fail, while other names are served.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Tls::load`], except that the list of files may be empty.
    #[cfg(feature = "acme")]
    pub fn load_with_acme(
        files: Vec<CertificateFiles>,
        acme: Acme,
    ) -> Result<Self, CertificateError> {
        Self::new(files, Some(acme))
    }

    fn new(files: Vec<CertificateFiles>, acme: Option<Acme>) -> Result<Self, CertificateError> {
        let provider = ring::default_provider();
        let pairs = files
            .into_iter()
            .map(|files| FilePair::load(files, &provider))
            .collect::<Result<Vec<_>, _>>()?;
        let certificates = Arc::new(Certificates {
            names: ArcSwap::default(),
            provider: provider.clone(),
            pairs: Mutex::new(pairs),
            acme,
        });
        certificates.publish(&certificates.pairs.lock());
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| CertificateError::no_file(error.to_string()))?;
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Certificates>::clone(&certificates);
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        // The protocols are in order of preference (RFC 7301 §3.2), so HTTP/2 is first.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        if certificates.acme.is_some() {
            config.alpn_protocols.push(acme::PROTOCOL.to_vec());
        }
        match ring::Ticketer::new() {
            Ok(ticketer) => config.ticketer = ticketer,
            Err(error) => warn!(%error, "TLS session tickets are disabled: {error}"),
        }
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificates,
        })
    }

    /// Loads the certificate and key files that have changed.
    ///
    /// Running listeners call this method automatically.
    pub fn reload(&self) {
        self.certificates.reload();
    }

    /// Returns the states of all certificates; the certificates loaded from files come first.
    pub fn states(&self) -> Vec<CertificateState> {
        let certificates = &self.certificates;
        let mut states: Vec<_> = certificates
            .pairs
            .lock()
            .iter()
            .map(FilePair::state)
            .collect();
        states.extend(certificates.acme.iter().flat_map(Acme::states));
        states
    }

    /// Performs the TLS handshake with a client.
    ///
    /// If the client is a certificate authority that validates a name, nothing follows the
    /// handshake (RFC 8737 §3).
    pub(super) async fn accept(&self, stream: Transport) -> io::Result<TlsStream<Transport>> {
        let mut stream = self.acceptor.accept(stream).await?;
        if stream.get_ref().1.alpn_protocol() == Some(acme::PROTOCOL) {
            stream.shutdown().await?;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(stream)
    }

    /// Watches the certificate files, and orders certificates, indefinitely.
    pub(super) async fn watch(self) {
        let certificates = &self.certificates;
        let ordering = async {
            if let Some(acme) = &certificates.acme {
                // The future of an order is boxed, because it is large and rarely polled.
                Box::pin(acme.run_renewals(|| certificates.publish(&certificates.pairs.lock())))
                    .await;
            }
        };
        tokio::join!(ordering, self.watch_files());
    }

    async fn watch_files(&self) {
        loop {
            time::sleep(CHECK_PERIOD).await;
            let certificates = Arc::clone(&self.certificates);
            if let Err(ended) = task::spawn_blocking(move || certificates.reload()).await {
                error!("could not check for changed certificates: {ended}");
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
        let mut pairs = self.pairs.lock();
        let changed = pairs
            .iter_mut()
            .map(|pair| pair.reload(&self.provider))
            // `any` cannot be used, because it would stop at the first changed pair.
            .fold(false, |any, one| any | one);
        if changed {
            self.publish(&pairs);
        }
    }

    /// Publishes the certificates; the caller's lock on the pairs prevents overlapping calls.
    fn publish(&self, pairs: &[FilePair]) {
        let ordered = self.acme.iter().flat_map(Acme::certificates);
        let files = pairs.iter().map(|pair| &pair.certificate);
        self.names
            .store(Arc::new(CertificatesByName::new(files, ordered)));
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if let Some(acme) = &self.acme
            && acme::is_challenge(&hello)
        {
            return acme.certificate(hello.server_name());
        }
        self.names.load().find(hello.server_name())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates")
            .field("names", &self.names.load())
            .finish_non_exhaustive()
    }
}

impl FilePair {
    fn load(files: CertificateFiles, provider: &CryptoProvider) -> Result<Self, CertificateError> {
        let stamps = files.stamps();
        let certificate = Certificate::load(&files, provider)?;
        certificate.warn_if_renewal_due(&files.certificate_file);
        Ok(Self {
            files,
            stamps,
            certificate,
            problem: None,
        })
    }

    fn state(&self) -> CertificateState {
        CertificateState {
            names: self.certificate.names.clone(),
            file: self.files.certificate_file.clone(),
            validity: Some(self.certificate.validity),
            is_ordered: false,
            failures: 0,
        }
    }

    /// Reloads changed files, and returns whether the certificate has changed.
    fn reload(&mut self, provider: &CryptoProvider) -> bool {
        let stamps = self.files.stamps();
        // After an error, the files are read again, because they may have been incomplete.
        if stamps == self.stamps && self.problem.is_none() {
            return false;
        }
        match Certificate::load(&self.files, provider) {
            Ok(certificate) => {
                info!(
                    "reloaded the certificate {}",
                    self.files.certificate_file.display()
                );
                certificate.warn_if_renewal_due(&self.files.certificate_file);
                self.certificate = certificate;
                self.stamps = stamps;
                self.problem = None;
                true
            }
            Err(error) => {
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    error!(
                        "the changed certificate cannot be used, keeping the old one: {problem}"
                    );
                    self.problem = Some(problem);
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// The certificates, indexed by the names for which they are served.
#[derive(Debug, Default)]
pub(super) struct CertificatesByName {
    first: Option<Arc<CertifiedKey>>,
    exact: HashMap<String, Arc<CertifiedKey>>,
    /// The wildcard certificates, by name without the `*`, such as `.example.com`.
    wildcard: HashMap<String, Arc<CertifiedKey>>,
    /// The names whose certificate has not been issued yet, and for each whether this has been
    /// logged.
    awaited: HashMap<String, AtomicBool>,
}

impl CertificatesByName {
    /// Creates the index of certificates. Ordered certificates take precedence over files, but the
    /// certificate of the first file is used for unknown names.
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
        // SNI has no trailing dot (RFC 6066 §3), but some clients send one.
        let name = name.trim_end_matches('.');
        // A wildcard stands for a single label (RFC 9525 §6.3).
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
                warn!(
                    "closed a connection for {name}: no certificate has been issued for this name yet"
                );
            }
            return None;
        }
        self.first.clone()
    }
}

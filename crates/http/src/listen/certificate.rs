//! Loading of certificates, keys and authorities from files.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use rustls::{
    RootCertStore,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer, UnixTime,
        pem::{self, PemObject as _},
    },
    sign::CertifiedKey,
};
use rustls_native_certs::load_native_certs;
use tracing::warn;
use webpki::{EndEntityCert, KeyUsage};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The maximum size of a certificate or key file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// A warning is logged if the remaining validity of a certificate is less than this duration.
const SHORT_OF_TIME: Duration = Duration::from_hours(7 * 24);

/// The PEM files of a certificate chain and its key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertificateFiles {
    /// The path of the file with the certificate, followed by intermediate certificates.
    pub certificate_file: PathBuf,
    /// The path of the file with the unencrypted private key.
    pub key_file: PathBuf,
}

/// An error for a certificate that cannot be served.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct CertificateError {
    /// The path of the file that caused the error; `TLS` if no file is involved.
    file: PathBuf,
    reason: String,
}

/// The validity period of a certificate, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Validity {
    /// The first second of the validity period, in seconds since 1970.
    pub not_before: u64,
    /// The last second of the validity period, in seconds since 1970.
    pub not_after: u64,
}

/// The state of a listener's certificate, as shown to administrators.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CertificateState {
    /// The host names in the certificate.
    pub names: Vec<String>,
    /// The path of the file that contains the certificate.
    pub file: PathBuf,
    /// The validity period of the certificate; `None` until the first certificate has been issued.
    pub validity: Option<Validity>,
    /// Whether this program orders the certificate (ACME).
    pub is_ordered: bool,
    /// The number of consecutive failed orders for the certificate.
    pub failures: u32,
}

/// A certificate and private key loaded from files.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) names: Vec<String>,
    pub(super) validity: Validity,
}

/// The modification time and length of a file, used to detect changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
}

impl CertificateError {
    /// Returns the path of the file that caused the error.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn no_file(reason: impl Into<String>) -> Self {
        wrong(Path::new("TLS"), reason)
    }
}

impl Certificate {
    pub(super) fn load(
        files: &CertificateFiles,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let (file, key_file) = (&files.certificate_file, &files.key_file);
        Self::parse(files, &read(file)?, &read(key_file)?, provider)
    }

    /// Parses a certificate chain and its key from the contents of two files.
    pub(super) fn parse(
        files: &CertificateFiles,
        certificates: &[u8],
        key: &[u8],
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let file = &files.certificate_file;
        let chain = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong(file, format!("malformed: {error}")))?;
        let Some(leaf) = chain.first() else {
            return Err(wrong(file, "no PEM certificate (BEGIN CERTIFICATE) found"));
        };
        let parsed = EndEntityCert::try_from(leaf)
            .map_err(|error| wrong(file, format!("the first certificate is malformed: {error}")))?;
        let validity = Validity::of(&parsed);
        let names = parsed
            .valid_dns_names()
            .map(str::to_ascii_lowercase)
            .collect();
        let key = read_key(&files.key_file, key)?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| {
            let reason = match error {
                rustls::Error::InconsistentKeys(_) => {
                    format!("the key does not match the certificate {}", file.display())
                }
                error => format!("the key is unusable: {error}"),
            };
            wrong(&files.key_file, reason)
        })?;
        Ok(Self {
            key: Arc::new(key),
            names,
            validity,
        })
    }

    /// Logs a warning if the certificate has expired, expires soon, or is not valid yet.
    pub(super) fn warn_if_renewal_due(&self, file: &Path) {
        let now = UnixTime::now().as_secs();
        let file = file.display();
        let Validity {
            not_before,
            not_after,
        } = self.validity;
        if not_after < now {
            let days = (now - not_after) / 86_400;
            warn!("the certificate {file} expired {days} days ago: renew it");
        } else if not_before > now {
            warn!("the certificate {file} is not valid yet: check this machine's clock");
        } else if not_after < now + SHORT_OF_TIME.as_secs() {
            let days = (not_after - now) / 86_400;
            warn!("the certificate {file} expires in {days} days: renew it");
        }
    }
}

impl Validity {
    fn of(certificate: &EndEntityCert<'_>) -> Self {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        Self {
            // webpki exposes the validity period only in errors, so the earliest and the latest
            // time are tried.
            not_before: match validity_error(certificate, at(0)) {
                Some(webpki::Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
                _ => 0,
            },
            not_after: match validity_error(certificate, at(u64::MAX)) {
                Some(webpki::Error::CertExpired { not_after, .. }) => not_after.as_secs(),
                _ => 0,
            },
        }
    }
}

impl CertificateFiles {
    pub(super) fn stamps(&self) -> [Option<Stamp>; 2] {
        [&self.certificate_file, &self.key_file].map(|file| {
            let metadata = fs::metadata(file).ok()?;
            Some(Stamp {
                modified: metadata.modified().ok(),
                len: metadata.len(),
            })
        })
    }
}

fn read_key(file: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(wrong(
            file,
            "the key is encrypted; decrypt it, for example with `openssl pkey -in FILE -out PLAIN_FILE`",
        ));
    }
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => wrong(file, "no PEM private key (BEGIN PRIVATE KEY) found"),
        error => wrong(file, format!("malformed: {error}")),
    })
}

fn read(file: &Path) -> Result<Vec<u8>, CertificateError> {
    let mut bytes = Vec::new();
    let read = fs::File::open(file)
        // The size is limited while reading, because the reported size of a pipe or a device is
        // meaningless.
        .and_then(|opened| opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Ok(len) if len as u64 > MAX_FILE_BYTES => Err(wrong(file, "the file is too large")),
        Ok(_) => Ok(bytes),
        Err(error) => Err(wrong(file, format!("cannot read the file: {error}"))),
    }
}

fn wrong(file: &Path, reason: impl Into<String>) -> CertificateError {
    CertificateError {
        file: file.to_owned(),
        reason: reason.into(),
    }
}

/// Returns the error if a certificate is not valid at the given time; webpki checks the time before
/// the issuer.
pub(super) fn validity_error(
    certificate: &EndEntityCert<'_>,
    time: UnixTime,
) -> Option<webpki::Error> {
    let usage = KeyUsage::server_auth();
    certificate
        .verify_for_usage(&[], &[], &[], time, usage, None, None)
        .err()
}

/// The reason why the authorities in a file could not be loaded; callers format the message.
#[derive(Debug)]
pub(crate) enum UnusableAuthorities {
    /// The file of authorities is unreadable, or its PEM is malformed.
    File(pem::Error),
    /// A certificate in the file of authorities is unusable.
    Certificate(rustls::Error),
    /// The file of authorities does not contain a certificate.
    None,
}

/// Returns the system's certificate authorities, or Mozilla's if the system has none.
pub(crate) fn default_authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(load_native_certs().certs);
    if roots.is_empty() {
        roots.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    roots
}

/// Reads the certificates of trusted authorities from a PEM file.
pub(crate) fn read_authorities(file: &Path) -> Result<RootCertStore, UnusableAuthorities> {
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(UnusableAuthorities::File)?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let added = roots.add(certificate);
        added.map_err(UnusableAuthorities::Certificate)?;
    }
    if roots.is_empty() {
        return Err(UnusableAuthorities::None);
    }
    Ok(roots)
}

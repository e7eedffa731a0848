//! The private key with which the site robot's requests are signed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};
use serde::Deserialize;

/// An error that concerns a signing key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningKeyError {
    /// The key file cannot be read.
    #[error("cannot read the signing key {path:?}: {source}; check the path and its permissions")]
    Read {
        /// The path of the key file.
        path: PathBuf,
        /// The error reported by the operating system.
        source: io::Error,
    },
    /// The key file does not exist and cannot be created.
    #[error("cannot create the signing key {path:?}: {source}; check the directory's permissions")]
    Create {
        /// The path of the key file.
        path: PathBuf,
        /// The error reported by the operating system.
        source: io::Error,
    },
    /// The file does not contain a key of the required type.
    #[error(
        "{path:?} contains no private Ed25519 key as PEM (PKCS #8) or JWK; to create a key, \
         specify a file that does not exist"
    )]
    NoKey {
        /// The path of the key file.
        path: PathBuf,
    },
    /// The agent is not an `https:` origin.
    #[error(
        "{agent:?} is not the https origin of a site; use, for example, https://www.example.com"
    )]
    BadAgent {
        /// The configured agent that is not an origin.
        agent: String,
    },
    /// The operating system provides no random bytes.
    #[error("cannot create a signing key: the system provides no random bytes")]
    NoRandom,
}

#[derive(Deserialize)]
struct PrivateJwk {
    kty: String,
    crv: String,
    d: String,
    x: String,
}

/// Reads the key from a file, or creates a file with a new key that only its owner can read.
pub(super) fn open(path: &Path) -> Result<Ed25519KeyPair, SigningKeyError> {
    match fs::read(path) {
        Ok(bytes) => read(&bytes).ok_or_else(|| no_key(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        Err(source) => Err(SigningKeyError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Parses a key in PEM (PKCS #8) or JWK (RFC 8037 §2) format.
pub(super) fn read(bytes: &[u8]) -> Option<Ed25519KeyPair> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        let jwk: PrivateJwk = serde_json::from_slice(bytes).ok()?;
        if (jwk.kty.as_str(), jwk.crv.as_str()) != ("OKP", "Ed25519") {
            return None;
        }
        let decode = |text: &str| general_purpose::URL_SAFE_NO_PAD.decode(text).ok();
        let (seed, public) = (decode(&jwk.d)?, decode(&jwk.x)?);
        return Ed25519KeyPair::from_seed_and_public_key(&seed, &public).ok();
    }
    let der = PrivatePkcs8KeyDer::from_pem_slice(bytes).ok()?;
    // With or without the public key; OpenSSL omits it.
    Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der()).ok()
}

fn create(path: &Path) -> Result<Ed25519KeyPair, SigningKeyError> {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let document = document.map_err(|_| SigningKeyError::NoRandom)?;
    let pem = pem(document.as_ref());
    match write(path, pem.as_bytes()) {
        Ok(()) => {}
        // Another process has just created the file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return open(path),
        Err(source) => {
            return Err(SigningKeyError::Create {
                path: path.to_owned(),
                source,
            });
        }
    }
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| no_key(path))?;
    let key = super::key::Key::ed25519(pair.public_key().as_ref());
    tracing::info!(keyid = key.keyid, "created a signing key in {path:?}");
    Ok(pair)
}

/// Writes a file atomically, so that readers see either all or none of its content.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    // Unlike a rename, a link does not replace a file created by another process.
    let linked = written.and_then(|()| fs::hard_link(&beside, path));
    let removed = fs::remove_file(&beside);
    linked.and(removed)
}

fn pem(der: &[u8]) -> String {
    let base64 = general_purpose::STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    for line in base64.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    pem
}

fn no_key(path: &Path) -> SigningKeyError {
    SigningKeyError::NoKey {
        path: path.to_owned(),
    }
}

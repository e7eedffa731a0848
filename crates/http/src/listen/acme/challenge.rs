//! The TLS-ALPN-01 challenge, which proves control over a host name (RFC 8737).

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::{
    crypto::CryptoProvider,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    server::ClientHello,
    sign::CertifiedKey,
};

/// The ALPN protocol name of handshakes that validate a host name (RFC 8737 §6.2).
pub(in super::super) const PROTOCOL: &[u8] = b"acme-tls/1";

/// Returns `true` if the handshake validates a host name and offers no other protocol (RFC 8737
/// §3).
pub(in super::super) fn is_challenge(hello: &ClientHello<'_>) -> bool {
    let mut offered = hello.alpn().into_iter().flatten();
    offered.next() == Some(PROTOCOL) && offered.next().is_none()
}

/// The certificates for pending ACME challenges, by host.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    answers: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

/// A guard for a challenge, which is answered until the guard is dropped.
#[derive(Debug)]
pub(super) struct ChallengeGuard<'c> {
    challenges: &'c Challenges,
    host: String,
}

impl Challenges {
    /// Answers a challenge with a certificate for the key authorization's digest (RFC 8737 §3).
    pub(super) fn prepare_response(
        &self,
        host: &str,
        digest: &[u8],
        provider: &CryptoProvider,
    ) -> Result<ChallengeGuard<'_>, Box<dyn std::error::Error + Send + Sync>> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new([host.to_owned()])?;
        let proof = CustomExtension::new_acme_identifier(digest);
        params.custom_extensions.push(proof);
        let certificate = params.self_signed(&key)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        // `from_der` would reject the certificate because of its critical extension
        // (acmeIdentifier), which only authorities support.
        let key = provider.key_provider.load_private_key(key)?;
        let key = CertifiedKey::new(vec![certificate.into()], key);
        self.answers.lock().insert(host.to_owned(), Arc::new(key));
        Ok(ChallengeGuard {
            challenges: self,
            host: host.to_owned(),
        })
    }

    pub(super) fn find(&self, host: &str) -> Option<Arc<CertifiedKey>> {
        self.answers.lock().get(&host.to_ascii_lowercase()).cloned()
    }
}

impl Drop for ChallengeGuard<'_> {
    fn drop(&mut self) {
        self.challenges.answers.lock().remove(&self.host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_is_answered_until_its_guard_is_dropped() {
        let provider = rustls::crypto::ring::default_provider();
        let challenges = Challenges::default();
        let answer = challenges
            .prepare_response("a.example", &[7; 32], &provider)
            .unwrap();
        let key = challenges.find("A.example").unwrap();
        // id-pe-acmeIdentifier, a critical extension with an octet string inside an octet string
        // (RFC 8737 §3).
        let mut expected =
            b"\x06\x08\x2b\x06\x01\x05\x05\x07\x01\x1f\x01\x01\xff\x04\x22\x04\x20".to_vec();
        expected.extend([7; 32]);
        let der = key.cert[0].as_ref();
        assert!(der.windows(expected.len()).any(|part| part == expected));
        assert!(challenges.find("b.example").is_none());
        drop(answer);
        assert!(challenges.find("a.example").is_none());
    }
}

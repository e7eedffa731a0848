//! An authority's validation: the proof by TLS-ALPN-01 (RFC 8737 §3).

use std::{net::SocketAddr, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncReadExt as _, net::TcpStream};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::support::raw::soon;

/// Connects as a client that accepts any certificate.
pub(super) async fn connect_unverified(
    site: SocketAddr,
    host: &str,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(site).await?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

/// Returns the problem with a site's proof.
pub(super) async fn validate(
    site: SocketAddr,
    host: &str,
    key_authorization: &str,
) -> Result<(), String> {
    let mut stream = connect_unverified(site, host, &["acme-tls/1"])
        .await
        .map_err(|error| format!("no handshake: {error}"))?;
    let connection = stream.get_ref().1;
    if connection.alpn_protocol() != Some(b"acme-tls/1") {
        return Err("another protocol".to_owned());
    }
    let certificate = connection.peer_certificates().unwrap()[0].clone();
    // id-pe-acmeIdentifier, critical, with the digest as a nested octet string.
    let mut proof =
        b"\x06\x08\x2b\x06\x01\x05\x05\x07\x01\x1f\x01\x01\xff\x04\x22\x04\x20".to_vec();
    proof.extend(Sha256::digest(key_authorization));
    if !certificate.windows(proof.len()).any(|part| part == proof) {
        return Err("another proof".to_owned());
    }
    // subjectAltName: this name, and no other.
    let len = u8::try_from(host.len()).unwrap();
    let head = [
        &b"\x06\x03\x55\x1d\x11\x04"[..],
        &[len + 4, 0x30, len + 2, 0x82, len],
    ]
    .concat();
    let names = [&head, host.as_bytes()].concat();
    if !certificate.windows(names.len()).any(|part| part == names) {
        return Err("other names".to_owned());
    }
    let mut rest = Vec::new();
    match soon(stream.read_to_end(&mut rest)).await {
        Ok(0) => Ok(()),
        other => Err(format!("more than the proof: {other:?}")),
    }
}

/// Verifier that accepts every certificate.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

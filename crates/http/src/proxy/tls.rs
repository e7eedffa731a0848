//! TLS connections to the upstream, and the authorities trusted for them.

use std::{path::Path, sync::Arc};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};

use super::error::ProxyError;
use crate::listen::{UnusableAuthorities, default_authorities, read_authorities};

/// The TLS connectors, which verify certificates against the host in the server's URL.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    /// The connector that offers HTTP/2 (if enabled) and HTTP/1.1 by ALPN.
    pub(super) any: HttpsConnector<HttpConnector>,
    pub(super) http1: HttpsConnector<HttpConnector>,
    pub(super) offers_http2: bool,
}

impl Tls {
    /// Creates connectors that trust the authorities in a file, or the default authorities if there
    /// is no file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is unusable.
    pub(super) fn new(
        ca_file: Option<&Path>,
        offers_http2: bool,
        http: &HttpConnector,
    ) -> Result<Self, ProxyError> {
        let config = config(ca_file)?;
        let http1 = HttpsConnectorBuilder::new()
            .with_tls_config(config.clone())
            .https_only()
            .enable_http1()
            .wrap_connector(http.clone());
        let any = if offers_http2 {
            HttpsConnectorBuilder::new()
                .with_tls_config(config)
                .https_only()
                .enable_all_versions()
                .wrap_connector(http.clone())
        } else {
            http1.clone()
        };
        Ok(Self {
            any,
            http1,
            offers_http2,
        })
    }
}

fn config(ca_file: Option<&Path>) -> Result<ClientConfig, ProxyError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match ca_file {
        Some(file) => roots(file).map_err(|reason| ProxyError::CaFile {
            file: file.to_owned(),
            reason,
        })?,
        None => default_authorities(),
    };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn roots(file: &Path) -> Result<RootCertStore, String> {
    read_authorities(file).map_err(|error| match error {
        UnusableAuthorities::File(error) => format!("cannot be read: {error}"),
        UnusableAuthorities::Certificate(error) => {
            format!("contains an unusable certificate: {error}")
        }
        UnusableAuthorities::None => "contains no PEM certificate".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_a_certificate_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        let refusal = || roots(&file).unwrap_err();
        assert!(refusal().starts_with("cannot be read"), "{}", refusal());
        std::fs::write(&file, "not a certificate\n").unwrap();
        assert!(refusal().starts_with("contains no PEM"), "{}", refusal());
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&file, pem).unwrap();
        assert!(refusal().contains("unusable"), "{}", refusal());
    }
}

//! An HTTP client for requests to a certificate authority, which uses only HTTPS and enforces
//! limits.

use std::{error::Error as StdError, io, path::Path, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};
use tokio::time;

use super::settings::AcmeError;
use crate::listen::{UnusableAuthorities, default_authorities, read_authorities};

/// The timeout for one request to a certificate authority, including the response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of one response from a certificate authority.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// An ACME client for one certificate authority.
#[derive(Clone)]
pub(super) struct AcmeClient {
    client: Client<HttpsConnector<HttpConnector>, BodyWrapper<Bytes>>,
}

impl AcmeClient {
    /// Creates a client that trusts the certificates in a file, or the default authorities if there
    /// is no file.
    pub(super) fn new(ca_file: Option<&Path>, provider: &Arc<CryptoProvider>) -> io::Result<Self> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let roots = match ca_file {
            Some(file) => roots(file).map_err(io::Error::other)?,
            None => default_authorities(),
        };
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        })
    }
}

impl HttpClient for AcmeClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let asked = self.client.request(request);
        let answered = async {
            let (parts, body) = asked.await.map_err(other)?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
            let body = body.map_err(Error::Other)?.to_bytes();
            Ok(BytesResponse {
                parts,
                body: Box::new(body),
            })
        };
        Box::pin(async {
            match time::timeout(TIMEOUT, answered).await {
                Ok(answer) => answer,
                Err(_) => Err(Error::Other(
                    format!("no response within {TIMEOUT:?}").into(),
                )),
            }
        })
    }
}

/// Reads the certificates of trusted authorities from a file.
pub(super) fn roots(file: &Path) -> Result<RootCertStore, AcmeError> {
    read_authorities(file).map_err(|error| AcmeError::CaFile {
        file: file.to_owned(),
        reason: match error {
            UnusableAuthorities::File(error) => format!("cannot read the file: {error}"),
            UnusableAuthorities::Certificate(error) => {
                format!("unusable certificate: {error}")
            }
            UnusableAuthorities::None => "the file contains no PEM certificate".to_owned(),
        },
    })
}

fn other(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::Other(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_a_certificate_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        for content in [None, Some(""), Some("rubbish")] {
            if let Some(content) = content {
                std::fs::write(&file, content).unwrap();
            }
            let error = roots(&file).unwrap_err();
            assert_eq!(error.key(), "ca_file");
            assert!(error.to_string().contains("ca.pem"), "{error}");
        }
    }
}

//! Requests to servers whose every answer is wanted as it is.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{
    Client, Method, NoProxy, Proxy, Response,
    header::{HeaderMap, HeaderValue},
};
use url::Url;

use super::{FetchError, client, error::classify, shown_url};

/// How long and how much a [`DirectClient`] takes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DirectSettings {
    /// `User-Agent` that is sent; the fetcher's own by default.
    pub user_agent: Option<HeaderValue>,
    /// Longest time for a connection; 120 seconds by default.
    pub connect_timeout: Duration,
    /// Longest time without a byte; 30 seconds by default.
    pub idle_timeout: Duration,
    /// Longest time for all of an answer; 5 minutes by default.
    pub timeout: Duration,
    /// Largest body, in bytes after decompression; 10 MiB by default.
    pub max_body_bytes: u64,
    /// HTTP proxy that is asked in place of servers, but for those on this machine.
    pub proxy: Option<Url>,
}

/// HTTP client that follows no redirect, keeps no cookie, and takes any status.
///
/// It keeps connections, decompresses gzip, and uses a proxy only if told to.
/// Clones share connections.
#[derive(Clone, Debug)]
pub struct DirectClient {
    client: Client,
    settings: Arc<DirectSettings>,
}

/// Answer of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirectAnswer {
    /// Status code.
    pub status: u16,
    /// Headers as received; of a body that was compressed, without its length.
    pub headers: HeaderMap,
    /// Address of the server, or of the proxy.
    pub peer: Option<SocketAddr>,
    /// Body, decompressed.
    pub body: Bytes,
}

impl DirectClient {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// Fails when a limit is zero, the proxy is none, or TLS cannot be set up.
    pub fn new(settings: DirectSettings) -> Result<Self, FetchError> {
        settings.check()?;
        let client = client::build_agent(&settings)?;
        let settings = Arc::new(settings);
        Ok(Self { client, settings })
    }

    /// Sends a request without a body.
    ///
    /// A body beyond the limit ends the transfer. Dropping the future ends it
    /// too.
    ///
    /// # Errors
    ///
    /// Fails when no whole answer comes within the limits; no status is an error.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
    ) -> Result<DirectAnswer, FetchError> {
        self.execute(
            self.client.request(method, url.clone()).headers(headers),
            url,
        )
        .await
    }

    /// Posts the fields of a form.
    ///
    /// # Errors
    ///
    /// As [`Self::send`].
    pub async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        fields: &[(String, String)],
    ) -> Result<DirectAnswer, FetchError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = self
            .client
            .post(url.clone())
            .headers(headers)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        self.execute(request, url).await
    }

    async fn execute(
        &self,
        request: reqwest::RequestBuilder,
        url: &Url,
    ) -> Result<DirectAnswer, FetchError> {
        super::fetcher::address(url.as_str())?;
        let sent = request.send().await;
        let mut response = sent.map_err(|error| self.classify(url, error))?;
        let headers = std::mem::take(response.headers_mut());
        Ok(DirectAnswer {
            status: response.status().as_u16(),
            headers,
            peer: response.remote_addr(),
            body: self.body(url, response).await?,
        })
    }

    async fn body(&self, url: &Url, mut response: Response) -> Result<Bytes, FetchError> {
        self.check_size(url, response.content_length().unwrap_or(0))?;
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.classify(url, error))?
        {
            self.check_size(url, body.len().saturating_add(chunk.len()) as u64)?;
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }

    fn check_size(&self, url: &Url, size: u64) -> Result<(), FetchError> {
        let max_body_bytes = self.settings.max_body_bytes;
        if size <= max_body_bytes {
            return Ok(());
        }
        let url = shown_url(url.as_str());
        Err(FetchError::TooLarge {
            url,
            max_body_bytes,
        })
    }

    fn classify(&self, url: &Url, error: reqwest::Error) -> FetchError {
        let DirectSettings {
            timeout,
            idle_timeout,
            ..
        } = *self.settings;
        classify(url.as_str(), error, timeout, idle_timeout)
    }
}

impl DirectSettings {
    fn check(&self) -> Result<(), FetchError> {
        let zero = if self.max_body_bytes == 0 {
            "max_body_bytes"
        } else if self.timeout.is_zero() {
            "timeout"
        } else if self.connect_timeout.is_zero() {
            "connect_timeout"
        } else if self.idle_timeout.is_zero() {
            "idle_timeout"
        } else {
            return Ok(());
        };
        Err(FetchError::ZeroLimit(zero))
    }

    /// Returns the proxy to use.
    pub(super) fn proxy(&self) -> Result<Option<Proxy>, FetchError> {
        let Some(url) = &self.proxy else {
            return Ok(None);
        };
        let proxy = Proxy::all(url.clone()).map_err(|error| FetchError::BadUrl {
            url: shown_url(url.as_str()),
            reason: error.without_url().to_string(),
        })?;
        let own = NoProxy::from_string("localhost,127.0.0.0/8,::1");
        Ok(Some(proxy.no_proxy(own)))
    }
}

impl Default for DirectSettings {
    fn default() -> Self {
        Self {
            user_agent: None,
            connect_timeout: Duration::from_mins(2),
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_mins(5),
            max_body_bytes: 10 * 1024 * 1024,
            proxy: None,
        }
    }
}

//! An HTTP client that returns responses unchanged, regardless of their status.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use reqwest::{
    Client, Method, NoProxy, Proxy, Response,
    header::{HeaderMap, HeaderValue},
};
use tokio::time::{Instant, timeout};
use url::{Host, Url};

use super::{
    FetchError, client,
    client::NonPublicAddress,
    error::{classify, is_reset},
    is_public, shown_url,
};

/// The maximum buffer size to allocate before any part of a response body has arrived.
const MAX_ROOM: usize = 64 * 1024;

/// The minimum average transfer rate of a response body, enforced once the idle timeout has passed.
const MIN_BYTES_A_SECOND: u64 = 1024;

/// The limits and proxy settings of a [`DirectClient`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DirectSettings {
    /// The `User-Agent` header to send; by default, the header that fetchers send.
    pub user_agent: Option<HeaderValue>,
    /// The timeout for establishing a connection; 120 seconds by default.
    pub connect_timeout: Duration,
    /// The maximum time without any data, or at less than 1 KiB per second; 30 seconds by default.
    pub idle_timeout: Duration,
    /// The timeout for the whole response; 5 minutes by default.
    pub timeout: Duration,
    /// The maximum size of a body after decompression, in bytes; 10 MiB by default.
    pub max_body_bytes: u64,
    /// The HTTP proxy to use for all servers except servers on this machine.
    pub proxy: Option<Url>,
    /// Whether to connect only to public addresses (see [`is_public`]); off by default.
    ///
    /// Addresses are checked at connection time, so a host name cannot resolve to a different
    /// address afterwards. No proxy is used in this mode.
    pub is_public_only: bool,
}

/// An HTTP client that follows no redirects, stores no cookies, and accepts any status.
///
/// The client reuses connections, decompresses gzip, and uses a proxy only if one is configured.
/// Clones share connections.
#[derive(Clone, Debug)]
pub struct DirectClient {
    client: Client,
    settings: Arc<DirectSettings>,
}

/// A response from a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DirectResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The headers as received, but without `Content-Length` if the body was compressed.
    pub headers: HeaderMap,
    /// The address of the server or proxy that sent the response.
    pub peer: Option<SocketAddr>,
    /// The response body, after decompression.
    pub body: Bytes,
}

impl DirectClient {
    /// Creates a client.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is zero, the proxy URL is invalid, or TLS cannot be set up.
    pub fn new(settings: DirectSettings) -> Result<Self, FetchError> {
        settings.check()?;
        let client = client::build_agent(&settings)?;
        let settings = Arc::new(settings);
        Ok(Self { client, settings })
    }

    /// Sends a request without a body.
    ///
    /// The transfer is aborted if the response body exceeds the limit, or if the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if no complete response arrives within the limits; any status is accepted.
    pub async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
    ) -> Result<DirectResponse, FetchError> {
        let request = self.client.request(method, url.clone()).headers(headers);
        self.execute(request, url, None).await
    }

    /// Sends a request without a body, and truncates the response body to the given number of
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Self::send`], but not if the body is too large.
    pub async fn send_beginning(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        bytes: u64,
    ) -> Result<DirectResponse, FetchError> {
        let request = self.client.request(method, url.clone()).headers(headers);
        let bytes = bytes.min(self.settings.max_body_bytes);
        self.execute(request, url, usize::try_from(bytes).ok())
            .await
    }

    /// Sends the fields of a form in a POST request.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Self::send`].
    pub async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        fields: &[(String, String)],
    ) -> Result<DirectResponse, FetchError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = self
            .client
            .post(url.clone())
            .headers(headers)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        self.execute(request, url, None).await
    }

    /// Sends a body in a POST request, and truncates the response body to the given number of
    /// bytes.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Self::send_beginning`].
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        bytes: u64,
    ) -> Result<DirectResponse, FetchError> {
        let request = self.client.post(url.clone()).headers(headers).body(body);
        let bytes = bytes.min(self.settings.max_body_bytes);
        self.execute(request, url, usize::try_from(bytes).ok())
            .await
    }

    async fn execute(
        &self,
        request: reqwest::RequestBuilder,
        url: &Url,
        enough: Option<usize>,
    ) -> Result<DirectResponse, FetchError> {
        super::fetcher::check_scheme(url)?;
        if self.settings.is_public_only {
            // The resolver is not called for IP addresses, so addresses in URLs are checked here.
            check_public(url)?;
        }
        let sent = self.sent(request).await;
        let mut response = sent.map_err(|error| self.classify(url, error))?;
        let headers = std::mem::take(response.headers_mut());
        Ok(DirectResponse {
            status: response.status().as_u16(),
            headers,
            peer: response.remote_addr(),
            body: self.body(url, response, enough).await?,
        })
    }

    /// Sends a request. A safe request is repeated once if the connection closes before the
    /// response arrives.
    ///
    /// A server may close an idle connection just as it is being reused (RFC 9112 §9.3.1).
    async fn sent(&self, request: reqwest::RequestBuilder) -> reqwest::Result<Response> {
        let request = request.build()?;
        let again = request.method().is_safe().then(|| request.try_clone());
        let sent = self.client.execute(request).await;
        match (sent, again.flatten()) {
            (Err(error), Some(again)) if is_reset(&error) => self.client.execute(again).await,
            (sent, _) => sent,
        }
    }

    async fn body(
        &self,
        url: &Url,
        mut response: Response,
        enough: Option<usize>,
    ) -> Result<Bytes, FetchError> {
        let told = response.content_length().unwrap_or(0);
        if enough.is_none() {
            self.check_size(url, told)?;
        }
        let began = Instant::now();
        let idle = self.settings.idle_timeout;
        // The announced length may be false.
        let room = usize::try_from(told).unwrap_or(usize::MAX).min(MAX_ROOM);
        let mut body = Vec::with_capacity(room);
        loop {
            // Compressed data may arrive without yielding a byte of content.
            let chunk = timeout(idle, response.chunk()).await;
            let chunk = chunk.map_err(|_| self.too_slow(url))?;
            let Some(chunk) = chunk.map_err(|error| self.classify(url, error))? else {
                return Ok(body.into());
            };
            let length = body.len().saturating_add(chunk.len());
            if let Some(enough) = enough.filter(|enough| length > *enough) {
                body.extend_from_slice(&chunk);
                body.truncate(enough);
                return Ok(body.into());
            }
            self.check_size(url, length as u64)?;
            body.extend_from_slice(&chunk);
            // A server that sends a byte before each timeout would otherwise use up the whole time
            // limit.
            if is_too_slow(body.len(), began.elapsed(), idle) {
                return Err(self.too_slow(url));
            }
        }
    }

    fn too_slow(&self, url: &Url) -> FetchError {
        FetchError::Timeout {
            url: shown_url(url.as_str()),
            total: self.settings.timeout,
            idle: self.settings.idle_timeout,
        }
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

/// Returns `true` if a body arrives too slowly. The rate is checked once the idle timeout has
/// passed.
fn is_too_slow(length: usize, elapsed: Duration, idle: Duration) -> bool {
    elapsed > idle && (length as u64) < elapsed.as_secs().saturating_mul(MIN_BYTES_A_SECOND)
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

    /// Returns the proxy to use, if any.
    pub(super) fn proxy(&self) -> Result<Option<Proxy>, FetchError> {
        // A proxy would resolve host names itself, so their addresses could not be checked.
        let Some(url) = self.proxy.as_ref().filter(|_| !self.is_public_only) else {
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
            is_public_only: false,
        }
    }
}

/// Rejects a URL whose host is a non-public IP address; host names are checked when they are
/// resolved.
fn check_public(url: &Url) -> Result<(), FetchError> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    if is_public(address) {
        return Ok(());
    }
    Err(FetchError::Connect {
        url: shown_url(url.as_str()),
        reason: NonPublicAddress.to_string(),
    })
}

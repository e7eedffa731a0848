//! Requests to servers whose every answer is wanted as it is.

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
    client::NotPublic,
    error::{classify, is_reset},
    is_public, shown_url,
};

/// Most room that is made for a body before it comes.
const MAX_ROOM: usize = 64 * 1024;

/// Least that a body must bring on average, once the longest wait for a byte is over.
const MIN_BYTES_A_SECOND: u64 = 1024;

/// Limits and addresses of a [`DirectClient`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DirectSettings {
    /// `User-Agent` that is sent; the fetcher's own by default.
    pub user_agent: Option<HeaderValue>,
    /// Longest time for a connection; 120 seconds by default.
    pub connect_timeout: Duration,
    /// Longest time without a byte, or with less than 1 KiB a second; 30 seconds by default.
    pub idle_timeout: Duration,
    /// Longest time for all of an answer; 5 minutes by default.
    pub timeout: Duration,
    /// Largest body, in bytes after decompression; 10 MiB by default.
    pub max_body_bytes: u64,
    /// HTTP proxy that is asked in place of servers, but for those on this machine.
    pub proxy: Option<Url>,
    /// Whether only public addresses are connected to, see [`is_public`]; not by default.
    ///
    /// A name's addresses are looked at as they are connected to, so that a
    /// name cannot change them in between. No proxy is used then.
    pub is_public_only: bool,
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
pub struct DirectResponse {
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
    ) -> Result<DirectResponse, FetchError> {
        let request = self.client.request(method, url.clone()).headers(headers);
        self.execute(request, url, None).await
    }

    /// Sends a request without a body, and takes so many bytes of an answer that has more.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::send`] does, except for bodies that are too large.
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

    /// Posts the fields of a form.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::send`] does.
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

    /// Posts a body, and takes so many bytes of the answer.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::send_beginning`] does.
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
            // A resolver is not asked about addresses, so that those in URLs are refused here.
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

    /// Sends a request, and a safe one once more if its connection ends before an answer.
    ///
    /// A server may end a connection that it kept in the moment when it is
    /// used again (RFC 9112, 9.3.1); that is no fault of either.
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
        // What is told may never come.
        let room = usize::try_from(told).unwrap_or(usize::MAX).min(MAX_ROOM);
        let mut body = Vec::with_capacity(room);
        loop {
            // What is compressed may come, and still make no byte.
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
            // A server that sends a byte before each time-out would hold the fetch for all of its
            // time.
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

/// Returns `true` if a body trickles: after a time without a byte, it should be beyond that.
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

    /// Returns the proxy to use.
    pub(super) fn proxy(&self) -> Result<Option<Proxy>, FetchError> {
        // A proxy would resolve the names itself, where we cannot check their addresses.
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

/// Refuses a URL of an address that is not public; names are resolved later.
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
        reason: NotPublic.to_string(),
    })
}

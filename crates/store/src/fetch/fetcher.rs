//! HTTP client that fetches one resource at a time, within size and time limits.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, Response, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use rustls::pki_types::CertificateDer;
use tokio::{net::lookup_host, time::Instant};
use url::{Host, Url};

use super::{
    client,
    error::{FetchError, classify},
    is_public, shown_url,
};

/// The maximum length of a stored validator; longer validators are ignored.
const MAX_VALIDATOR_BYTES: usize = 1024;

/// An outbound HTTP client; clones share connections and limits.
#[derive(Clone, Debug)]
pub struct Fetcher {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: FetchLimits,
    client: OnceLock<Client>,
    /// The client that fetches redirect targets if the original URL has a public address.
    public_client: OnceLock<Client>,
    direct_client: OnceLock<Client>,
    /// The only certificate authorities that the direct client trusts, if any are given.
    authorities: Vec<CertificateDer<'static>>,
}

/// The limits for a single fetch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FetchLimits {
    /// The maximum size of a body after decompression, in bytes; 5,000,000 by default.
    pub max_body_bytes: u64,
    /// The timeout for the whole fetch, including redirects; 60 seconds by default.
    ///
    /// The connection timeout and the idle timeout are each a sixth of this value, but at least one
    /// second; the connection timeout is at most ten seconds.
    pub timeout: Duration,
    /// The maximum number of redirects to follow; 5 by default.
    pub max_redirects: usize,
}

/// Validators from the last response, to be sent in a conditional request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Conditions {
    /// The value to send as `If-None-Match` (RFC 9110 §13.1.2).
    pub etag: Option<String>,
    /// The value to send as `If-Modified-Since` (RFC 9110 §13.1.3).
    pub last_modified: Option<String>,
}

/// The outcome of a successful fetch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FetchResponse {
    /// The resource has not changed (status 304).
    NotModified,
    /// The resource was received (status 200).
    Body {
        /// The decompressed body.
        bytes: Vec<u8>,
        /// The `Content-Type` header as received.
        content_type: Option<String>,
        /// The `ETag` value for the next conditional request.
        etag: Option<String>,
        /// The `Last-Modified` value for the next conditional request.
        last_modified: Option<String>,
    },
}

impl Fetcher {
    /// Creates a fetcher. The HTTP client is set up when the first URL is fetched.
    ///
    /// # Errors
    ///
    /// Returns an error if the size limit or the timeout is zero.
    pub fn new(limits: FetchLimits) -> Result<Self, FetchError> {
        if limits.max_body_bytes == 0 {
            return Err(FetchError::ZeroLimit("max_body_bytes"));
        }
        if limits.timeout.is_zero() {
            return Err(FetchError::ZeroLimit("timeout"));
        }
        Ok(Self::with(limits, Vec::new()))
    }

    /// Returns a fetcher whose direct requests trust only these certificate authorities, or the
    /// default ones if the list is empty.
    pub(crate) fn trusting(&self, authorities: Vec<CertificateDer<'static>>) -> Self {
        Self::with(self.inner.limits.clone(), authorities)
    }

    fn with(limits: FetchLimits, authorities: Vec<CertificateDer<'static>>) -> Self {
        Self {
            inner: Arc::new(Inner {
                limits,
                client: OnceLock::new(),
                public_client: OnceLock::new(),
                direct_client: OnceLock::new(),
                authorities,
            }),
        }
    }

    /// Fetches an `http:` or `https:` URL.
    ///
    /// Redirects to private addresses are followed only if the URL itself has a private address.
    ///
    /// `progress` is called with the number of bytes received and the announced total. Dropping the
    /// future cancels the transfer.
    ///
    /// # Errors
    ///
    /// Returns a [`FetchError`] if a limit is exceeded, if the network fails, or if the status is
    /// neither 200 nor, for a conditional request, 304.
    pub async fn fetch(
        &self,
        url: &str,
        conditions: &Conditions,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, FetchError> {
        let headers = conditions.headers();
        let is_conditional = !headers.is_empty();
        let response = self.get(url, headers).await?;
        match response.status() {
            StatusCode::OK => self.body(url, response, progress).await,
            // A 304 response to an unconditional request is a server error.
            StatusCode::NOT_MODIFIED if is_conditional => Ok(FetchResponse::NotModified),
            status => Err(refused(url, status, response.headers())),
        }
    }

    /// Fetches a URL, requesting the media type in the given `Accept` header.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`fetch`](Self::fetch).
    pub async fn fetch_as(
        &self,
        url: &str,
        accept: &'static str,
    ) -> Result<FetchResponse, FetchError> {
        let accept = HeaderValue::from_static(accept);
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept)]);
        let response = self.get(url, headers).await?;
        match response.status() {
            StatusCode::OK => self.body(url, response, &|_, _| {}).await,
            status => Err(refused(url, status, response.headers())),
        }
    }

    /// Sends a GET request and follows redirects.
    async fn get(&self, url: &str, headers: HeaderMap) -> Result<Response, FetchError> {
        let limits = &self.inner.limits;
        let began = Instant::now();
        let (mut client, mut next, mut previous) = (self.client()?, address(url)?, Vec::new());
        let mut is_private = false;
        loop {
            let request = client.get(next.clone()).headers(headers.clone());
            let left = limits.timeout.saturating_sub(began.elapsed());
            let sent = request.timeout(left).send().await;
            let response = sent.map_err(|error| self.classify(url, error))?;
            let Some(target) = redirect_target(&next, &response) else {
                return Ok(response);
            };
            if previous.is_empty() {
                // Also check the connection: a new DNS lookup may return other addresses.
                let peer = response.remote_addr();
                is_private = peer.is_some_and(|peer| !is_public(peer.ip()))
                    && has_private_address(&next).await;
            }
            previous.push(next);
            let mut refusal = client::refusal(&previous, &target, limits.max_redirects);
            if !is_private {
                client = self.public_client()?;
                if refusal.is_none() && has_private_address(&target).await {
                    refusal = Some("the target has a non-public address".to_owned());
                }
            }
            if let Some(reason) = refusal {
                let url = shown_url(url);
                return Err(FetchError::Redirect { url, reason });
            }
            next = target;
        }
    }

    /// Returns the limits that apply to each fetch.
    pub fn limits(&self) -> &FetchLimits {
        &self.inner.limits
    }

    fn client(&self) -> Result<&Client, FetchError> {
        set_up(&self.inner.client, || client::build(&self.inner.limits))
    }

    fn public_client(&self) -> Result<&Client, FetchError> {
        let limits = &self.inner.limits;
        set_up(&self.inner.public_client, || client::build_public(limits))
    }

    /// Returns the client that follows no redirects and uses no proxy.
    pub(super) fn direct_client(&self) -> Result<&Client, FetchError> {
        set_up(&self.inner.direct_client, || {
            client::build_direct(&self.inner.limits, &self.inner.authorities)
        })
    }

    async fn body(
        &self,
        url: &str,
        mut response: Response,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, FetchError> {
        let total = response.content_length();
        // An announced length avoids reading too large a body, but is not trusted below.
        self.check_size(url, total.unwrap_or(0))?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.classify(url, error))?
        {
            let so_far = bytes.len().saturating_add(chunk.len()) as u64;
            self.check_size(url, so_far)?;
            bytes.extend_from_slice(&chunk);
            progress(so_far, total);
        }
        let headers = response.headers();
        Ok(FetchResponse::Body {
            bytes,
            content_type: text_of(headers, &header::CONTENT_TYPE),
            etag: text_of(headers, &header::ETAG),
            last_modified: text_of(headers, &header::LAST_MODIFIED),
        })
    }

    fn check_size(&self, url: &str, size: u64) -> Result<(), FetchError> {
        let max_body_bytes = self.inner.limits.max_body_bytes;
        if size <= max_body_bytes {
            return Ok(());
        }
        Err(FetchError::TooLarge {
            url: shown_url(url),
            max_body_bytes,
        })
    }

    pub(super) fn classify(&self, url: &str, error: reqwest::Error) -> FetchError {
        let limits = &self.inner.limits;
        classify(url, error, limits.timeout, limits.idle_timeout())
    }
}

impl FetchLimits {
    /// Returns the timeout for establishing a connection.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.part().min(Duration::from_secs(10))
    }

    /// Returns the maximum time to wait for the next byte.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.part()
    }

    fn part(&self) -> Duration {
        // A fraction of the timeout instead of a separate setting, so that shortening it shortens
        // all waits.
        (self.timeout / 6)
            .max(Duration::from_secs(1))
            .min(self.timeout)
    }
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            max_body_bytes: 5_000_000,
            timeout: Duration::from_mins(1),
            max_redirects: 5,
        }
    }
}

impl Conditions {
    /// Returns the headers of a conditional request. A validator that is not a valid header value
    /// is omitted.
    pub fn headers(&self) -> HeaderMap {
        // Both headers are sent, as older servers support only the date; other servers ignore the
        // date if there is a tag (RFC 9110 §13.1.3).
        let pairs = [
            (header::IF_NONE_MATCH, &self.etag),
            (header::IF_MODIFIED_SINCE, &self.last_modified),
        ];
        pairs
            .into_iter()
            .filter_map(|(name, value)| {
                let value = HeaderValue::from_str(value.as_deref()?).ok()?;
                Some((name, value))
            })
            .collect()
    }
}

fn set_up(
    place: &OnceLock<Client>,
    build: impl FnOnce() -> Result<Client, FetchError>,
) -> Result<&Client, FetchError> {
    if let Some(client) = place.get() {
        return Ok(client);
    }
    // `OnceLock::get_or_try_init` is not stable. If two clients are built concurrently, one is
    // dropped.
    let client = build()?;
    Ok(place.get_or_init(|| client))
}

pub(super) fn address(url: &str) -> Result<Url, FetchError> {
    let bad = |reason: String| FetchError::BadUrl {
        url: shown_url(url),
        reason,
    };
    let address = Url::parse(url).map_err(|error| bad(error.to_string()))?;
    check_scheme(&address)?;
    Ok(address)
}

/// Rejects URLs with a scheme other than `http` and `https`.
pub(super) fn check_scheme(url: &Url) -> Result<(), FetchError> {
    match url.scheme() {
        "http" | "https" => Ok(()),
        scheme => Err(FetchError::BadUrl {
            url: shown_url(url.as_str()),
            reason: format!("the scheme {scheme}: is not supported"),
        }),
    }
}

/// Returns the target URL if the response is a redirect to follow.
fn redirect_target(from: &Url, response: &Response) -> Option<Url> {
    if !is_followed(response.status()) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    let mut target = from.join(str::from_utf8(location.as_bytes()).ok()?).ok()?;
    // The password is intended only for the original server, so it is not sent to redirect targets.
    if target.origin() == from.origin() && target.username().is_empty() {
        target.set_username(from.username()).ok()?;
        target.set_password(from.password()).ok()?;
    }
    Some(target)
}

fn is_followed(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns `true` if the host in a URL has a non-public address.
async fn has_private_address(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(name)) => {
            let found = lookup_host((name, 0)).await;
            found.is_ok_and(|mut found| found.any(|found| !is_public(found.ip())))
        }
        None => false,
    }
}

fn refused(url: &str, status: StatusCode, headers: &HeaderMap) -> FetchError {
    let url = shown_url(url);
    let code = status.as_u16();
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return FetchError::Status { url, status: code };
    }
    // The client follows these statuses. Other statuses may also have a `Location`: for 300, the
    // server's preferred choice; for 305, a proxy (RFC 9110 §15.4.1, §15.4.6).
    let reason = if is_followed(status) || !headers.contains_key(header::LOCATION) {
        format!("the {code} response has no valid Location header")
    } else {
        format!("{code} responses are not followed")
    };
    FetchError::Redirect { url, reason }
}

pub(super) fn text_of(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    let fits = (1..=MAX_VALIDATOR_BYTES).contains(&text.len());
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_zero_is_rejected() {
        let none = FetchLimits {
            max_body_bytes: 0,
            ..FetchLimits::default()
        };
        assert!(Fetcher::new(none).is_err());
        let instant = FetchLimits {
            timeout: Duration::ZERO,
            ..FetchLimits::default()
        };
        assert!(Fetcher::new(instant).is_err());
    }

    #[test]
    fn partial_timeouts_fit_into_the_total() {
        let limits = |timeout| FetchLimits {
            timeout,
            ..FetchLimits::default()
        };
        let short = limits(Duration::from_millis(200));
        assert_eq!(short.idle_timeout(), Duration::from_millis(200));
        let usual = limits(Duration::from_mins(1));
        assert_eq!(usual.connect_timeout(), Duration::from_secs(10));
        let long = limits(Duration::from_hours(1));
        assert_eq!(long.connect_timeout(), Duration::from_secs(10));
        assert_eq!(long.idle_timeout(), Duration::from_mins(10));
    }

    #[test]
    fn only_http_urls_are_fetched() {
        for url in ["", "all.txt", "file:///etc/passwd", "ftp://h/", "http://"] {
            assert!(
                matches!(address(url), Err(FetchError::BadUrl { .. })),
                "{url}"
            );
        }
        assert!(address("HTTPS://h/").is_ok());
    }

    #[test]
    fn invalid_validator_is_left_out() {
        let conditions = Conditions {
            etag: Some("\"a\"\r\nX: y".to_owned()),
            last_modified: None,
        };
        assert!(conditions.headers().is_empty());
    }
}

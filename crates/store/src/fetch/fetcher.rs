//! One resource at a time, within limits.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, Response, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use tokio::{net::lookup_host, time::Instant};
use url::{Host, Url};

use super::{
    client,
    error::{FetchError, classify},
    is_public, shown_url,
};

/// Longest validator that is kept; a longer one is treated as absent.
const MAX_VALIDATOR_BYTES: usize = 1024;

/// Outbound HTTP client; clones share connections and limits.
#[derive(Clone, Debug)]
pub struct Fetcher {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: FetchLimits,
    client: OnceLock<Client>,
    /// For what a redirect of a public server leads to.
    public_client: OnceLock<Client>,
    direct_client: OnceLock<Client>,
}

/// Limits of one fetch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FetchLimits {
    /// Largest body, in bytes after decompression; 5,000,000 by default.
    pub max_body_bytes: u64,
    /// Longest time for all of it, redirects included; 60 seconds by default.
    ///
    /// Connecting and each wait for a byte get a sixth of it, at least one
    /// second; connecting gets ten seconds at most.
    pub timeout: Duration,
    /// Most redirects that are followed; 5 by default.
    pub max_redirects: usize,
}

/// Validators of the last response, to ask for a newer version.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Conditions {
    /// Sent as `If-None-Match` (RFC 9110 §13.1.2).
    pub etag: Option<String>,
    /// Sent as `If-Modified-Since` (RFC 9110 §13.1.3).
    pub last_modified: Option<String>,
}

/// Outcome of a successful fetch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FetchResponse {
    /// The resource is the one that the conditions describe (304).
    NotModified,
    /// The resource (200).
    Body {
        /// The body, decompressed.
        bytes: Vec<u8>,
        /// `Content-Type` as received.
        content_type: Option<String>,
        /// `ETag`, for the next fetch.
        etag: Option<String>,
        /// `Last-Modified`, for the next fetch.
        last_modified: Option<String>,
    },
}

impl Fetcher {
    /// Creates a fetcher; the client itself is set up by the first fetch.
    ///
    /// So a machine without root certificates can start and serve: only its
    /// fetches fail, with [`FetchError::NoCertificates`].
    ///
    /// # Errors
    ///
    /// Fails when the size or the time limit is zero.
    pub fn new(limits: FetchLimits) -> Result<Self, FetchError> {
        if limits.max_body_bytes == 0 {
            return Err(FetchError::ZeroLimit("max_body_bytes"));
        }
        if limits.timeout.is_zero() {
            return Err(FetchError::ZeroLimit("timeout"));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                limits,
                client: OnceLock::new(),
                public_client: OnceLock::new(),
                direct_client: OnceLock::new(),
            }),
        })
    }

    /// Gets an `http:` or `https:` URL.
    ///
    /// A redirect leads to private addresses only if the URL itself does.
    ///
    /// `progress` hears the bytes so far, and the total where it is announced.
    /// Dropping the future ends the transfer.
    ///
    /// # Errors
    ///
    /// Fails on every status but 200, and 304 where a condition was sent, on
    /// every limit, and on every fault of the network: see [`FetchError`].
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
            // A 304 to an unconditional request is a fault of the server, with nothing to keep.
            StatusCode::NOT_MODIFIED if is_conditional => Ok(FetchResponse::NotModified),
            status => Err(refused(url, status, response.headers())),
        }
    }

    /// Gets a URL in a form that an `Accept` header names.
    ///
    /// # Errors
    ///
    /// Fails as [`fetch`](Self::fetch) does.
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

    /// Gets a URL and follows its redirects.
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
                // By its connection too: an answer of the DNS may be another one by now.
                let peer = response.remote_addr();
                is_private = peer.is_some_and(|peer| !is_public(peer.ip()))
                    && has_private_address(&next).await;
            }
            previous.push(next);
            let mut refusal = client::refusal(&previous, &target, limits.max_redirects);
            if !is_private {
                client = self.public_client()?;
                if refusal.is_none() && has_private_address(&target).await {
                    refusal = Some("it leads to an address that is not public".to_owned());
                }
            }
            if let Some(reason) = refusal {
                let url = shown_url(url);
                return Err(FetchError::Redirect { url, reason });
            }
            next = target;
        }
    }

    /// Returns the limits that every fetch obeys.
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

    /// Returns the client that follows no redirect and uses no proxy.
    pub(super) fn direct_client(&self) -> Result<&Client, FetchError> {
        let limits = &self.inner.limits;
        set_up(&self.inner.direct_client, || client::build_direct(limits))
    }

    async fn body(
        &self,
        url: &str,
        mut response: Response,
        progress: &(dyn Fn(u64, Option<u64>) + Send + Sync),
    ) -> Result<FetchResponse, FetchError> {
        let total = response.content_length();
        // An announced length saves reading what would be refused; it is not relied on below.
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
    /// Returns the limit for setting up a connection.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.part().min(Duration::from_secs(10))
    }

    /// Returns the limit for one wait without a byte.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.part()
    }

    fn part(&self) -> Duration {
        // A part of the whole, not a setting of its own: who shortens the one shortens all of them.
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
    /// Returns the headers to send; a validator that fits in none is left out.
    pub fn headers(&self) -> HeaderMap {
        // Both are sent, as older servers know the date only; one that knows the tag ignores the
        // date (RFC 9110 §13.1.3).
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
    // `OnceLock::get_or_try_init` is not stable. Of two clients that are built at once one is
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

/// Refuses a URL that is not fetched over HTTP.
pub(super) fn check_scheme(url: &Url) -> Result<(), FetchError> {
    match url.scheme() {
        "http" | "https" => Ok(()),
        scheme => Err(FetchError::BadUrl {
            url: shown_url(url.as_str()),
            reason: format!("{scheme}: is not fetched over HTTP"),
        }),
    }
}

/// Returns the URL that a response redirects to, if it is one that is followed.
fn redirect_target(from: &Url, response: &Response) -> Option<Url> {
    if !is_followed(response.status()) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?;
    let mut target = from.join(str::from_utf8(location.as_bytes()).ok()?).ok()?;
    // The password is for its server alone, which need not name it again.
    if target.origin() == from.origin() && target.username().is_empty() {
        target.set_username(from.username()).ok()?;
        target.set_password(from.password()).ok()?;
    }
    Some(target)
}

fn is_followed(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns `true` if a server has an address that is not public; one without any address has none.
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
    // These the client follows. Others may name a place all the same: 300 the one that the server
    // prefers, 305 a proxy (RFC 9110 §15.4.1, §15.4.6).
    let reason = if is_followed(status) || !headers.contains_key(header::LOCATION) {
        format!("the answer {code} names no place to go to")
    } else {
        format!("the answer {code} is not one that is followed")
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
    fn a_limit_of_zero_is_refused() {
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
    fn parts_of_the_time_fit_into_the_whole() {
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
    fn a_validator_that_is_no_header_value_is_left_out() {
        let conditions = Conditions {
            etag: Some("\"a\"\r\nX: y".to_owned()),
            last_modified: None,
        };
        assert!(conditions.headers().is_empty());
    }
}

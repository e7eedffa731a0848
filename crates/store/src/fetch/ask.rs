//! Requests for which any response status is accepted.

use reqwest::{
    StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

use super::{Conditions, FetchError, FetchLimits, Fetcher};

/// A request for which any response status is accepted.
#[derive(Clone, Copy, Debug)]
pub struct AnyStatusRequest<'a> {
    /// The URL with the scheme `http:` or `https:`.
    pub url: &'a str,
    /// The `Host` header to send instead of the host in the URL.
    pub host: Option<&'a str>,
    /// Validators from the last response.
    pub conditions: &'a Conditions,
}

/// A response with any HTTP status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct AnyStatusResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The `Location` header as received.
    pub location: Option<String>,
    /// The `Cache-Control` header as received.
    pub cache_control: Option<String>,
    /// The `ETag` and `Last-Modified` values for the next conditional request.
    pub conditions: Conditions,
    /// The decompressed body of a 200 response; empty for any other status.
    pub bytes: Vec<u8>,
    /// Whether the body was truncated at the size limit.
    pub is_cut: bool,
}

impl Fetcher {
    /// Sends a request directly, without using a proxy and without following redirects.
    ///
    /// A body larger than the limit is truncated, and the rest is not read. The fetcher's timeout
    /// applies.
    ///
    /// # Errors
    ///
    /// Returns an error if the response is not complete within the time limit.
    pub async fn fetch_any(
        &self,
        ask: AnyStatusRequest<'_>,
    ) -> Result<AnyStatusResponse, FetchError> {
        let mut headers = ask.conditions.headers();
        if let Some(host) = ask.host.and_then(|host| HeaderValue::from_str(host).ok()) {
            headers.insert(header::HOST, host);
        }
        let mut response = self
            .direct_client()?
            .get(super::fetcher::address(ask.url)?)
            .headers(headers)
            .send()
            .await
            .map_err(|error| self.classify(ask.url, error))?;
        let mut answered = AnyStatusResponse::new(response.status(), response.headers());
        if response.status() != StatusCode::OK {
            return Ok(answered);
        }
        let read = beginning(&mut response, self.limits()).await;
        (answered.bytes, answered.is_cut) = read.map_err(|error| self.classify(ask.url, error))?;
        Ok(answered)
    }
}

impl AnyStatusResponse {
    fn new(status: StatusCode, headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| super::fetcher::text_of(headers, &name);
        Self {
            status: status.as_u16(),
            location: text(header::LOCATION),
            cache_control: text(header::CACHE_CONTROL),
            conditions: Conditions {
                etag: text(header::ETAG),
                last_modified: text(header::LAST_MODIFIED),
            },
            bytes: Vec::new(),
            is_cut: false,
        }
    }
}

/// Reads a response body up to the size limit. Also returns whether the body was truncated.
async fn beginning(
    response: &mut reqwest::Response,
    limits: &FetchLimits,
) -> reqwest::Result<(Vec<u8>, bool)> {
    let limit = usize::try_from(limits.max_body_bytes).unwrap_or(usize::MAX);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit.saturating_sub(body.len());
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

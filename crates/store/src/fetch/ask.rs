//! Requests whose response is returned whatever its status.

use bytes::Bytes;
use http::{Request, Response};
use reqwest::{
    Client, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

use super::{Conditions, FetchError, FetchLimits, Fetcher, client};

/// Request whose response is returned whatever its status.
#[derive(Clone, Copy, Debug)]
pub struct AnyStatusRequest<'a> {
    /// An `http:` or `https:` URL.
    pub url: &'a str,
    /// `Host` to send in place of the URL's.
    pub host: Option<&'a str>,
    /// Validators of the last response.
    pub conditions: &'a Conditions,
}

/// Response of any status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct AnyStatusResponse {
    /// Status code.
    pub status: u16,
    /// `Location` as received.
    pub location: Option<String>,
    /// `Cache-Control` as received.
    pub cache_control: Option<String>,
    /// `ETag` and `Last-Modified`, for the next request.
    pub conditions: Conditions,
    /// Body of a 200, decompressed; nothing otherwise.
    pub bytes: Vec<u8>,
    /// `true` if the body was longer than the limit.
    pub is_cut: bool,
}

impl Fetcher {
    /// Sends a request directly: without a proxy, and without following redirects.
    ///
    /// A body beyond the limit is cut there and the rest not read. The time
    /// limit is that of every fetch.
    ///
    /// # Errors
    ///
    /// Fails when there is no answer, or not one in time, or it breaks off.
    pub async fn ask(&self, ask: AnyStatusRequest<'_>) -> Result<AnyStatusResponse, FetchError> {
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

/// Reads a body as far as the limits allow; returns whether there is more.
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

/// Client that sends requests as they are, and returns answers of any status.
///
/// It follows no redirect and uses no proxy. Of an answer's body no more is
/// read than the limit.
#[derive(Clone, Debug)]
pub struct Poster {
    client: Client,
    limits: FetchLimits,
}

impl Poster {
    /// Creates a client that keeps to the limits.
    ///
    /// # Errors
    ///
    /// Fails where no client can be made.
    pub fn new(limits: FetchLimits) -> Result<Self, FetchError> {
        let client = client::build_direct(&limits)?;
        Ok(Self { client, limits })
    }

    /// Sends a request, and returns the response with its body.
    ///
    /// # Errors
    ///
    /// Fails when the server cannot be reached, and when the answer takes too long.
    pub async fn send(&self, request: Request<Bytes>) -> reqwest::Result<Response<Bytes>> {
        let mut answer = self.client.execute(request.try_into()?).await?;
        let (body, _) = beginning(&mut answer, &self.limits).await?;
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

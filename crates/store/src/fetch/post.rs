//! Client for requests to a configured server.

use bytes::Bytes;
use http::{Request, Response};
use reqwest::Client;

use super::{FetchError, FetchLimits, client};

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
        let limit = usize::try_from(self.limits.max_body_bytes).unwrap_or(usize::MAX);
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            let room = limit.saturating_sub(body.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if chunk.len() > room {
                break;
            }
        }
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

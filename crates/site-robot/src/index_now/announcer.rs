//! Client that reports changed pages to search engines with `IndexNow`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::{IndexNowKey, IndexedSite};
use robot_detection_store::fetch::{DirectClient, DirectSettings, FetchError};
use robot_detection_store::store::{IndexNowState, Store, StoreError};

/// Maximum number of URLs per request, as set by the protocol.
const MAX_URLS: u32 = 10_000;

/// Maximum number of requests sent after each run.
const MAX_REQUESTS: u32 = 10;

/// Timeout for a request and its response.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of bytes read from a response.
const MAX_ANSWER_BYTES: u64 = 4 * 1024;

/// Minimum and maximum pause after the endpoint has rejected URLs.
const MIN_PAUSE_MS: i64 = 60 * 60 * 1_000;
const MAX_PAUSE_MS: i64 = 24 * MIN_PAUSE_MS;

/// Settings of an [`Announcer`].
#[derive(Clone, Debug)]
pub struct AnnouncerSettings {
    /// Configured key; if `None`, the key is derived from the database's seed.
    pub key: Option<IndexNowKey>,
    /// URL of the `IndexNow` endpoint.
    pub endpoint: Url,
    /// Whether the endpoint may have an address in a private network.
    pub is_private: bool,
}

/// Client that submits pending URLs to search engines; clones share connections.
#[derive(Clone, Debug)]
pub struct Announcer {
    site: IndexedSite,
    endpoint: Url,
    key: Option<IndexNowKey>,
    client: DirectClient,
}

/// Result of an `IndexNow` submission after a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IndexNowResult {
    /// Number of URLs that the endpoint accepted.
    pub taken: u64,
    /// Number of URLs still to be submitted.
    pub waiting: u64,
    /// Reason why URLs were rejected or have not yet been submitted.
    pub failure: Option<String>,
}

/// Rejection of URLs by the `IndexNow` endpoint.
struct Refusal {
    reason: String,
    /// Pause requested by the endpoint.
    pause_ms: Option<i64>,
}

impl IndexNowResult {
    /// Creates the result of a submission that failed before any request.
    pub fn failed(failure: String) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

impl Announcer {
    /// Creates the announcer of a site.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be created.
    pub fn new(settings: AnnouncerSettings, site: IndexedSite) -> Result<Self, FetchError> {
        let client = DirectClient::new(DirectSettings {
            connect_timeout: TIMEOUT,
            idle_timeout: TIMEOUT,
            timeout: TIMEOUT,
            max_body_bytes: MAX_ANSWER_BYTES,
            is_public_only: !settings.is_private,
            ..DirectSettings::default()
        })?;
        Ok(Self {
            site,
            endpoint: settings.endpoint,
            key: settings.key,
            client,
        })
    }

    /// Records the changes that a run published, and submits the pending URLs.
    ///
    /// After a rejection, URLs are submitted again by a run that ends at least one hour later, then
    /// two hours, four hours, and so on up to a day, or after the pause that the endpoint requests.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
    pub async fn announce(
        &self,
        store: &Store,
        (site, run_id): (&str, i64),
        now_ms: i64,
    ) -> Result<IndexNowResult, StoreError> {
        let is_wanted = |url: &str| self.site.contains_public(url);
        store
            .index_now()
            .queue_changes(site, run_id, is_wanted, now_ms)
            .await?;
        let mut state = store.index_now().state(site).await?.unwrap_or_default();
        if state.next_ms > now_ms {
            return Ok(IndexNowResult {
                taken: 0,
                waiting: store.index_now().queued_count(site).await?,
                failure: state.failure,
            });
        }
        let key = self.key(store, site).await?;
        let (mut taken, mut refusal, mut is_any) = (0, None, false);
        for _ in 0..MAX_REQUESTS {
            let urls = store.index_now().urls(site, MAX_URLS).await?;
            let Some((last, noted_ms)) = urls.last() else {
                break;
            };
            is_any = true;
            if let Err(refused) = self.post(&key, &urls).await {
                refusal = Some(refused);
                break;
            }
            taken += urls.len() as u64;
            store
                .index_now()
                .remove(site, (last.as_str(), *noted_ms))
                .await?;
        }
        if is_any {
            state = state_after(&state, taken, refusal, now_ms);
            store.index_now().save(site, &state).await?;
        }
        Ok(IndexNowResult {
            taken,
            waiting: store.index_now().queued_count(site).await?,
            failure: state.failure.filter(|_| is_any),
        })
    }

    /// Requests the key file as search engines do, and returns a description of the problem, if
    /// any.
    pub async fn key_file_error(&self, key: &IndexNowKey) -> Option<String> {
        let url = self.site.url(key.path());
        let Ok(address) = Url::parse(&url) else {
            return Some(format!("{url} is not a valid URL"));
        };
        let (get, headers) = (Method::GET, HeaderMap::new());
        let asked = self
            .client
            .send_beginning(get, &address, headers, MAX_ANSWER_BYTES);
        match asked.await {
            Err(error) => Some(format!("cannot request {url}: {error}")),
            Ok(answer) if answer.status != 200 => {
                Some(format!("{url} returned status {}", answer.status))
            }
            Ok(answer) => {
                let is_key = answer.body.trim_ascii() == key.as_str().as_bytes();
                (!is_key).then(|| format!("{url} does not contain the key"))
            }
        }
    }

    /// Returns the key that identifies a site.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails.
    pub async fn key(&self, store: &Store, site: &str) -> Result<IndexNowKey, StoreError> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let own = [fastrand::u64(..), fastrand::u64(..)];
        Ok(IndexNowKey::from_seed(store.pace().seed(own).await?, site))
    }

    async fn post(&self, key: &IndexNowKey, urls: &[(String, i64)]) -> Result<(), Refusal> {
        let urls: Vec<&str> = urls.iter().map(|(url, _)| url.as_str()).collect();
        let body = json!({
            "host": self.site.host(),
            "key": key.as_str(),
            "keyLocation": self.site.url(key.path()),
            "urlList": urls,
        });
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, json);
        let body = Bytes::from(body.to_string());
        let sent = self
            .client
            .post(&self.endpoint, headers, body, MAX_ANSWER_BYTES);
        let answer = sent.await.map_err(|error| Refusal {
            reason: error.to_string(),
            pause_ms: None,
        })?;
        let why = match answer.status {
            200 | 202 => return Ok(()),
            400 => "invalid request",
            403 => "the key file is missing or invalid; run robot-detection doctor",
            422 => "the URLs or the key do not belong to this site",
            429 => "too many URLs were submitted in a short time",
            300..400 => "redirects are not followed; set index_now.endpoint",
            _ => "temporarily unavailable",
        };
        let retry_after = answer.headers.get(header::RETRY_AFTER);
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse::<i64>().ok());
        Err(Refusal {
            reason: format!("{} returned {}: {why}", self.endpoint, answer.status),
            pause_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
        })
    }
}

/// Returns the state after a submission, which includes the time of the next attempt.
fn state_after(
    before: &IndexNowState,
    taken: u64,
    refusal: Option<Refusal>,
    now_ms: i64,
) -> IndexNowState {
    let Some(refusal) = refusal else {
        return IndexNowState {
            told_ms: now_ms,
            taken,
            ..IndexNowState::default()
        };
    };
    let doubled = MIN_PAUSE_MS.saturating_mul(1 << before.failures.min(5));
    let pause_ms = refusal.pause_ms.unwrap_or(doubled);
    IndexNowState {
        told_ms: now_ms,
        taken,
        failure: Some(refusal.reason),
        failures: before.failures.saturating_add(1),
        next_ms: now_ms.saturating_add(pause_ms.clamp(MIN_PAUSE_MS, MAX_PAUSE_MS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = MIN_PAUSE_MS;

    #[test]
    fn rejections_increase_the_pause_until_success() {
        let refusal = |pause_ms| {
            Some(Refusal {
                reason: "no".to_owned(),
                pause_ms,
            })
        };
        let mut state = IndexNowState::default();
        for hours in [1, 2, 4, 8, 16, 24, 24] {
            state = state_after(&state, 0, refusal(None), 0);
            assert_eq!(state.next_ms, hours * HOUR_MS);
            assert_eq!(state.failure.as_deref(), Some("no"));
        }
        let told = |pause_ms| state_after(&state, 0, refusal(Some(pause_ms)), 0).next_ms;
        assert_eq!(told(3 * HOUR_MS), 3 * HOUR_MS);
        assert_eq!(told(1_000), HOUR_MS);
        assert_eq!(told(i64::MAX), 24 * HOUR_MS);
        let state = state_after(&state, 7, None, 5);
        assert_eq!((state.taken, state.failures, state.next_ms), (7, 0, 0));
        assert_eq!(state.failure, None);
    }
}

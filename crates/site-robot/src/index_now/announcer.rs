//! Who tells search engines.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::{IndexNowKey, IndexedSite};
use robot_detection_store::fetch::{DirectClient, DirectSettings, FetchError};
use robot_detection_store::store::{IndexNowState, Store, StoreError};

/// URLs of one request, as the protocol allows.
const MAX_URLS: u32 = 10_000;

/// Requests behind one run.
const MAX_REQUESTS: u32 = 10;

/// Time for a request and its answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 4 * 1024;

/// Shortest and longest time for which nobody is asked again who did not take what he was told.
const MIN_PAUSE_MS: i64 = 60 * 60 * 1_000;
const MAX_PAUSE_MS: i64 = 24 * MIN_PAUSE_MS;

/// Who is told of a site's pages.
#[derive(Clone, Debug)]
pub struct AnnouncerSettings {
    /// Key that is set; `None`: one of the database's own.
    pub key: Option<IndexNowKey>,
    /// URL that is told.
    pub endpoint: Url,
    /// Whether that may have an address of a private network.
    pub is_private: bool,
}

/// Tells search engines of URLs that wait in the database; clones share connections.
#[derive(Clone, Debug)]
pub struct Announcer {
    site: IndexedSite,
    endpoint: Url,
    key: Option<IndexNowKey>,
    client: DirectClient,
}

/// What search engines were told behind a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IndexNowTold {
    /// URLs that were taken.
    pub taken: u64,
    /// URLs that still wait.
    pub waiting: u64,
    /// Why they were not taken, or are not told yet.
    pub failure: Option<String>,
}

/// Why URLs were not taken.
struct Refusal {
    reason: String,
    /// Pause that it asks for.
    pause_ms: Option<i64>,
}

impl IndexNowTold {
    /// Creates what came of it where nobody was told.
    pub fn failed(failure: String) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

impl Announcer {
    /// Creates one of a site.
    ///
    /// # Errors
    ///
    /// Fails where no client can be made.
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

    /// Notes what the publication of a run has changed, and tells what waits.
    ///
    /// Where they do not take it, they are asked again behind a run that ends after an hour, after
    /// two and four and so on up to a day, or when they say.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn tell(
        &self,
        store: &Store,
        (site, run_id): (&str, i64),
        now_ms: i64,
    ) -> Result<IndexNowTold, StoreError> {
        let is_wanted = |url: &str| self.site.has(url);
        store
            .index_now()
            .note(site, run_id, is_wanted, now_ms)
            .await?;
        let mut state = store.index_now().state(site).await?.unwrap_or_default();
        if state.next_ms > now_ms {
            return Ok(IndexNowTold {
                taken: 0,
                waiting: store.index_now().waiting(site).await?,
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
                .forget(site, (last.as_str(), *noted_ms))
                .await?;
        }
        if is_any {
            state = state_after(&state, taken, refusal, now_ms);
            store.index_now().save(site, &state).await?;
        }
        Ok(IndexNowTold {
            taken,
            waiting: store.index_now().waiting(site).await?,
            failure: state.failure.filter(|_| is_any),
        })
    }

    /// Asks for the key's file as search engines do; returns what they would find amiss.
    pub async fn file_fault(&self, key: &IndexNowKey) -> Option<String> {
        let url = self.site.url(key.path());
        let Ok(address) = Url::parse(&url) else {
            return Some(format!("{url} is no URL"));
        };
        let (get, headers) = (Method::GET, HeaderMap::new());
        let asked = self
            .client
            .send_beginning(get, &address, headers, MAX_ANSWER_BYTES);
        match asked.await {
            Err(error) => Some(format!("{url} cannot be asked for: {error}")),
            Ok(answer) if answer.status != 200 => Some(format!("{url} answers {}", answer.status)),
            Ok(answer) => {
                let is_key = answer.body.trim_ascii() == key.as_str().as_bytes();
                (!is_key).then(|| format!("{url} does not hold the key"))
            }
        }
    }

    /// Returns the key of a site.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn key(&self, store: &Store, site: &str) -> Result<IndexNowKey, StoreError> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let own = [fastrand::u64(..), fastrand::u64(..)];
        Ok(IndexNowKey::made(store.pace().seed(own).await?, site))
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
            400 => "the request is said to be wrong",
            403 => "the key's file is said to be missing or wrong: see what doctor says of it",
            422 => "URLs or key are said not to be of this site",
            429 => "too many URLs were told in a short time",
            300..400 => "it redirects, which is not followed: set index_now.endpoint",
            _ => "it cannot take them now",
        };
        let retry_after = answer.headers.get(header::RETRY_AFTER);
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse::<i64>().ok());
        Err(Refusal {
            reason: format!("{} answered {}: {why}", self.endpoint, answer.status),
            pause_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
        })
    }
}

/// Returns how the telling went, and when they are asked again.
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
    fn who_refuses_is_asked_ever_more_seldom_until_he_takes_it() {
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

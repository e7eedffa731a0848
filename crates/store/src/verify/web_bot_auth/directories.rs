//! Fetches and caches key directories.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderValue, Method, header};
use moka::sync::Cache;
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::{Mutex, Semaphore},
    time::timeout,
};
use url::Url;

use super::{
    SignatureSettings,
    agent::{Discovery, KeyUrl},
    key::{self, Key},
    possession::{self, DirectoryRequest},
    refusal::Refusal,
};
use crate::fetch::{DirectClient, DirectResponse, DirectSettings, FetchError};
use robot_detection_layer::clock::Clock;

/// The well-known path of a key directory, relative to an origin.
pub(super) const PATH: &str = "/.well-known/http-message-signatures-directory";
/// The media type of a key directory.
pub(super) const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";

/// The media type requested for other key sets and metadata documents.
///
/// The media type of the response is not checked: RFC 7517 §8.5 registers
/// `application/jwk-set+json`, but key sets are commonly served as plain JSON.
const JSON: &str = "application/json";

const MAX_BYTES: u64 = 64 * 1024;
/// The minimum time between two fetches of the same key directory.
const PAUSE_MS: i64 = 60_000;
/// The time for which a key directory is fresh, in seconds: minimum, default without
/// `Cache-Control`, and maximum.
const MIN_FRESH_S: i64 = 60;
const USUAL_FRESH_S: i64 = 60 * 60;
const MAX_FRESH_S: i64 = 24 * 60 * 60;
/// The time for which keys remain in use while their directory is unavailable.
const MAX_STALE_MS: i64 = 24 * 60 * 60 * 1_000;

/// Key directories, key sets and metadata documents, by URL.
#[derive(Debug)]
pub(super) struct Directories {
    known: Cache<KeyUrl, Arc<DirectorySlot>>,
    fetches: Semaphore,
    client: OnceLock<DirectClient>,
    settings: SignatureSettings,
    clock: Clock,
}

/// A cache slot for a directory, which is locked while the directory is being fetched.
#[derive(Debug, Default)]
struct DirectorySlot {
    state: ArcSwap<DirectoryState>,
    fetching: Mutex<()>,
}

/// The state of a cached directory.
#[derive(Clone, Debug, Default)]
struct DirectoryState {
    keys: Option<Arc<[Key]>>,
    fresh_until_ms: i64,
    tried_ms: Option<i64>,
    failure: String,
}

/// The result of looking up a key in memory.
#[derive(Debug)]
pub(super) enum Lookup {
    /// The directory contains the key.
    Known(Key),
    /// The directory was fetched, but does not contain the key.
    Unknown,
    /// The directory is unavailable for this reason.
    Unavailable(String),
    /// The directory must be fetched first.
    NotFetched,
}

impl Directories {
    pub(super) fn new(settings: SignatureSettings, clock: Clock) -> Self {
        Self {
            known: Cache::new(settings.max_directories.max(1) as u64),
            fetches: Semaphore::new(settings.max_fetches.max(1)),
            client: OnceLock::new(),
            settings,
            clock,
        }
    }

    /// Looks up a directory's key in memory.
    pub(super) fn find(&self, origin: &KeyUrl, keyid: &str) -> Lookup {
        match self.known.get(origin) {
            Some(place) => place.state.load().find(keyid, self.clock.now_ms()),
            None => Lookup::NotFetched,
        }
    }

    /// Fetches a key directory, unless another task has just done so.
    ///
    /// A failure is also stored; known keys are retained.
    pub(super) async fn fetch(&self, origin: &KeyUrl, keyid: &str) -> Result<(), Refusal> {
        let place = self.known.get_with(origin.clone(), Arc::default);
        let _one_at_a_time = place.fetching.lock().await;
        let state = place.state.load_full();
        if !matches!(state.find(keyid, self.clock.now_ms()), Lookup::NotFetched) {
            return Ok(());
        }
        let waited = timeout(self.settings.fetch_timeout, self.fetches.acquire()).await;
        let Ok(Ok(_permit)) = waited else {
            return Err(Refusal::TooManyFetches);
        };
        let answer = self.answer(origin).await;
        let next = state.after(answer, self.clock.now_ms());
        place.state.store(Arc::new(next));
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn learn(&self, origin: KeyUrl, keys: Vec<Key>) {
        let state = DirectoryState::default().after(Ok((keys, MAX_FRESH_S)), self.clock.now_ms());
        let place = self.known.get_with(origin, Arc::default);
        place.state.store(Arc::new(state));
    }

    /// Returns the keys of an agent, and the number of seconds for which they are fresh.
    async fn answer(&self, agent: &KeyUrl) -> Result<(Vec<Key>, i64), String> {
        let parse = |url: &str| Url::parse(url).map_err(|error| error.to_string());
        let url = parse(agent.as_str())?;
        match agent.discovery() {
            Discovery::Directory => {
                let url = parse(&format!("{agent}{PATH}"))?;
                self.key_set(&url, Some(MEDIA_TYPE)).await
            }
            Discovery::KeySet => self.key_set(&url, None).await,
            Discovery::Metadata => self.by_metadata(&url).await,
        }
    }

    /// Fetches a key set. A directory must have the given media type.
    async fn key_set(
        &self,
        url: &Url,
        media_type: Option<&'static str>,
    ) -> Result<(Vec<Key>, i64), String> {
        let answer = self.get(url, media_type.unwrap_or(JSON)).await?;
        if let Some(media_type) = media_type {
            check_type(&answer, media_type)?;
        }
        let mut keys = keys_of(&answer.body)?;
        let asked = DirectoryRequest {
            authority: url.authority(),
            now_s: self.clock.now_ms().div_euclid(1_000),
            skew_s: i64::try_from(self.settings.clock_skew.as_secs()).unwrap_or(i64::MAX),
        };
        possession::record(&mut keys, &answer.headers, asked);
        Ok((keys, fresh_s(&text(&answer.headers, header::CACHE_CONTROL))))
    }

    /// Fetches a metadata document and, if it contains no keys, the key set to which it refers.
    async fn by_metadata(&self, url: &Url) -> Result<(Vec<Key>, i64), String> {
        let answer = self.get(url, JSON).await?;
        let metadata = Metadata::read(&answer.body, url)?;
        let fresh_s = fresh_s(&text(&answer.headers, header::CACHE_CONTROL));
        match metadata {
            Metadata::Keys(keys) => Ok((keys, fresh_s)),
            Metadata::KeySet(url) => {
                // The document is the operator's, but its URL is external input: plain text and
                // other schemes are not allowed.
                let is_fetched = url.scheme() == "https" || self.settings.allow_http;
                if !is_fetched || !matches!(url.scheme(), "https" | "http") {
                    return Err("jwks_uri is not an https URL".to_owned());
                }
                let (keys, set_fresh_s) = self.key_set(&url, None).await?;
                // The keys are fresh only while both documents are.
                Ok((keys, fresh_s.min(set_fresh_s)))
            }
        }
    }

    async fn get(&self, url: &Url, media_type: &'static str) -> Result<DirectResponse, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(media_type));
        let client = self.client().map_err(|error| error.to_string())?;
        let answer = client.send(Method::GET, url, headers).await;
        let answer = answer.map_err(|error| error.to_string())?;
        // The client follows no redirects, since another host must not respond on behalf of this
        // host.
        if answer.status == 200 {
            Ok(answer)
        } else {
            Err(format!(
                "the server returned {}, but only 200 is accepted",
                answer.status
            ))
        }
    }

    /// Returns the client, which is created at first use so that a machine without root
    /// certificates can serve requests.
    fn client(&self) -> Result<&DirectClient, FetchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The client rejects a limit of zero.
        let limit = self.settings.fetch_timeout.max(Duration::from_millis(1));
        let client = DirectClient::new(DirectSettings {
            connect_timeout: limit,
            idle_timeout: limit,
            timeout: limit,
            max_body_bytes: MAX_BYTES,
            is_public_only: !self.settings.allow_private_networks,
            ..DirectSettings::default()
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl DirectoryState {
    fn find(&self, keyid: &str, now_ms: i64) -> Lookup {
        let was_just_tried = self
            .tried_ms
            .is_some_and(|tried| now_ms.saturating_sub(tried) < PAUSE_MS);
        if !was_just_tried && now_ms >= self.fresh_until_ms {
            return Lookup::NotFetched;
        }
        let Some(keys) = &self.keys else {
            return Lookup::Unavailable(self.failure.clone());
        };
        match keys.iter().find(|key| key.keyid == keyid) {
            Some(key) => Lookup::Known(key.clone()),
            // The key may be newer than the copy: fetch again, at most once a minute.
            None if !was_just_tried => Lookup::NotFetched,
            None if self.failure.is_empty() => Lookup::Unknown,
            None => Lookup::Unavailable(self.failure.clone()),
        }
    }

    /// Returns the state of a directory after a fetch.
    ///
    /// Keys that are no longer in the directory are removed; if the directory is unavailable, its
    /// keys remain in use for a day.
    fn after(&self, answer: Result<(Vec<Key>, i64), String>, now_ms: i64) -> Self {
        match answer {
            Ok((keys, fresh_s)) => Self {
                keys: Some(keys.into()),
                fresh_until_ms: now_ms.saturating_add(fresh_s.saturating_mul(1_000)),
                tried_ms: Some(now_ms),
                failure: String::new(),
            },
            Err(failure) => {
                let stale_until_ms = self.fresh_until_ms.saturating_add(MAX_STALE_MS);
                Self {
                    keys: self.keys.clone().filter(|_| now_ms < stale_until_ms),
                    fresh_until_ms: self.fresh_until_ms,
                    tried_ms: Some(now_ms),
                    failure,
                }
            }
        }
    }
}

/// The keys, or the URL of a key set, in a robot's Client ID Metadata Document.
enum Metadata {
    Keys(Vec<Key>),
    KeySet(Url),
}

#[derive(Deserialize)]
struct MetadataJson {
    client_id: Option<String>,
    jwks: Option<Value>,
    jwks_uri: Option<String>,
}

impl Metadata {
    /// Parses a document fetched from a URL (draft-meunier-webbotauth-registry).
    fn read(json: &[u8], url: &Url) -> Result<Self, String> {
        let json: MetadataJson = serde_json::from_slice(json)
            .map_err(|_| "not a client metadata document".to_owned())?;
        // A copy of a document at another URL must not be accepted on behalf of the document's
        // owner.
        if json.client_id.as_deref() != Some(url.as_str()) {
            return Err("client_id is not the document's URL".to_owned());
        }
        match (json.jwks, json.jwks_uri) {
            (Some(_), Some(_)) => Err("the document has both jwks and jwks_uri".to_owned()),
            (None, None) => Err("the document has neither jwks nor jwks_uri".to_owned()),
            (Some(keys), None) => keys_of(keys.to_string().as_bytes()).map(Self::Keys),
            (None, Some(url)) => match Url::parse(&url) {
                Ok(url) => Ok(Self::KeySet(url)),
                Err(_) => Err("jwks_uri is not an https URL".to_owned()),
            },
        }
    }
}

fn keys_of(json: &[u8]) -> Result<Vec<Key>, String> {
    key::keys(json).ok_or_else(|| format!("not a key set, or more than {} keys", key::MAX_KEYS))
}

fn check_type(answer: &DirectResponse, media_type: &str) -> Result<(), String> {
    let kind = text(&answer.headers, header::CONTENT_TYPE);
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(media_type) {
        Ok(())
    } else {
        Err(format!("the media type is not {media_type}"))
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    let lines = headers.get_all(name);
    let lines: Vec<_> = lines.iter().filter_map(|it| it.to_str().ok()).collect();
    lines.join(", ")
}

/// Returns the time in seconds for which a response is fresh according to `Cache-Control`, within
/// our limits.
fn fresh_s(cache_control: &str) -> i64 {
    let mut fresh = USUAL_FRESH_S;
    for directive in cache_control.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return MIN_FRESH_S,
            "max-age" => {
                let value = value.trim().trim_matches('"');
                let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                // A number that is too large for the type means a long time.
                if is_number {
                    fresh = value.parse().unwrap_or(MAX_FRESH_S);
                }
            }
            _ => {}
        }
    }
    fresh.clamp(MIN_FRESH_S, MAX_FRESH_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::web_bot_auth::key::keys;

    fn key() -> Key {
        let x = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";
        let jwks = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#);
        keys(jwks.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn freshness_is_limited() {
        for (cache_control, seconds) in [
            ("", USUAL_FRESH_S),
            ("public", USUAL_FRESH_S),
            ("max-age=x", USUAL_FRESH_S),
            ("max-age=0", MIN_FRESH_S),
            ("no-store", MIN_FRESH_S),
            ("public, Max-Age=\"600\"", 600),
            ("max-age=99999999999999999999999", MAX_FRESH_S),
        ] {
            assert_eq!(fresh_s(cache_control), seconds, "{cache_control}");
        }
    }

    #[test]
    fn keys_outlive_a_failure_but_not_a_removal() {
        let key = key();
        let find = |state: &DirectoryState, now_s: i64| state.find(&key.keyid, now_s * 1_000);
        let known = DirectoryState::default().after(Ok((vec![key.clone()], 600)), 0);
        assert!(matches!(find(&known, 599), Lookup::Known(_)));
        assert!(matches!(find(&known, 600), Lookup::NotFetched));
        let failed = known.after(Err("gone".to_owned()), 600_000);
        assert!(matches!(find(&failed, 659), Lookup::Known(_)));
        assert!(matches!(find(&failed, 660), Lookup::NotFetched));
        let late_s = 600 + MAX_STALE_MS / 1_000;
        let late = failed.after(Err("gone".to_owned()), late_s * 1_000);
        assert!(matches!(find(&late, late_s), Lookup::Unavailable(why) if why == "gone"));
        let removed = known.after(Ok((Vec::new(), 600)), 600_000);
        assert!(matches!(find(&removed, 600), Lookup::Unknown));
    }

    #[test]
    fn unknown_key_is_fetched_once_a_minute() {
        let known = DirectoryState::default().after(Ok((vec![key()], 3_600)), 0);
        assert!(matches!(known.find("other", 59_999), Lookup::Unknown));
        assert!(matches!(known.find("other", 60_000), Lookup::NotFetched));
        let failed = known.after(Err("gone".to_owned()), 60_000);
        assert!(matches!(
            failed.find("other", 60_001),
            Lookup::Unavailable(_)
        ));
        assert!(matches!(
            failed.find(&key().keyid, 60_001),
            Lookup::Known(_)
        ));
    }
}

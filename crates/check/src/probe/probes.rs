//! Accepts probes at the decision endpoint and at this program's proxy, and stores observations
//! about them.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, header::AUTHORIZATION};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::warn;

use robot_detection_http::listen::RequestContext;
use robot_detection_layer::clock::Clock;
use robot_detection_layer::layer::Outcome;
use robot_detection_store::store::Store;
use robot_detection_traffic::traffic::decision_name;

use super::{PROBE_HEADER, ProbeKey, Purpose, token::Token};

/// Maximum number of used tokens in memory; when the limit is reached, further tokens are refused.
const MAX_USED: usize = 1_000;
/// Maximum number of bytes of a header's value that are stored.
const MAX_VALUE_BYTES: usize = 200;

/// The acceptor of probes, which accepts each token only once.
#[derive(Debug)]
pub struct Probes {
    /// Key for verifying tokens; `None` until the seed has been read from the database.
    key: Option<ProbeKey>,
    /// Expiry of each used token, by the token's ID, in seconds since 1970.
    used: Mutex<HashMap<String, i64>>,
    store: Store,
    clock: Clock,
    /// Start time of the process. Tokens created earlier are refused, because they may already have
    /// been used.
    started_ms: i64,
    runtime: Handle,
    tasks: TaskTracker,
}

/// A probe that is waiting for the decision about it.
#[derive(Debug)]
pub struct Probe {
    probes: Arc<Probes>,
    id: String,
    /// Whether the probe tests how the front proxy handles a missing response from the endpoint.
    pub is_silent: bool,
    note: Note,
}

/// A component that received a probe.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbePoint {
    /// The decision endpoint, queried by a front proxy.
    Endpoint,
    /// This program's own proxy.
    Proxy,
}

/// The record of a probe request that reached this server.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Note {
    /// Component that received the probe.
    pub door: ProbePoint,
    /// Address of the visitor, as specified in the probe request.
    pub address: IpAddr,
    /// Path and query of the probe request.
    pub target: String,
    /// Headers of the probe request, with lowercase names; long values are truncated.
    pub headers: Vec<(String, String)>,
    /// Name of the decision about the probe; empty if no decision was made.
    pub decision: String,
    pub(crate) cause: String,
}

/// The error for a token that is forged, expired or already used.
#[derive(Debug)]
pub struct ForgedToken;

impl Probes {
    /// Creates an acceptor of probes.
    pub fn new(seed: Option<[u64; 2]>, store: Store, clock: Clock, tasks: TaskTracker) -> Self {
        Self {
            key: seed.map(ProbeKey::new),
            used: Mutex::default(),
            store,
            started_ms: clock.now_ms(),
            clock,
            runtime: Handle::current(),
            tasks,
        }
    }

    /// Removes the token from a request and records the request; returns `None` if the request
    /// contains no token.
    ///
    /// # Errors
    ///
    /// Returns an error if the token is forged, expired or already used.
    #[inline]
    pub fn take_token(
        self: &Arc<Self>,
        request: &mut Request<RequestContext>,
        door: ProbePoint,
    ) -> Result<Option<Box<Probe>>, ForgedToken> {
        if !request.headers().contains_key(PROBE_HEADER) {
            return Ok(None);
        }
        let token = request.headers_mut().remove(PROBE_HEADER);
        let token = token.and_then(|token| self.use_once(token.to_str().ok()?));
        let Token { id, purpose, .. } = token.ok_or(ForgedToken)?;
        let is_silent = match purpose {
            Purpose::Answer => false,
            Purpose::Silence => true,
            Purpose::Reload | Purpose::AcceptedReload => return Err(ForgedToken),
        };
        let headers = request.headers().iter().filter(|(name, _)| is_shown(name));
        let note = Note {
            door,
            address: request.body().client().client,
            target: request
                .uri()
                .path_and_query()
                .map_or_else(String::new, ToString::to_string),
            headers: headers
                .map(|(name, value)| (name.as_str().to_owned(), cut(value)))
                .collect(),
            decision: String::new(),
            cause: String::new(),
        };
        Ok(Some(Box::new(Probe {
            probes: Arc::clone(self),
            id,
            is_silent,
            note,
        })))
    }

    /// Uses up a reload token. Returns whether the reload must be applied even if it would be held
    /// for review, or `None` if the token is invalid.
    pub fn take_reload(&self, headers: &HeaderMap) -> Option<bool> {
        let token = headers.get(AUTHORIZATION)?.to_str().ok()?;
        match self.use_once(token.strip_prefix("Bearer ")?)?.purpose {
            Purpose::Reload => Some(false),
            Purpose::AcceptedReload => Some(true),
            Purpose::Answer | Purpose::Silence => None,
        }
    }

    fn use_once(&self, token: &str) -> Option<Token> {
        let now_ms = self.clock.now_ms();
        let token = self.key.as_ref()?.read(token, now_ms)?;
        if token.created_s() < self.started_ms / 1_000 {
            return None;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, expires_s| *expires_s >= now_ms / 1_000);
        let is_new = used.len() < MAX_USED && !used.contains_key(&token.id);
        is_new.then(|| {
            used.insert(token.id.clone(), token.expires_s);
            token
        })
    }
}

impl Probe {
    /// Stores the record of the probe with the decision about it.
    pub fn store(self, outcome: Option<&Outcome>) {
        let Self {
            probes,
            id,
            mut note,
            is_silent,
        } = self;
        let nobody = Outcome::default();
        let outcome = outcome.unwrap_or(&nobody);
        if !is_silent {
            decision_name(outcome).clone_into(&mut note.decision);
            outcome.cause().clone_into(&mut note.cause);
        }
        let (store, now_ms) = (probes.store.clone(), probes.clock.now_ms());
        probes.tasks.spawn_on(
            async move {
                let text = serde_json::to_string(&note).unwrap_or_default();
                if let Err(error) = store.probes().save(&id, &text, now_ms).await {
                    warn!(%error, "could not store a probe from doctor: {error}");
                }
            },
            &probes.runtime,
        );
    }
}

/// Returns `false` for headers that may contain secrets.
fn is_shown(name: &HeaderName) -> bool {
    !matches!(
        name.as_str(),
        "authorization" | "cookie" | "x-robot-detection-token"
    )
}

fn cut(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    let bytes = bytes.get(..MAX_VALUE_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn token_is_valid_once_and_for_a_minute() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let (clock, seed) = (Clock::manual(1_000_000), Some([1, 2]));
        let probes = Probes::new(seed, store, clock, TaskTracker::new());
        let key_of_before = ProbeKey::new([1, 2]).token("0", Purpose::Answer, 990_000);
        assert!(
            probes.use_once(&key_of_before).is_none(),
            "the token is older than the process"
        );
        let key = |seed| ProbeKey::new(seed);
        let made = |seed, id: &str, at_ms| key(seed).token(id, Purpose::Answer, at_ms);
        probes.clock.advance(std::time::Duration::from_secs(100));
        let token = made([1, 2], "a", 1_100_000);
        assert!(probes.use_once(&token).is_some());
        assert!(probes.use_once(&token).is_none(), "already used");
        assert!(probes.use_once(&made([1, 2], "b", 1_040_000)).is_some());
        for (wrong, why) in [
            (made([1, 2], "c", 1_038_000), "expired"),
            (made([1, 2], "d", 1_200_000), "from the future"),
            (made([1, 3], "e", 1_000_000), "from another installation"),
            (token.replace("a.", "f."), "changed"),
            (token.replace("answer", "silence"), "changed"),
            (String::new(), "empty"),
        ] {
            assert!(probes.use_once(&wrong).is_none(), "{why}: {wrong}");
        }
        for number in 0..2 * MAX_USED {
            let token = made([1, 2], &number.to_string(), 1_100_000);
            probes.use_once(&token);
        }
        assert!(probes.used.lock().unwrap().len() <= MAX_USED);
    }
}

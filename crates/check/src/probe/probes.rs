//! Takes probes at the doors, and stores what was seen of them.

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
use robot_detection_traffic::traffic::decision_word;

use super::{PROBE_HEADER, ProbeKey, Purpose, token::Token};

/// Most tokens that are remembered as used; more are refused.
const MAX_USED: usize = 1_000;
/// Most bytes that are kept of a header's value.
const MAX_VALUE_BYTES: usize = 200;

/// Takes probes, each token once.
#[derive(Debug)]
pub struct Probes {
    /// `None`: the database has not told the seed, so no token is valid.
    key: Option<ProbeKey>,
    /// When used tokens expire, in seconds since 1970, by their ids.
    used: Mutex<HashMap<String, i64>>,
    store: Store,
    clock: Clock,
    /// Tokens of before may have been used.
    started_ms: i64,
    runtime: Handle,
    tasks: TaskTracker,
}

/// A probe whose decision is awaited.
#[derive(Debug)]
pub struct Probe {
    probes: Arc<Probes>,
    id: String,
    /// Whether nothing is to be counted.
    pub is_silent: bool,
    note: Note,
}

/// Door at which a probe arrived.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// The decision endpoint.
    Endpoint,
    /// Our own proxy.
    Proxy,
}

/// Note about a probe.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Note {
    /// Door at which it arrived.
    pub door: Door,
    /// Address of the visitor.
    pub address: IpAddr,
    /// Path and query.
    pub target: String,
    /// Names in lower case; long values are cut.
    pub headers: Vec<(String, String)>,
    /// Word for the decision; empty: none was made.
    pub decision: String,
    pub(crate) cause: String,
}

/// Error of a token that is forged, too old or used.
#[derive(Debug)]
pub struct ForgedToken;

impl Probes {
    /// Creates the keeper of probes.
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

    /// Takes the token from a request, and notes the request; `None`: it has no token.
    ///
    /// # Errors
    ///
    /// Fails if the token is forged, too old or used.
    #[inline]
    pub fn take(
        self: &Arc<Self>,
        request: &mut Request<RequestContext>,
        door: Door,
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

    /// Takes the token of a reload; returns whether the reload is accepted, `None` if the token is wrong.
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
        if token.made_s() < self.started_ms / 1_000 {
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
    /// Stores what was seen and decided.
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
            decision_word(outcome).clone_into(&mut note.decision);
            outcome.cause().clone_into(&mut note.cause);
        }
        let (store, now_ms) = (probes.store.clone(), probes.clock.now_ms());
        probes.tasks.spawn_on(
            async move {
                let text = serde_json::to_string(&note).unwrap_or_default();
                if let Err(error) = store.probes().note(&id, &text, now_ms).await {
                    warn!(%error, "cannot note a request of doctor: {error}");
                }
            },
            &probes.runtime,
        );
    }
}

/// Returns `false` for headers that hold secrets of the proxy's.
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
    async fn a_token_is_good_once_and_for_a_minute() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let (clock, seed) = (Clock::manual(1_000_000), Some([1, 2]));
        let probes = Probes::new(seed, store, clock, TaskTracker::new());
        let key_of_before = ProbeKey::new([1, 2]).token("0", Purpose::Answer, 990_000);
        assert!(
            probes.use_once(&key_of_before).is_none(),
            "the process is new"
        );
        let key = |seed| ProbeKey::new(seed);
        let made = |seed, id: &str, at_ms| key(seed).token(id, Purpose::Answer, at_ms);
        probes.clock.advance(std::time::Duration::from_secs(100));
        let token = made([1, 2], "a", 1_100_000);
        assert!(probes.use_once(&token).is_some());
        assert!(probes.use_once(&token).is_none(), "it comes again");
        assert!(probes.use_once(&made([1, 2], "b", 1_040_000)).is_some());
        for (wrong, why) in [
            (made([1, 2], "c", 1_038_000), "it is too old"),
            (made([1, 2], "d", 1_200_000), "it is from the future"),
            (
                made([1, 3], "e", 1_000_000),
                "it is of another installation",
            ),
            (token.replace("a.", "f."), "it was changed"),
            (token.replace("answer", "silence"), "it was changed"),
            (String::new(), "it is empty"),
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

//! The administrator's login sessions, stored in the database.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::Response,
};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use tower::{Layer, ServiceExt};
use tower_sessions::{
    Expiry, Session, SessionManagerLayer, SessionStore,
    cookie::SameSite,
    session::{Id, Record},
    session_store,
};

use super::{
    access::{self, Visitor},
    login_client::LoginOrigin,
    page::RequestLocation,
    problem::Problem,
    settings::Access,
    state::AdminState,
};
use robot_detection_layer::clock::Clock;
use robot_detection_operations::sessions::{
    self, BEGUN, BROWSER, EndedSessions, NETWORK, SESSION_MS,
};
use robot_detection_store::store::{Access as AccessTable, DatabaseOutage, Store};

/// Lifetime of a session, regardless of its use.
const LIFE: time::Duration = time::Duration::milliseconds(SESSION_MS);
/// Maximum time between a session's last lookup and the start of a database outage for the session
/// to remain valid, because another instance may have ended the session in the meantime.
const CONFIRMED_MS: i64 = 60 * 60 * 1_000;
/// Maximum number of sessions cached in memory.
const MAX_KNOWN: usize = 100;
const COOKIE: &str = "robot-detection-admin";
/// The keys under which values are stored in a session.
const CSRF: &str = "csrf";
const ENDS: &str = "ends_ms";

/// A session store backed by the database.
///
/// Only the SHA-256 of a session's ID is stored, so a copy of the database or a backup is not
/// enough to take over a session.
#[derive(Clone, Debug)]
struct DatabaseSessions {
    store: Store,
    clock: Clock,
    known: CachedSessions,
}

/// A cache of sessions, which is used while the database is unavailable.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedSessions {
    by_id: Arc<Mutex<HashMap<String, CachedSession>>>,
}

#[derive(Clone, Debug)]
struct CachedSession {
    data: String,
    confirmed_ms: i64,
}

/// Attaches the login session to each request.
pub(super) async fn load_session(
    State(state): State<AdminState>,
    request: Request,
    next: Next,
) -> Response {
    let Access::Login { secure_cookies } = state.admin().access else {
        return next.run(request).await;
    };
    let sessions = DatabaseSessions {
        store: state.operations().store.clone(),
        clock: state.operations().clock.clone(),
        known: state.cached_sessions().clone(),
    };
    let cookie_path = cookie_path(&access::location(request.extensions()));
    let layer = SessionManagerLayer::new(sessions)
        .with_name(COOKIE)
        // Scripts cannot read the cookie (RFC 6265 §5.2.6), and requests caused by other sites do
        // not include it.
        .with_http_only(true)
        .with_same_site(SameSite::Strict)
        .with_secure(secure_cookies)
        .with_path(cookie_path)
        // This is only the lifetime of the cookie: the session's end is part of its data, and using
        // the session does not change it.
        .with_expiry(Expiry::OnInactivity(LIFE));
    match layer.layer(next).oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Starts a session under a new ID, and ends any earlier session of the request.
///
/// Keeping the old ID would also log in an attacker who planted this ID (session fixation,
/// CWE-384).
pub(super) async fn begin_session(
    session: &Session,
    origin: &LoginOrigin,
    now_ms: i64,
) -> Result<(), Problem> {
    // No data from the earlier session is kept.
    session.clear().await;
    session.cycle_id().await.map_err(failed)?;
    let csrf = Id::default().to_string();
    session.insert(CSRF, csrf).await.map_err(failed)?;
    session.insert(BEGUN, now_ms).await.map_err(failed)?;
    // These fields help administrators to distinguish sessions, without storing the full address.
    if let Some(network) = origin.network() {
        session.insert(NETWORK, network).await.map_err(failed)?;
    }
    let browser = origin.browser();
    session.insert(BROWSER, browser).await.map_err(failed)?;
    session
        .insert(ENDS, now_ms.saturating_add(SESSION_MS))
        .await
        .map_err(failed)
}

/// Returns the ID under which the store saves a session.
pub(super) fn stored_id(session: &Session) -> Option<String> {
    session.id().map(hashed)
}

/// Returns the key that identifies a session in lists.
pub(super) fn session_key(session: &Session) -> Option<String> {
    stored_id(session).map(|id| AccessTable::session_key(&id))
}

/// Ends the session with the given key, both in the database and in memory.
pub(super) async fn end_by_key(
    state: &AdminState,
    visitor: &Visitor,
    key: &str,
) -> Result<(), Problem> {
    sessions::end(&state.caller_as(visitor), key).await?;
    state.cached_sessions().remove_key(key);
    Ok(())
}

/// Ends all sessions except the current one.
pub(super) async fn end_other_sessions(
    state: &AdminState,
    visitor: &Visitor,
    session: Option<&Session>,
) -> Result<EndedSessions, Problem> {
    let current = session.and_then(stored_id);
    let ended = sessions::end_others(&state.caller_as(visitor), current.as_deref()).await?;
    // The next use of the current session adds it to the cache again.
    state.cached_sessions().clear();
    Ok(ended)
}

/// Ends a session of the console.
pub(super) async fn end(session: &Session) -> Result<(), Problem> {
    session.flush().await.map_err(failed)
}

/// Returns the CSRF token of the session; `None` if the session has no login.
pub(super) async fn csrf(
    session: &Session,
) -> Result<Option<String>, tower_sessions::session::Error> {
    session.get::<String>(CSRF).await
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err passes the error by value"
)]
pub(super) fn failed(error: tower_sessions::session::Error) -> Problem {
    let mut problem = Problem::internal(&format!("session: {error}"));
    problem.status = StatusCode::SERVICE_UNAVAILABLE;
    problem
}

/// Returns the path of the session cookie, which covers only the admin pages.
pub(super) fn cookie_path(location: &RequestLocation) -> String {
    let is_plain = location
        .prefix
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'));
    if location.prefix.is_empty() || !is_plain {
        "/".to_owned()
    } else {
        location.prefix.clone()
    }
}

impl CachedSessions {
    /// Removes all cached sessions; when the password changes, the database removes all sessions
    /// too.
    pub(super) fn clear(&self) {
        self.by_id.lock().clear();
    }

    /// Removes the cached session with the given key, because the session has ended.
    pub(super) fn remove_key(&self, key: &str) {
        self.by_id
            .lock()
            .retain(|id, _| AccessTable::session_key(id) != key);
    }

    fn confirm(&self, id: String, data: &str, now_ms: i64) {
        let mut by_id = self.by_id.lock();
        if by_id.len() >= MAX_KNOWN && !by_id.contains_key(&id) {
            let oldest = by_id.iter().min_by_key(|(_, known)| known.confirmed_ms);
            let oldest = oldest.map(|(id, _)| id.clone()).unwrap_or_default();
            // The session that was confirmed longest ago becomes invalid first.
            by_id.remove(&oldest);
        }
        let known = CachedSession {
            data: data.to_owned(),
            confirmed_ms: now_ms,
        };
        by_id.insert(id, known);
    }

    fn forget(&self, id: &str) {
        self.by_id.lock().remove(id);
    }

    /// Returns a session that was valid when the outage began and has not expired since then.
    fn find(&self, id: &str, away_ms: i64, now_ms: i64) -> Option<String> {
        let by_id = self.by_id.lock();
        let known = by_id.get(id)?;
        let data: HashMap<String, Value> = serde_json::from_str(&known.data).ok()?;
        let is_confirmed = known.confirmed_ms.saturating_add(CONFIRMED_MS) > away_ms;
        (is_confirmed && ends_ms(&data) > now_ms).then(|| known.data.clone())
    }
}

#[async_trait]
impl SessionStore for DatabaseSessions {
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        // The ID needs no uniqueness check, because 128 random bits do not collide.
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> session_store::Result<()> {
        let data = serde_json::to_string(&record.data)
            .map_err(|error| session_store::Error::Encode(error.to_string()))?;
        self.store
            .access()
            .save_session(&hashed(record.id), &data, ends_ms(&record.data))
            .await
            .map_err(backend)
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        let (now_ms, hashed) = (self.clock.now_ms(), hashed(*id));
        let data = match self.store.access().load_session(&hashed, now_ms).await {
            Ok(Some(data)) => {
                // Each use updates the copy, so that the copy is current when a database outage
                // begins.
                self.known.confirm(hashed, &data, now_ms);
                Some(data)
            }
            Ok(None) => {
                // The session was ended elsewhere, and the copy must not revive it during an
                // outage.
                self.known.forget(&hashed);
                None
            }
            Err(error) => {
                let known = |away: &DatabaseOutage| self.known.find(&hashed, away.since_ms, now_ms);
                let found = error.outage().and_then(known);
                Some(found.ok_or_else(|| backend(error))?)
            }
        };
        data.map(|data| record(*id, &data)).transpose()
    }

    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        // Removed from memory first, so that the session ends even if the database cannot be
        // reached.
        self.known.forget(&hashed(*id));
        self.store
            .access()
            .delete_session(&hashed(*id))
            .await
            .map_err(backend)
    }
}

fn record(id: Id, data: &str) -> session_store::Result<Record> {
    let data: HashMap<String, Value> = serde_json::from_str(data)
        .map_err(|error| session_store::Error::Decode(error.to_string()))?;
    let expiry_date = OffsetDateTime::from_unix_timestamp(ends_ms(&data).div_euclid(1_000))
        .map_err(|error| session_store::Error::Decode(error.to_string()))?;
    Ok(Record {
        id,
        data,
        expiry_date,
    })
}

/// Returns the end of a session; using the session does not extend its lifetime.
fn ends_ms(data: &HashMap<String, Value>) -> i64 {
    data.get(ENDS).and_then(Value::as_i64).unwrap_or(0)
}

fn hashed(id: Id) -> String {
    hex::encode(Sha256::digest(id.to_string()))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err passes the error by value"
)]
fn backend(error: robot_detection_store::store::StoreError) -> session_store::Error {
    session_store::Error::Backend(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(prefix: &str) -> String {
        cookie_path(&RequestLocation {
            prefix: prefix.to_owned(),
            ..RequestLocation::default()
        })
    }

    #[test]
    fn cookie_is_limited_to_the_admin_pages() {
        assert_eq!(path("/robot-detection/admin"), "/robot-detection/admin");
        assert_eq!(path(""), "/");
    }

    #[test]
    fn prefix_cannot_add_attributes_to_the_cookie() {
        assert_eq!(path("/x; Domain=evil.example"), "/");
        assert_eq!(path("/x\r\nSet-Cookie: a=b"), "/");
    }

    #[test]
    fn session_stays_valid_until_it_expires_while_the_database_is_unavailable() {
        let known = CachedSessions::default();
        let data = format!("{{\"{ENDS}\": 10000000}}");
        known.confirm("a".to_owned(), &data, 1_000);
        assert_eq!(known.find("a", 2_000, 9_999_999), Some(data.clone()));
        assert_eq!(known.find("a", 2_000, 10_000_000), None, "expired");
        assert_eq!(known.find("a", 1_000 + CONFIRMED_MS, 9_000_000), None);
        assert_eq!(known.find("b", 2_000, 3_000), None);
        for number in 0..MAX_KNOWN {
            known.confirm(number.to_string(), &data, 2_000);
        }
        assert_eq!(known.find("a", 2_000, 3_000), None, "the oldest goes");
        known.forget("1");
        assert_eq!(known.find("1", 2_000, 3_000), None);
    }

    #[test]
    fn database_never_contains_a_session_id() {
        let id = Id::default();
        assert_eq!(hashed(id).len(), 64);
        assert!(!hashed(id).contains(&id.to_string()));
    }
}

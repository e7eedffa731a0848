//! The administrator's sessions, kept in the database.

use std::collections::HashMap;

use async_trait::async_trait;
use axum::{
    extract::{Request, State},
    http::StatusCode,
    middleware::Next,
    response::Response,
};
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

use super::{access, page::Place, problem::Problem, settings::Access, state::AdminState};
use crate::clock::Clock;
use crate::description::hex;
use crate::store::Store;

/// Hours after which one has to log in again.
const LIFE_HOURS: i64 = 12;
const LIFE_MS: i64 = LIFE_HOURS * 60 * 60 * 1_000;
const COOKIE: &str = "robot-detection-admin";
/// Keys of a session's data.
const CSRF: &str = "csrf";
const ENDS: &str = "ends_ms";

/// Sessions in the database; the id is kept as its SHA-256 only.
#[derive(Clone, Debug)]
struct DatabaseSessions {
    store: Store,
    clock: Clock,
}

/// Gives each request its session.
pub(super) async fn manage(
    State(state): State<AdminState>,
    request: Request,
    next: Next,
) -> Response {
    let Access::Login { secure_cookies } = state.admin().access else {
        return next.run(request).await;
    };
    let sessions = DatabaseSessions {
        store: state.admin().store.clone(),
        clock: state.admin().clock.clone(),
    };
    let cookie_path = cookie_path(&access::place(request.extensions()));
    let layer = SessionManagerLayer::new(sessions)
        .with_name(COOKIE)
        .with_http_only(true)
        .with_same_site(SameSite::Strict)
        .with_secure(secure_cookies)
        .with_path(cookie_path)
        .with_expiry(Expiry::OnInactivity(time::Duration::hours(LIFE_HOURS)));
    match layer.layer(next).oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Begins a session under a new id; one that was brought along ends.
pub(super) async fn begin(session: &Session, now_ms: i64) -> Result<(), Problem> {
    session.clear().await;
    session.cycle_id().await.map_err(failed)?;
    let csrf = Id::default().to_string();
    session.insert(CSRF, csrf).await.map_err(failed)?;
    session
        .insert(ENDS, now_ms.saturating_add(LIFE_MS))
        .await
        .map_err(failed)
}

/// Ends a session.
pub(super) async fn end(session: &Session) -> Result<(), Problem> {
    session.flush().await.map_err(failed)
}

/// Returns the token of the session's forms; none where nobody has logged in.
pub(super) async fn csrf(session: &Session) -> Result<Option<String>, Problem> {
    session.get::<String>(CSRF).await.map_err(failed)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what map_err hands over"
)]
fn failed(error: tower_sessions::session::Error) -> Problem {
    let mut problem = Problem::internal(&format!("session: {error}"));
    problem.status = StatusCode::SERVICE_UNAVAILABLE;
    problem
}

/// Returns the path for which the cookie is sent: below the admin pages only.
fn cookie_path(place: &Place) -> String {
    let is_plain = place
        .prefix
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\'));
    if place.prefix.is_empty() || !is_plain {
        "/".to_owned()
    } else {
        place.prefix.clone()
    }
}

#[async_trait]
impl SessionStore for DatabaseSessions {
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        self.save(record).await
    }

    async fn save(&self, record: &Record) -> session_store::Result<()> {
        let data = serde_json::to_string(&record.data)
            .map_err(|error| session_store::Error::Encode(error.to_string()))?;
        self.store
            .save_session(&hashed(record.id), &data, ends_ms(&record.data))
            .await
            .map_err(backend)
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        let now_ms = self.clock.now_ms();
        let data = self
            .store
            .load_session(&hashed(*id), now_ms)
            .await
            .map_err(backend)?;
        data.map(|data| record(*id, &data)).transpose()
    }

    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        self.store
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

/// Returns when a session ends: it is never put off.
fn ends_ms(data: &HashMap<String, Value>) -> i64 {
    data.get(ENDS).and_then(Value::as_i64).unwrap_or(0)
}

fn hashed(id: Id) -> String {
    hex(&Sha256::digest(id.to_string()))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what map_err hands over"
)]
fn backend(error: crate::store::StoreError) -> session_store::Error {
    session_store::Error::Backend(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(prefix: &str) -> String {
        cookie_path(&Place {
            prefix: prefix.to_owned(),
            ..Place::default()
        })
    }

    #[test]
    fn the_cookie_stays_below_the_admin_pages() {
        assert_eq!(path("/robot-detection/admin"), "/robot-detection/admin");
        assert_eq!(path(""), "/");
    }

    #[test]
    fn a_prefix_cannot_add_attributes_to_the_cookie() {
        assert_eq!(path("/x; Domain=evil.example"), "/");
        assert_eq!(path("/x\r\nSet-Cookie: a=b"), "/");
    }

    #[test]
    fn the_database_never_sees_a_session_id() {
        let id = Id::default();
        assert_eq!(hashed(id).len(), 64);
        assert!(!hashed(id).contains(&id.to_string()));
    }
}

//! Sessions: as lists show them, and ended.

use std::collections::HashMap;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use serde::Serialize;
use serde_json::{Value, json};
use tower_sessions::Session;
use tracing::info;

use crate::admin::{
    access::Visitor,
    changes,
    fields::CsrfProof,
    moment::Moment,
    problem::Problem,
    session::{self, BEGUN, BROWSER, NETWORK},
    state::AdminState,
};
use crate::store::{StoreErrorKind, StoredSession};

/// Session as lists show it: nothing of its data but where and when it began.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SessionView {
    /// Key by which it is ended.
    pub(crate) key: String,
    pub(crate) begun: Moment,
    /// To some minutes.
    pub(crate) seen: Moment,
    pub(crate) ends: Moment,
    /// Network of the address from which somebody logged in.
    pub(crate) network: Option<String>,
    pub(crate) browser: Option<String>,
    /// It is that of the request.
    pub(crate) is_current: bool,
}

impl SessionView {
    pub(crate) fn new(stored: &StoredSession, current: Option<&str>, now_ms: i64) -> Self {
        let data: HashMap<String, Value> = serde_json::from_str(&stored.data).unwrap_or_default();
        let text = |key| data.get(key).and_then(Value::as_str).map(str::to_owned);
        let begun_ms = data.get(BEGUN).and_then(Value::as_i64);
        // A session of an older version does not say when it began; how long each lasts is known.
        let begun_ms = begun_ms.unwrap_or(stored.expires_ms - session::LIFE_MS);
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        Self {
            key: stored.key.clone(),
            begun: moment(begun_ms),
            seen: moment(stored.seen_ms.max(begun_ms)),
            ends: moment(stored.expires_ms),
            network: text(NETWORK),
            browser: text(BROWSER),
            is_current: current == Some(&*stored.key),
        }
    }

    /// Returns all of them, that of the request first.
    pub(super) async fn all(
        state: &AdminState,
        session: Option<&Session>,
    ) -> Result<Vec<Self>, Problem> {
        let now_ms = state.now_ms();
        let current = session.and_then(session::key);
        let stored = state.admin().store.sessions(now_ms).await?;
        let view = |stored| Self::new(stored, current.as_deref(), now_ms);
        let mut views: Vec<_> = stored.iter().map(view).collect();
        views.sort_by_key(|view| !view.is_current);
        Ok(views)
    }
}

/// Ends the session with this key.
pub(super) async fn end(state: &AdminState, visitor: &Visitor, key: &str) -> Result<(), Problem> {
    let ended = state.admin().store.end_session(key, state.now_ms()).await;
    ended.map_err(|error| match error.kind() {
        StoreErrorKind::NotFound => Problem::not_found("There is no such session; it has ended."),
        _ => error.into(),
    })?;
    state.cached_sessions().forget_key(key);
    info!(key, "the session {key} was ended");
    changes::record(state, visitor, "session-ended", key, "").await;
    Ok(())
}

/// Ends all sessions but that of the request; returns how many.
pub(super) async fn end_others(
    state: &AdminState,
    visitor: &Visitor,
    session: Option<&Session>,
) -> Result<u64, Problem> {
    let id = session.and_then(session::stored_id);
    let ended = state
        .admin()
        .store
        .end_other_sessions(id.as_deref())
        .await?;
    // That of the request is confirmed again by its next use.
    state.cached_sessions().clear();
    info!(ended, "all other sessions were ended: {ended}");
    let detail = format!("{ended} sessions");
    changes::record(state, visitor, "sessions-ended", "all others", &detail).await;
    Ok(ended)
}

/// Returns the name of a browser and its system, such as `Firefox on Linux`.
///
/// In short, as people tell their own devices apart by it; nothing is decided by it.
pub(in crate::admin) fn browser_name(user_agent: &str) -> String {
    // In this order, as most of them name those after them too.
    const BROWSERS: &[(&str, &str)] = &[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    const SYSTEMS: &[(&str, &str)] = &[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("CrOS", "ChromeOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let named = |table: &[(&str, &'static str)]| {
        let mut rows = table.iter();
        let row = rows.find(|(mark, _)| user_agent.contains(mark));
        row.map(|(_, name)| *name)
    };
    match (named(BROWSERS), named(SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => format!("another browser on {system}"),
        (None, None) => "another browser".to_owned(),
    }
}

pub(in crate::admin) async fn json(
    State(state): State<AdminState>,
    session: Option<axum::Extension<Session>>,
) -> Result<Json<Value>, Problem> {
    let session = session.as_deref();
    let sessions = SessionView::all(&state, session).await?;
    Ok(Json(json!({ "sessions": sessions })))
}

pub(in crate::admin) async fn end_json(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    _proof: CsrfProof,
    Path(key): Path<String>,
) -> Result<StatusCode, Problem> {
    end(&state, &visitor, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(in crate::admin) async fn end_others_json(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    session: Option<axum::Extension<Session>>,
    _proof: CsrfProof,
) -> Result<Json<Value>, Problem> {
    let session = session.as_deref();
    let ended = end_others(&state, &visitor, session).await?;
    Ok(Json(json!({ "ended": ended })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_in_short() {
        for (user_agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) \
                 Chrome/152.0.0.0 Safari/537.36 Edg/152.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 \
                 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1",
                "Safari on iOS",
            ),
            ("curl/8.15.0", "curl"),
            ("<script>alert(1)</script>", "another browser"),
            ("", "another browser"),
        ] {
            assert_eq!(browser_name(user_agent), name);
        }
    }
}

//! Lists and ends console sessions.

use std::collections::HashMap;

use robot_detection_store::store::{StoreErrorKind, StoredSession};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tracing::info;

use crate::{Caller, Moment, Refusal};

type Data = HashMap<String, Value>;

/// Maximum age of a session in milliseconds.
pub const SESSION_MS: i64 = 12 * 60 * 60 * 1_000;

/// Key in a session's data for the login time, in milliseconds since 1970.
pub const BEGUN: &str = "begun_ms";
/// Key in a session's data for the network from which the administrator logged in.
pub const NETWORK: &str = "network";
/// Key in a session's data for the name of the browser.
pub const BROWSER: &str = "browser";

/// A login session of the console.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Session {
    /// Key by which the session can be ended.
    pub key: String,
    /// Time of the login.
    #[serde(rename = "started")]
    pub begun: Moment,
    /// Time of the session's most recent use, accurate to a few minutes.
    pub seen: Moment,
    /// Expiry of the session.
    pub ends: Moment,
    /// Network from which the administrator logged in.
    pub network: Option<String>,
    /// Browser and operating system, such as `Firefox on Linux`.
    pub browser: Option<String>,
    /// Whether this session is the caller's own session.
    pub is_current: bool,
}

/// All sessions of the console.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionList")]
pub struct Sessions {
    /// Sessions; the caller's own session comes first.
    pub sessions: Vec<Session>,
}

/// The result of ending sessions.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct EndedSessions {
    /// Number of sessions that were ended.
    pub ended: u64,
}

impl Session {
    fn new(stored: &StoredSession, current: Option<&str>, now_ms: i64) -> Self {
        let data = data(stored);
        let begun_ms = data.get(BEGUN).and_then(Value::as_i64);
        let begun_ms = begun_ms.unwrap_or(stored.expires_ms - SESSION_MS);
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        Self {
            key: stored.key.clone(),
            begun: moment(begun_ms),
            seen: moment(stored.seen_ms.max(begun_ms)),
            ends: moment(stored.expires_ms),
            network: text(&data, NETWORK),
            browser: text(&data, BROWSER),
            is_current: current == Some(&*stored.key),
        }
    }
}

/// Returns the network from which the session was started.
pub fn network(stored: &StoredSession) -> Option<String> {
    text(&data(stored), NETWORK)
}

fn data(stored: &StoredSession) -> Data {
    serde_json::from_str(&stored.data).unwrap_or_default()
}

fn text(data: &Data, key: &str) -> Option<String> {
    data.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Lists all sessions; `current` is the key of the caller's session.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn list(caller: &Caller<'_>, current: Option<&str>) -> Result<Sessions, Refusal> {
    let stored = caller.store.access().sessions(caller.now_ms).await?;
    let session = |stored| Session::new(stored, current, caller.now_ms);
    let mut sessions: Vec<_> = stored.iter().map(session).collect();
    sessions.sort_by_key(|session| !session.is_current);
    Ok(Sessions { sessions })
}

/// Ends the session with this key.
///
/// # Errors
///
/// Returns an error if the session does not exist, or if a database operation fails.
pub async fn end(caller: &Caller<'_>, key: &str) -> Result<(), Refusal> {
    let ended = caller.store.access().end_session(key, caller.now_ms).await;
    ended.map_err(|error| match error.kind() {
        StoreErrorKind::NotFound => Refusal::not_found("This session does not exist or has ended."),
        _ => error.into(),
    })?;
    info!(key, "the session {key} was ended");
    caller.record("session-ended", key, "").await;
    Ok(())
}

/// Ends all sessions except the one with this ID.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn end_others(
    caller: &Caller<'_>,
    current_id: Option<&str>,
) -> Result<EndedSessions, Refusal> {
    let ended = caller.store.access().end_other_sessions(current_id).await?;
    info!(ended, "all other sessions were ended: {ended}");
    let detail = format!("{ended} sessions");
    caller.record("sessions-ended", "all others", &detail).await;
    Ok(EndedSessions { ended })
}

/// Returns the names of a browser and its operating system, such as `Firefox on Linux`.
///
/// The short name helps users to recognise their devices; no decision depends on it.
pub fn browser_name(user_agent: &str) -> String {
    // The order matters, because most User-Agents also contain later names in this list.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_gets_a_short_name() {
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

//! Database errors.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use sqlx::migrate::MigrateError;
use tokio::sync::Notify;
use tracing::{info, warn};

/// An error from a database operation.
///
/// The text contains the failed operation, the database, the cause and advice, but never a
/// password.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct StoreError {
    text: String,
    kind: StoreErrorKind,
    absence: Option<Arc<DatabaseOutage>>,
}

/// The kind of a store error, for callers that need to distinguish errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database URL is invalid or its scheme is unsupported.
    BadUrl,
    /// The database cannot be opened: wrong permissions or password, or the file is not a database.
    CannotOpen,
    /// The tables could not be migrated, or were created by a newer version of the program.
    Migration,
    /// Another process is using the database; the same call may succeed later.
    Busy,
    /// The database does not respond; the same call may succeed later.
    Unavailable,
    /// A row with the same key already exists.
    Conflict,
    /// The requested row does not exist.
    NotFound,
    /// The lease that protected the operation has expired, and another process has acquired it.
    LeaseLost,
    /// Stored data cannot be read.
    Corrupt,
    /// The error has any other cause.
    Other,
}

/// The engine and location of a database, without a password, for use in error texts.
#[derive(Clone, Debug)]
pub(super) struct DatabaseLocation {
    pub(super) engine: Engine,
    pub(super) url: String,
    pub(super) trouble: Arc<FailureSignal>,
}

/// A signal from failed statements to the task that monitors the database.
#[derive(Debug, Default)]
pub(super) struct FailureSignal {
    /// The notification that a statement failed because of the database, not the statement.
    pub(super) bell: Notify,
    /// Whether the engine has reported damaged data.
    pub(super) is_damage: AtomicBool,
}

/// A database engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

/// A database outage, with its start time and its reason.
///
/// During an outage, [`Store`](super::Store) calls fail immediately without contacting the database.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DatabaseOutage {
    /// The time when the outage was noticed, in milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// The failed operation, the database, the cause and advice, as text without a password.
    pub reason: String,
    /// The kind of the error that caused the outage.
    pub kind: StoreErrorKind,
}

/// The reason why a statement failed immediately while the database is known to be unavailable.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.reason)]
pub(super) struct UnavailableError(pub(super) Arc<DatabaseOutage>);

impl StoreError {
    /// Returns the kind of this error.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    pub(super) fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            kind,
            absence: None,
        }
    }

    /// Returns the outage, if the database was already known to be unavailable before the call.
    pub fn outage(&self) -> Option<&DatabaseOutage> {
        self.absence.as_deref()
    }

    /// Creates the error for a failed statement; `what` completes the sentence "cannot …".
    pub(super) fn from_statement(
        what: &str,
        place: &DatabaseLocation,
        error: &sqlx::Error,
    ) -> Self {
        let kind = kind_of(place.engine, error);
        // The task that monitors the database has already logged the reason once for all
        // statements.
        if let Some(absence) = known_absence(error) {
            let text = format!("cannot {what}: the database is unavailable");
            let absence = Some(Arc::clone(absence));
            return Self {
                text,
                kind,
                absence,
            };
        }
        let cause = cause_of(error);
        place.note(error, kind);
        let mut text = format!("cannot {what} in {place}: {cause}");
        if let Some(advice) = advice(place.engine, kind) {
            text.push_str("; ");
            text.push_str(advice);
        }
        Self::new(kind, text)
    }

    /// Creates the error for a database that cannot be opened.
    pub(super) fn from_open(place: &DatabaseLocation, error: &sqlx::Error, advice: &str) -> Self {
        let kind = match kind_of(place.engine, error) {
            StoreErrorKind::Corrupt | StoreErrorKind::Other => StoreErrorKind::CannotOpen,
            kind => kind,
        };
        let cause = cause_of(error);
        let advice = match kind_of(place.engine, error) {
            kind @ StoreErrorKind::Busy => self::advice(place.engine, kind).unwrap_or(advice),
            StoreErrorKind::Corrupt if place.engine == Engine::Sqlite => {
                "specify an SQLite database, or replace a damaged one with \
                 `robot-detection database restore`"
            }
            _ => advice,
        };
        Self::new(
            kind,
            format!("cannot open the database {place}: {cause}; {advice}"),
        )
    }

    /// Creates the error for tables that cannot be migrated.
    pub(super) fn from_migration(place: &DatabaseLocation, error: &MigrateError) -> Self {
        let why = match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => {
                return Self::of_migration_statement(place, cause);
            }
            MigrateError::VersionMissing(version) => format!(
                "its tables were created by a newer version of this program (unknown migration \
                 {version}); upgrade the program, or restore a backup from before the upgrade"
            ),
            MigrateError::VersionMismatch(version) => format!(
                "its migration {version} differs from the one in this program; use a released \
                 version of the program, or another database"
            ),
            other => format!("{other}; restore a backup, or use another database"),
        };
        Self::new(
            StoreErrorKind::Migration,
            format!("cannot use the database {place}: {why}"),
        )
    }

    fn of_migration_statement(place: &DatabaseLocation, error: &sqlx::Error) -> Self {
        let mut found = Self::from_statement("create or change the tables", place, error);
        if matches!(found.kind, StoreErrorKind::Conflict | StoreErrorKind::Other) {
            found.kind = StoreErrorKind::Migration;
            found
                .text
                .push_str("; use a separate database, or a user with permission to create tables");
        }
        found
    }

    /// Returns `true` if the error is temporary, so that the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Busy | StoreErrorKind::Unavailable
        )
    }
}

impl DatabaseOutage {
    pub(super) fn new(since_ms: i64, error: &StoreError) -> Self {
        Self {
            since_ms,
            reason: error.to_string(),
            kind: error.kind(),
        }
    }
}

impl DatabaseLocation {
    pub(super) fn new(engine: Engine, url: String) -> Self {
        Self {
            engine,
            url,
            trouble: Arc::default(),
        }
    }

    /// Wakes the task that monitors the database if the database itself has failed.
    fn note(&self, error: &sqlx::Error, kind: StoreErrorKind) {
        // A row that cannot be decoded is also `Corrupt`, but does not indicate file damage.
        let is_damage =
            kind == StoreErrorKind::Corrupt && matches!(error, sqlx::Error::Database(_));
        if is_damage {
            self.trouble.is_damage.store(true, Ordering::Relaxed);
        }
        if is_damage || kind == StoreErrorKind::Unavailable {
            self.trouble.bell.notify_one();
        }
    }
}

impl Engine {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl StoreError {
    /// Creates the error for a damaged `SQLite` file, to which nothing is written.
    pub(super) fn damaged_file(place: &DatabaseLocation, why: &str) -> Self {
        Self::new(
            StoreErrorKind::Corrupt,
            format!(
                "the database {place} is damaged: {why}; the file is left unchanged. Use \
                 `robot-detection database restore` to restore a backup, or `robot-detection \
                 database new` to start with an empty database"
            ),
        )
    }
}

pub(super) fn kind_of(engine: Engine, error: &sqlx::Error) -> StoreErrorKind {
    match error {
        sqlx::Error::Database(cause) if cause.is_unique_violation() => StoreErrorKind::Conflict,
        sqlx::Error::Database(cause) => {
            let code = cause.code().unwrap_or_default();
            match engine {
                Engine::Sqlite => kind_from_sqlite_code(&code),
                Engine::Postgres => kind_of_postgres_code(&code),
            }
        }
        // A file's connections can only be busy; a server without free connections may be down.
        sqlx::Error::PoolTimedOut if engine == Engine::Sqlite => StoreErrorKind::Busy,
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolClosed
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => StoreErrorKind::Unavailable,
        sqlx::Error::RowNotFound => StoreErrorKind::NotFound,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}

fn known_absence(error: &sqlx::Error) -> Option<&Arc<DatabaseOutage>> {
    let sqlx::Error::Io(cause) = error else {
        return None;
    };
    let away: &UnavailableError = cause.get_ref()?.downcast_ref()?;
    Some(&away.0)
}

pub(super) fn cause_of(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(cause) => cause.message().to_owned(),
        sqlx::Error::Io(cause) => cause.to_string(),
        sqlx::Error::PoolClosed => "the database was closed".to_owned(),
        sqlx::Error::PoolTimedOut => "timed out waiting for a connection".to_owned(),
        other => other.to_string(),
    }
}

fn advice(engine: Engine, kind: StoreErrorKind) -> Option<&'static str> {
    match (kind, engine) {
        (StoreErrorKind::Busy, Engine::Sqlite) => {
            Some("another process is writing to the file; try again, or stop that process")
        }
        (StoreErrorKind::Busy, Engine::Postgres) => Some("the server is busy; try again"),
        (StoreErrorKind::Unavailable, Engine::Sqlite) => {
            Some("check the disk and the file's permissions")
        }
        (StoreErrorKind::Unavailable, Engine::Postgres) => {
            Some("check that the server is running and reachable")
        }
        (StoreErrorKind::CannotOpen, _) => Some("check this user's permissions"),
        (StoreErrorKind::Corrupt, Engine::Sqlite) => {
            Some("restore a backup with `robot-detection database restore`")
        }
        (StoreErrorKind::Corrupt, Engine::Postgres) => Some("restore a backup"),
        _ => None,
    }
}

/// Returns the error kind for a `PostgreSQL` SQLSTATE code.
///
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn kind_of_postgres_code(code: &str) -> StoreErrorKind {
    match code {
        // lock_not_available, query_canceled (statement_timeout)
        "55P03" | "57014" => StoreErrorKind::Busy,
        // invalid_catalog_name, insufficient_privilege
        "3D000" | "42501" => StoreErrorKind::CannotOpen,
        // read_only_sql_transaction: a standby server, or a failover in progress
        "25006" => StoreErrorKind::Unavailable,
        "XX001" | "XX002" => StoreErrorKind::Corrupt,
        _ if code.starts_with("28") => StoreErrorKind::CannotOpen,
        _ if code.starts_with("40") => StoreErrorKind::Busy,
        // connection exceptions, resources, intervention, system errors, idle timeouts
        _ if ["08", "53", "57", "58", "25P"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            StoreErrorKind::Unavailable
        }
        _ => StoreErrorKind::Other,
    }
}

/// Returns the error kind for an `SQLite` result code.
///
/// <https://www.sqlite.org/rescode.html>: the low byte is the primary result code.
pub(super) fn kind_from_sqlite_code(code: &str) -> StoreErrorKind {
    match code.parse::<u32>().map(|code| code & 0xff) {
        // BUSY, LOCKED
        Ok(5 | 6) => StoreErrorKind::Busy,
        // PERM, READONLY, CANTOPEN, AUTH
        Ok(3 | 8 | 14 | 23) => StoreErrorKind::CannotOpen,
        // NOMEM, INTERRUPT, IOERR, FULL, PROTOCOL
        Ok(7 | 9 | 10 | 13 | 15) => StoreErrorKind::Unavailable,
        // CORRUPT, NOTADB
        Ok(11 | 26) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Other,
    }
}

/// A logger for outages that affect a background task; each start and each end is logged once.
#[derive(Debug)]
pub struct OutageLogger {
    is_on: bool,
    begins: &'static str,
    ends: &'static str,
}

impl OutageLogger {
    /// Creates an outage logger with the messages for the start and the end of an outage.
    pub const fn new(begins: &'static str, ends: &'static str) -> Self {
        Self {
            is_on: false,
            begins,
            ends,
        }
    }

    /// Logs the start of an outage on the first failure.
    pub fn log_failure(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.is_on, true) {
            warn!(%error, "{}: {error}", self.begins);
        }
    }

    /// Logs the end of an outage on the first success after a failure.
    pub fn log_success(&mut self) {
        if std::mem::take(&mut self.is_on) {
            info!("{}", self.ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstate_determines_error_kind() {
        for (code, kind) in [
            ("55P03", StoreErrorKind::Busy),        // lock_not_available
            ("57014", StoreErrorKind::Busy),        // query_canceled
            ("40P01", StoreErrorKind::Busy),        // deadlock_detected
            ("57P01", StoreErrorKind::Unavailable), // admin_shutdown
            ("08006", StoreErrorKind::Unavailable), // connection_failure
            ("53100", StoreErrorKind::Unavailable), // disk_full
            ("53300", StoreErrorKind::Unavailable), // too_many_connections
            ("25P03", StoreErrorKind::Unavailable), // idle in transaction
            ("28P01", StoreErrorKind::CannotOpen),  // invalid_password
            ("3D000", StoreErrorKind::CannotOpen),  // no such database
            ("XX001", StoreErrorKind::Corrupt),     // data_corrupted
            ("42601", StoreErrorKind::Other),       // syntax_error
            ("", StoreErrorKind::Other),
        ] {
            assert_eq!(kind_of_postgres_code(code), kind, "{code}");
        }
    }

    #[test]
    fn low_byte_of_sqlite_code_determines_error_kind() {
        for (code, kind) in [
            ("5", StoreErrorKind::Busy),
            ("517", StoreErrorKind::Busy), // BUSY_SNAPSHOT
            ("6", StoreErrorKind::Busy),
            ("1032", StoreErrorKind::CannotOpen), // READONLY_DBMOVED
            ("14", StoreErrorKind::CannotOpen),
            ("13", StoreErrorKind::Unavailable),
            ("778", StoreErrorKind::Unavailable), // IOERR_WRITE
            ("267", StoreErrorKind::Corrupt),     // CORRUPT_VTAB
            ("26", StoreErrorKind::Corrupt),
            ("1", StoreErrorKind::Other),
            ("", StoreErrorKind::Other),
        ] {
            assert_eq!(kind_from_sqlite_code(code), kind, "{code}");
        }
    }
}

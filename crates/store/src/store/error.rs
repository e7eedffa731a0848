//! What can go wrong with a database.

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

/// Error of the database.
///
/// Its text says what failed, on which database, why, and what to do next; it
/// never holds a password.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct StoreError {
    text: String,
    kind: StoreErrorKind,
    absence: Option<Arc<Absence>>,
}

/// Cause of a store error that callers choose by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database URL is of no kind that is known.
    BadUrl,
    /// The file or the server refuses: rights, password, not a database.
    CannotOpen,
    /// The tables could not be brought up to date, or are newer than the program.
    Migration,
    /// Somebody else holds the database; the same call may succeed later.
    Busy,
    /// The database does not answer; the same call may succeed later.
    Unavailable,
    /// The row is there already.
    Conflict,
    /// There is no such row.
    NotFound,
    /// The lease under which it was to be done has ended, and is another's.
    LeaseLost,
    /// What is stored cannot be read.
    Corrupt,
    /// Any other cause.
    Other,
}

/// Database as errors name it: which engine, and where, without a password.
#[derive(Clone, Debug)]
pub(super) struct DatabaseLocation {
    pub(super) engine: Engine,
    pub(super) url: String,
    pub(super) trouble: Arc<FailureSignal>,
}

/// What statements that fail tell who watches the database.
#[derive(Debug, Default)]
pub(super) struct FailureSignal {
    /// Rung when a statement failed for the database's sake, not for its own.
    pub(super) bell: Notify,
    /// Whether the engine said that what it reads is damaged.
    pub(super) is_damage: AtomicBool,
}

/// Engine of the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

/// Database that is away: since when, and why.
///
/// Calls of its [`Store`] fail at once, without waiting for it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Absence {
    /// When it was noticed, in milliseconds since 1970.
    pub since_ms: i64,
    /// What failed, on which database, why, and what to do next; without a password.
    pub reason: String,
    /// Cause that callers choose by.
    pub kind: StoreErrorKind,
}

/// Cause of a statement that failed at once.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.reason)]
pub(super) struct AwayError(pub(super) Arc<Absence>);

impl StoreError {
    /// Returns the cause that callers choose by.
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

    /// Returns since when the database is away, where that was known before the call.
    pub fn absence(&self) -> Option<&Absence> {
        self.absence.as_deref()
    }

    /// Error of the statement that should `what`.
    pub(super) fn of_statement(what: &str, place: &DatabaseLocation, error: &sqlx::Error) -> Self {
        let kind = kind_of(place.engine, error);
        // Who watches the database has logged the reason, once and not for each statement.
        if let Some(absence) = known_absence(error) {
            let text = format!("cannot {what}: the database is away");
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

    /// Error of opening the database.
    pub(super) fn of_open(place: &DatabaseLocation, error: &sqlx::Error, advice: &str) -> Self {
        let kind = match kind_of(place.engine, error) {
            StoreErrorKind::Corrupt | StoreErrorKind::Other => StoreErrorKind::CannotOpen,
            kind => kind,
        };
        let cause = cause_of(error);
        let advice = match kind_of(place.engine, error) {
            kind @ StoreErrorKind::Busy => self::advice(place.engine, kind).unwrap_or(advice),
            StoreErrorKind::Corrupt if place.engine == Engine::Sqlite => {
                "name an SQLite database, or save what can be read of a damaged one: \
                 `robot-detection database repair`"
            }
            _ => advice,
        };
        Self::new(
            kind,
            format!("cannot open the database {place}: {cause}; {advice}"),
        )
    }

    /// Error of bringing the tables up to date.
    pub(super) fn of_migration(place: &DatabaseLocation, error: &MigrateError) -> Self {
        let why = match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => {
                return Self::of_migration_statement(place, cause);
            }
            MigrateError::VersionMissing(version) => format!(
                "its tables are newer than this program (migration {version} is unknown); \
                 upgrade the program, or restore a backup from before the upgrade"
            ),
            MigrateError::VersionMismatch(version) => format!(
                "its migration {version} is not the one of this program; \
                 run a released program, or use another database"
            ),
            other => format!("{other}; restore a backup, or use another database"),
        };
        Self::new(
            StoreErrorKind::Migration,
            format!("cannot use the database {place}: {why}"),
        )
    }

    fn of_migration_statement(place: &DatabaseLocation, error: &sqlx::Error) -> Self {
        let mut found = Self::of_statement("create or change the tables", place, error);
        if matches!(found.kind, StoreErrorKind::Conflict | StoreErrorKind::Other) {
            found.kind = StoreErrorKind::Migration;
            found
                .text
                .push_str("; use a database of its own, or a user that may create tables");
        }
        found
    }

    /// Returns `true` if the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Busy | StoreErrorKind::Unavailable
        )
    }
}

impl Absence {
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

    /// Has who watches the database look at once, where the error is the database's.
    fn note(&self, error: &sqlx::Error, kind: StoreErrorKind) {
        // A row that cannot be decoded is `Corrupt` as well, but the file is whole then.
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
    /// Error of an `SQLite` file that is damaged; it is not written to.
    pub(super) fn of_damage(place: &DatabaseLocation, why: &str) -> Self {
        Self::new(
            StoreErrorKind::Corrupt,
            format!(
                "the database {place} is damaged: {why}; it is left as it is: \
                 `robot-detection database repair` saves what can be read, \
                 `robot-detection database new` begins anew"
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
                Engine::Sqlite => kind_of_sqlite_code(&code),
                Engine::Postgres => kind_of_postgres_code(&code),
            }
        }
        // The connections to a file are busy at worst; a server that grants none may be gone.
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

fn known_absence(error: &sqlx::Error) -> Option<&Arc<Absence>> {
    let sqlx::Error::Io(cause) = error else {
        return None;
    };
    let away: &AwayError = cause.get_ref()?.downcast_ref()?;
    Some(&away.0)
}

pub(super) fn cause_of(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(cause) => cause.message().to_owned(),
        sqlx::Error::Io(cause) => cause.to_string(),
        sqlx::Error::PoolClosed => "it was closed".to_owned(),
        sqlx::Error::PoolTimedOut => "no connection was free in time".to_owned(),
        other => other.to_string(),
    }
}

fn advice(engine: Engine, kind: StoreErrorKind) -> Option<&'static str> {
    match (kind, engine) {
        (StoreErrorKind::Busy, Engine::Sqlite) => {
            Some("another process is writing to it: try again, or stop that process")
        }
        (StoreErrorKind::Busy, Engine::Postgres) => {
            Some("the server is busy with other work: try again")
        }
        (StoreErrorKind::Unavailable, Engine::Sqlite) => {
            Some("check the disk and the rights of the file")
        }
        (StoreErrorKind::Unavailable, Engine::Postgres) => {
            Some("check that the server runs and can be reached")
        }
        (StoreErrorKind::CannotOpen, _) => Some("check the rights of this user"),
        (StoreErrorKind::Corrupt, Engine::Sqlite) => {
            Some("restore a backup, or save what can be read: `robot-detection database repair`")
        }
        (StoreErrorKind::Corrupt, Engine::Postgres) => Some("restore a backup"),
        _ => None,
    }
}

/// Returns the kind of an error with an SQLSTATE.
///
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn kind_of_postgres_code(code: &str) -> StoreErrorKind {
    match code {
        // lock_not_available, query_canceled (statement_timeout)
        "55P03" | "57014" => StoreErrorKind::Busy,
        // invalid_catalog_name, insufficient_privilege
        "3D000" | "42501" => StoreErrorKind::CannotOpen,
        // read_only_sql_transaction: a standby, or a server that fails over
        "25006" => StoreErrorKind::Unavailable,
        "XX001" | "XX002" => StoreErrorKind::Corrupt,
        _ if code.starts_with("28") => StoreErrorKind::CannotOpen,
        _ if code.starts_with("40") => StoreErrorKind::Busy,
        // connection exceptions, resources, intervention, the system, idle time-outs
        _ if ["08", "53", "57", "58", "25P"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            StoreErrorKind::Unavailable
        }
        _ => StoreErrorKind::Other,
    }
}

/// Returns the kind of an error with an `SQLite` result code.
///
/// <https://www.sqlite.org/rescode.html>: the lower byte is the primary code.
pub(super) fn kind_of_sqlite_code(code: &str) -> StoreErrorKind {
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

/// What waits while the database is away, of which its begin and its end are told once.
#[derive(Debug)]
pub struct Outage {
    is_on: bool,
    begins: &'static str,
    ends: &'static str,
}

impl Outage {
    /// Creates one that has not begun, with what is told of it.
    pub const fn new(begins: &'static str, ends: &'static str) -> Self {
        Self {
            is_on: false,
            begins,
            ends,
        }
    }

    /// Tells of the first failure.
    pub fn failed(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.is_on, true) {
            warn!(%error, "{}: {error}", self.begins);
        }
    }

    /// Tells of the first success behind a failure.
    pub fn succeeded(&mut self) {
        if std::mem::take(&mut self.is_on) {
            info!("{}", self.ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_is_in_its_sqlstate() {
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
    fn the_kind_of_an_error_is_in_the_lower_byte_of_its_code() {
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
            assert_eq!(kind_of_sqlite_code(code), kind, "{code}");
        }
    }
}

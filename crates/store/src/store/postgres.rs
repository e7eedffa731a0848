//! `PostgreSQL` connections, with timeouts that the server enforces; several instances share a
//! database.

use std::{collections::BTreeSet, str::FromStr, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor as _, PgConnection, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use url::Url;

use super::{
    StoreError, StoreErrorKind,
    error::{DatabaseLocation, Engine},
    migrations,
    pools::Pools,
    statement::{SLOW_AFTER, SLOW_LOGGED},
};
use crate::fetch::bundled_authorities;

/// The time limit for obtaining a connection, whether new or from the pool.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The default maximum number of connections per instance.
pub(super) const MAX_CONNECTIONS: u32 = 10;

/// The number of connections outside the pool: one for lease locks, and one for checking the
/// database.
const OUTSIDE_POOL: u32 = 2;

/// The timeouts for database sessions, in milliseconds.
// Shorter than our own statement timeout, so that the server cancels and rolls back slow
// statements; a process that freezes in a transaction must not keep its locks.
const TIMEOUTS: [(&str, &str); 3] = [
    ("statement_timeout", "15000"),
    ("lock_timeout", "5000"),
    ("idle_in_transaction_session_timeout", "15000"),
];

/// The timeouts for the session that runs migrations, which may have to wait for other instances.
const MIGRATION_TIMEOUTS: [(&str, &str); 3] = [
    // Building an index on a large table may take long; a timeout would restart it at each start.
    ("statement_timeout", "0"),
    ("lock_timeout", "60000"),
    ("idle_in_transaction_session_timeout", "60000"),
];

/// Parses the location of a database from its URL.
pub(super) fn parse_location(url: &str) -> Result<DatabaseLocation, StoreError> {
    let options = options(url)?;
    Ok(DatabaseLocation::new(
        Engine::Postgres,
        url_without_password(&options),
    ))
}

/// Opens the database and applies pending migrations.
///
/// At most `max_connections` connections are used, two of which are outside the pool.
pub(super) async fn open(
    url: &str,
    place: &DatabaseLocation,
    max_connections: u32,
) -> Result<Pools, StoreError> {
    migrate(url, place).await?;
    let pool = PgPoolOptions::new()
        .max_connections(max_connections.saturating_sub(OUTSIDE_POOL).max(2))
        .acquire_timeout(CONNECT_TIMEOUT)
        .after_connect(|connection, _| Box::pin(set(connection, &TIMEOUTS)))
        .connect_with(options(url)?)
        .await
        .map_err(|error| cannot_connect(place, &error))?;
    Ok(Pools::Postgres(pool))
}

/// Opens a connection outside the pool.
pub(super) async fn connect(
    url: &str,
    place: &DatabaseLocation,
) -> Result<PgConnection, StoreError> {
    connect_with(place, options(url)?, &TIMEOUTS).await
}

/// Returns `true` if two sessions opened at the same time use the same server process, which
/// indicates a connection pooler in transaction mode.
pub(super) async fn shares_sessions(
    url: &str,
    place: &DatabaseLocation,
) -> Result<bool, StoreError> {
    // Uses the simple protocol, as a pooler may not support prepared statements.
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(connect_with(place, options(url)?, &[]).await?);
    }
    let mut processes = BTreeSet::new();
    for session in &mut sessions {
        let row = session
            .fetch_one(sqlx::raw_sql("SELECT pg_backend_pid()"))
            .await;
        let process = row.and_then(|row| row.try_get_unchecked::<i32, _>(0));
        processes.insert(process.map_err(|error| StoreError::from_open(place, &error, ""))?);
    }
    for session in sessions {
        drop(session.close().await);
    }
    Ok(processes.len() == 1)
}

/// Applies pending migrations to the database.
pub(super) async fn migrate(url: &str, place: &DatabaseLocation) -> Result<(), StoreError> {
    let mut connection = connect_with(place, options(url)?, &MIGRATION_TIMEOUTS).await?;
    let migrated = migrations::postgres()
        .run_direct(None, &mut connection, false)
        .await;
    // The migration is done; a failure to close the connection does not matter.
    drop(connection.close().await);
    migrated.map_err(|error| StoreError::from_migration(place, &error))
}

/// Sets the parameters of a session.
///
/// Parameters are set after connecting, because `PgBouncer` rejects the startup parameter
/// `options`.
pub(super) async fn set(
    connection: &mut PgConnection,
    parameters: &[(&str, &str)],
) -> Result<(), sqlx::Error> {
    let set = |(name, value): &(&str, &str)| format!("SET {name} = {value};");
    let all: String = parameters.iter().map(set).collect();
    connection.execute(AssertSqlSafe(all)).await.map(|_| ())
}

fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    // The cause is omitted, as it may quote the URL including the password.
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        StoreError::new(
            StoreErrorKind::BadUrl,
            "cannot parse the postgres: database URL; write \
             postgres://user:password@host:5432/database, with %-escapes for special characters",
        )
    })?;
    // PgBouncer rejects extra_float_digits; since PostgreSQL 12 the default loses no digits.
    let mut options = options.extra_float_digits(None);
    let is_set = |url: Url| url.query_pairs().any(|(key, _)| key == "sslrootcert");
    if !bundled_authorities().is_empty() && !is_set(options.to_url_lossy()) {
        options = options.ssl_root_cert_from_pem(bundled_pem().into_bytes());
    }
    Ok(options.log_slow_statements(SLOW_LOGGED, SLOW_AFTER))
}

fn bundled_pem() -> String {
    let pem = |it| {
        let base64 = STANDARD.encode(it);
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    };
    bundled_authorities().iter().map(pem).collect()
}

async fn connect_with(
    place: &DatabaseLocation,
    options: PgConnectOptions,
    parameters: &[(&str, &str)],
) -> Result<PgConnection, StoreError> {
    let connecting = async {
        let mut connection = options.connect().await?;
        set(&mut connection, parameters).await?;
        Ok(connection)
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(cannot_connect(place, &error)),
        Err(_) => Err(cannot_connect(place, &sqlx::Error::PoolTimedOut)),
    }
}

fn cannot_connect(place: &DatabaseLocation, error: &sqlx::Error) -> StoreError {
    let code = match error {
        sqlx::Error::Database(cause) => cause.code().unwrap_or_default(),
        _ => "".into(),
    };
    let advice = match &*code {
        "3D000" => "create the database with createdb, or correct its name in the database URL",
        "53300" => {
            "increase max_connections of the server, or reduce database.max_connections of each \
             instance"
        }
        _ if code.starts_with("28") => "check user and password in the database URL",
        _ => "check that the server is running and reachable, and check the database URL",
    };
    StoreError::from_open(place, error, advice)
}

/// Returns the URL without its password; for an invalid URL, returns only the scheme.
pub(super) fn shown_url(url: &str) -> String {
    PgConnectOptions::from_str(url).map_or_else(
        |_| "postgres://…".to_owned(),
        |options| url_without_password(&options),
    )
}

fn url_without_password(options: &PgConnectOptions) -> String {
    let user = options.get_username();
    let database = options.get_database().unwrap_or(user);
    match options.get_socket() {
        Some(socket) => format!(
            "postgres:///{database}?host={}&user={user}",
            socket.display()
        ),
        None => format!(
            "postgres://{user}@{}:{}/{database}",
            options.get_host(),
            options.get_port()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_shown_without_password() {
        for (url, shown) in [
            (
                "postgres://u:secret@db.example.org:5433/robots",
                "postgres://u@db.example.org:5433/robots",
            ),
            (
                "postgres:///robots?host=/run/postgresql&user=u&password=secret",
                "postgres:///robots?host=/run/postgresql&user=u",
            ),
        ] {
            let options = PgConnectOptions::from_str(url).expect("the URL is valid");
            assert_eq!(url_without_password(&options), shown);
        }
    }
}

//! `PostgreSQL`: shared by a fleet, with time-outs kept by the server.

use std::{collections::BTreeSet, str::FromStr, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor as _, PgConnection, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{
    StoreError, StoreErrorKind,
    error::{DatabaseLocation, Engine},
    migrations,
    pools::Pools,
    statement::{SLOW_AFTER, SLOW_LOGGED},
};

/// How long a statement waits for a connection, new or free.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections of an instance that is not configured otherwise.
pub(super) const MAX_CONNECTIONS: u32 = 10;

/// Connections outside the pool: the locks of leases, and the check of the database.
const OUTSIDE_POOL: u32 = 2;

/// Time-outs of the sessions, in milliseconds.
// Below our own for a statement, so that the server ends what takes too long and rolls it back; a
// process that is frozen in a transaction must not keep its locks.
const TIMEOUTS: [(&str, &str); 3] = [
    ("statement_timeout", "15000"),
    ("lock_timeout", "5000"),
    ("idle_in_transaction_session_timeout", "15000"),
];

/// Time-outs of the session that changes tables, perhaps after other instances.
const MIGRATION_TIMEOUTS: [(&str, &str); 3] = [
    // An index over a large table may take any time; cut off, it would be begun again at each
    // start.
    ("statement_timeout", "0"),
    ("lock_timeout", "60000"),
    ("idle_in_transaction_session_timeout", "60000"),
];

/// Reads the place from a URL.
pub(super) fn place(url: &str) -> Result<DatabaseLocation, StoreError> {
    let options = options(url)?;
    Ok(DatabaseLocation::new(
        Engine::Postgres,
        url_without_password(&options),
    ))
}

/// Opens the database and brings its tables up to date.
///
/// The instance opens `max_connections` at most, two of them outside the pool.
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

/// Opens a connection beside the pool's.
pub(super) async fn connect(
    url: &str,
    place: &DatabaseLocation,
) -> Result<PgConnection, StoreError> {
    connect_with(place, options(url)?, &TIMEOUTS).await
}

/// Returns `true` if two sessions that are open at once are one of the server's: a pooler before it
/// gives each transaction any of them.
pub(super) async fn shares_sessions(
    url: &str,
    place: &DatabaseLocation,
) -> Result<bool, StoreError> {
    // By the simple protocol, as a pooler may not support prepared statements.
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
        processes.insert(process.map_err(|error| StoreError::of_open(place, &error, ""))?);
    }
    for session in sessions {
        drop(session.close().await);
    }
    Ok(processes.len() == 1)
}

/// Brings the tables up to date.
pub(super) async fn migrate(url: &str, place: &DatabaseLocation) -> Result<(), StoreError> {
    let mut connection = connect_with(place, options(url)?, &MIGRATION_TIMEOUTS).await?;
    let migrated = migrations::postgres()
        .run_direct(None, &mut connection, false)
        .await;
    // What matters is done; a connection that cannot say goodbye is no failure.
    drop(connection.close().await);
    migrated.map_err(|error| StoreError::of_migration(place, &error))
}

/// Sets parameters of a session.
///
/// Not at the start of the session: `PgBouncer` refuses the start-up parameter `options`.
pub(super) async fn set(
    connection: &mut PgConnection,
    parameters: &[(&str, &str)],
) -> Result<(), sqlx::Error> {
    let set = |(name, value): &(&str, &str)| format!("SET {name} = {value};");
    let all: String = parameters.iter().map(set).collect();
    connection.execute(AssertSqlSafe(all)).await.map(|_| ())
}

fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    // The cause may quote the URL, and with it the password.
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        StoreError::new(
            StoreErrorKind::BadUrl,
            "the database URL that begins with postgres: cannot be read; \
             write postgres://user:password@host:5432/database, with %-escapes for \
             special characters",
        )
    })?;
    // PgBouncer refuses extra_float_digits; the default since PostgreSQL 12 loses no digit.
    let options = options.extra_float_digits(None);
    Ok(options.log_slow_statements(SLOW_LOGGED, SLOW_AFTER))
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
        "3D000" => "create it with createdb, or correct the name in the database URL",
        "53300" => {
            "raise max_connections of the server, or lower database.max_connections of each instance"
        }
        _ if code.starts_with("28") => "check user and password in the database URL",
        _ => "check that the server runs and can be reached, and the database URL",
    };
    StoreError::of_open(place, error, advice)
}

/// Returns the URL without its password, or its scheme alone where it cannot be read.
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
    fn the_url_is_shown_without_its_password() {
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
            let options = PgConnectOptions::from_str(url).expect("a good URL");
            assert_eq!(url_without_password(&options), shown);
        }
    }
}

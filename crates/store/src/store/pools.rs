//! Connection pools for either engine.

use std::{future::Future, time::Duration};

use sqlx::{PgPool, SqlitePool};

/// The time limit for a statement, including the wait for a connection.
// Longer than the timeouts set for `PostgreSQL`, so that its more specific error comes first.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(super) enum Pools {
    /// An `SQLite` database, whose pool for writing has a single connection.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
    },
    Postgres(PgPool),
}

/// The state of a connection pool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PoolState {
    /// The number of open connections.
    pub open: u32,
    /// The number of open connections that are idle.
    pub idle: u32,
    /// The maximum number of open connections.
    pub max: u32,
}

impl Pools {
    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite { read, write } => {
                read.close().await;
                write.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl PoolState {
    pub(super) fn new<D: sqlx::Database>(pool: &sqlx::Pool<D>) -> Self {
        Self {
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            max: pool.options().get_max_connections(),
        }
    }
}

/// Runs a statement with a time limit, in case its connection is broken.
pub(super) async fn in_time<T>(
    statement: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(STATEMENT_TIMEOUT, statement).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

//! Connections to either engine.

use std::{future::Future, time::Duration};

use sqlx::{PgPool, SqlitePool};

use super::sqlite_writer::SqliteWriter;

/// Longest that one statement may take, waiting for a connection included.
// More than what `PostgreSQL` is told to allow, connection and locks included: its own error, which
// says more, comes first.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub(super) enum Pools {
    /// `SQLite` has one writer.
    Sqlite {
        read: SqlitePool,
        write: SqliteWriter,
    },
    Postgres(PgPool),
}

/// Connections to the database that statements share.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PoolState {
    /// Open connections.
    pub open: u32,
    /// Open connections without a statement.
    pub idle: u32,
    /// Most connections at one time.
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

/// Runs a statement, which a dead connection must not keep waiting for ever.
pub(super) async fn in_time<T>(
    statement: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(STATEMENT_TIMEOUT, statement).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

//! Statements on either engine.
//!
//! The only file, beside those of the engines, that knows there are two.

use std::{future::Future, time::Duration};

use sqlx::{
    Executor, FromRow, PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{
    StoreError,
    carry_over::CarryOver,
    descriptions::RecentDescriptions,
    error::{DatabaseLocation, Engine},
    link::Link,
    postgres::{self, MAX_CONNECTIONS},
    sqlite::{self, Opening},
    sqlite_writer::{MAX_STEPS, SqliteTransaction, SqliteWriter},
    statement::{Statement, Step, Value, arguments},
};

/// Longest that one statement may take, waiting for a connection included.
// More than what `PostgreSQL` is told to allow, connection and locks included: its own error, which
// says more, comes first.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Database of either engine.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) link: Link,
    pub(super) place: DatabaseLocation,
    pub(super) log: CarryOver,
    pub(super) recent: RecentDescriptions,
}

#[derive(Clone, Debug)]
pub(super) enum Pools {
    /// `SQLite` has one writer.
    Sqlite {
        read: SqlitePool,
        write: SqliteWriter,
    },
    Postgres(PgPool),
}

/// Row type that both engines can fill.
pub(super) trait EngineRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> EngineRow for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// Transaction; dropped before [`Transaction::commit`], it changes nothing.
pub(super) struct Transaction<'d> {
    place: &'d DatabaseLocation,
    what: &'static str,
    open: OpenTransaction,
}

enum OpenTransaction {
    Sqlite(SqliteTransaction),
    SqliteReading(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Database {
    /// Opens the database that the URL names, and brings its tables up to date.
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        let place = Self::place(url)?;
        let pools = match place.engine {
            Engine::Sqlite => sqlite::open(url, &place, Opening::Command).await?,
            Engine::Postgres => postgres::open(url, &place, MAX_CONNECTIONS).await?,
        };
        Ok(Self {
            link: Link::new(url, MAX_CONNECTIONS, pools),
            place,
            log: CarryOver::default(),
            recent: RecentDescriptions::default(),
        })
    }

    /// Reads engine and place from a URL; asks nobody.
    pub(super) fn place(url: &str) -> Result<DatabaseLocation, StoreError> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        match scheme {
            "sqlite" => sqlite::place(url),
            "postgres" | "postgresql" => postgres::place(url),
            _ => Err(bad_scheme(url, scheme)),
        }
    }

    pub(super) fn shown_url(url: &str) -> String {
        match url.split_once(':') {
            Some(("sqlite", _)) => url.to_owned(),
            Some(("postgres" | "postgresql", _)) => postgres::shown_url(url),
            Some((scheme, _)) => format!("{scheme}:…"),
            None => "…".to_owned(),
        }
    }

    /// Returns all rows of a statement that only reads.
    pub(super) async fn rows<T: EngineRow>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let result = in_time(async {
            match self.link.pools()? {
                Pools::Sqlite { read, .. } => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(), arguments);
                    query.fetch_all(&read).await
                }
                Pools::Postgres(pool) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(), arguments);
                    query.fetch_all(&pool).await
                }
            }
        });
        result.await.map_err(|error| self.error(statement, &error))
    }

    /// Returns the first row of a statement that only reads.
    pub(super) async fn first<T: EngineRow>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows(statement, values).await?;
        Ok(rows.into_iter().next())
    }

    /// Carries out one statement that writes; returns the number of rows it changed.
    pub(super) async fn execute(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let result = in_time(async {
            match self.link.pools()? {
                Pools::Sqlite { write, .. } => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(), arguments);
                    let mut turn = write.turn().await?;
                    let done = query.execute(turn.connection()?).await;
                    Ok(turn.end(done)?.rows_affected())
                }
                Pools::Postgres(pool) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(), arguments);
                    Ok(query.execute(&pool).await?.rows_affected())
                }
            }
        });
        result.await.map_err(|error| self.error(statement, &error))
    }

    /// Begins a transaction that writes.
    ///
    /// `SQLite` hears of it with its first statement.
    pub(super) async fn begin(&self, what: &'static str) -> Result<Transaction<'_>, StoreError> {
        self.begin_with(what, Mode::Write).await
    }

    /// Begins a transaction that reads twice and sees the same state.
    pub(super) async fn begin_reading(
        &self,
        what: &'static str,
    ) -> Result<Transaction<'_>, StoreError> {
        self.begin_with(what, Mode::Read).await
    }

    async fn begin_with(
        &self,
        what: &'static str,
        mode: Mode,
    ) -> Result<Transaction<'_>, StoreError> {
        // What a pool needs to begin is large, and would be moved with all that waits for it.
        let open = in_time(async {
            Ok(match (self.link.pools()?, mode) {
                (Pools::Sqlite { write, .. }, Mode::Write) => {
                    OpenTransaction::Sqlite(write.begin().await?)
                }
                (Pools::Sqlite { read, .. }, Mode::Read) => {
                    OpenTransaction::SqliteReading(Box::pin(read.begin()).await?)
                }
                (Pools::Postgres(pool), Mode::Write) => {
                    OpenTransaction::Postgres(Box::pin(pool.begin()).await?)
                }
                (Pools::Postgres(pool), Mode::Read) => OpenTransaction::Postgres(
                    Box::pin(pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
                        .await?,
                ),
            })
        });
        let place = &self.place;
        match open.await {
            Ok(open) => Ok(Transaction { place, what, open }),
            Err(error) => Err(StoreError::of_statement(what, place, &error)),
        }
    }

    /// Compiles a statement without running it.
    pub(super) async fn prepare(&self, statement: &Statement) -> Result<(), StoreError> {
        let sql = sqlx::SqlSafeStr::into_sql_str(statement.safe());
        let result = in_time(async {
            match self.link.pools()? {
                Pools::Sqlite { write, .. } => {
                    let mut turn = write.turn().await?;
                    turn.connection()?.prepare(sql).await.map(|_| ())
                }
                Pools::Postgres(pool) => (&pool).prepare(sql).await.map(|_| ()),
            }
        });
        result.await.map_err(|error| self.error(statement, &error))
    }

    /// Carries the log of `SQLite` over to its file, while others write; does nothing on `PostgreSQL`.
    pub(super) async fn checkpoint(&self) -> Result<(), StoreError> {
        let result = in_time(async {
            if let Pools::Sqlite { read, write } = self.link.pools()?
                && write.file().is_some()
            {
                sqlite::carry_over(&read).await?;
            }
            Ok(())
        });
        let what = "carry the log over to the file";
        let result = result.await;
        result.map_err(|error| StoreError::of_statement(what, &self.place, &error))
    }

    pub(super) fn error(&self, statement: &Statement, error: &sqlx::Error) -> StoreError {
        StoreError::of_statement(statement.what, &self.place, error)
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Read,
    Write,
}

impl Transaction<'_> {
    /// Returns all rows of a statement.
    pub(super) async fn rows<T: EngineRow>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let result = in_time(async {
            match self.open.begun().await? {
                TransactionConnection::Sqlite(connection) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(), arguments);
                    query.fetch_all(connection).await
                }
                TransactionConnection::Postgres(connection) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(), arguments);
                    query.fetch_all(connection).await
                }
            }
        });
        let place = self.place;
        let result = result.await;
        result.map_err(|error| StoreError::of_statement(statement.what, place, &error))
    }

    /// Returns the first row of a statement, which must have one.
    pub(super) async fn one<T: EngineRow>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<T, StoreError> {
        let rows = self.rows(statement, values).await?;
        rows.into_iter().next().ok_or_else(|| {
            let missing = sqlx::Error::Decode("a row is missing".into());
            StoreError::of_statement(statement.what, self.place, &missing)
        })
    }

    /// Carries out one statement; returns the number of rows it changed.
    pub(super) async fn execute(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let result = in_time(async {
            match self.open.begun().await? {
                TransactionConnection::Sqlite(connection) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(), arguments);
                    Ok(query.execute(connection).await?.rows_affected())
                }
                TransactionConnection::Postgres(connection) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(), arguments);
                    Ok(query.execute(connection).await?.rows_affected())
                }
            }
        });
        let place = self.place;
        let result = result.await;
        result.map_err(|error| StoreError::of_statement(statement.what, place, &error))
    }

    /// Carries out statements one behind the other; returns the rows of those that read.
    ///
    /// `SQLite` is handed all at once: to wake its thread, and to be woken by it, costs more
    /// than most statements do.
    pub(super) async fn rows_of_all<T: EngineRow>(
        &mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let OpenTransaction::Sqlite(open) = &mut self.open else {
            return self.rows_of_each(all).await;
        };
        let result = in_time(open.rows_of_all(all)).await;
        result.map_err(|error| StoreError::of_statement(self.what, self.place, &error))
    }

    /// Carries out the last statements, as [`Self::rows_of_all`], and commits.
    pub(super) async fn commit_with<T: EngineRow>(
        mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let OpenTransaction::Sqlite(open) = self.open else {
            let rows = self.rows_of_each(all).await?;
            self.commit().await?;
            return Ok(rows);
        };
        let result = in_time(open.commit(all)).await;
        result.map_err(|error| StoreError::of_statement(self.what, self.place, &error))
    }

    /// Carries out statements that are made while those before are carried out, and commits.
    pub(super) async fn commit_as_made<'s>(
        mut self,
        mut steps: impl Iterator<Item = Step<'s>>,
    ) -> Result<(), StoreError> {
        loop {
            let part: Vec<_> = steps.by_ref().take(MAX_STEPS).collect();
            if part.len() < MAX_STEPS {
                return self.commit_with::<(i64,)>(&part).await.map(drop);
            }
            self.rows_of_all::<(i64,)>(&part).await?;
        }
    }

    async fn rows_of_each<T: EngineRow>(&mut self, all: &[Step<'_>]) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        for (statement, values) in all {
            rows.extend(self.rows::<T>(statement, values).await?);
        }
        Ok(rows)
    }

    /// Returns the engine.
    pub(super) fn engine(&self) -> Engine {
        self.place.engine
    }

    /// Returns the database, as errors name it.
    pub(super) fn place(&self) -> &DatabaseLocation {
        self.place
    }

    /// Commits the changes.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        let result = in_time(async {
            match self.open {
                OpenTransaction::Sqlite(open) => {
                    let nothing: Vec<(i64,)> = open.commit(&[]).await?;
                    drop(nothing);
                    Ok(())
                }
                OpenTransaction::SqliteReading(open) => open.commit().await,
                OpenTransaction::Postgres(open) => open.commit().await,
            }
        });
        let result = result.await;
        result.map_err(|error| StoreError::of_statement(self.what, self.place, &error))
    }
}

/// Connection of a transaction that has begun.
enum TransactionConnection<'t> {
    Sqlite(&'t mut SqliteConnection),
    Postgres(&'t mut PgConnection),
}

impl OpenTransaction {
    async fn begun(&mut self) -> Result<TransactionConnection<'_>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(open) => TransactionConnection::Sqlite(open.connection().await?),
            Self::SqliteReading(open) => TransactionConnection::Sqlite(open),
            Self::Postgres(open) => TransactionConnection::Postgres(open),
        })
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

fn bad_scheme(url: &str, scheme: &str) -> StoreError {
    use super::StoreErrorKind::BadUrl;
    // Of `user:password@host` the part before the colon is a name, not a scheme: nothing is quoted.
    if scheme.is_empty() || url.contains('@') && !url.contains("://") {
        return StoreError::new(
            BadUrl,
            "the database URL has no scheme; write sqlite://robot-detection.db \
             or postgres://user@host/database",
        );
    }
    StoreError::new(
        BadUrl,
        format!(
            "no database is known for URLs that begin with {scheme:?}; \
             write sqlite://robot-detection.db or postgres://user@host/database"
        ),
    )
}

//! Transactions on either database engine.

use sqlx::{
    PgConnection, Postgres, Sqlite, SqliteConnection, postgres::PgArguments,
    sqlite::SqliteArguments,
};

use super::{
    StoreError,
    columns::EngineRow,
    error::{DatabaseLocation, Engine},
    pools::in_time,
    sqlite_writer::{MAX_STEPS, SqliteTransaction},
    statement::{Statement, Step, Value, arguments},
};

/// A database transaction. Dropping the transaction before [`Transaction::commit`] rolls back the
/// changes.
pub(super) struct Transaction<'d> {
    pub(super) place: &'d DatabaseLocation,
    pub(super) what: &'static str,
    pub(super) open: OpenTransaction,
}

pub(super) enum OpenTransaction {
    Sqlite(SqliteTransaction),
    SqliteReading(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction<'_> {
    /// Runs a statement and returns all rows.
    pub(super) async fn rows<T: EngineRow>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let result = in_time(async {
            match self.open.begun().await? {
                TransactionConnection::Sqlite(connection) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
                    query.fetch_all(connection).await
                }
                TransactionConnection::Postgres(connection) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
                    query.fetch_all(connection).await
                }
            }
        });
        let place = self.place;
        let result = result.await;
        result.map_err(|error| StoreError::from_statement(statement.what, place, &error))
    }

    /// Runs a statement and returns the first row, or an error if there is no row.
    pub(super) async fn one<T: EngineRow>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<T, StoreError> {
        let rows = self.rows(statement, values).await?;
        rows.into_iter().next().ok_or_else(|| {
            let missing = sqlx::Error::Decode("no row".into());
            StoreError::from_statement(statement.what, self.place, &missing)
        })
    }

    /// Runs a single statement. Returns the number of changed rows.
    pub(super) async fn execute(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let result = in_time(async {
            match self.open.begun().await? {
                TransactionConnection::Sqlite(connection) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
                    Ok(query.execute(connection).await?.rows_affected())
                }
                TransactionConnection::Postgres(connection) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
                    Ok(query.execute(connection).await?.rows_affected())
                }
            }
        });
        let place = self.place;
        let result = result.await;
        result.map_err(|error| StoreError::from_statement(statement.what, place, &error))
    }

    /// Runs statements in sequence. Returns the rows from the statements that read.
    ///
    /// On `SQLite`, statements are sent together, because waking the `SQLite` thread costs more
    /// than most statements.
    pub(super) async fn rows_of_all<T: EngineRow>(
        &mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let OpenTransaction::Sqlite(open) = &mut self.open else {
            return self.rows_of_each(all).await;
        };
        let result = in_time(open.rows_of_all(all)).await;
        result.map_err(|error| StoreError::from_statement(self.what, self.place, &error))
    }

    /// Runs the last statements in the same way as [`Self::rows_of_all`], and commits the
    /// transaction.
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
        result.map_err(|error| StoreError::from_statement(self.what, self.place, &error))
    }

    /// Runs statements while subsequent statements are being created, and commits the transaction.
    pub(super) async fn commit_streaming<'s>(
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

    /// Returns the engine of the database.
    pub(super) fn engine(&self) -> Engine {
        self.place.engine
    }

    /// Returns the location of the database, for error texts.
    pub(super) fn place(&self) -> &DatabaseLocation {
        self.place
    }

    /// Commits the changes made in the transaction.
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
        result.map_err(|error| StoreError::from_statement(self.what, self.place, &error))
    }
}

/// A connection on which a transaction has been started.
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

//! Transactions on either database engine.

use sqlx::{Postgres, Sqlite, postgres::PgArguments, sqlite::SqliteArguments};

use super::{
    StoreError,
    columns::EngineRow,
    error::{DatabaseLocation, Engine},
    pools::in_time,
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
    Sqlite(sqlx::Transaction<'static, Sqlite>),
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
            match &mut self.open {
                OpenTransaction::Sqlite(open) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
                    query.fetch_all(&mut **open).await
                }
                OpenTransaction::Postgres(open) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
                    query.fetch_all(&mut **open).await
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
            match &mut self.open {
                OpenTransaction::Sqlite(open) => {
                    let arguments = arguments::<SqliteArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
                    Ok(query.execute(&mut **open).await?.rows_affected())
                }
                OpenTransaction::Postgres(open) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
                    Ok(query.execute(&mut **open).await?.rows_affected())
                }
            }
        });
        let place = self.place;
        let result = result.await;
        result.map_err(|error| StoreError::from_statement(statement.what, place, &error))
    }

    /// Runs statements in sequence. Returns the rows from the statements that read.
    pub(super) async fn rows_of_all<T: EngineRow>(
        &mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        for (statement, values) in all {
            rows.extend(self.rows::<T>(statement, values).await?);
        }
        Ok(rows)
    }

    /// Runs the last statements in the same way as [`Self::rows_of_all`], and commits the
    /// transaction.
    pub(super) async fn commit_with<T: EngineRow>(
        mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows_of_all(all).await?;
        self.commit().await?;
        Ok(rows)
    }

    /// Runs statements while subsequent statements are being created, and commits the transaction.
    pub(super) async fn commit_streaming<'s>(
        mut self,
        steps: impl Iterator<Item = Step<'s>>,
    ) -> Result<(), StoreError> {
        for (statement, values) in steps {
            self.execute(statement, &values).await?;
        }
        self.commit().await
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
                OpenTransaction::Sqlite(open) => open.commit().await,
                OpenTransaction::Postgres(open) => open.commit().await,
            }
        });
        let result = result.await;
        result.map_err(|error| StoreError::from_statement(self.what, self.place, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::Database;

    static ADD: Statement = Statement::new(
        "add a lease",
        "INSERT INTO leases (name, holder, until_ms) VALUES ($1, 'h', 1)",
    );
    static NAMES: Statement =
        Statement::new("list leases", "SELECT name FROM leases ORDER BY name");

    async fn add(transaction: &mut Transaction<'_>, names: &[&str]) -> Result<(), StoreError> {
        let steps: Vec<Step<'_>> = names
            .iter()
            .map(|name| (&ADD, vec![Value::from(*name)]))
            .collect();
        let none: Vec<(String,)> = transaction.rows_of_all(&steps).await?;
        assert!(none.is_empty());
        Ok(())
    }

    async fn names(database: &Database) -> Vec<String> {
        let rows: Vec<(String,)> = database.rows(&NAMES, &[]).await.unwrap();
        rows.into_iter().map(|(name,)| name).collect()
    }

    #[tokio::test]
    async fn dropped_transaction_changes_nothing_and_does_not_block_writers() {
        let directory = tempfile::tempdir().unwrap();
        let file = format!("sqlite://{}", directory.path().join("a.db").display());
        for url in ["sqlite::memory:", &file] {
            let database = Database::open(url).await.unwrap();
            let mut broken_off = database.begin("add").await.unwrap();
            add(&mut broken_off, &["a", "b"]).await.unwrap();
            drop(broken_off);
            let mut failed = database.begin("add").await.unwrap();
            add(&mut failed, &["c", "c"]).await.unwrap_err();
            drop(failed);
            drop(database.begin("add nothing").await.unwrap());
            database.execute(&ADD, &["d".into()]).await.unwrap();
            database.execute(&ADD, &["d".into()]).await.unwrap_err();
            let mut whole = database.begin("add").await.unwrap();
            add(&mut whole, &["e"]).await.unwrap();
            let last = [(&ADD, vec!["f".into()]), (&NAMES, Vec::new())];
            let seen: Vec<(String,)> = whole.commit_with(&last).await.unwrap();
            assert_eq!(seen.len(), 3);
            assert_eq!(names(&database).await, ["d", "e", "f"], "{url}");
            database.link.close().await;
            assert!(
                database.link.is_closed() && database.execute(&ADD, &["g".into()]).await.is_err()
            );
        }
    }

    #[test]
    fn database_can_be_dropped_after_its_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = format!("sqlite://{}", directory.path().join("a.db").display());
        for url in ["sqlite::memory:", &file] {
            let database = runtime.block_on(async {
                let database = Database::open(url).await.unwrap();
                database.execute(&ADD, &["a".into()]).await.unwrap();
                database
            });
            drop(database);
        }
    }

    #[tokio::test]
    async fn transaction_cancelled_while_sqlite_works_changes_nothing() {
        let database = Database::open("sqlite::memory:").await.unwrap();
        for number in 0..50 {
            let (first, second) = (format!("a{number}"), format!("b{number}"));
            let adding = async {
                let mut transaction = database.begin("add").await.unwrap();
                add(&mut transaction, &[&first, &second]).await.unwrap();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = adding => {}
                () = async { for _ in 0..number { tokio::task::yield_now().await; } } => {}
            }
        }
        assert_eq!(names(&database).await, [""; 0]);
    }

    #[tokio::test]
    async fn long_sequence_of_statements_is_one_transaction() {
        let database = Database::open("sqlite::memory:").await.unwrap();
        let many: Vec<String> = (0..67).map(|number| format!("{number:04}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut broken_off = database.begin("test").await.unwrap();
        add(&mut broken_off, &many).await.unwrap();
        drop(broken_off);
        assert!(names(&database).await.is_empty());
        let mut transaction = database.begin("test").await.unwrap();
        add(&mut transaction, &many).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(names(&database).await, many);
    }
}

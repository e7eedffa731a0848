//! The only writing connection of an `SQLite` database, and its transactions.
//!
//! `SQLite` runs on a separate thread, and waking it costs more than most statements. Therefore,
//! the first and last statements of a transaction are sent together with `BEGIN` and `COMMIT`. The
//! connection is not returned to the pool between turns, as the pool would test it each time.

use std::{path::PathBuf, sync::Arc, time::Duration};

use sqlx::{
    AssertSqlSafe, Executor, Sqlite, SqliteConnection, SqlitePool, pool::PoolConnection,
    sqlite::SqliteArguments,
};
use tokio::{
    runtime::Handle,
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};

use super::{
    columns::EngineRow,
    statement::{Step, arguments, joined},
};

/// The time limit for waiting for the other writers of this process.
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// The SQL that begins a transaction with a write lock; upgrading a read lock later could fail.
const BEGIN: &str = "BEGIN IMMEDIATE; ";

/// The maximum number of statements sent together; each statement is held in memory until all are
/// done.
pub(super) const MAX_STEPS: usize = 32;

/// The maximum number of joined statements whose text remains prepared; longer texts are rarely
/// reused and would occupy megabytes each.
const PREPARED_STEPS: usize = 4;

/// The only connection for writing, which writers use in turns.
#[derive(Clone, Debug)]
pub(super) struct SqliteWriter {
    pool: SqlitePool,
    kept: Arc<Mutex<IdleConnection>>,
    is_shared: bool,
}

/// The connection for writing, while no writer is using it.
#[derive(Debug, Default)]
struct IdleConnection(Option<PoolConnection<Sqlite>>);

/// One writer's turn on the connection for writing.
#[derive(Debug)]
pub(super) struct WriterTurn {
    kept: OwnedMutexGuard<IdleConnection>,
    /// Whether readers may be waiting for the same connection.
    is_shared: bool,
}

/// A write transaction. If the transaction is dropped before it is committed, nothing is changed.
#[derive(Debug)]
pub(super) struct SqliteTransaction {
    /// The writer's turn; `None` after the transaction has ended.
    turn: Option<WriterTurn>,
    is_begun: bool,
}

impl SqliteWriter {
    /// Creates the writer for a pool with a single connection, which readers may share.
    pub(super) fn new(pool: SqlitePool, is_shared: bool) -> Self {
        Self {
            pool,
            kept: Arc::default(),
            is_shared,
        }
    }

    /// Waits for the caller's turn to write.
    pub(super) async fn turn(&self) -> Result<WriterTurn, sqlx::Error> {
        let kept = timeout(QUEUE_TIMEOUT, Arc::clone(&self.kept).lock_owned()).await;
        let mut kept = kept.map_err(|_| sqlx::Error::PoolTimedOut)?;
        if kept.0.is_none() {
            // Boxed: the pool's connect future is large and rarely needed.
            kept.0 = Some(Box::pin(self.pool.acquire()).await?);
        }
        Ok(WriterTurn {
            kept,
            is_shared: self.is_shared,
        })
    }

    pub(super) async fn begin(&self) -> Result<SqliteTransaction, sqlx::Error> {
        Ok(SqliteTransaction {
            turn: Some(self.turn().await?),
            is_begun: false,
        })
    }

    /// Closes the connection once running statements have finished.
    pub(super) async fn close(&self) {
        drop(self.kept.lock().await.0.take());
        self.pool.close().await;
    }

    /// Returns the path of the database file, or `None` for an in-memory database.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let is_file = !self.is_shared;
        is_file.then(|| self.pool.connect_options().get_filename().to_owned())
    }
}

impl WriterTurn {
    pub(super) fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        let connection = self.kept.0.as_deref_mut();
        connection.ok_or(sqlx::Error::PoolClosed)
    }

    /// Ends the writer's turn. After an error, the connection is returned to the pool, which tests
    /// the connection.
    pub(super) fn end<T>(mut self, done: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if done.is_err() {
            self.kept.0.take();
        }
        done
    }
}

impl IdleConnection {
    /// Closes the connection without returning it to the pool, which would need a runtime.
    fn forget(&mut self) {
        drop(self.0.take().map(PoolConnection::detach));
    }
}

impl Drop for IdleConnection {
    fn drop(&mut self) {
        self.forget();
    }
}

impl Drop for WriterTurn {
    fn drop(&mut self) {
        if self.is_shared {
            self.kept.0.take();
        }
    }
}

impl SqliteTransaction {
    /// Returns the connection, starting the transaction first if necessary.
    pub(super) async fn connection(&mut self) -> Result<&mut SqliteConnection, sqlx::Error> {
        let is_begun = std::mem::replace(&mut self.is_begun, true);
        let connection = self.turn()?.connection()?;
        if !is_begun {
            connection.execute(BEGIN).await?;
        }
        Ok(connection)
    }

    /// Runs statements in sequence. Returns the rows from the statements that read.
    pub(super) async fn rows_of_all<T: EngineRow>(
        &mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, sqlx::Error> {
        self.hand_over(all, "").await
    }

    /// Runs the last statements of the transaction, then commits the transaction.
    pub(super) async fn commit<T: EngineRow>(
        mut self,
        all: &[Step<'_>],
    ) -> Result<Vec<T>, sqlx::Error> {
        let rows = self.hand_over(all, "COMMIT").await?;
        self.turn = None;
        Ok(rows)
    }

    async fn hand_over<T: EngineRow>(
        &mut self,
        all: &[Step<'_>],
        end: &'static str,
    ) -> Result<Vec<T>, sqlx::Error> {
        let (mut rows, mut left) = (Vec::new(), all);
        loop {
            let (piece, rest) = left.split_at(left.len().min(MAX_STEPS));
            let is_last = rest.is_empty();
            let end = if is_last { end } else { "" };
            rows.append(&mut self.hand_over_piece(piece, end).await?);
            if is_last {
                return Ok(rows);
            }
            left = rest;
        }
    }

    async fn hand_over_piece<T: EngineRow>(
        &mut self,
        piece: &[Step<'_>],
        end: &'static str,
    ) -> Result<Vec<T>, sqlx::Error> {
        // Set first: cancelling this call must roll back even if `BEGIN` has not run yet.
        let is_begun = std::mem::replace(&mut self.is_begun, true);
        let begin = if is_begun { "" } else { BEGIN };
        let values = piece.iter().flat_map(|(_, values)| values);
        let arguments = arguments::<SqliteArguments>(values)?;
        let sql = AssertSqlSafe(joined(begin, piece, end));
        let connection = self.turn()?.connection()?;
        let query = sqlx::query_as_with::<Sqlite, T, _>(sql, arguments);
        let query = query.persistent(piece.len() <= PREPARED_STEPS);
        query.fetch_all(connection).await
    }

    fn turn(&mut self) -> Result<&mut WriterTurn, sqlx::Error> {
        self.turn.as_mut().ok_or(sqlx::Error::PoolClosed)
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        let Some(mut turn) = self.turn.take().filter(|_| self.is_begun) else {
            return;
        };
        // The turn blocks all other writers until the rollback is complete.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let rolled_back = match turn.connection() {
                    Ok(connection) => connection.execute("ROLLBACK").await,
                    Err(error) => Err(error),
                };
                // The rollback fails if the transaction has not begun or is already rolled back.
                drop(turn.end(rolled_back));
            });
        } else {
            turn.kept.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        database::Database,
        error::StoreError,
        statement::{Statement, Value},
        transaction::Transaction,
    };

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
        let many: Vec<String> = (0..2 * MAX_STEPS + 3)
            .map(|number| format!("{number:04}"))
            .collect();
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

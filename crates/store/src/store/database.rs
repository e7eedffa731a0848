//! Statements on either engine.
//!
//! The only file, beside those of the engines, that knows there are two.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use sqlx::{Executor, postgres::PgArguments, sqlite::SqliteArguments};
use tokio::runtime::Handle;

use super::{
    StoreError,
    columns::EngineRow,
    descriptions::RecentDescriptions,
    error::{DatabaseLocation, Engine},
    link::Link,
    pools::{Pools, in_time},
    postgres::{self, MAX_CONNECTIONS},
    sqlite::{self, Opening},
    statement::{Statement, Value, arguments},
    transaction::{OpenTransaction, Transaction},
};

/// Descriptions after whose writing the log is carried over: some 3 MB of it, of the 16 after which
/// whoever writes does it.
const DESCRIPTIONS: usize = 250;

/// How much was written since `SQLite`'s log was carried over to its file.
///
/// Left alone, whoever writes when the log is long carries it over and waits for the disk, and so
/// do all who are to write next. Carried over beside them, little is left to be done then.
#[derive(Debug, Default)]
pub(super) struct CarryOver {
    written: AtomicUsize,
    is_under_way: AtomicBool,
}

/// Task that carries the log over; there is another one only after its end.
struct UnderWay(Arc<Database>);

/// Database of either engine.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) link: Link,
    pub(super) place: DatabaseLocation,
    pub(super) log: CarryOver,
    pub(super) recent: RecentDescriptions,
}

impl Database {
    /// Opens the database that the URL names, and brings its tables up to date.
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        let place = Self::place(url)?;
        let pools = match place.engine {
            Engine::Sqlite => sqlite::open(url, &place, Opening::Command).await?,
            Engine::Postgres => postgres::open(url, &place, MAX_CONNECTIONS).await?,
        };
        Ok(Self::new(Link::new(url, MAX_CONNECTIONS, pools), place))
    }

    pub(super) fn new(link: Link, place: DatabaseLocation) -> Self {
        Self {
            link,
            place,
            log: CarryOver::default(),
            recent: RecentDescriptions::default(),
        }
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
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
                    query.fetch_all(&read).await
                }
                Pools::Postgres(pool) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_as_with(statement.safe(self.place.engine), arguments);
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

    /// Returns the first row of a statement that only reads, which must have one.
    pub(super) async fn one<T: EngineRow>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<T, StoreError> {
        let row = self.first(statement, values).await?;
        row.ok_or_else(|| self.error(statement, &sqlx::Error::Decode("no row".into())))
    }

    /// Returns the only column of all rows of a statement that only reads.
    pub(super) async fn column<T>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError>
    where
        (T,): EngineRow,
    {
        let rows: Vec<(T,)> = self.rows(statement, values).await?;
        Ok(rows.into_iter().map(|(value,)| value).collect())
    }

    /// Returns the only column of the first row of a statement that only reads.
    pub(super) async fn value<T>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError>
    where
        (T,): EngineRow,
    {
        let row: Option<(T,)> = self.first(statement, values).await?;
        Ok(row.map(|(value,)| value))
    }

    /// Carries out one statement that writes.
    pub(super) async fn run(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.execute(statement, values).await.map(drop)
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
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
                    let mut turn = write.turn().await?;
                    let done = query.execute(turn.connection()?).await;
                    Ok(turn.end(done)?.rows_affected())
                }
                Pools::Postgres(pool) => {
                    let arguments = arguments::<PgArguments>(values)?;
                    let query = sqlx::query_with(statement.safe(self.place.engine), arguments);
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
        let sql = sqlx::SqlSafeStr::into_sql_str(statement.safe(self.place.engine));
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

    /// Notes that descriptions were written; once there are many, a task carries the log over.
    pub(super) fn note_written(self: &Arc<Self>, descriptions: usize) {
        if self.place.engine == Engine::Postgres {
            return;
        }
        let log = &self.log;
        let before = log.written.fetch_add(descriptions, Ordering::Relaxed);
        if before + descriptions < DESCRIPTIONS || log.is_under_way.swap(true, Ordering::Relaxed) {
            return;
        }
        log.written.store(0, Ordering::Relaxed);
        let task = UnderWay(Arc::clone(self));
        // Closing the database waits for it.
        Handle::current().spawn(async move {
            // The log stays then, and whoever writes carries it over.
            if let Err(error) = task.0.checkpoint().await {
                tracing::debug!("{error}");
            }
        });
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

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.log.is_under_way.store(false, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::description::{ResourceDescription, name};
    use crate::store::Store;

    fn descriptions(of: &str) -> Vec<ResourceDescription> {
        let described = (0..50).map(|number| {
            let url = format!("http://a.example/{of}/{number}");
            let mut description = ResourceDescription::new(url);
            description.set(name::FULL_TEXT, "word ".repeat(4_000));
            description
        });
        described.collect()
    }

    #[tokio::test]
    async fn what_was_written_reaches_the_file_while_others_have_it_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let store = Store::connect(&format!("sqlite://{}", path.display())).await;
        let store = store.unwrap();
        let length = || std::fs::metadata(&path).unwrap().len();
        for round in ["one", "two"] {
            let before = length();
            let written = descriptions(round);
            store
                .descriptions()
                .save("a", 1, &written, 1)
                .await
                .unwrap();
            assert_eq!(length(), before, "it is in the log");
            store.database.note_written(DESCRIPTIONS);
            let is_under_way = || store.database.log.is_under_way.load(Ordering::Relaxed);
            let carried = async {
                while is_under_way() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let carried = tokio::time::timeout(Duration::from_secs(20), carried).await;
            carried.expect("the log is carried over");
            assert!(length() > before + 1_000_000);
        }
        store.close().await;
    }

    #[tokio::test]
    async fn a_database_in_memory_has_no_log() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let writing = store.database.begin("write").await.unwrap();
        store.checkpoint().await.unwrap();
        drop(writing);
    }
}

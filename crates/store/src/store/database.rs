//! Runs statements on either database engine.
//!
//! Apart from the engines' own files, only this file distinguishes between the engines.

use sqlx::{Executor, postgres::PgArguments, sqlite::SqliteArguments};

use super::{
    StoreError,
    columns::EngineRow,
    descriptions::RecentDescriptions,
    error::{DatabaseLocation, Engine},
    link::Link,
    pools::{Pools, in_time},
    postgres::{self, MAX_CONNECTIONS},
    sqlite::{self, Opening},
    sqlite_file,
    statement::{Statement, Value, arguments},
    transaction::{OpenTransaction, Transaction},
};

/// A database on either engine.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) link: Link,
    pub(super) place: DatabaseLocation,
    pub(super) recent: RecentDescriptions,
}

impl Database {
    /// Opens the database at a URL and applies pending migrations.
    pub(super) async fn open(url: &str) -> Result<Self, StoreError> {
        let place = Self::parse_location(url)?;
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
            recent: RecentDescriptions::default(),
        }
    }

    /// Parses the engine and location from a database URL, without connecting.
    pub(super) fn parse_location(url: &str) -> Result<DatabaseLocation, StoreError> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        match scheme {
            "sqlite" => sqlite::parse_location(url),
            "postgres" | "postgresql" => postgres::parse_location(url),
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

    /// Runs a read statement and returns all rows.
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

    /// Runs a read statement and returns the first row, if any.
    pub(super) async fn first<T: EngineRow>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows(statement, values).await?;
        Ok(rows.into_iter().next())
    }

    /// Runs a read statement and returns the first row, or an error if there is no row.
    pub(super) async fn one<T: EngineRow>(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<T, StoreError> {
        let row = self.first(statement, values).await?;
        row.ok_or_else(|| self.error(statement, &sqlx::Error::Decode("no row".into())))
    }

    /// Runs a read statement that selects a single column, and returns the values of all rows.
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

    /// Runs a read statement that selects a single column, and returns the value of the first row.
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

    /// Runs a write statement.
    pub(super) async fn run(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.execute(statement, values).await.map(drop)
    }

    /// Runs a write statement. Returns the number of changed rows.
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
                    Ok(query.execute(&write).await?.rows_affected())
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

    /// Begins a write transaction.
    pub(super) async fn begin(&self, what: &'static str) -> Result<Transaction<'_>, StoreError> {
        self.begin_with(what, Mode::Write).await
    }

    /// Begins a read transaction in which all reads see the same state of the database.
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
        // Boxed: the pools' futures are large and would be moved with every caller's future.
        let open = in_time(async {
            Ok(match (self.link.pools()?, mode) {
                // Upgrading a read lock later could fail.
                (Pools::Sqlite { write, .. }, Mode::Write) => {
                    OpenTransaction::Sqlite(Box::pin(write.begin_with("BEGIN IMMEDIATE")).await?)
                }
                (Pools::Sqlite { read, .. }, Mode::Read) => {
                    OpenTransaction::Sqlite(Box::pin(read.begin()).await?)
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
            Err(error) => Err(StoreError::from_statement(what, place, &error)),
        }
    }

    /// Compiles a statement without running it.
    pub(super) async fn prepare(&self, statement: &Statement) -> Result<(), StoreError> {
        let sql = sqlx::SqlSafeStr::into_sql_str(statement.safe(self.place.engine));
        let result = in_time(async {
            match self.link.pools()? {
                Pools::Sqlite { write, .. } => (&write).prepare(sql).await.map(|_| ()),
                Pools::Postgres(pool) => (&pool).prepare(sql).await.map(|_| ()),
            }
        });
        result.await.map_err(|error| self.error(statement, &error))
    }

    /// Checkpoints `SQLite`'s write-ahead log while others may write; does nothing on `PostgreSQL`.
    pub(super) async fn checkpoint(&self) -> Result<(), StoreError> {
        let result = in_time(async {
            if let Pools::Sqlite { read, .. } = self.link.pools()?
                && sqlite_file::path(&self.place.url).is_some()
            {
                sqlite::checkpoint(&read).await?;
            }
            Ok(())
        });
        let what = "checkpoint the write-ahead log";
        let result = result.await;
        result.map_err(|error| StoreError::from_statement(what, &self.place, &error))
    }

    pub(super) fn error(&self, statement: &Statement, error: &sqlx::Error) -> StoreError {
        StoreError::from_statement(statement.what, &self.place, error)
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Read,
    Write,
}

fn bad_scheme(url: &str, scheme: &str) -> StoreError {
    use super::StoreErrorKind::BadUrl;
    // In `user:password@host`, the part before the colon is a user name, which must not be quoted.
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
            "unsupported database URL scheme {scheme:?}; \
             write sqlite://robot-detection.db or postgres://user@host/database"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::description::{ResourceDescription, name};
    use crate::store::Store;

    fn descriptions() -> Vec<ResourceDescription> {
        let described = (0..50).map(|number| {
            let url = format!("http://a.example/{number}");
            let mut description = ResourceDescription::new(url);
            description.set(name::FULL_TEXT, "word ".repeat(4_000));
            description
        });
        described.collect()
    }

    #[tokio::test]
    async fn checkpoint_moves_saved_descriptions_to_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let store = Store::connect(&format!("sqlite://{}", path.display())).await;
        let store = store.unwrap();
        let length = || std::fs::metadata(&path).unwrap().len();
        let before = length();
        let saved = store.descriptions().save("a", 1, &descriptions(), 1).await;
        saved.unwrap();
        assert_eq!(length(), before, "the data is only in the log");
        store.checkpoint().await.unwrap();
        assert!(length() > before + 1_000_000);
        store.close().await;
    }

    #[tokio::test]
    async fn checkpoint_of_memory_database_does_nothing() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let writing = store.database.begin("write").await.unwrap();
        store.checkpoint().await.unwrap();
        drop(writing);
    }
}

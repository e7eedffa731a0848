//! [`Store`], the handle of an open database.

use std::{fmt, path::PathBuf, sync::Arc};

use tokio::sync::watch;

use super::{
    StoreError, StoreErrorKind,
    database::Database,
    error::{DatabaseOutage, Engine},
    link::{AvailabilityChange, Link},
    pools::{PoolState, Pools},
    postgres,
    sqlite::{self, Opening},
    sqlite_file,
};

/// A database handle; clones share the same connections.
///
/// A store may be used by any number of tasks at the same time. A failed call changes nothing, and
/// dropping a call's future never leaves a partial change.
#[derive(Clone)]
pub struct Store {
    pub(super) database: Arc<Database>,
}

impl Store {
    /// Opens a database, creates missing files and tables, and applies pending migrations.
    ///
    /// The URL is `sqlite://FILE`, `sqlite::memory:` or
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. For `PostgreSQL`, add `?host=/…` to set a
    /// socket directory, or `?options=-c search_path=NAME` to set a schema. A missing `SQLite` file
    /// is created, along with its lock file `FILE.lock`; the directory must exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is invalid or unsupported, if the database cannot be opened, or
    /// if its tables were created by a newer version of the program.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        // Boxed: this large future would otherwise be part of every caller's future.
        let database = Arc::new(Box::pin(Database::open(url)).await?);
        Ok(Self { database })
    }

    /// Opens a database like [`Store::connect`], but tolerates a database that cannot be opened
    /// yet.
    ///
    /// At most `max_connections` connections to a `PostgreSQL` server are opened, but at least
    /// four. An `SQLite` file that is damaged or from a newer version is left unchanged. The caller
    /// must regularly call [`check_availability`](Self::check_availability), which opens the
    /// database as soon as possible.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is invalid, or if a missing `SQLite` file cannot be created.
    pub async fn connect_or_wait(
        url: &str,
        max_connections: u32,
        now_ms: i64,
    ) -> Result<Self, StoreError> {
        let place = Database::parse_location(url)?;
        let opened = match place.engine {
            Engine::Sqlite => sqlite::open(url, &place, Opening::Start).await,
            Engine::Postgres => postgres::open(url, &place, max_connections).await,
        };
        let link = match opened {
            Ok(pools) => Link::new(url, max_connections, pools),
            Err(error) if is_wrong_place(url, &error) => return Err(error),
            Err(error) => Link::absent(
                url,
                max_connections,
                Some(DatabaseOutage::new(now_ms, &error)),
            ),
        };
        let database = Arc::new(Database::new(link, place));
        Ok(Self { database })
    }

    /// Returns when and why the database became unavailable, or `None` while it is available.
    pub fn outage(&self) -> Option<Arc<DatabaseOutage>> {
        self.database.link.outage()
    }

    /// Returns a channel that always contains the current [`outage`](Self::outage).
    pub fn watch_outage(&self) -> watch::Receiver<Option<Arc<DatabaseOutage>>> {
        self.database.link.watch_outage()
    }

    /// Checks whether the database is reachable and reconnects after an outage.
    ///
    /// Pending migrations are applied after reconnecting; the rows may differ from those before the
    /// outage. The check also detects a removed or replaced `SQLite` file: the content of a removed
    /// file is saved next to its path, and a replacement file is opened by the next check.
    pub async fn check_availability(&self, now_ms: i64) -> Option<AvailabilityChange> {
        self.database.link.check(&self.database.place, now_ms).await
    }

    /// Returns the state of the connection pool, or `None` while the database is unavailable.
    ///
    /// For `SQLite`, only connections for reading are counted; there is one more for writing.
    pub fn pool_state(&self) -> Option<PoolState> {
        Some(match self.database.link.pools().ok()? {
            Pools::Sqlite { read, .. } => PoolState::new(&read),
            Pools::Postgres(pool) => PoolState::new(&pool),
        })
    }

    /// Waits until a call fails in a way that requires a call to
    /// [`check_availability`](Self::check_availability).
    pub async fn wait_for_failure(&self) {
        self.database.place.trouble.bell.notified().await;
    }

    /// Returns `true` if `PostgreSQL` is behind a connection pooler in transaction mode, where
    /// session locks and notifications do not work.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached.
    pub async fn has_transaction_pooler(url: &str) -> Result<bool, StoreError> {
        let place = Database::parse_location(url)?;
        match place.engine {
            Engine::Sqlite => Ok(false),
            Engine::Postgres => postgres::shares_sessions(url, &place).await,
        }
    }

    /// Returns a database URL without its password, for display.
    ///
    /// The result is the same URL that [`url`](Self::url) returns for the open database. For an
    /// invalid URL, only the scheme is returned.
    pub fn shown_url(url: &str) -> String {
        Database::shown_url(url)
    }

    /// Checks that the database responds and contains robot-detection's tables.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.registry_version().await.map(|_| ())
    }

    /// Checkpoints `SQLite`'s write-ahead log, so that closing the database is fast.
    ///
    /// This does nothing on `PostgreSQL`.
    ///
    /// # Errors
    ///
    /// Returns an error if the checkpoint fails. No data is lost, since the log is retained.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.database.checkpoint().await
    }

    /// Closes all connections once running statements have finished.
    pub async fn close(&self) {
        self.database.link.close().await;
    }

    /// Returns the name of the database engine: `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.place.engine.as_str()
    }

    /// Returns the path of an `SQLite` file, or `None` for a server or an in-memory database.
    pub fn file(&self) -> Option<PathBuf> {
        sqlite_file::path(self.url())
    }

    /// Returns the database URL without its password.
    pub fn url(&self) -> &str {
        &self.database.place.url
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("url", &self.url()).finish()
    }
}

/// Returns `true` if the configured URL is wrong, rather than the database being unavailable.
fn is_wrong_place(url: &str, error: &StoreError) -> bool {
    match error.kind() {
        StoreErrorKind::BadUrl => true,
        // An existing file can be replaced, or its permissions fixed, while the server waits.
        StoreErrorKind::CannotOpen => sqlite_file::path(url).is_some_and(|path| !path.is_file()),
        _ => false,
    }
}

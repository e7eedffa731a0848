//! The handle that everything else holds.

use std::{fmt, path::PathBuf, sync::Arc};

use tokio::sync::watch;

use super::{
    StoreError, StoreErrorKind,
    database::Database,
    error::{Absence, Engine},
    link::{Link, PresenceChange},
    pools::{PoolState, Pools},
    postgres,
    sqlite::{self, Opening},
    sqlite_file,
};

/// Database handle; clones share the connections.
///
/// It may be used by any number of tasks at once. Calls that fail change
/// nothing, and a dropped call leaves no half of its work behind.
#[derive(Clone)]
pub struct Store {
    pub(super) database: Arc<Database>,
}

impl Store {
    /// Opens a database, creates what is missing, and brings its tables up to date.
    ///
    /// The URL is `sqlite://FILE`, `sqlite::memory:` or
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; for `PostgreSQL` a socket's
    /// directory goes into `?host=/…`, and another schema into
    /// `?options=-c search_path=NAME`. An `SQLite` file is created, with a file
    /// `FILE.lock` beside it, in a directory that must exist.
    ///
    /// # Errors
    ///
    /// Fails when the URL is of another kind, when the file or the server
    /// refuses, and when the tables are newer than the program.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        // What opens a database is large, and stands in the futures of all who connect.
        let database = Arc::new(Box::pin(Database::open(url)).await?);
        Ok(Self { database })
    }

    /// Opens a database as [`Store::connect`] does, or waits for one that cannot be opened.
    ///
    /// Of a `PostgreSQL` server it uses `max_connections` at most, but four at least. Of an `SQLite` file damage is looked for first: a damaged one, and one that a
    /// newer program wrote, is left as it is. Somebody must call
    /// [`check_presence`](Self::check_presence) again and again: it opens the database once it can.
    ///
    /// # Errors
    ///
    /// Fails when the URL is of another kind, and when there is no `SQLite` file and
    /// none can be made.
    pub async fn connect_or_wait(
        url: &str,
        max_connections: u32,
        now_ms: i64,
    ) -> Result<Self, StoreError> {
        let place = Database::place(url)?;
        let opened = match place.engine {
            Engine::Sqlite => sqlite::open(url, &place, Opening::Start).await,
            Engine::Postgres => postgres::open(url, &place, max_connections).await,
        };
        let link = match opened {
            Ok(pools) => Link::new(url, max_connections, pools),
            Err(error) if is_wrong_place(url, &error) => return Err(error),
            Err(error) => Link::absent(url, max_connections, Some(Absence::new(now_ms, &error))),
        };
        let database = Arc::new(Database::new(link, place));
        Ok(Self { database })
    }

    /// Returns since when the database is known to be away, and why.
    pub fn absence(&self) -> Option<Arc<Absence>> {
        self.database.link.absence()
    }

    /// Returns a channel that holds the current absence and follows it.
    pub fn watch_absence(&self) -> watch::Receiver<Option<Arc<Absence>>> {
        self.database.link.watch_absence()
    }

    /// Checks whether the database is reachable, and uses it again where it was away.
    ///
    /// Tables are brought up to date then, and rows may be others than before. An
    /// `SQLite` file that was removed or exchanged is noticed: what one that is gone
    /// held is saved beside, and another one at its path is opened by the next look.
    pub async fn check_presence(&self, now_ms: i64) -> Option<PresenceChange> {
        self.database.link.check(&self.database.place, now_ms).await
    }

    /// Returns the state of the connections; `None` while the database is away.
    ///
    /// Those of `SQLite` read; it has one more, which writes.
    pub fn pool_state(&self) -> Option<PoolState> {
        Some(match self.database.link.pools().ok()? {
            Pools::Sqlite { read, .. } => PoolState::new(&read),
            Pools::Postgres(pool) => PoolState::new(&pool),
        })
    }

    /// Waits until a call fails in a way that calls for a check.
    pub async fn wait_for_failure(&self) {
        self.database.place.trouble.bell.notified().await;
    }

    /// Returns `true` if a pooler stands before `PostgreSQL` that gives each transaction any of the
    /// server's sessions, so that neither locks nor notices hold between transactions.
    ///
    /// # Errors
    ///
    /// Fails when the server cannot be reached.
    pub async fn has_transaction_pooler(url: &str) -> Result<bool, StoreError> {
        let place = Database::place(url)?;
        match place.engine {
            Engine::Sqlite => Ok(false),
            Engine::Postgres => postgres::shares_sessions(url, &place).await,
        }
    }

    /// Returns a database URL as it may be shown: without the password.
    ///
    /// It is what [`url`](Self::url) returns once the database is open. Of a URL
    /// that cannot be read, only the scheme is left.
    pub fn shown_url(url: &str) -> String {
        Database::shown_url(url)
    }

    /// Checks that the database answers and holds our tables.
    ///
    /// # Errors
    ///
    /// Fails when it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.registry_version().await.map(|_| ())
    }

    /// Has `SQLite` write from its log into its file what it would write when it is closed.
    ///
    /// Whoever has other work to do meanwhile need not wait for the disk then.
    ///
    /// # Errors
    ///
    /// Fails when the database does; nothing is lost, as the log stays.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.database.checkpoint().await
    }

    /// Closes the connections, after those who use one have finished.
    pub async fn close(&self) {
        self.database.link.close().await;
    }

    /// Returns `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.place.engine.as_str()
    }

    /// Returns the file of an `SQLite` database; a server has none, nor has one in memory.
    pub fn file(&self) -> Option<PathBuf> {
        sqlite_file::path(self.url())
    }

    /// Returns the URL, the password taken out.
    pub fn url(&self) -> &str {
        &self.database.place.url
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("url", &self.url()).finish()
    }
}

/// Returns `true` if a setting is wrong, rather than a database away.
fn is_wrong_place(url: &str, error: &StoreError) -> bool {
    match error.kind() {
        StoreErrorKind::BadUrl => true,
        // A file that is there can be repaired, or its rights set, while a server waits.
        StoreErrorKind::CannotOpen => sqlite_file::path(url).is_some_and(|path| !path.is_file()),
        _ => false,
    }
}

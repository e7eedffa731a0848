//! The handle that everything else holds.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{StoreError, database::Database, error::Engine, postgres, sql, sqlite_file};

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
    #[must_use]
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

    /// Compiles every statement without running any.
    ///
    /// What `doctor` asks: do the tables fit the program?
    ///
    /// # Errors
    ///
    /// Fails on the first statement that the database does not accept.
    pub async fn check_statements(&self) -> Result<(), StoreError> {
        for statement in sql::every_statement(self.database.place.engine) {
            self.database.prepare(&statement).await?;
        }
        Ok(())
    }

    /// Returns the key of our own site robot; where there is none, `new` becomes it.
    ///
    /// Of any number of instances that need it first, all get the same.
    ///
    /// # Errors
    ///
    /// Fails when the database does.
    pub async fn own_robot_key(&self, new: &str, now_ms: i64) -> Result<String, StoreError> {
        let key = || self.database.first::<(String,)>(&sql::OWN_ROBOT_KEY, &[]);
        if let Some((known,)) = key().await? {
            return Ok(known);
        }
        let values = [new.into(), now_ms.into()];
        let init = self.database.execute(&sql::INIT_OWN_ROBOT_KEY, &values);
        init.await?;
        let (key,) = key().await?.ok_or_else(|| {
            let gone = sqlx::Error::Decode("no row".into());
            self.database.error(&sql::OWN_ROBOT_KEY, &gone)
        })?;
        Ok(key)
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
    #[must_use]
    pub fn engine(&self) -> &'static str {
        self.database.place.engine.as_str()
    }

    /// Returns the file of an `SQLite` database; a server has none, nor has one in memory.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        sqlite_file::path(self.url())
    }

    /// Returns the URL, the password taken out.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.database.place.url
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("url", &self.url()).finish()
    }
}

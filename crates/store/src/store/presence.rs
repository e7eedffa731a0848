//! Presence of the database, as callers of the store see it.

use std::sync::Arc;

use tokio::sync::watch;

use super::{
    Store, StoreError, StoreErrorKind,
    carry_over::CarryOver,
    database::{Database, Pools},
    descriptions::RecentDescriptions,
    error::Engine,
    link::Link,
    postgres,
    sqlite::{self, Opening},
    sqlite_file,
};

/// Database that is away: since when, and why.
///
/// Calls of its [`Store`] fail at once, without waiting for it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Absence {
    /// When it was noticed, in milliseconds since 1970.
    pub since_ms: i64,
    /// What failed, on which database, why, and what to do next; without a password.
    pub reason: String,
    /// Cause that callers choose by.
    pub kind: StoreErrorKind,
}

/// Change that a check of the database has found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PresenceChange {
    /// The database is away, or is away for another reason.
    Away(Arc<Absence>),
    /// The database is there, and its tables are up to date.
    Back(Arc<Absence>),
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

impl Absence {
    pub(super) fn new(since_ms: i64, error: &StoreError) -> Self {
        Self {
            since_ms,
            reason: error.to_string(),
            kind: error.kind(),
        }
    }
}

impl Store {
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
        let database = Arc::new(Database {
            link,
            place,
            log: CarryOver::default(),
            recent: RecentDescriptions::default(),
        });
        Ok(Self { database })
    }

    /// Returns since when the database is known to be away, and why.
    #[must_use]
    pub fn absence(&self) -> Option<Arc<Absence>> {
        self.database.link.absence()
    }

    /// Returns a channel that holds the current absence and follows it.
    #[must_use]
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
    #[must_use]
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
}

impl PoolState {
    fn new<D: sqlx::Database>(pool: &sqlx::Pool<D>) -> Self {
        Self {
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            max: pool.options().get_max_connections(),
        }
    }
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

/// Returns `true` if a setting is wrong, rather than a database away.
fn is_wrong_place(url: &str, error: &StoreError) -> bool {
    match error.kind() {
        StoreErrorKind::BadUrl => true,
        // A file that is there can be repaired, or its rights set, while a server waits.
        StoreErrorKind::CannotOpen => sqlite_file::path(url).is_some_and(|path| !path.is_file()),
        _ => false,
    }
}

//! Database connections, and detection of outages.
//!
//! During a known outage, statements fail immediately, and only [`Link::check`] contacts the
//! database. Outages are detected only if [`Link::check`] is called regularly.

use std::{
    fmt, io,
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    time::timeout,
};

use super::{
    StoreError, StoreErrorKind,
    error::{DatabaseLocation, DatabaseOutage, Engine, UnavailableError},
    pools::Pools,
    postgres,
    sqlite::{self, Opening},
    sqlite_file::{self, FileId, OpenedFile},
};

/// The time limit for the database to respond to the availability check.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of attempts to find an idle connection on a busy server, and the pause between
/// attempts.
const BUSY_LOOKS: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// The time limit for running statements to finish when a removed database file is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The time within which a database file that is being replaced is expected to reappear at its
/// path.
const EXCHANGE: Duration = Duration::from_secs(1);

/// The connections to a database, and the availability of the database.
pub(super) struct Link {
    url: String,
    /// The maximum number of connections to a `PostgreSQL` server.
    max_connections: u32,
    pools: ArcSwapOption<Pools>,
    absence: watch::Sender<Option<Arc<DatabaseOutage>>>,
    /// The identity of the file to which the connections were most recently opened.
    file: Mutex<OpenedFile>,
    /// The mutex that is locked while a check is in progress.
    asking: AsyncMutex<()>,
    /// The subscription to notifications from other instances, shared by the whole process.
    pub(super) notices: AsyncMutex<Option<Notices>>,
    /// The session that holds the locks for all leases of this process, if the process holds any.
    pub(super) locks: AsyncMutex<Weak<LockSession>>,
    is_closed: AtomicBool,
}

statements! {
    REGISTRY_VERSION = "read the registry's version",
        "SELECT version FROM registry_version WHERE id = 1";
}

/// A change in the database's availability that was detected by a check.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AvailabilityChange {
    /// The database became unavailable, or is unavailable for a new reason.
    Away(Arc<DatabaseOutage>),
    /// The database is available again, and its tables are migrated.
    Back(Arc<DatabaseOutage>),
}

/// A kind of change about which instances are notified.
#[derive(Clone, Copy, Debug)]
pub(super) enum Channel {
    Registry,
    SiteRobot,
    LiveRules,
}

/// All notification channels, in declaration order.
pub(super) const CHANNELS: [Channel; 3] =
    [Channel::Registry, Channel::SiteRobot, Channel::LiveRules];

/// The number of `PostgreSQL` notifications received on each channel.
pub(super) type Notices = watch::Receiver<[u64; CHANNELS.len()]>;

/// The session that holds the advisory locks for all leases of this process.
pub(super) type LockSession = AsyncMutex<PgConnection>;

impl Channel {
    /// Returns the name of the channel in `PostgreSQL`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Registry => "robot_detection_registry",
            Self::SiteRobot => "robot_detection_site_robot",
            Self::LiveRules => "robot_detection_live_rules",
        }
    }
}

impl Link {
    pub(super) fn new(url: &str, max_connections: u32, pools: Pools) -> Self {
        let link = Self::absent(url, max_connections, None);
        link.use_pools(pools);
        link
    }

    /// Creates a link to a database that is not available yet.
    pub(super) fn absent(url: &str, max_connections: u32, absence: Option<DatabaseOutage>) -> Self {
        Self {
            url: url.to_owned(),
            max_connections,
            pools: ArcSwapOption::empty(),
            absence: watch::Sender::new(absence.map(Arc::new)),
            file: Mutex::default(),
            asking: AsyncMutex::default(),
            notices: AsyncMutex::default(),
            locks: AsyncMutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Returns the connections, or the reason why the database is unavailable.
    pub(super) fn pools(&self) -> Result<Pools, sqlx::Error> {
        if let Some(absence) = self.outage() {
            return Err(sqlx::Error::Io(io::Error::other(UnavailableError(absence))));
        }
        let pools = self.pools.load();
        let pools = pools.as_deref().cloned();
        pools.ok_or(sqlx::Error::PoolClosed)
    }

    pub(super) fn outage(&self) -> Option<Arc<DatabaseOutage>> {
        self.absence.borrow().clone()
    }

    pub(super) fn watch_outage(&self) -> watch::Receiver<Option<Arc<DatabaseOutage>>> {
        self.absence.subscribe()
    }

    /// Checks whether the database is reachable. Returns the change in availability, if any.
    pub(super) async fn check(
        &self,
        place: &DatabaseLocation,
        now_ms: i64,
    ) -> Option<AvailabilityChange> {
        let _asking = self.asking.lock().await;
        if self.is_closed() {
            return None;
        }
        let before = self.outage();
        let seen = match (place.engine, &before) {
            (Engine::Postgres, None) => self.ask(place).await,
            (Engine::Postgres, Some(_)) => self.return_to_server(place).await,
            (Engine::Sqlite, None) => self.check_file(place, now_ms).await,
            (Engine::Sqlite, Some(_)) => self.return_to_file(place).await?,
        };
        // Closing the database during the check makes it fail, which is not an outage.
        if self.is_closed() {
            return None;
        }
        match (before, seen) {
            (None, Ok(())) => None,
            (None, Err(error)) if self.is_busy(&error) => None,
            // An outage for the same reason is not a change, since it has already been reported.
            (Some(before), Err(error)) if before.reason == error.to_string() => None,
            (before, Err(error)) => {
                let since_ms = before.map_or(now_ms, |before| before.since_ms);
                let absence = Arc::new(DatabaseOutage::new(since_ms, &error));
                self.absence.send_replace(Some(Arc::clone(&absence)));
                Some(AvailabilityChange::Away(absence))
            }
            (Some(before), Ok(())) => {
                self.absence.send_replace(None);
                Some(AvailabilityChange::Back(before))
            }
        }
    }

    /// Closes all connections once running statements have finished.
    pub(super) async fn close(&self) {
        // Set first, so that a running check does not reopen the database.
        self.is_closed.store(true, Ordering::Relaxed);
        if let Some(pools) = self.pools.load_full() {
            pools.close().await;
        }
        drop(self.asking.lock().await);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn use_pools(&self, pools: Pools) {
        *self.file.lock() = self
            .path()
            .map_or_else(OpenedFile::default, |path| OpenedFile::at(&path));
        self.pools.store(Some(Arc::new(pools)));
    }

    /// Returns the path of the database file; `None` for a server or an in-memory database.
    fn path(&self) -> Option<PathBuf> {
        sqlite_file::path(&self.url)
    }

    /// Returns `true` if the database is available, but busy with other connections.
    fn is_busy(&self, error: &StoreError) -> bool {
        error.kind() == StoreErrorKind::Busy && self.pools.load().is_some()
    }

    /// Queries the server on an idle connection or, if all pooled connections are in use, on a new
    /// one.
    async fn ask(&self, place: &DatabaseLocation) -> Result<(), StoreError> {
        let Some(Pools::Postgres(pool)) = self.pools.load().as_deref().cloned() else {
            return Ok(());
        };
        if ask_idle(&pool).await {
            return Ok(());
        }
        // A firewall or a server restart may have broken only this connection.
        let asked = async {
            let mut connection = postgres::connect(&self.url, place).await?;
            let answer = timeout(ANSWER_TIMEOUT, version(&mut connection)).await;
            let answer = answer.unwrap_or(Err(sqlx::Error::PoolTimedOut));
            answer.map_err(|error| of_look(place, &error))?;
            drop(timeout(CLOSE_TIMEOUT, connection.close()).await);
            Ok(())
        };
        let Err(error) = asked.await else {
            return Ok(());
        };
        // The pool may already use all connections that the server allows.
        for _ in 0..BUSY_LOOKS {
            if pool.size() > 0 && ask_idle(&pool).await {
                return Ok(());
            }
            tokio::time::sleep(BUSY_PAUSE).await;
        }
        Err(error)
    }

    /// Reconnects to the server and migrates the tables, since an old backup may have been
    /// restored.
    async fn return_to_server(&self, place: &DatabaseLocation) -> Result<(), StoreError> {
        // The pool reconnects by itself; only the tables have to be checked.
        if self.pools.load().is_some() {
            postgres::migrate(&self.url, place).await?;
        } else {
            self.use_pools(postgres::open(&self.url, place, self.max_connections).await?);
        }
        Ok(())
    }

    async fn check_file(&self, place: &DatabaseLocation, now_ms: i64) -> Result<(), StoreError> {
        let (Some(path), Some(Pools::Sqlite { read, .. })) =
            (self.path(), self.pools.load().as_deref().cloned())
        else {
            return Ok(());
        };
        let opened = *self.file.lock();
        let mut found = FileId::of(&path);
        if found.is_none() {
            // A file that is being replaced is missing for a moment.
            tokio::time::sleep(EXCHANGE).await;
            found = FileId::of(&path);
        }
        if found.is_none() {
            // Anything written now would be lost with the file.
            let absence = DatabaseOutage::new(now_ms, &sqlite_file::removed(place, Err("not yet")));
            self.absence.send_replace(Some(Arc::new(absence)));
            let saved = sqlite_file::save_open_file(&read, &path, now_ms).await;
            self.let_go().await;
            let saved = saved.as_deref().map_err(String::as_str);
            return Err(sqlite_file::removed(place, saved));
        }
        if found != opened.file {
            // The next check opens the new file; until then its rows must not be used.
            return Err(sqlite_file::replaced_file_error(place));
        }
        if place.trouble.is_damage.swap(false, Ordering::Relaxed)
            && let Some(why) = sqlite_file::damage_of(&read).await
        {
            self.let_go().await;
            return Err(StoreError::damaged_file(place, &why));
        }
        let asked = sqlx::query(&*REGISTRY_VERSION.sql).fetch_one(&read);
        match timeout(ANSWER_TIMEOUT, asked).await {
            Ok(Err(error)) => Err(of_look(place, &error)),
            // A slow disk is not an outage.
            Ok(Ok(_)) | Err(_) => Ok(()),
        }
    }

    /// Opens a database file that has reappeared. Returns `None` if the file is still missing.
    async fn return_to_file(&self, place: &DatabaseLocation) -> Option<Result<(), StoreError>> {
        let path = self.path().filter(|path| path.exists())?;
        self.let_go().await;
        let opened = *self.file.lock();
        // After closing the pools: SQLite writes to the log until its last connection is closed.
        sqlite_file::set_stale_log_aside(&path, opened);
        let opened = sqlite::open(&self.url, place, Opening::Return).await;
        Some(opened.map(|pools| {
            place.trouble.is_damage.store(false, Ordering::Relaxed);
            self.use_pools(pools);
        }))
    }

    /// Drops the pools. Statements that are running may finish first.
    async fn let_go(&self) {
        if let Some(pools) = self.pools.swap(None) {
            drop(timeout(CLOSE_TIMEOUT, pools.close()).await);
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL is omitted, as it may contain a password.
        f.debug_struct("Link")
            .field("absence", &self.outage())
            .finish_non_exhaustive()
    }
}

/// Queries the database on an idle connection, then closes the connection if others are idle.
async fn ask_idle(pool: &PgPool) -> bool {
    let Some(mut connection) = pool.try_acquire() else {
        return false;
    };
    let answer = timeout(ANSWER_TIMEOUT, version(&mut connection)).await;
    let is_there = matches!(answer, Ok(Ok(_)));
    // The pool rotates through its idle connections, so that none would reach the idle timeout.
    if !is_there || pool.num_idle() > 0 {
        connection.close_on_drop();
    }
    is_there
}

async fn version(connection: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(&*REGISTRY_VERSION.sql)
        .fetch_one(connection)
        .await
}

fn of_look(place: &DatabaseLocation, error: &sqlx::Error) -> StoreError {
    StoreError::from_statement(REGISTRY_VERSION.what, place, error)
}

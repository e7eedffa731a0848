//! `SQLite` connections: one file in write-ahead logging mode, with a single writer.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
    str::FromStr,
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, Executor as _, SqlitePool,
    migrate::MigrateError,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{
    StoreError, StoreErrorKind,
    error::{DatabaseLocation, Engine},
    migrations,
    pools::Pools,
    sqlite_file::{CHECK_TIME, Fault, Target, bad_url, create_private, fault_of, sibling_path},
    statement::{SLOW_AFTER, SLOW_LOGGED},
};

/// The time limit for waiting for a connection, for example for the other writers of this process.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);

/// The time limit for waiting until another process has finished writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The time limit for waiting until other processes have opened the same file.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The size of the write-ahead log, in pages, at which `SQLite` checkpoints the log.
///
/// A page that is written by several transactions is copied only once. 4,000 pages are 16 MiB.
const CHECKPOINT_PAGES: &str = "4000";

/// The number of rows that a connection buffers, so that the reader and the worker thread wake each
/// other less often.
const ROWS: usize = 500;

/// The number of prepared statements that each connection caches.
const STATEMENTS: usize = 200;

/// The page cache size of each connection; a negative value is in KiB. Half of the default is
/// sufficient, as there are five connections, and the operating system also caches the file.
const PAGE_CACHE: &str = "-1000";

const START_POLL: Duration = Duration::from_millis(10);

/// The number of connections for reading, in addition to the connection for writing.
const READERS: u32 = 4;
/// The time after which an idle connection for reading is closed; each connection has a thread and
/// a page cache.
const READ_FOR: Duration = Duration::from_mins(2);

const OPEN_ADVICE: &str = "check that its directory exists, that this user has write permission \
                           there, and that the path is that of an SQLite database, not of a \
                           directory";

/// The reason for opening a database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opening {
    /// A command or a library opens the database. Errors are returned.
    Command,
    /// A server opens the database at startup. A damaged file is left unchanged.
    Start,
    /// A server opens the database again after an outage. A missing file is not created.
    Return,
}

/// Parses the location of a database from its URL.
pub(super) fn parse_location(url: &str) -> Result<DatabaseLocation, StoreError> {
    Target::parse(url)?;
    SqliteConnectOptions::from_str(url).map_err(|error| bad_url(url, &error.to_string()))?;
    Ok(DatabaseLocation::new(Engine::Sqlite, url.to_owned()))
}

/// Opens a database file, which may be created, or an in-memory database.
pub(super) async fn open(
    url: &str,
    place: &DatabaseLocation,
    opening: Opening,
) -> Result<Pools, StoreError> {
    let target = Target::parse(url)?;
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| bad_url(url, &error.to_string()))?
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        // In write-ahead mode a power failure may lose recent transactions but not damage the file.
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(STATEMENTS)
        .log_slow_statements(SLOW_LOGGED, SLOW_AFTER)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("cache_size", PAGE_CACHE)
        // By default, statements that touch many rows create and delete temporary files.
        .pragma("temp_store", "memory");
    match target {
        Target::Memory => open_memory(place, options).await,
        Target::File { create } => open_file(place, options, create, opening).await,
    }
}

/// Opens an in-memory database, which exists as long as its only connection.
async fn open_memory(
    place: &DatabaseLocation,
    options: SqliteConnectOptions,
) -> Result<Pools, StoreError> {
    let pool = connect_pool(place, 1, None, &options).await?;
    let mut connection = pool.acquire().await.map_err(of_open(place))?;
    migrate(place, &mut connection).await?;
    drop(connection);
    Ok(Pools::Sqlite {
        read: pool.clone(),
        write: pool,
    })
}

async fn open_file(
    place: &DatabaseLocation,
    options: SqliteConnectOptions,
    create: bool,
    opening: Opening,
) -> Result<Pools, StoreError> {
    // Neither connecting and the switch to write-ahead mode nor concurrent migrations may race:
    // SQLite has no lock that covers both.
    let starting = lock_start(place, options.get_filename()).await?;
    if opening != Opening::Command {
        refuse_fault(place, options.get_filename()).await?;
    }
    let options = options.create_if_missing(create && opening != Opening::Return);
    if create && opening != Opening::Return {
        create_private(options.get_filename());
    }
    // The journal mode is stored in the file: set here once, it applies to all later connections.
    let first = options.clone().journal_mode(SqliteJournalMode::Wal);
    let mut connection = first.connect().await.map_err(of_open(place))?;
    migrate(place, &mut connection).await?;
    let reading = options.clone().row_buffer_size(ROWS);
    let pools = Pools::Sqlite {
        read: connect_pool(place, READERS, Some(READ_FOR), &reading).await?,
        write: connect_pool(place, 1, None, &options).await?,
    };
    // Closed only now, since closing the last open connection would empty the log.
    let closed = connection.close().await;
    drop(starting);
    closed.map_err(of_open(place))?;
    Ok(pools)
}

async fn refuse_fault(place: &DatabaseLocation, path: &Path) -> Result<(), StoreError> {
    match fault_of(path, Some(CHECK_TIME)).await {
        None => Ok(()),
        Some(Fault::Damage(why)) => Err(StoreError::damaged_file(place, &why)),
        Some(Fault::Newer(version)) => {
            let newer = MigrateError::VersionMissing(version);
            Err(StoreError::from_migration(place, &newer))
        }
    }
}

fn of_open(place: &DatabaseLocation) -> impl Fn(sqlx::Error) -> StoreError {
    |error| StoreError::from_open(place, &error, OPEN_ADVICE)
}

async fn connect_pool(
    place: &DatabaseLocation,
    connections: u32,
    idle_timeout: Option<Duration>,
    options: &SqliteConnectOptions,
) -> Result<SqlitePool, StoreError> {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .idle_timeout(idle_timeout)
        .max_lifetime(None)
        // The connection is in this process; no network failure can break it.
        .test_before_acquire(false)
        .acquire_timeout(QUEUE_TIMEOUT)
        .connect_with(options.clone())
        .await
        .map_err(of_open(place))
}

/// Checkpoints the part of the write-ahead log that no reader needs.
///
/// This runs on a reading connection, so that the writer does not wait for the disk.
pub(super) async fn checkpoint(read: &SqlitePool) -> Result<(), sqlx::Error> {
    read.execute("PRAGMA wal_checkpoint(PASSIVE)")
        .await
        .map(drop)
}

pub(super) async fn migrate(
    place: &DatabaseLocation,
    connection: &mut sqlx::SqliteConnection,
) -> Result<(), StoreError> {
    migrations::sqlite()
        .run_direct(None, connection, false)
        .await
        .map_err(|error| StoreError::from_migration(place, &error))
}

/// Locks the lock file next to the database. Closing the returned file releases the lock.
pub(super) async fn lock_start(
    place: &DatabaseLocation,
    database: &Path,
) -> Result<File, StoreError> {
    // Not the database file itself: closing it would drop the locks that `SQLite` holds on it.
    let path = sibling_path(database, ".lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    // The same mode as the database, so that only its owner can lock the file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(&path)
        .map_err(|error| cannot_lock(place, &path, &error))?;
    let waiting = async {
        // Polling can be cancelled; a blocking lock call would hold a thread.
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(START_POLL).await,
                Err(TryLockError::Error(error)) => return Err(cannot_lock(place, &path, &error)),
            }
        }
    };
    match tokio::time::timeout(START_TIMEOUT, waiting).await {
        Ok(locked) => locked.map(|()| file),
        Err(_) => Err(StoreError::new(
            StoreErrorKind::Busy,
            format!(
                "cannot open the database {place}: another process has held {} for {} s; \
                 stop that process",
                path.display(),
                START_TIMEOUT.as_secs()
            ),
        )),
    }
}

fn cannot_lock(place: &DatabaseLocation, path: &Path, error: &io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot open the database {place}: cannot lock {}: {error}; check that its directory \
             exists and that this user has write permission there",
            path.display()
        ),
    )
}

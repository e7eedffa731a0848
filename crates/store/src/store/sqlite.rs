//! `SQLite`: one file, write-ahead log, one writer.

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
    sqlite_file::{CHECK_TIME, Fault, Target, bad_url, beside, create_private, fault_of},
    sqlite_writer::{QUEUE_TIMEOUT, SqliteWriter},
    statement::{SLOW_AFTER, SLOW_LOGGED},
};

/// Longest that a statement waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest that a start waits for other starts on the same file.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Pages of the write-ahead log that are carried over to the database at once.
///
/// A page that many transactions write is carried over once; 4,000 are 16 MiB.
const CHECKPOINT_PAGES: &str = "4000";

/// Rows that a connection reads ahead: it and who wants them need not wake each other for each.
const ROWS: usize = 500;

/// Statements that a connection keeps compiled.
const STATEMENTS: usize = 200;

/// Memory for pages of each connection, in KiB as the minus says: half of the usual. There are five
/// connections, and the system keeps the file's pages too.
const PAGE_CACHE: &str = "-1000";

const START_POLL: Duration = Duration::from_millis(10);

/// Connections that read beside the one that writes.
const READERS: u32 = 4;
/// Time after which one that nobody uses is closed: each has a thread and a cache of pages.
const READ_FOR: Duration = Duration::from_mins(2);

const OPEN_ADVICE: &str = "check that its directory exists, that this user may write \
                           there, and that it names an SQLite database, not a directory";

/// Why a database is opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Opening {
    /// For a command, or a library: what is wrong is told.
    Command,
    /// For a server, which leaves a damaged file as it is.
    Start,
    /// For a server that had none for a while; it makes none.
    Return,
}

/// Reads the place from a URL.
pub(super) fn place(url: &str) -> Result<DatabaseLocation, StoreError> {
    Target::parse(url)?;
    SqliteConnectOptions::from_str(url).map_err(|error| bad_url(url, &error.to_string()))?;
    Ok(DatabaseLocation::new(Engine::Sqlite, url.to_owned()))
}

/// Opens the file, which is created where it is missing, or a database in memory.
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
        // With a write-ahead log a power failure may cost the last transactions, never the file.
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(STATEMENTS)
        .log_slow_statements(SLOW_LOGGED, SLOW_AFTER)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("cache_size", PAGE_CACHE)
        // Statements that touch many rows would each make a file, and remove it.
        .pragma("temp_store", "memory");
    match target {
        Target::Memory => open_memory(place, options).await,
        Target::File { create } => open_file(place, options, create, opening).await,
    }
}

/// A database in memory lives as long as its connection: there is one, for ever.
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
        write: SqliteWriter::new(pool, true),
    })
}

async fn open_file(
    place: &DatabaseLocation,
    options: SqliteConnectOptions,
    create: bool,
    opening: Opening,
) -> Result<Pools, StoreError> {
    // Connections must not race with the switch to the write-ahead log, nor
    // migrations with each other: SQLite has no lock that spans both.
    let starting = lock_start(place, options.get_filename()).await?;
    if opening != Opening::Command {
        refuse_fault(place, options.get_filename()).await?;
    }
    let options = options.create_if_missing(create && opening != Opening::Return);
    if create && opening != Opening::Return {
        create_private(options.get_filename());
    }
    // The journal mode is a property of the file: set once here, all later connections find it.
    let first = options.clone().journal_mode(SqliteJournalMode::Wal);
    let mut connection = first.connect().await.map_err(of_open(place))?;
    migrate(place, &mut connection).await?;
    let reading = options.clone().row_buffer_size(ROWS);
    let write = connect_pool(place, 1, None, &options).await?;
    let pools = Pools::Sqlite {
        read: connect_pool(place, READERS, Some(READ_FOR), &reading).await?,
        write: SqliteWriter::new(write, false),
    };
    // The last connection to close would empty the log: the pools are open now.
    let closed = connection.close().await;
    drop(starting);
    closed.map_err(of_open(place))?;
    Ok(pools)
}

async fn refuse_fault(place: &DatabaseLocation, path: &Path) -> Result<(), StoreError> {
    match fault_of(path, Some(CHECK_TIME)).await {
        None => Ok(()),
        Some(Fault::Damage(why)) => Err(StoreError::of_damage(place, &why)),
        Some(Fault::Newer(version)) => {
            let newer = MigrateError::VersionMissing(version);
            Err(StoreError::of_migration(place, &newer))
        }
    }
}

fn of_open(place: &DatabaseLocation) -> impl Fn(sqlx::Error) -> StoreError {
    |error| StoreError::of_open(place, &error, OPEN_ADVICE)
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
        // It is in this process: no network loses it.
        .test_before_acquire(false)
        .acquire_timeout(QUEUE_TIMEOUT)
        .connect_with(options.clone())
        .await
        .map_err(of_open(place))
}

/// Carries the write-ahead log over to the file as far as nobody reads it.
///
/// On a connection that reads: the one that writes need not wait for the disk.
pub(super) async fn carry_over(read: &SqlitePool) -> Result<(), sqlx::Error> {
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
        .map_err(|error| StoreError::of_migration(place, &error))
}

/// Acquires the lock of the file beside the database; closing the file frees it.
pub(super) async fn lock_start(
    place: &DatabaseLocation,
    database: &Path,
) -> Result<File, StoreError> {
    // Not the database itself: closing that would drop the locks that `SQLite` has on it.
    let path = beside(database, ".lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    // Like the database, so that only its owner can hold the lock.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options
        .open(&path)
        .map_err(|error| cannot_lock(place, &path, &error))?;
    let waiting = async {
        // Polled, as waiting in the system would hold a thread that nothing can cancel.
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
            "cannot open the database {place}: cannot lock {}: {error}; check that its \
             directory exists and that this user may write there",
            path.display()
        ),
    )
}

//! Lock that belongs to a lease and is released when the holder's process ends.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    hash::{BuildHasher as _, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::runtime::Handle;

use super::{
    StoreError, StoreErrorKind,
    database::Database,
    error::Engine,
    link::LockSession,
    pools::{Pools, in_time},
    postgres, sqlite_file,
    statement::Statement,
};

/// Session settings: TCP keepalives in seconds, which let `PostgreSQL` detect that a holder's host
/// is gone, and a timeout for locks still held by an older session of this process.
// Ten seconds in total, so that another instance takes over within fifteen; Linux would send the
// first probe only after two hours.
const KEEPALIVES: [(&str, &str); 4] = [
    ("lock_timeout", "5000"),
    ("tcp_keepalives_idle", "4"),
    ("tcp_keepalives_interval", "2"),
    ("tcp_keepalives_count", "3"),
];

/// The statement that acquires an advisory lock until the session ends; `PostgreSQL` only.
static LOCK_LEASE: Statement =
    Statement::new("lock a lease", "SELECT CAST(pg_advisory_lock($1) AS TEXT)");

static UNLOCK_LEASE: Statement = Statement::new(
    "unlock a lease",
    "SELECT CAST(pg_advisory_unlock($1) AS TEXT)",
);

/// The statement that briefly tries to acquire a shared lock, so that checks do not disturb each
/// other.
static IS_LEASE_UNLOCKED: Statement = Statement::new(
    "check whether a lease is locked",
    "SELECT CAST(CASE WHEN pg_try_advisory_xact_lock_shared($1) THEN 1 ELSE 0 END AS BIGINT)",
);

/// Statements for locks, which only `PostgreSQL` supports.
pub(super) static LOCKS: [&Statement; 3] = [&LOCK_LEASE, &UNLOCK_LEASE, &IS_LEASE_UNLOCKED];

/// The random upper half of this process's lease keys.
static PROCESS: LazyLock<u64> =
    LazyLock::new(|| RandomState::new().hash_one(std::process::id()) << 32);

/// A lock that belongs to a lease and is released when the holder's process ends.
#[derive(Debug)]
pub(super) enum ProcessLock {
    /// No lock is needed: an in-memory database ends with its process.
    Memory,
    /// A locked file next to the database file.
    File(#[expect(dead_code, reason = "held only for its destructor")] LockedFile),
    /// An advisory lock in the session shared by all leases of the process.
    Session(SessionLock),
}

/// An advisory lock in a session, which is released when the value is dropped.
#[derive(Debug)]
pub(super) struct SessionLock {
    session: Option<Arc<LockSession>>,
    key: i64,
}

/// A file that remains locked until the value is dropped, and is then removed.
#[derive(Debug)]
pub(super) struct LockedFile {
    path: PathBuf,
    file: File,
}

impl ProcessLock {
    pub(super) async fn acquire(database: &Database, key: u64) -> Result<Self, StoreError> {
        match pools(database)? {
            Pools::Sqlite { .. } => match sqlite_file::path(&database.place.url) {
                None => Ok(Self::Memory),
                Some(file) => {
                    let path = beside(&file, key);
                    let locked = LockedFile::create(path.clone());
                    let locked = locked.map_err(|error| cannot_lock(database, &path, &error))?;
                    Ok(Self::File(locked))
                }
            },
            Pools::Postgres(pool) => {
                let key = key.cast_signed();
                let session = Some(session(database, &pool, key).await?);
                Ok(Self::Session(SessionLock { session, key }))
            }
        }
    }

    /// Opens a new database session if the previous session has failed.
    ///
    /// Another process may have acquired the lease in the meantime, so check the lease's row
    /// afterwards.
    pub(super) async fn reconnect(&mut self, database: &Database) -> Result<(), StoreError> {
        if let (Self::Session(lock), Pools::Postgres(pool)) = (self, pools(database)?)
            && let Some(session) = lock.session.as_ref()
            && Box::pin(in_time(session.lock().await.ping()))
                .await
                .is_err()
        {
            lock.session = Some(self::session(database, &pool, lock.key).await?);
        }
        Ok(())
    }

    /// Releases the lock. Releasing the last lock of the process closes the session cleanly.
    pub(super) async fn release(self) {
        if let Self::Session(mut lock) = self
            && let Some(session) = lock.session.take()
        {
            match Arc::try_unwrap(session) {
                // A session that cannot be closed cleanly has ended anyway.
                Ok(session) => drop(Box::pin(in_time(session.into_inner().close())).await),
                Err(session) => unlock(session, lock.key).await,
            }
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // The last lock ends with its session; without a runtime, the process is exiting.
        if let Some(session) = self.session.take()
            && Arc::strong_count(&session) > 1
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(unlock(session, self.key));
        }
    }
}

impl LockedFile {
    fn create(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        // A process that can open the file could lock it and keep the lease alive.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        let locked = Self { path, file };
        match locked.file.try_lock() {
            Ok(()) => Ok(locked),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A leftover file is removed by the first process that finds it unlocked.
        drop(fs::remove_file(&self.path));
    }
}

/// Returns a lease key that no other lease has. The upper half of the key identifies the process.
pub(super) fn new_key() -> u64 {
    static LEASES: AtomicU32 = AtomicU32::new(0);
    let lease = LEASES.fetch_add(1, Ordering::Relaxed);
    *PROCESS | u64::from(lease)
}

/// Returns the ID of the process that owns a lease key.
pub(super) fn instance_of(key: u64) -> String {
    format!("{:08x}", key >> 32)
}

/// Returns the ID of this process, newly generated at each start.
pub(super) fn instance() -> String {
    instance_of(*PROCESS)
}

/// Returns `true` if the process that held the lease is known to have ended.
pub(super) async fn is_gone(database: &Database, key: u64) -> Result<bool, StoreError> {
    match pools(database)? {
        Pools::Sqlite { .. } => {
            let file = sqlite_file::path(&database.place.url);
            Ok(file.is_some_and(|file| is_unlocked(&beside(&file, key))))
        }
        Pools::Postgres(_) => {
            let values = [key.cast_signed().into()];
            let is_unlocked: Option<i64> = database.value(&IS_LEASE_UNLOCKED, &values).await?;
            Ok(is_unlocked.is_some_and(|is_unlocked| is_unlocked != 0))
        }
    }
}

/// Returns `true`, and removes the lock file, if no process holds a lock on the file.
fn is_unlocked(path: &Path) -> bool {
    match File::open(path) {
        // A shared lock, so that concurrent checks do not mistake each other for the holder.
        Ok(file) if file.try_lock_shared().is_ok() => {
            drop(fs::remove_file(path));
            true
        }
        Ok(_) => false,
        // Any other error gives no information about the holder, which is then considered alive.
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn pools(database: &Database) -> Result<Pools, StoreError> {
    let pools = database.link.pools();
    pools.map_err(|error| database.error(&LOCK_LEASE, &error))
}

fn beside(database: &Path, key: u64) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(format!(".lease-{key:016x}"));
    path.into()
}

/// Locks the key in the session shared by this process's leases, and returns the session.
async fn session(
    database: &Database,
    pool: &PgPool,
    key: i64,
) -> Result<Arc<LockSession>, StoreError> {
    let mut shared = database.link.locks.lock().await;
    if let Some(session) = shared.upgrade()
        && run(&mut *session.lock().await, &LOCK_LEASE, key)
            .await
            .is_ok()
    {
        return Ok(session);
    }
    // Boxed: the connect future is large and would be moved with every lease holder's future.
    let locked = Box::pin(async {
        let mut connection = in_time(pool.connect_options().connect()).await?;
        in_time(postgres::set(&mut connection, &KEEPALIVES)).await?;
        run(&mut connection, &LOCK_LEASE, key).await?;
        Ok(Arc::new(LockSession::new(connection)))
    });
    let session = locked
        .await
        .map_err(|error| database.error(&LOCK_LEASE, &error))?;
    *shared = Arc::downgrade(&session);
    Ok(session)
}

async fn unlock(session: Arc<LockSession>, key: i64) {
    // If the session fails, its lock has also ended.
    drop(run(&mut *session.lock().await, &UNLOCK_LEASE, key).await);
}

async fn run(
    connection: &mut PgConnection,
    statement: &Statement,
    key: i64,
) -> Result<(), sqlx::Error> {
    let query = sqlx::query(statement.safe(Engine::Postgres)).bind(key);
    Box::pin(in_time(query.execute(connection)))
        .await
        .map(|_| ())
}

fn cannot_lock(database: &Database, path: &Path, error: &io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot acquire a lease in {}: cannot lock {}: {error}; check that this user has write \
             permission in its directory",
            database.place,
            path.display()
        ),
    )
}

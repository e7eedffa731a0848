//! File of an `SQLite` database: existence, damage and identity.
//!
//! Only `SQLite` itself may open the file, because closing a file in a process releases all locks
//! that `SQLite` holds on the file (<https://www.sqlite.org/howtocorrupt.html> §2.2).

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    str::FromStr as _,
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool,
    sqlite::SqliteConnectOptions,
};
use time::OffsetDateTime;
use tokio::time::{Instant, timeout};
use tracing::{error, warn};

use super::{
    StoreError, StoreErrorKind,
    error::{DatabaseLocation, cause_of, kind_from_sqlite_code},
    migrations,
};

/// The time limit for the damage check at startup. Damage that is not found in time is detected
/// when the data is read.
pub(super) const CHECK_TIME: Duration = Duration::from_secs(2);

/// The time limit for saving the content of a removed file.
const SAVE_TIME: Duration = Duration::from_mins(5);

/// The number of `SQLite` virtual machine instructions between two checks of the time limit.
const CHECK_STEPS: i32 = 10_000;

/// The identity of a file, which distinguishes the file from other files with the same name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// The identity of an opened database file and its write-ahead log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenedFile {
    pub(super) file: Option<FileId>,
    log: Option<FileId>,
}

/// The reason why an existing database file must not be opened for writing.
#[derive(Debug)]
pub(super) enum Fault {
    Damage(String),
    /// The file contains a migration with this version, which is unknown to this program.
    Newer(i64),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Target {
    Memory,
    File { create: bool },
}

impl Target {
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let rest = url.trim_start_matches("sqlite:").trim_start_matches("//");
        let (file, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let mode = parameters
            .split('&')
            .find_map(|parameter| parameter.strip_prefix("mode="));
        match (file, mode) {
            (":memory:", _) | (_, Some("memory")) => Ok(Self::Memory),
            ("", _) => Err(bad_url(url, "it does not contain a file name")),
            // sqlx creates a file only with `mode=rwc`; here, a plain path is enough.
            (_, mode) => Ok(Self::File {
                create: mode.is_none_or(|mode| mode == "rwc"),
            }),
        }
    }
}

impl FileId {
    /// Returns the identity of the file at a path, or `None` if the file does not exist.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let file = fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
        })
    }

    /// Returns a constant if there is a file at the path, since this system cannot distinguish
    /// files.
    #[cfg(not(unix))]
    pub(super) fn of(path: &Path) -> Option<Self> {
        let (device, inode) = (0, 0);
        path.exists().then_some(Self { device, inode })
    }
}

impl OpenedFile {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            file: FileId::of(path),
            log: FileId::of(&sibling_path(path, "-wal")),
        }
    }
}

/// Returns the path in a database URL; `None` for an in-memory database or a server.
pub(super) fn path(url: &str) -> Option<PathBuf> {
    if !url.starts_with("sqlite:") {
        return None;
    }
    match Target::parse(url).ok()? {
        Target::Memory => None,
        Target::File { .. } => {
            let options = SqliteConnectOptions::from_str(url).ok()?;
            Some(options.get_filename().to_owned())
        }
    }
}

/// Returns the database file's path with an ending appended, for a file next to the database file.
pub(super) fn sibling_path(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Formats a time in UTC for use in file names, such as `20261123-143408`.
pub(super) fn label(at_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(at_ms.div_euclid(1_000));
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (hour, minute, second) = at.to_hms();
    format!(
        "{:04}{:02}{:02}-{hour:02}{minute:02}{second:02}",
        at.year(),
        u8::from(at.month()),
        at.day(),
    )
}

/// Checks a database file for damage and for tables from a newer version, without changing the
/// file.
///
/// If there is a write-ahead log, `SQLite` recreates the index of the log (`-shm`).
///
/// If no `limit` is given, the whole file is read.
pub(super) async fn fault_of(path: &Path, limit: Option<Duration>) -> Option<Fault> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let log = length(&sibling_path(path, "-wal"));
    if length(path) == 0 {
        // SQLite would treat it as a new database and discard the log.
        let why = "the file is empty, but its write-ahead log is not".to_owned();
        return (log > 0).then_some(Fault::Damage(why));
    }
    // Without a log, the file is opened as immutable, so that `SQLite` creates no files next to it.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .immutable(log == 0);
    let mut connection = match options.connect().await {
        Ok(connection) => connection,
        Err(error) => return damage(&error).map(Fault::Damage),
    };
    if let Some(limit) = limit {
        drop(stop_in(&mut connection, limit).await);
    }
    let fault = fault_on(&mut connection).await;
    drop(connection.close().await);
    fault
}

/// Checks an open database for damage.
pub(super) async fn damage_of(pool: &SqlitePool) -> Option<String> {
    match pool.acquire().await {
        Ok(mut connection) => quick_check(&mut connection).await,
        Err(error) => damage(&error),
    }
}

/// Creates the error for a removed database file, with the path of the saved copy or the reason why
/// there is no copy.
pub(super) fn removed(place: &DatabaseLocation, saved: Result<&Path, &str>) -> StoreError {
    let saved = match saved {
        Ok(copy) => format!("its content was saved to {}", copy.display()),
        Err(error) => format!("its content could not be saved: {error}"),
    };
    StoreError::new(
        StoreErrorKind::Unavailable,
        format!(
            "the file of the database {place} was removed, and {saved}; restore a copy or a backup \
             at its path, or create a new database with `robot-detection database new`"
        ),
    )
}

/// Creates the error for a database file that was replaced by another file.
pub(super) fn replaced_file_error(place: &DatabaseLocation) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        format!("the file of the database {place} was replaced; the new file will be used"),
    )
}

/// Saves the content of a removed database file that is still open, next to the file's path.
/// Returns the path of the copy.
pub(super) async fn save_open_file(
    pool: &SqlitePool,
    path: &Path,
    now_ms: i64,
) -> Result<PathBuf, String> {
    let copy = sibling_path(path, &format!(".saved-{}", label(now_ms)));
    create_private(&copy);
    let name = copy.to_string_lossy().into_owned();
    // `SQLite` can still read the open file, although its name is gone.
    let saving = sqlx::query("VACUUM INTO $1").bind(name).execute(pool);
    match timeout(SAVE_TIME, saving).await {
        Ok(Ok(_)) => Ok(copy),
        Ok(Err(error)) => Err(cause_of(&error)),
        Err(_) => Err("timed out".to_owned()),
    }
}

/// Renames a write-ahead log if its database file is no longer at its path.
///
/// Otherwise, `SQLite` would write the pages in the log to the new file.
pub(super) fn set_stale_log_aside(path: &Path, opened: OpenedFile) {
    let log = sibling_path(path, "-wal");
    let Some(stale) = opened.log.filter(|stale| FileId::of(&log) == Some(*stale)) else {
        return;
    };
    if FileId::of(path) != opened.file {
        let aside = sibling_path(path, &format!("-wal.stale-{}", stale.inode));
        match fs::rename(&log, &aside) {
            Ok(()) => warn!(
                "moved the write-ahead log of the replaced database file to {}",
                aside.display()
            ),
            Err(error) => error!("cannot rename {}: {error}", log.display()),
        }
        drop(fs::remove_file(sibling_path(path, "-shm")));
    }
}

/// Creates a missing database file that only its owner can read, since the file will contain
/// password hashes.
///
/// `SQLite` treats an empty file as a new database, and will report any failure that occurs here.
pub(super) fn create_private(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
}

async fn fault_on(connection: &mut SqliteConnection) -> Option<Fault> {
    if let Some(why) = quick_check(connection).await {
        return Some(Fault::Damage(why));
    }
    let known: Vec<i64> = migrations::sqlite()
        .iter()
        .map(|known| known.version)
        .collect();
    let applied: Vec<i64> =
        sqlx::query_scalar("SELECT version FROM robot_detection_migrations ORDER BY version")
            .fetch_all(connection)
            .await
            // A new file and another program's file have no such table.
            .unwrap_or_default();
    let newer = applied.into_iter().find(|version| !known.contains(version));
    newer.map(Fault::Newer)
}

/// Returns the first damage that `SQLite` detects.
pub(super) async fn quick_check(connection: &mut SqliteConnection) -> Option<String> {
    let checked: Result<String, _> = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(connection)
        .await;
    match checked {
        Ok(found) if found == "ok" => None,
        // The first line only names the schema.
        Ok(found) => Some(found.lines().next_back().unwrap_or_default().to_owned()),
        Err(error) => damage(&error),
    }
}

/// Interrupts statements that run longer than the time limit.
async fn stop_in(connection: &mut SqliteConnection, time: Duration) -> Result<(), sqlx::Error> {
    let until = Instant::now() + time;
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(CHECK_STEPS, move || Instant::now() < until);
    Ok(())
}

/// Returns the message of an error if it reports a damaged file.
fn damage(error: &sqlx::Error) -> Option<String> {
    let sqlx::Error::Database(cause) = error else {
        return None;
    };
    let kind = kind_from_sqlite_code(&cause.code().unwrap_or_default());
    (kind == StoreErrorKind::Corrupt).then(|| cause.message().to_owned())
}

pub(super) fn bad_url(url: &str, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::BadUrl,
        format!("invalid database URL {url:?}: {why}; write sqlite://robot-detection.db"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_selects_file_or_memory() {
        for (url, target) in [
            ("sqlite::memory:", Target::Memory),
            ("sqlite://:memory:", Target::Memory),
            ("sqlite://a.db?mode=memory&cache=shared", Target::Memory),
            ("sqlite:a.db", Target::File { create: true }),
            ("sqlite:///var/a.db", Target::File { create: true }),
            ("sqlite://a.db?mode=rwc", Target::File { create: true }),
            ("sqlite://a.db?mode=rw", Target::File { create: false }),
        ] {
            assert_eq!(Target::parse(url).ok(), Some(target), "{url}");
        }
    }

    #[test]
    fn label_contains_date_and_time() {
        assert_eq!(label(1_795_444_448_000), "20261123-143408");
    }

    #[test]
    fn only_file_urls_have_a_path() {
        assert_eq!(path("sqlite://a%20b.db?mode=rw"), Some("a b.db".into()));
        assert_eq!(path("sqlite::memory:"), None);
        assert_eq!(path("postgres://h/d"), None);
    }
}

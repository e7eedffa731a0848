//! The file of an `SQLite` database: is it there, is it whole, is it still the same?
//!
//! The file is never opened beside `SQLite`: when a process closes it, the system drops the
//! locks that `SQLite` has on it (<https://www.sqlite.org/howtocorrupt.html> §2.2).

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
    error::{DatabaseLocation, cause_of, kind_of_sqlite_code},
    migrations,
};

/// Longest that a file is read to look for damage; what is not found then is found when read.
pub(super) const CHECK_TIME: Duration = Duration::from_secs(2);

/// Longest that the content of a file that is gone may take to be saved.
const SAVE_TIME: Duration = Duration::from_mins(5);

/// Instructions of `SQLite`'s between two looks at the time.
const CHECK_STEPS: i32 = 10_000;

/// Identity of a file, which a file of the same name does not share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// A database's file when it was opened, and the write-ahead log beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenedFile {
    pub(super) file: Option<FileId>,
    log: Option<FileId>,
}

/// What is wrong with the file, if anything, before it is opened to be written to.
#[derive(Debug)]
pub(super) enum Fault {
    Damage(String),
    /// A migration that this program does not know.
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
            ("", _) => Err(bad_url(url, "it names no file")),
            // sqlx makes a file only when told by `mode=rwc`; a first start should need no more
            // than a path.
            (_, mode) => Ok(Self::File {
                create: mode.is_none_or(|mode| mode == "rwc"),
            }),
        }
    }
}

impl FileId {
    /// Returns what is at a path; nothing where there is no file.
    #[cfg(unix)]
    pub(super) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let file = fs::metadata(path).ok()?;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
        })
    }

    /// Returns whether something is at a path: files cannot be told apart here.
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
            log: FileId::of(&beside(path, "-wal")),
        }
    }
}

/// Returns the file that a URL names; none for a database in memory or on a server.
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

/// Returns the path of a file that `SQLite`, or we, keep beside a database.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Returns a time as names of files have it: `20261123-143408`, in UTC.
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

/// Looks for damage, and for tables of a newer program; changes nothing in the file.
///
/// Beside a write-ahead log, whose content counts, `SQLite` makes its index (`-shm`) anew.
///
/// Without a `limit`, all of it is read.
pub(super) async fn fault_of(path: &Path, limit: Option<Duration>) -> Option<Fault> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let log = length(&beside(path, "-wal"));
    if length(path) == 0 {
        // SQLite would take it for a new database, and throw the log away.
        let why = "it is empty, and its write-ahead log is not".to_owned();
        return (log > 0).then_some(Fault::Damage(why));
    }
    // Where there is no log the file is declared immutable: `SQLite` then puts nothing beside it.
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

/// Looks for damage in a database that is open.
pub(super) async fn damage_of(pool: &SqlitePool) -> Option<String> {
    match pool.acquire().await {
        Ok(mut connection) => quick_check(&mut connection).await,
        Err(error) => damage(&error),
    }
}

/// Error of a file that is not at its path any more, of which a copy was made or not.
pub(super) fn gone(place: &DatabaseLocation, saved: Result<&Path, &str>) -> StoreError {
    let saved = match saved {
        Ok(copy) => format!("what it held is in {}", copy.display()),
        Err(error) => format!("what it held could not be saved: {error}"),
    };
    StoreError::new(
        StoreErrorKind::Unavailable,
        format!(
            "the file of the database {place} is gone, and {saved}; put a copy or a backup at \
             its place, or make a new database with `robot-detection database new`"
        ),
    )
}

/// Error of a file in whose place another one is.
pub(super) fn exchanged(place: &DatabaseLocation) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unavailable,
        format!("another file was put in the place of the database {place}: what it holds counts"),
    )
}

/// Saves what is still open of a file that is gone, beside its place; returns where.
pub(super) async fn save_open_file(
    pool: &SqlitePool,
    path: &Path,
    now_ms: i64,
) -> Result<PathBuf, String> {
    let copy = beside(path, &format!(".saved-{}", label(now_ms)));
    create_private(&copy);
    let name = copy.to_string_lossy().into_owned();
    // `SQLite` reads the file that is open still, though its name is gone.
    let saving = sqlx::query("VACUUM INTO $1").bind(name).execute(pool);
    match timeout(SAVE_TIME, saving).await {
        Ok(Ok(_)) => Ok(copy),
        Ok(Err(error)) => Err(cause_of(&error)),
        Err(_) => Err("it took too long".to_owned()),
    }
}

/// Sets the write-ahead log aside that belongs to a file which is no longer at its path.
///
/// `SQLite` would write its pages into the other file that is there now.
pub(super) fn set_stale_log_aside(path: &Path, opened: OpenedFile) {
    let log = beside(path, "-wal");
    let Some(stale) = opened.log.filter(|stale| FileId::of(&log) == Some(*stale)) else {
        return;
    };
    if FileId::of(path) != opened.file {
        let aside = beside(path, &format!("-wal.stale-{}", stale.inode));
        match fs::rename(&log, &aside) {
            Ok(()) => warn!(
                "the write-ahead log of the file that was there before is {}",
                aside.display()
            ),
            Err(error) => error!("{} cannot be set aside: {error}", log.display()),
        }
        drop(fs::remove_file(beside(path, "-shm")));
    }
}

/// Creates a missing file that its owner alone may read: it will hold password hashes.
///
/// `SQLite` takes an empty file for a new database; it reports what fails here.
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
            // The file of another program, and one that is new, has no such table.
            .unwrap_or_default();
    let newer = applied.into_iter().find(|version| !known.contains(version));
    newer.map(Fault::Newer)
}

/// Returns what `SQLite` finds damaged first.
pub(super) async fn quick_check(connection: &mut SqliteConnection) -> Option<String> {
    let checked: Result<String, _> = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(connection)
        .await;
    match checked {
        Ok(found) if found == "ok" => None,
        // The first line names the schema only.
        Ok(found) => Some(found.lines().next_back().unwrap_or_default().to_owned()),
        Err(error) => damage(&error),
    }
}

/// Breaks statements off that are still at work after a time.
async fn stop_in(connection: &mut SqliteConnection, time: Duration) -> Result<(), sqlx::Error> {
    let until = Instant::now() + time;
    let mut handle = connection.lock_handle().await?;
    handle.set_progress_handler(CHECK_STEPS, move || Instant::now() < until);
    Ok(())
}

/// Returns the words of an error that says that a file is damaged.
fn damage(error: &sqlx::Error) -> Option<String> {
    let sqlx::Error::Database(cause) = error else {
        return None;
    };
    let kind = kind_of_sqlite_code(&cause.code().unwrap_or_default());
    (kind == StoreErrorKind::Corrupt).then(|| cause.message().to_owned())
}

pub(super) fn bad_url(url: &str, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::BadUrl,
        format!(
            "the database URL {url:?} cannot be used: {why}; write sqlite://robot-detection.db"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_file_or_memory() {
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
    fn a_name_has_the_date_in_it() {
        assert_eq!(label(1_795_444_448_000), "20261123-143408");
    }

    #[test]
    fn a_file_is_told_from_memory_and_servers() {
        assert_eq!(path("sqlite://a%20b.db?mode=rw"), Some("a b.db".into()));
        assert_eq!(path("sqlite::memory:"), None);
        assert_eq!(path("postgres://h/d"), None);
    }
}

//! Backs up an `SQLite` database to a single file, and restores a backup.
//!
//! `SQLite` itself writes the copy. A restore verifies the backup before replacing the database.
//! For a `PostgreSQL` database, use the backup tools of `PostgreSQL`.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};

use super::{
    Store, StoreError, StoreErrorKind,
    error::{DatabaseLocation, Engine},
    instances, migrations,
    recreate::{create, file_of, swap_files},
    sqlite,
    sqlite_file::{Fault, create_private, fault_of, label, sibling_path},
};

impl Store {
    /// Copies an `SQLite` database to a new file; servers may keep writing to the database during
    /// the copy.
    ///
    /// The copy is a consistent snapshot of the database.
    ///
    /// # Errors
    ///
    /// Returns an error if the file already exists or cannot be written, if the database cannot be
    /// read, or if it is not an `SQLite` file. No backup file is left behind in this case.
    pub async fn back_up(url: &str, file: &Path) -> Result<(), StoreError> {
        let (place, path) = file_of(url)?;
        if file.exists() {
            return Err(StoreError::new(
                StoreErrorKind::Conflict,
                format!("{} already exists; choose another file", file.display()),
            ));
        }
        let part = sibling_path(file, ".part");
        drop(fs::remove_file(&part));
        create_private(&part);
        let copied = copy(&place, &path, &part).await;
        let written = copied.and_then(|()| {
            let synced = File::open(&part).and_then(|open| open.sync_all());
            let moved = synced.and_then(|()| fs::rename(&part, file));
            moved.map_err(|error| cannot_write(file, &error))
        });
        if written.is_err() {
            drop(fs::remove_file(&part));
        }
        written
    }

    /// Replaces an `SQLite` database with a backup. Replacing an existing database requires
    /// `force`.
    ///
    /// Returns the path to which the previous database file was moved, if any. A backup from an
    /// older version of the program is migrated.
    ///
    /// # Errors
    ///
    /// Returns an error if the database is not empty or not an `SQLite` file, or if the backup is
    /// invalid, damaged or from a newer version. The database remains unchanged in this case.
    pub async fn restore(
        url: &str,
        file: &Path,
        force: bool,
        now_ms: i64,
    ) -> Result<Option<PathBuf>, StoreError> {
        let (place, path) = file_of(url)?;
        if !file.is_file() {
            return Err(not_a_backup(file, "the file does not exist"));
        }
        if path.exists() && !force {
            return Err(StoreError::new(
                StoreErrorKind::Conflict,
                format!(
                    "the database {place} is not empty; use --force to replace it. The old file is \
                     then kept under a new name"
                ),
            ));
        }
        check_unserved(&place, &serving(&path).await)?;
        match fault_of(file, None).await {
            Some(Fault::Damage(why)) => return Err(not_a_backup(file, &why)),
            Some(Fault::Newer(version)) => {
                let newer = sqlx::migrate::MigrateError::VersionMissing(version);
                return Err(StoreError::from_migration(&place, &newer));
            }
            None => check_is_ours(file).await?,
        }
        let _starting = sqlite::lock_start(&place, &path).await?;
        let label = label(now_ms);
        let new = sibling_path(&path, &format!(".new-{label}"));
        create_private(&new);
        let restored = put_in_place(&place, file, &path, &new, &label).await;
        if restored.is_err() {
            drop(fs::remove_file(&new));
        }
        restored
    }
}

/// Returns the error for a file that cannot be restored.
fn not_a_backup(file: &Path, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot restore {}: {why}; specify a file created by `robot-detection database backup`",
            file.display()
        ),
    )
}

/// Returns an error if any server is using the database, because it would continue to write to the
/// old file.
///
/// Older or damaged databases do not list the servers that use them, so such databases pass the
/// check.
fn check_unserved(
    place: &DatabaseLocation,
    serving: &Result<i64, sqlx::Error>,
) -> Result<(), StoreError> {
    match serving {
        Ok(0) | Err(_) => Ok(()),
        Ok(count) => Err(StoreError::new(
            StoreErrorKind::Conflict,
            format!(
                "servers are still using the database {place} ({count}); stop them first. A killed \
                 server is still counted for 40 seconds"
            ),
        )),
    }
}

async fn serving(path: &Path) -> Result<i64, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = options.connect().await?;
    let count = sqlx::query_scalar(instances::SERVING.safe(Engine::Sqlite));
    let count = count.fetch_one(&mut connection).await;
    drop(connection.close().await);
    count
}

async fn copy(place: &DatabaseLocation, path: &Path, part: &Path) -> Result<(), StoreError> {
    if !path.is_file() {
        return Err(StoreError::new(
            StoreErrorKind::CannotOpen,
            format!("{} does not exist; nothing to back up", path.display()),
        ));
    }
    vacuum_into(place, path, part).await?;
    match fault_of(part, None).await {
        Some(Fault::Damage(why)) => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            format!("the database {place} is damaged: {why}; restore an earlier backup"),
        )),
        // A database from a newer version can be copied like any other.
        Some(Fault::Newer(_)) | None => Ok(()),
    }
}

async fn put_in_place(
    place: &DatabaseLocation,
    file: &Path,
    path: &Path,
    new: &Path,
    label: &str,
) -> Result<Option<PathBuf>, StoreError> {
    vacuum_into(place, file, new).await?;
    drop(create(place, new).await?.close().await);
    let kept = path
        .exists()
        .then(|| sibling_path(path, &format!(".old-{label}")));
    let synced = File::open(new).and_then(|open| open.sync_all());
    let exchanged = synced.and_then(|()| swap_files(path, new, kept.as_deref()));
    exchanged.map_err(|error| cannot_write(path, &error))?;
    Ok(kept)
}

/// Returns an error if the file is an intact `SQLite` database of another program.
async fn check_is_ours(file: &Path) -> Result<(), StoreError> {
    let of_open = |error: &sqlx::Error| not_a_backup(file, &error.to_string());
    let options = SqliteConnectOptions::new().filename(file).read_only(true);
    let mut connection = options.connect().await.map_err(|error| of_open(&error))?;
    let count = sqlx::query_scalar::<_, i64>(
        "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
    );
    let count = count
        .bind(migrations::TABLE)
        .fetch_one(&mut connection)
        .await;
    drop(connection.close().await);
    match count.map_err(|error| of_open(&error))? {
        0 => Err(not_a_backup(file, "it contains no robot-detection tables")),
        _ => Ok(()),
    }
}

/// Copies a database, including its write-ahead log, into an empty file.
async fn vacuum_into(place: &DatabaseLocation, from: &Path, to: &Path) -> Result<(), StoreError> {
    const WHAT: &str = "copy the database";
    let name = to.to_str().ok_or_else(|| {
        let why = std::io::Error::other("the file name is not UTF-8");
        cannot_write(to, &why)
    })?;
    let options = SqliteConnectOptions::new().filename(from).read_only(true);
    let opened = options.connect().await;
    let mut connection = opened
        .map_err(|error| StoreError::from_open(place, &error, "check the file's owner and mode"))?;
    let copied = sqlx::query("VACUUM INTO $1")
        .bind(name)
        .execute(&mut connection)
        .await;
    drop(connection.close().await);
    copied
        .map(drop)
        .map_err(|error| StoreError::from_statement(WHAT, place, &error))
}

fn cannot_write(file: &Path, error: &std::io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot write {}: {error}; check the free space and this user's write permission",
            file.display()
        ),
    )
}

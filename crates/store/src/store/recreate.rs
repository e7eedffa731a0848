//! Replaces an `SQLite` file with a new, empty file, and retains the old file under a new name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    Store, StoreError, StoreErrorKind,
    database::Database,
    error::{DatabaseLocation, Engine},
    sqlite,
    sqlite_file::{self, create_private, label, sibling_path},
};

impl Store {
    /// Renames an `SQLite` file and creates a new file in its place.
    ///
    /// Returns the new path of the old file; its name contains the date. A server that has the old
    /// file open, or is waiting for a file, continues with the new file.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL does not specify an `SQLite` file, or if the new file cannot be
    /// written. In this case, the old file remains in place.
    pub async fn recreate(url: &str, now_ms: i64) -> Result<Option<PathBuf>, StoreError> {
        let (place, path) = file_of(url)?;
        let _starting = sqlite::lock_start(&place, &path).await?;
        let label = label(now_ms);
        let new = sibling_path(&path, &format!(".new-{label}"));
        let made = create(&place, &new).await?;
        drop(made.close().await);
        let kept = path
            .exists()
            .then(|| sibling_path(&path, &format!(".old-{label}")));
        let exchanged = swap_files(&path, &new, kept.as_deref());
        if exchanged.is_err() {
            drop(fs::remove_file(&new));
        }
        exchanged.map_err(|error| cannot_recreate(&place, &error))?;
        Ok(kept)
    }
}

pub(super) fn file_of(url: &str) -> Result<(DatabaseLocation, PathBuf), StoreError> {
    let place = Database::parse_location(url)?;
    match (place.engine, sqlite_file::path(url)) {
        (Engine::Sqlite, Some(path)) => Ok((place, path)),
        (Engine::Sqlite, None) => Err(StoreError::new(
            StoreErrorKind::BadUrl,
            format!("the database {place} is not stored in a file"),
        )),
        (Engine::Postgres, _) => Err(StoreError::new(
            StoreErrorKind::BadUrl,
            format!(
                "the database {place} is on a server; back it up with `pg_dump --format=custom \
                 --no-owner --file=FILE '{place}'`, restore it with `pg_restore --clean --if-exists \
                 --no-owner --single-transaction --dbname='{place}' FILE`, create one with createdb"
            ),
        )),
    }
}

/// Creates a file that contains empty tables, without a write-ahead log.
pub(super) async fn create(
    place: &DatabaseLocation,
    path: &Path,
) -> Result<SqliteConnection, StoreError> {
    create_private(path);
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(false)
        // No other process sees the unfinished file, and it is synced at the end.
        .journal_mode(SqliteJournalMode::Memory)
        .synchronous(SqliteSynchronous::Off);
    let opened = options.connect().await;
    let mut connection = opened.map_err(|error| {
        StoreError::from_open(
            place,
            &error,
            "check that this user has write permission in its directory",
        )
    })?;
    sqlite::migrate(place, &mut connection).await?;
    Ok(connection)
}

/// Moves the new file to the path of the old file, which is renamed to `kept`.
pub(super) fn swap_files(path: &Path, new: &Path, kept: Option<&Path>) -> io::Result<()> {
    if let Some(kept) = kept {
        copy_owner_and_mode(path, new);
        fs::rename(path, kept)?;
        for end in ["-wal", "-shm"] {
            drop(fs::rename(sibling_path(path, end), sibling_path(kept, end)));
        }
    }
    // The file is missing for a moment; a server that notices waits a second for it.
    fs::rename(new, path)
}

/// Copies the owner and mode of the old file, because root may be replacing a service's file.
fn copy_owner_and_mode(old: &Path, new: &Path) {
    let Ok(about) = fs::metadata(old) else { return };
    drop(fs::set_permissions(new, about.permissions()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, chown};
        drop(chown(new, Some(about.uid()), Some(about.gid())));
    }
}

fn cannot_recreate(place: &DatabaseLocation, error: &io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot recreate the database {place}: {error}; check the free space, and that this user \
             has write permission in its directory"
        ),
    )
}

//! Repairs a damaged `SQLite` file by copying its readable data into a new file.
//!
//! The data is read from a copy of the damaged file, since `SQLite` may modify a file when opening
//! it. The original is retained under a new name.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use super::{
    Store, StoreError, StoreErrorKind,
    database::Database,
    error::{DatabaseLocation, Engine},
    sqlite,
    sqlite_file::{self, Fault, create_private, label, sibling_path},
};

/// The maximum number of failed statements per table; each failure halves the range of rows.
const MAX_FAILURES: u32 = 20_000;

/// The length of an `SQLite` file header, and the positions of its versions and page count
/// (<https://www.sqlite.org/fileformat2.html> §1.3).
const HEADER_BYTES: usize = 100;
const VERSIONS: std::ops::Range<usize> = 18..20;
const PAGE_COUNT: std::ops::Range<usize> = 28..32;

/// The result of repairing an `SQLite` file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repair {
    /// A description of the damage that was found.
    pub damage: String,
    /// The path to which the damaged file was renamed.
    pub kept: PathBuf,
    /// The repaired tables, ordered by name.
    pub tables: Vec<RepairedTable>,
}

/// A table in a repaired database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairedTable {
    /// The name of the repaired table.
    pub name: String,
    /// The number of rows that were copied to the new file.
    pub saved: u64,
    /// The number of rows that were lost; `None` if unknown.
    pub lost: Option<u64>,
}

impl Store {
    /// Describes the damage to an `SQLite` file, if any, without changing the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not exist, if the URL does not specify an `SQLite` file,
    /// or if the file was written by a newer version of the program.
    pub async fn find_damage(url: &str) -> Result<Option<String>, StoreError> {
        let (place, path) = file_of(url)?;
        let _starting = sqlite::lock_start(&place, &path).await?;
        damage_at(&place, &path).await
    }

    /// Copies the readable data of a damaged `SQLite` file to a new file, which replaces the
    /// damaged one.
    ///
    /// The damaged file is renamed; its new name contains the date. An intact file is not changed.
    /// A server that is waiting for the file continues with the new file.
    ///
    /// # Errors
    ///
    /// Returns an error for the same reasons as [`Store::find_damage`], or if the new file cannot be
    /// written. In this case, the damaged file remains in place.
    pub async fn repair(url: &str, now_ms: i64) -> Result<Option<Repair>, StoreError> {
        let (place, path) = file_of(url)?;
        let _starting = sqlite::lock_start(&place, &path).await?;
        let Some(damage) = damage_at(&place, &path).await? else {
            return Ok(None);
        };
        let label = label(now_ms);
        let copy = sibling_path(&path, &format!(".copy-{label}"));
        let new = sibling_path(&path, &format!(".new-{label}"));
        let saved = save_in(&place, &path, &copy, &new).await;
        for end in ["", "-wal", "-shm", "-journal"] {
            drop(fs::remove_file(sibling_path(&copy, end)));
        }
        let exchanged = saved.and_then(|tables| {
            let kept = sibling_path(&path, &format!(".damaged-{label}"));
            swap_files(&path, &new, Some(&kept))
                .map_err(|error| cannot(&place, "repair", &error))?;
            Ok((tables, kept))
        });
        if exchanged.is_err() {
            drop(fs::remove_file(&new));
        }
        let (tables, kept) = exchanged?;
        Ok(Some(Repair {
            damage,
            kept,
            tables,
        }))
    }

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
        exchanged.map_err(|error| cannot(&place, "recreate", &error))?;
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

async fn damage_at(place: &DatabaseLocation, path: &Path) -> Result<Option<String>, StoreError> {
    if !path.is_file() {
        return Err(StoreError::new(
            StoreErrorKind::CannotOpen,
            format!(
                "{} does not exist; create it with `robot-detection database new`",
                path.display()
            ),
        ));
    }
    match sqlite_file::fault_of(path, None).await {
        None => Ok(None),
        Some(Fault::Damage(why)) => Ok(Some(why)),
        Some(Fault::Newer(version)) => {
            let newer = sqlx::migrate::MigrateError::VersionMissing(version);
            Err(StoreError::from_migration(place, &newer))
        }
    }
}

async fn save_in(
    place: &DatabaseLocation,
    path: &Path,
    copy: &Path,
    new: &Path,
) -> Result<Vec<RepairedTable>, StoreError> {
    let mut connection = create(place, new).await?;
    let copied = copy_readable(path, copy, new);
    copied.map_err(|error| cannot(place, "copy", &error))?;
    let saved = save_tables(&mut connection, copy).await;
    drop(connection.close().await);
    let tables =
        saved.map_err(|error| StoreError::from_statement("save the rows", place, &error))?;
    let synced = File::open(new).and_then(|file| file.sync_all());
    synced.map_err(|error| cannot(place, "write", &error))?;
    Ok(tables)
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

/// Copies the damaged file and its log. An invalid header is replaced in the copy.
fn copy_readable(path: &Path, copy: &Path, new: &Path) -> io::Result<()> {
    fs::copy(path, copy)?;
    let log = sibling_path(path, "-wal");
    let has_log = log.exists();
    if has_log {
        fs::copy(log, sibling_path(copy, "-wal"))?;
    }
    let mut header = [0; HEADER_BYTES];
    let mut whole = [0; HEADER_BYTES];
    let mut file = OpenOptions::new().read(true).write(true).open(copy)?;
    let is_short = file.read_exact(&mut header).is_err();
    File::open(new)?.read_exact(&mut whole)?;
    if is_short || header.get(..16) == whole.get(..16) {
        return Ok(());
    }
    if let Some(versions) = whole.get_mut(VERSIONS) {
        versions.fill(if has_log { 2 } else { 1 });
    }
    if let Some(count) = whole.get_mut(PAGE_COUNT) {
        count.fill(0); // SQLite then uses the length of the file.
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&whole)
}

async fn save_tables(
    connection: &mut SqliteConnection,
    copy: &Path,
) -> Result<Vec<RepairedTable>, sqlx::Error> {
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
         AND name <> 'robot_detection_migrations' ORDER BY name",
    )
    .fetch_all(&mut *connection)
    .await?;
    // Truncated files can only be opened with this setting.
    connection.execute("PRAGMA writable_schema = ON").await?;
    let copy = copy.to_string_lossy().into_owned();
    let attached = sqlx::query("ATTACH $1 AS damaged").bind(copy);
    let is_attached = attached.execute(&mut *connection).await.is_ok();
    let mut tables = Vec::new();
    for name in names {
        let lost = match columns(connection, &name).await {
            Some(columns) if is_attached => {
                let mut salvage = Salvage {
                    connection: &mut *connection,
                    table: &name,
                    columns,
                    failures: 0,
                };
                salvage.save().await;
                let has_failed = salvage.failures > 0;
                match (has_failed, count(connection, "damaged", &name).await) {
                    (false, _) => Some(0),
                    (true, held) => held,
                }
            }
            _ => None,
        };
        let saved = count(connection, "main", &name).await.unwrap_or(0);
        tables.push(RepairedTable {
            lost: lost.map(|held| held.saturating_sub(saved)),
            saved,
            name,
        });
    }
    // Makes servers with a cached registry read the rows again.
    connection
        .execute("UPDATE main.registry_version SET version = version + 1 WHERE id = 1")
        .await?;
    Ok(tables)
}

/// Returns the columns that a table has in both files, or `None` if the table cannot be read.
async fn columns(connection: &mut SqliteConnection, table: &str) -> Option<String> {
    let named = "SELECT name FROM pragma_table_info($1, 'main') INTERSECT \
                 SELECT name FROM pragma_table_info($1, 'damaged')";
    let names: Vec<String> = sqlx::query_scalar(named)
        .bind(table)
        .fetch_all(connection)
        .await
        .ok()?;
    (!names.is_empty()).then(|| names.join(", "))
}

/// Counts a table's rows. `SQLite` may use an index, which may be intact even if the table is not.
async fn count(connection: &mut SqliteConnection, schema: &str, table: &str) -> Option<u64> {
    let sql = AssertSqlSafe(format!("SELECT count(*) FROM {schema}.{table}"));
    let counted: i64 = sqlx::query_scalar(sql).fetch_one(connection).await.ok()?;
    u64::try_from(counted).ok()
}

/// The state of copying the rows of one table to the new file.
struct Salvage<'c> {
    connection: &'c mut SqliteConnection,
    table: &'c str,
    columns: String,
    failures: u32,
}

impl Salvage<'_> {
    /// Copies all rows of a table. If some rows cannot be read, copies the rows around them.
    async fn save(&mut self) {
        if self.copy_rows("").await {
            return;
        }
        let Some((first, last)) = self.ends().await else {
            return;
        };
        let mut ranges = vec![(first, last)];
        while let Some((from, to)) = ranges.pop() {
            let is_saved = self
                .copy_rows(&format!(" WHERE rowid BETWEEN {from} AND {to}"))
                .await;
            if !is_saved && from < to && self.failures < MAX_FAILURES {
                let middle = from + (to - from) / 2;
                ranges.extend([(middle + 1, to), (from, middle)]);
            }
        }
    }

    async fn copy_rows(&mut self, which: &str) -> bool {
        let Self { table, columns, .. } = self;
        // `REPLACE`, since the migrations insert some rows into the new tables.
        let sql = format!(
            "INSERT OR REPLACE INTO main.{table} ({columns}) \
             SELECT {columns} FROM damaged.{table}{which}"
        );
        let copied = self.connection.execute(AssertSqlSafe(sql)).await;
        self.failures += u32::from(copied.is_err());
        copied.is_ok()
    }

    /// Returns the first and last row ID, as found in the table or an index.
    async fn ends(&mut self) -> Option<(i64, i64)> {
        // `+` keeps `SQLite` from using the table's own tree, so that an intact index may be read.
        for number in ["rowid", "+rowid"] {
            let table = self.table;
            let sql = format!("SELECT min({number}), max({number}) FROM damaged.{table}");
            let found: Result<(Option<i64>, Option<i64>), _> = sqlx::query_as(AssertSqlSafe(sql))
                .fetch_one(&mut *self.connection)
                .await;
            if let Ok((Some(first), Some(last))) = found {
                return Some((first.max(0), last));
            }
        }
        // Row IDs start at one; rows beyond the maximum number of failures are not searched.
        Some((0, i64::from(MAX_FAILURES) * 64))
    }
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

/// Copies the owner and mode of the old file, because root may be repairing a service's file.
fn copy_owner_and_mode(old: &Path, new: &Path) {
    let Ok(about) = fs::metadata(old) else { return };
    drop(fs::set_permissions(new, about.permissions()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, chown};
        drop(chown(new, Some(about.uid()), Some(about.gid())));
    }
}

fn cannot(place: &DatabaseLocation, what: &str, error: &io::Error) -> StoreError {
    StoreError::new(
        StoreErrorKind::CannotOpen,
        format!(
            "cannot {what} the database {place}: {error}; check the free space, and that this user \
             has write permission in its directory"
        ),
    )
}

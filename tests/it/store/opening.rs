//! A database is opened, or the reason for the failure is reported in one line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    str::FromStr as _,
};

use robot_detection::store::{Store, StoreError, StoreErrorKind};
use sqlx::{ConnectOptions as _, Executor as _, sqlite::SqliteConnectOptions};
use tokio::task::JoinSet;

use super::{Raw, TestDatabase, on_shared_engines, robot};

on_shared_engines! {
    sixty_concurrent_first_connections_succeed,
    tables_newer_than_the_program_are_rejected,
    an_edited_migration_is_rejected,
}

async fn refused(url: &str) -> StoreError {
    match Store::connect(url).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

async fn sixty_concurrent_first_connections_succeed(database: TestDatabase) {
    let mut starts = JoinSet::new();
    for start in 0..60 {
        let url = database.url.clone();
        starts.spawn(async move {
            let store = Store::connect(&url).await.unwrap();
            let id = format!("robot{start}");
            store.robots().add(&robot(&id), 1).await.unwrap();
            store.close().await;
        });
    }
    starts.join_all().await;
    assert_eq!(
        database.store().await.robots().list().await.unwrap().len(),
        60
    );
}

async fn tables_newer_than_the_program_are_rejected(database: TestDatabase) {
    database.store().await.close().await;
    let mut raw = database.raw().await;
    let checksum = match raw {
        Raw::Sqlite(_) => "x'00'",
        Raw::Postgres(_) => "'\\x00'",
    };
    raw.execute(&format!(
        "INSERT INTO robot_detection_migrations \
         (version, description, success, checksum, execution_time) \
         VALUES (99990101000000, 'future', TRUE, {checksum}, 0)"
    ))
    .await;

    let error = refused(&database.url).await;
    assert_eq!(error.kind(), StoreErrorKind::Migration);
    assert!(error.to_string().contains("upgrade the program"), "{error}");
}

async fn an_edited_migration_is_rejected(database: TestDatabase) {
    database.store().await.close().await;
    let mut raw = database.raw().await;
    let checksum = match raw {
        Raw::Sqlite(_) => "x'00'",
        Raw::Postgres(_) => "'\\x00'",
    };
    raw.execute(&format!(
        "UPDATE robot_detection_migrations SET checksum = {checksum}"
    ))
    .await;

    let error = refused(&database.url).await;
    assert_eq!(error.kind(), StoreErrorKind::Migration);
}

fn migrations(engine: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    all.join(engine)
}

#[test]
fn both_engines_have_the_same_migrations() {
    let list = |engine: &str| -> BTreeMap<String, Vec<String>> {
        fs::read_dir(migrations(engine))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, columns(&fs::read_to_string(path).unwrap()))
            })
            .collect()
    };
    let sqlite = list("sqlite");
    assert_eq!(sqlite, list("postgres"));
    for name in sqlite.keys() {
        let (version, _) = name.split_once('_').unwrap();
        assert_eq!(version.len(), 14, "{name}");
    }
}

/// Returns the first word of each line: tables, columns and indexes, without their types.
fn columns(sql: &str) -> Vec<String> {
    sql.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("--"))
        .filter_map(|line| line.split([' ', ')']).next())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_url_of_an_unknown_database_is_rejected() {
    for url in [
        "",
        "robot-detection.db",
        "mysql://localhost/robots",
        "sqlite:",
        "sqlite://",
        "sqlite://?mode=rwc",
        "sqlite://a.db?unknown=1",
        "postgres://host:port/database",
    ] {
        let error = refused(url).await;
        assert_eq!(error.kind(), StoreErrorKind::BadUrl, "{url}: {error}");
        let text = error.to_string();
        assert!(text.contains("write "), "{text}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("text"), "this is not a database\n".repeat(100)).unwrap();
    fs::create_dir(path("directory")).unwrap();
    Store::connect(&format!("sqlite://{}", path("good").display()))
        .await
        .unwrap()
        .close()
        .await;
    for name in ["missing/robots.db", "directory", "text", "new?mode=rw"] {
        let url = format!("sqlite://{}", path(name).display());
        let error = refused(&url).await;
        let text = error.to_string();
        assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{text}");
        assert!(text.contains(&url), "{text}");
        let step = match name {
            "text" => "`robot-detection database restore`",
            _ => "; check that its directory exists",
        };
        assert!(text.contains(step), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
    let untouched = fs::read_to_string(path("text")).unwrap();
    assert!(untouched.starts_with("this is not a database"));
}

#[tokio::test]
async fn a_file_locked_by_another_program_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("held.db").display());
    let options = SqliteConnectOptions::from_str(&url).unwrap();
    let mut holder = options.create_if_missing(true).connect().await.unwrap();
    holder.execute("BEGIN EXCLUSIVE").await.unwrap();
    let error = refused(&url).await;
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("stop that process"), "{error}");
}

#[tokio::test]
async fn a_read_only_file_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("new.db").display());
    let store = Store::connect(&url).await.unwrap();
    store.close().await;
    let store = Store::connect(&format!("{url}?mode=ro")).await;
    let error = match store {
        Err(error) => error,
        Ok(store) => store.robots().add(&robot("a"), 1).await.unwrap_err(),
    };
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen, "{error}");
}

#[tokio::test]
async fn the_file_has_a_write_ahead_log() {
    let database = TestDatabase::on_a_file();
    let store = database.store().await;
    let mode = database.raw().await.text("PRAGMA journal_mode").await;
    assert_eq!(mode, "wal");
    drop(store);
}

#[tokio::test]
async fn after_a_checkpoint_all_rows_are_in_the_file() {
    let database = TestDatabase::on_a_file();
    let store = database.store().await;
    store.robots().add(&robot("late"), 1).await.unwrap();
    let file = store.file().unwrap();
    // Only the file is copied, without the write-ahead log.
    let copy = file.with_file_name("copy.db");
    let url = format!("sqlite://{}", copy.display());
    fs::copy(&file, &copy).unwrap();
    let before = Store::connect(&url).await.unwrap();
    assert!(before.robots().list().await.unwrap().is_empty());
    before.close().await;
    store.checkpoint().await.unwrap();
    fs::copy(&file, &copy).unwrap();
    let after = Store::connect(&url).await.unwrap();
    assert_eq!(after.robots().list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn each_database_in_memory_is_separate() {
    let first = Store::connect("sqlite::memory:").await.unwrap();
    let second = Store::connect("sqlite::memory:").await.unwrap();
    first.robots().add(&robot("a"), 1).await.unwrap();
    assert!(!second.robots().exists("a").await.unwrap());
}

#[tokio::test]
async fn a_password_is_never_shown() {
    for url in [
        "postgres://somebody:pass%20word@127.0.0.1:1/robots",
        "postgres://somebody@127.0.0.1:1/robots?password=pass%20word",
        "postgres://somebody:pass%20word@127.0.0.1:port/robots",
        "postgresql://somebody:pass%20word@[::1/robots",
        "mysql://somebody:pass%20word@127.0.0.1/robots",
        "somebody:pass%20word@127.0.0.1/robots",
    ] {
        let error = refused(url).await;
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("pass%20word"), "{shown}");
        assert!(!shown.contains("pass word"), "{shown}");
    }
}

#[tokio::test]
async fn postgres_errors_are_explained() {
    let database = TestDatabase::on_postgres().await;
    let missing = database.url.replace("/test_", "/no_such_");
    let error = refused(&missing).await;
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen);
    assert!(error.to_string().contains("createdb"), "{error}");

    let nobody = database.url.replace("user=postgres", "user=nobody_known");
    let error = refused(&nobody).await;
    assert_eq!(error.kind(), StoreErrorKind::CannotOpen);
    assert!(error.to_string().contains("check user"), "{error}");

    let mut raw = database.raw().await;
    let name = raw.text("SELECT CAST(current_database() AS TEXT)").await;
    let user = format!("reader_of_{name}");
    raw.execute(&format!("CREATE ROLE {user} LOGIN")).await;
    raw.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC").await;
    let reader = database
        .url
        .replace("user=postgres", &format!("user={user}"));
    let error = refused(&reader).await;
    assert!(
        error.to_string().contains("permission to create tables"),
        "{error}"
    );
}

#[tokio::test]
async fn the_url_may_name_another_schema_of_postgres() {
    let database = TestDatabase::on_postgres().await;
    let mut raw = database.raw().await;
    raw.execute("CREATE SCHEMA robots").await;
    let url = format!("{}&options=-c%20search_path%3Drobots", database.url);
    let store = Store::connect(&url).await.unwrap();
    store.robots().add(&robot("a"), 1).await.unwrap();
    let id = raw.text("SELECT robot_id FROM robots.robots").await;
    assert_eq!(id, "a");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_access_a_new_file() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new robots.db");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let lock = directory.path().join("new robots.db.lock");
    let url = format!("sqlite://{}", path.display());
    let store = Store::connect(&url).await.unwrap();
    assert_eq!(mode(), 0o600);
    let of_lock = fs::metadata(&lock).unwrap().permissions().mode();
    assert_eq!(of_lock & 0o777, 0o600, "{}", lock.display());
    store.close().await;

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    Store::connect(&url).await.unwrap().close().await;
    assert_eq!(mode(), 0o640, "wider permissions are kept");
}

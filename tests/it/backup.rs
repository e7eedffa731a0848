//! `database backup` and `database restore`, on both engines.

use std::{fs, path::Path};

use robot_detection::store::{Ban, Store};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Executor as _, postgres::PgConnectOptions,
    sqlite::SqliteConnectOptions,
};
use tempfile::TempDir;

use crate::support::{
    postgres,
    program::{run, succeed},
};

/// A row of the list of migrations that only a newer program makes.
const NEWER: &str = "INSERT INTO robot_detection_migrations \
    (version, description, success, checksum, execution_time) \
    VALUES (99990101000000, 'future', TRUE, '0', 0)";

async fn ban(url: &str, network: &str) {
    let store = Store::connect(url).await.unwrap();
    let ban = Ban {
        network: network.to_owned(),
        cause: "a rule".to_owned(),
        since_ms: 1_000,
        until_ms: i64::MAX,
    };
    store.bans().add(&ban).await.unwrap();
    store.close().await;
}

async fn banned(url: &str) -> Vec<String> {
    let store = Store::connect(url).await.unwrap();
    let bans = store.bans().list(0).await.unwrap();
    store.close().await;
    let mut networks: Vec<_> = bans.into_iter().map(|ban| ban.network).collect();
    networks.sort();
    networks
}

async fn execute(url: &str, sql: &str) {
    if url.starts_with("sqlite:") {
        let options: SqliteConnectOptions = url.parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
    } else {
        let options: PgConnectOptions = url.parse().unwrap();
        let mut connection = options.connect().await.unwrap();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
    }
}

/// Runs a command that has to fail; returns what it says.
fn refused(directory: &Path, url: &str, command: &[&str]) -> String {
    let output = run(
        directory,
        &[&["--database", url, "database"], command].concat(),
    );
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{command:?}: {text}");
    text
}

fn done(directory: &Path, url: &str, command: &[&str]) -> String {
    succeed(
        directory,
        &[&["--database", url, "database"], command].concat(),
    )
}

async fn a_backup_brings_back_what_it_held(directory: &Path, url: &str, empty: &str) {
    let nothing = refused(directory, url, &["backup", "nothing"]);
    assert!(nothing.contains("nothing to back up"), "{nothing}");
    ban(url, "203.0.113.5").await;
    done(directory, url, &["backup", "one"]);
    let again = refused(directory, url, &["backup", "one"]);
    assert!(again.contains("exists already"), "{again}");
    ban(url, "203.0.113.6").await;

    let text = refused(directory, url, &["restore", "one"]);
    assert!(text.contains("--force"), "{text}");
    assert_eq!(banned(url).await, ["203.0.113.5", "203.0.113.6"]);
    done(directory, url, &["restore", "one", "--force"]);
    assert_eq!(banned(url).await, ["203.0.113.5"]);
    done(directory, empty, &["restore", "one", "--json"]);
    assert_eq!(banned(empty).await, ["203.0.113.5"]);
}

async fn what_is_no_whole_backup_changes_nothing(directory: &Path, url: &str, empty: &str) {
    ban(url, "203.0.113.5").await;
    done(directory, url, &["backup", "whole"]);
    let whole = fs::read(directory.join("whole")).unwrap();
    fs::write(directory.join("cut"), &whole[..whole.len() / 2]).unwrap();
    fs::write(directory.join("text"), "no backup\n".repeat(1_000)).unwrap();
    ban(url, "203.0.113.6").await;
    for file in ["cut", "text", "missing"] {
        refused(directory, url, &["restore", file, "--force"]);
        assert_eq!(banned(url).await, ["203.0.113.5", "203.0.113.6"], "{file}");
    }

    execute(url, NEWER).await;
    done(directory, url, &["backup", "newer"]);
    let text = refused(directory, empty, &["restore", "newer"]);
    assert!(text.contains("newer"), "{text}");
    // It is as empty as before.
    done(directory, empty, &["restore", "whole"]);
    assert_eq!(banned(empty).await, ["203.0.113.5"]);
}

fn on_files(directory: &TempDir) -> [String; 2] {
    ["one", "other"].map(|name| {
        let file = directory.path().join(format!("{name}.db"));
        format!("sqlite://{}", file.display())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_brings_back_what_it_held_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let [url, empty] = on_files(&directory);
    a_backup_brings_back_what_it_held(directory.path(), &url, &empty).await;
    let kept = fs::read_dir(directory.path()).unwrap();
    let names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.collect();
    assert!(
        names.iter().any(|name| name.starts_with("one.db.old-")),
        "{names:?}"
    );
    assert!(
        !names.iter().any(|name| name.contains(".part")),
        "{names:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_brings_back_what_it_held_on_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let (url, empty) = (
        postgres::database_url().await,
        postgres::database_url().await,
    );
    a_backup_brings_back_what_it_held(directory.path(), &url, &empty).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_backup_changes_nothing_on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let [url, empty] = on_files(&directory);
    what_is_no_whole_backup_changes_nothing(directory.path(), &url, &empty).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_backup_changes_nothing_on_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let (url, empty) = (
        postgres::database_url().await,
        postgres::database_url().await,
    );
    what_is_no_whole_backup_changes_nothing(directory.path(), &url, &empty).await;
}

/// A table of somebody else in the same schema is neither copied nor replaced.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_others_on_the_server_stay() {
    let directory = tempfile::tempdir().unwrap();
    let (url, empty) = (
        postgres::database_url().await,
        postgres::database_url().await,
    );
    ban(&url, "203.0.113.5").await;
    execute(&url, "CREATE TABLE orders (n BIGINT)").await;
    execute(&empty, "CREATE TABLE orders (n BIGINT)").await;
    done(directory.path(), &url, &["backup", "ours"]);
    done(directory.path(), &url, &["restore", "ours", "--force"]);
    done(directory.path(), &empty, &["restore", "ours"]);
    execute(&url, "INSERT INTO orders VALUES (1)").await;
    assert_eq!(banned(&empty).await, ["203.0.113.5"]);
}

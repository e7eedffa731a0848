//! `database backup` and `database restore` for SQLite, and the equivalents for PostgreSQL.

use std::{fs, path::Path, process::Command};

use robot_detection::store::{Ban, Store};
use sqlx::{ConnectOptions as _, Executor as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::support::{
    postgres,
    program::{run, succeed},
};

/// A row in the migrations table that only a newer version of the program creates.
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

/// Runs a command that must fail; returns its error.
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

fn on_files(directory: &TempDir) -> [String; 2] {
    ["one", "other"].map(|name| {
        let file = directory.path().join(format!("{name}.db"));
        format!("sqlite://{}", file.display())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_restores_its_contents() {
    let directory = tempfile::tempdir().unwrap();
    let [url, empty] = &on_files(&directory);
    let directory = directory.path();
    let nothing = refused(directory, url, &["backup", "nothing"]);
    assert!(nothing.contains("nothing to back up"), "{nothing}");
    ban(url, "203.0.113.5").await;
    done(directory, url, &["backup", "one"]);
    let again = refused(directory, url, &["backup", "one"]);
    assert!(again.contains("already exists"), "{again}");
    ban(url, "203.0.113.6").await;

    let text = refused(directory, url, &["restore", "one"]);
    assert!(text.contains("--force"), "{text}");
    assert_eq!(banned(url).await, ["203.0.113.5", "203.0.113.6"]);
    done(directory, url, &["restore", "one", "--force"]);
    assert_eq!(banned(url).await, ["203.0.113.5"]);
    done(directory, empty, &["restore", "one", "--json"]);
    assert_eq!(banned(empty).await, ["203.0.113.5"]);
    let kept = fs::read_dir(directory).unwrap();
    let names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.collect();
    let is_kept = |name: &String| name.starts_with("one.db.old-");
    assert!(names.iter().any(is_kept), "{names:?}");
    let is_part = |name: &String| name.contains(".part");
    assert!(!names.iter().any(is_part), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_backup_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let [url, empty] = &on_files(&directory);
    let directory = directory.path();
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

    let options: SqliteConnectOptions = url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    connection.execute(NEWER).await.unwrap();
    drop(connection);
    done(directory, url, &["backup", "newer"]);
    let text = refused(directory, empty, &["restore", "newer"]);
    assert!(text.contains("newer"), "{text}");
    // The database is as empty as before.
    done(directory, empty, &["restore", "whole"]);
    assert_eq!(banned(empty).await, ["203.0.113.5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_in_the_error_back_up_and_restore_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let url = postgres::database_url().await;
    ban(&url, "203.0.113.5").await;
    let arguments = ["--database", &url, "database", "backup", "one"];
    let refused = run(directory.path(), &arguments);
    assert_eq!(
        refused.status.code(),
        Some(2),
        "the command supports only SQLite"
    );
    let text = String::from_utf8(refused.stderr).unwrap();
    let [dump, restore] = ["`pg_dump ", "`pg_restore "].map(|program| {
        let (_, rest) = text.split_once(program).expect(&text);
        let (arguments, _) = rest.split_once('`').expect(&text);
        format!("{} {arguments}", &program[1..]).replace("FILE", "one.dump")
    });
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        let ended = shell.args(["-c", command]).current_dir(directory.path());
        assert!(ended.status().unwrap().success(), "{command}");
    };
    shell(&dump);
    ban(&url, "203.0.113.6").await;
    shell(&restore);
    assert_eq!(banned(&url).await, ["203.0.113.5"]);
}

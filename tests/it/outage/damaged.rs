//! A damaged SQLite file is left unchanged until an administrator replaces it.

use std::{fs, path::Path};

use sqlx::{ConnectOptions as _, Connection as _, Executor as _, sqlite::SqliteConnectOptions};

use super::site::{Site, assert_serves, wait_for};
use crate::support::program::{eventually, run, succeed};

const PAGE: usize = 4096;

/// Replaces the database with text.
fn text(database: &Path) {
    fs::write(database, "this is not a database\n".repeat(1000)).unwrap();
}

fn cut_off(database: &Path) {
    let bytes = fs::read(database).unwrap();
    let whole_pages = bytes.len() / PAGE * 3 / 4 * PAGE;
    fs::write(database, &bytes[..whole_pages + 100]).unwrap();
}

/// Overwrites one page of the robots' rows, as after a disk error.
fn a_page(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    let has = |page: &[u8], word: &str| page.windows(word.len()).any(|at| at == word.as_bytes());
    // A leaf page of a table has type 13.
    let mut leaves = bytes.chunks_mut(PAGE).filter(|page| {
        page[0] == 13 && has(page, "bundled") && has(page, "Mozilla") && !has(page, "housebot")
    });
    leaves.next().expect("no leaf with robots").fill(0xa5);
    fs::write(database, bytes).unwrap();
}

fn header(database: &Path) {
    let mut bytes = fs::read(database).unwrap();
    bytes[..100].fill(0);
    fs::write(database, bytes).unwrap();
}

async fn newer(database: &Path) {
    let options = SqliteConnectOptions::new().filename(database);
    let mut connection = options.connect().await.unwrap();
    let add = "INSERT INTO robot_detection_migrations (version, description, success, checksum, \
               execution_time) VALUES (99990101000000, 'future', TRUE, x'00', 0)";
    connection.execute(add).await.unwrap();
    connection.close().await.unwrap();
}

/// Checks that a server serves without writing to the database; returns the reported reason.
fn untouched(site: &Site) -> String {
    let (bytes, files) = (fs::read(site.database()).unwrap(), site.files());
    fs::remove_file(site.path().join("stderr.log")).unwrap();
    let server = site.start();
    assert_eq!(server.password, None, "no new credential");
    let told = wait_for(&server, "away");
    assert_serves(&server);
    site.end(server);
    let (log, reason) = (site.log(), told["reason"].as_str().unwrap());
    assert_eq!(
        log.matches(reason).count(),
        1,
        "the reason is logged once: {log}"
    );
    assert_eq!(site.files(), files);
    assert!(
        fs::read(site.database()).unwrap() == bytes,
        "the database was changed"
    );
    told["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_that_is_not_a_database_is_left_unchanged() {
    let site = Site::with_file();
    text(&site.database());
    let reason = untouched(&site);
    assert!(reason.contains("database restore"), "{reason}");
}

#[test]
fn a_truncated_file_is_left_unchanged() {
    let site = Site::with_file();
    cut_off(&site.database());
    let reason = untouched(&site);
    assert!(reason.contains("is damaged"), "{reason}");
}

#[test]
fn a_file_with_a_damaged_page_is_left_unchanged() {
    let site = Site::with_file();
    a_page(&site.database());
    untouched(&site);
}

#[test]
fn a_file_with_a_lost_header_is_left_unchanged() {
    let site = Site::with_file();
    header(&site.database());
    untouched(&site);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_programs_database_is_never_changed() {
    let site = Site::with_file();
    newer(&site.database()).await;
    let reason = untouched(&site);
    assert!(reason.contains("upgrade the program"), "{reason}");
}

#[test]
fn a_backup_replaces_a_damaged_file() {
    let site = Site::with_file();
    succeed(site.path(), &["database", "backup", "robots.backup"]);
    text(&site.database());
    succeed(
        site.path(),
        &["database", "restore", "robots.backup", "--force"],
    );
    assert!(succeed(site.path(), &["registry", "list"]).contains("housebot"));
}

#[test]
fn a_waiting_server_opens_the_new_database() {
    let site = Site::with_file();
    text(&site.database());
    let server = site.start();
    wait_for(&server, "away");
    succeed(site.path(), &["database", "new", "--yes"]);
    wait_for(&server, "ok");
    eventually("the new database has a password", || {
        site.log().contains("initial administrator password is in")
    });
    assert_serves(&server);
}

#[test]
fn a_database_on_a_server_or_in_memory_has_no_file_to_replace() {
    let site = Site::new("sqlite::memory:");
    for url in [
        "sqlite::memory:",
        "postgres://somebody:geheim@127.0.0.1:1/robots",
    ] {
        let refused = run(
            site.path(),
            &["--database", url, "database", "new", "--yes"],
        );
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(!told.contains("geheim"), "{told}");
    }
}

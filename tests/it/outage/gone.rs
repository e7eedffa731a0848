//! An SQLite file that is removed or replaced while a server runs.

use std::fs;

use super::site::{Site, assert_serves, log_in, page, wait_for};
use crate::support::program::{Server, eventually, first_password, run, succeed};

fn knows_housebot(server: &Server) -> bool {
    server.get("/private/a", "Petrel/1.0").status == 302
}

#[test]
fn a_removed_file_is_noticed_and_saved() {
    let site = Site::with_file();
    let server = site.start();
    assert!(knows_housebot(&server));
    fs::remove_file(site.database()).unwrap();
    let told = wait_for(&server, "away");
    assert!(
        told["reason"].as_str().unwrap().contains("was removed"),
        "{told}"
    );
    assert_serves(&server);
    assert!(knows_housebot(&server));

    let add = ["registry", "add", "other", "--useragent", "Cormorant/1.0"];
    for command in [&add[..], &["registry", "list"], &["admin", "token", "x"]] {
        let refused = run(site.path(), command);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains("database new"), "{told}");
    }
    assert!(!site.database().exists(), "a new database was created");

    let mut saved = None;
    eventually("the removed database is saved", || {
        let (_, told) = super::site::readiness(&server);
        let is_saved = told["reason"]
            .as_str()
            .unwrap()
            .contains("its content was saved to");
        let mut files = site.files().into_iter();
        saved =
            files.find(|name| name.starts_with("robots.db.saved-") && !name.contains("journal"));
        is_saved
    });
    fs::rename(site.path().join(saved.unwrap()), site.database()).unwrap();
    wait_for(&server, "ok");
    succeed(site.path(), &add);
    eventually("the added robot is detected", || {
        server.get("/private/a", "Cormorant/1.0").status == 302
    });
    assert!(knows_housebot(&server));
    assert!(succeed(site.path(), &["registry", "list"]).contains("housebot"));
}

#[test]
fn a_server_with_the_old_database_switches_to_a_new_one() {
    let site = Site::with_file();
    let server = site.start();
    let asked = run(site.path(), &["database", "new"]);
    assert_eq!(
        asked.status.code(),
        Some(2),
        "a new database needs a confirmation or --yes"
    );
    assert_eq!(
        site.files()
            .iter()
            .filter(|name| name.contains(".old-"))
            .count(),
        0
    );
    succeed(site.path(), &["database", "new", "--yes"]);
    eventually("the new database has a password", || {
        site.log().contains("initial administrator password is in")
    });
    let cookie = log_in(&server, &first_password(site.path()).unwrap());
    eventually("the robot added by hand is gone", || {
        !knows_housebot(&server)
    });
    assert_eq!(page(&server, "overview", &cookie).status, 200);
    assert_serves(&server);
    let old = site.files().into_iter().find(|name| name.contains(".old-"));
    let old = format!("sqlite://{}", old.unwrap());
    let rows = succeed(site.path(), &["--database", &old, "registry", "list"]);
    assert!(rows.contains("housebot"), "{rows}");
}

#[test]
fn a_backup_that_replaces_the_file_is_used() {
    let site = Site::with_file();
    let backup = site.path().join("backup.db");
    fs::copy(site.database(), &backup).unwrap();
    succeed(site.path(), &["registry", "remove", "housebot"]);
    let server = site.start();
    assert!(!knows_housebot(&server));
    fs::rename(backup, site.database()).unwrap();
    eventually("the backup is used", || knows_housebot(&server));
    assert!(
        site.log().contains("the new file will be used"),
        "{}",
        site.log()
    );
    site.end(server);
}

#[test]
fn the_first_command_creates_the_database_and_reports_it() {
    let site = Site::new("sqlite://robots.db");
    let add = ["registry", "add", "housebot", "--useragent", "Petrel/1.0"];
    let made = run(site.path(), &add);
    let told = String::from_utf8(made.stderr).unwrap();
    assert!(
        made.status.success() && told.contains("creating the database"),
        "{told}"
    );
}

//! A failed refresh changes nothing and reports the reason.

use std::time::Duration;

use robot_detection::{
    refresh::{RefreshError, RefreshOptions, Trigger},
    registry::Source,
    store::RefreshOutcome,
};

use super::house::{DOZEN, House, dozen, flat_file, spec};
use crate::support::{
    http::{Reply, TestServer},
    log,
};

const BOMB: &[u8] = include_bytes!("../../data/refresh/bomb.gz");

/// Returns faults of a source, each with a word of the reported reason.
fn faults() -> Vec<(Reply, &'static str)> {
    let truncated = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n{}",
        dozen()
    );
    vec![
        (Reply::status(404), "404"),
        (Reply::status(500), "500"),
        (Reply::typed("text/html", dozen()), "web page"),
        (Reply::text("<!DOCTYPE html><p>Not here"), "web page"),
        (Reply::Raw(truncated.into_bytes()), "truncated"),
        (Reply::text(""), "empty"),
        (Reply::text("\r\n\r\n"), "empty"),
        (Reply::text(b"robot-id: a\0b\n".as_slice()), "binary"),
        (
            Reply::text(vec![b'#'; 6_000_000]),
            "larger than the maximum of 5000000 bytes",
        ),
        (
            Reply::text(BOMB).with("Content-Encoding", "gzip"),
            "larger than the maximum of 5000000 bytes",
        ),
        (Reply::text(BOMB), "gzip file contains over 5000000 bytes"),
        (Reply::text(flat_file(&DOZEN[..9])), "9 robots"),
        (
            Reply::text("nothing like a registry\n"),
            "check the URL and the format",
        ),
        (Reply::redirect("/again"), "redirect loop"),
        (Reply::redirect("file:///etc/passwd"), "redirect"),
        (Reply::Reset, "was reset"),
    ]
}

#[tokio::test]
async fn the_old_rows_stay_and_the_reason_is_shown_until_the_next_success() {
    let server = TestServer::new(Reply::text(dozen()).with("ETag", "\"1\""));
    let house = House::new(&server.url("/again")).await;
    house.replace().await;
    let wrd = Source::web_robots_db();
    let rows = house.ids(&wrd).await;
    let state = house.store.refreshes().source_state(&wrd).await.unwrap();
    let version = house.store.registry_version().await.unwrap();

    for (fault, word) in faults() {
        server.set(fault.clone());
        let record = house.fail().await;
        assert!(record.error.contains(word), "{word}: {}", record.error);
        let is_held = record.held_sha256.is_some();
        assert_eq!(record.outcome == RefreshOutcome::Held, is_held, "{word}");
        assert_eq!(is_held, word == "9 robots");
        assert_eq!(house.ids(&wrd).await, rows, "{word}");
        assert_eq!(
            house.store.refreshes().source_state(&wrd).await.unwrap(),
            state,
            "{word}"
        );
        assert_eq!(
            house.store.registry_version().await.unwrap(),
            version,
            "{word}"
        );
        assert!(DOZEN.iter().all(|name| house.knows(name)), "{word}");
        let standing = house.refresher.standing_failure(&wrd).await.unwrap();
        assert_eq!(standing, Some(record), "{word}");
    }

    server.set(Reply::text(dozen()));
    house.refresh().await.unwrap();
    assert_eq!(house.refresher.standing_failure(&wrd).await.unwrap(), None);
}

#[tokio::test]
async fn a_hanging_or_slow_source_times_out() {
    let drip = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n{}",
        dozen()
    );
    let drip = Reply::Drip(drip.into_bytes(), Duration::from_millis(20));
    let server = TestServer::new(Reply::Hang);
    let house = House::impatient(&server.url("/")).await;
    for fault in [Reply::Hang, drip] {
        server.set(fault);
        let record = house.fail().await;
        assert!(record.error.contains("took too long"), "{}", record.error);
    }
}

#[tokio::test]
async fn a_source_that_never_worked_leaves_an_empty_table_and_a_reason() {
    let house = House::new("http://127.0.0.1:1/all.txt").await;
    let record = house.fail().await;
    assert!(
        record
            .error
            .contains("cannot connect to http://127.0.0.1:1/all.txt")
    );
    assert!(record.refresh_id > 0);
    let history = house.store.refreshes().list(9).await.unwrap();
    assert_eq!(history, [record]);
}

#[tokio::test]
async fn a_loss_of_many_robots_needs_force() {
    let all: Vec<String> = (0..40).map(|number| format!("Fetcher{number}x")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let server = TestServer::new(Reply::text(flat_file(&all)));
    let house = House::new(&server.url("/")).await;
    house.replace().await;

    server.set(Reply::text(flat_file(&all[..19])));
    let record = house.fail().await;
    assert!(record.error.contains("down from 40"), "{}", record.error);
    assert_eq!(record.records, 19);
    assert_eq!(house.force().await.unwrap().removed, 21);

    server.set(Reply::text(flat_file(&all[..3])));
    assert_eq!(house.force().await.unwrap().removed, 16);
    // An empty list is refused even with force.
    server.set(Reply::text("# all gone\n"));
    assert!(matches!(house.force().await, Err(RefreshError::Failed(_))));
    assert_eq!(house.ids(&Source::web_robots_db()).await.len(), 3);
}

#[tokio::test]
async fn invalid_paths_are_reported_by_name() {
    let house = House::new("http://127.0.0.1:9/").await;
    let room = house.path("");
    for (url, said) in [
        (room.display().to_string(), "directory"),
        (house.path("none.txt").display().to_string(), "none.txt"),
        ("/dev/zero".to_owned(), "not a regular file"),
        ("ftp://127.0.0.1/all.txt".to_owned(), "ftp:"),
    ] {
        let options = RefreshOptions::default();
        let from = spec(&url);
        let result = house
            .refresher
            .refresh_from(&from, Trigger::Command, options)
            .await;
        let Err(RefreshError::Failed(record)) = result else {
            panic!("{url} must not be accepted: {result:?}");
        };
        assert!(record.error.contains(said), "{}", record.error);
    }
}

#[tokio::test]
async fn a_mistyped_file_is_not_recorded_as_a_failure_of_the_source() {
    let server = TestServer::new(Reply::status(503));
    let house = House::new(&server.url("/")).await;
    let wrd = Source::web_robots_db();
    let elsewhere = spec("/none/of/these");
    let options = RefreshOptions::default();
    let from = house
        .refresher
        .refresh_from(&elsewhere, Trigger::Command, options);
    assert!(from.await.is_err());
    assert_eq!(house.refresher.standing_failure(&wrd).await.unwrap(), None);
    let record = house.fail().await;
    assert_eq!(
        house.refresher.standing_failure(&wrd).await.unwrap(),
        Some(record)
    );
}

#[tokio::test]
async fn a_missing_database_is_an_error_and_serving_continues() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    house.store.close().await;
    assert!(matches!(house.refresh().await, Err(RefreshError::Store(_))));
    assert!(house.knows("Alphafetcher"));
    let due = house.refresher.refresh_due(Trigger::Schedule).await;
    assert!(matches!(due.as_slice(), [Err(RefreshError::Store(_))]));
}

#[tokio::test]
async fn a_persistent_failure_is_logged_once() {
    log::keep();
    let server = TestServer::new(Reply::status(503));
    let house = House::new(&server.url("/")).await;
    for _ in 0..3 {
        house.fail().await;
    }
    server.set(Reply::status(404));
    house.fail().await;
    let lines = log::lines_with(&server.url("/"));
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(count("returned 503"), 1, "{lines:#?}");
    assert_eq!(count("returned 404"), 1, "{lines:#?}");
}

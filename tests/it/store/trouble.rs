//! A database that is locked, missing or damaged.

use std::time::Duration;

use robot_detection::{
    registry::Status,
    store::{AvailabilityChange, Store, StoreErrorKind},
};

use super::{TestDatabase, ids, on_shared_engines, robot, state, web_robots};
use crate::support::postgres::Cluster;

on_shared_engines! {
    a_locked_database_is_busy_and_recovers,
    a_damaged_robot_is_unusable_but_hides_no_other,
    a_row_without_a_valid_source_is_named,
    a_damaged_refresh_is_named,
    a_cancelled_call_changes_nothing,
}

async fn a_locked_database_is_busy_and_recovers(database: TestDatabase) {
    let store = database.store().await;
    store.robots().add(&robot("a"), 1).await.unwrap();
    let mut other = database.raw().await;
    other.take_write_lock().await;

    let error = store.robots().add(&robot("b"), 2).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("try again"), "{error}");
    assert_eq!(ids(&store).await, ["a"], "readers do not wait");

    other.close().await;
    store.robots().add(&robot("b"), 3).await.unwrap();
    assert_eq!(ids(&store).await, ["a", "b"]);
}

async fn a_damaged_robot_is_unusable_but_hides_no_other(database: TestDatabase) {
    let store = database.store().await;
    let robots = ["a", "b", "c", "d", "e", "f", "g"].map(robot);
    let source = web_robots();
    store
        .robots()
        .replace_source(&source, &robots, &state(), 1)
        .await
        .unwrap();
    let mut raw = database.raw().await;
    for damage in [
        "patterns = '[{\"kind\":' WHERE robot_id = 'a'",
        "patterns = '[{\"kind\":\"new kind\",\"text\":\"b\"}]' WHERE robot_id = 'b'",
        "status = 'asleep' WHERE robot_id = 'c'",
        "status_detail = '7' WHERE robot_id = 'd'",
        "facts = '' WHERE robot_id = 'g'",
        "robot_details_url = 'javascript:alert(1)', purpose = 'unheard-of' WHERE robot_id = 'e'",
    ] {
        raw.execute(&format!("UPDATE robots SET {damage}")).await;
    }

    for stored in store.robots().list().await.unwrap() {
        let damaged = matches!(stored.robot.id.as_str(), "a" | "b" | "c" | "d" | "g");
        assert_eq!(stored.robot.is_active(), !damaged, "{stored:?}");
        if damaged {
            assert!(matches!(stored.robot.status, Status::Unusable { .. }));
        }
        assert_eq!(stored.robot.details_url, None);
    }
    let changes = store
        .robots()
        .replace_source(&source, &robots, &state(), 2)
        .await
        .unwrap();
    assert_eq!(
        changes.changed,
        ["a", "b", "c", "d", "e", "g"],
        "the database is repaired"
    );
    assert!(store.robots().list().await.unwrap()[0].robot.is_active());
}

async fn a_row_without_a_valid_source_is_named(database: TestDatabase) {
    let store = database.store().await;
    store.robots().add(&robot("lost"), 1).await.unwrap();
    let mut raw = database.raw().await;
    raw.execute("UPDATE robots SET source = 'No Source!'").await;
    let error = store.robots().list().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("\"lost\""), "{error}");
}

async fn a_damaged_refresh_is_named(database: TestDatabase) {
    let store = database.store().await;
    let mut raw = database.raw().await;
    raw.execute(
        "INSERT INTO refreshes (source, url, triggered_by, started_ms, finished_ms, outcome, \
         error, records, added, changed, removed, skipped, quarantined, unusable, problems) \
         VALUES ('bundled', '', '', 0, 0, 'odd', '', -1, 0, 0, 0, 0, 0, 0, '[]')",
    )
    .await;
    let error = store.refreshes().list(10).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("refresh 1 "), "{error}");
}

async fn a_cancelled_call_changes_nothing(database: TestDatabase) {
    let store = database.store().await;
    store.robots().add(&robot("mine"), 1).await.unwrap();
    let robots: Vec<_> = (0..2_000).map(|n| robot(&format!("r{n}"))).collect();
    for millis in [0, 1, 2, 4, 8, 16, 32] {
        let source = web_robots();
        let state = state();
        let call = store.robots().replace_source(&source, &robots, &state, 1);
        let result = tokio::time::timeout(Duration::from_millis(millis), call).await;
        let left = ids(&store).await.len();
        assert!(left == 1 || left == 2_001, "{left}");
        if result.is_ok() {
            break;
        }
    }
    store.robots().remove("mine").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_recovers_after_a_restart_of_postgres() {
    let cluster = Cluster::start();
    let store = Store::connect(&cluster.create_database().await)
        .await
        .unwrap();
    store.robots().add(&robot("a"), 1).await.unwrap();

    cluster.stop();
    let error = store.robots().list().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    let error = store.robots().add(&robot("b"), 1).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    assert!(
        error
            .to_string()
            .contains("check that the server is running"),
        "{error}"
    );

    cluster.resume();
    assert_eq!(ids(&store).await, ["a"]);
    store.robots().add(&robot("b"), 1).await.unwrap();
}

#[tokio::test]
async fn a_damaged_file_counts_as_unavailable_and_is_not_written_to() {
    const PAGE: usize = 4096;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let url = format!("sqlite://{}", path.display());
    let store = Store::connect(&url).await.unwrap();
    let robots: Vec<_> = (0..2_000).map(|n| robot(&format!("r{n}"))).collect();
    let source = web_robots();
    store
        .robots()
        .replace_source(&source, &robots, &state(), 1)
        .await
        .unwrap();
    store.close().await;
    let store = Store::connect(&url).await.unwrap();
    assert_eq!(store.check_availability(1).await, None);

    let mut bytes = std::fs::read(&path).unwrap();
    // A leaf page of a table has type 13.
    for page in bytes.chunks_mut(PAGE).skip(1).filter(|page| page[0] == 13) {
        if page
            .windows(6)
            .any(|at| at == b"r1999r" || at == b"r1000r" || at == b"r15r15")
        {
            page.fill(0xa5);
        }
    }
    let damaged = bytes.chunks(PAGE).filter(|page| page[0] == 0xa5).count();
    assert!(damaged > 0, "no page of robots was found");
    std::fs::write(&path, &bytes).unwrap();
    let error = store.robots().list().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
    let Some(AvailabilityChange::Away(absence)) = store.check_availability(7).await else {
        panic!("the damage was not noticed");
    };
    assert_eq!(
        (absence.since_ms, absence.kind),
        (7, StoreErrorKind::Corrupt)
    );
    let error = store.robots().add(&robot("b"), 2).await.unwrap_err();
    assert_eq!(error.outage(), Some(&*absence), "{error}");
    assert!(absence.reason.contains("database restore"), "{absence:?}");
    assert_eq!(store.check_availability(8).await, None);
    assert!(std::fs::read(&path).unwrap() == bytes, "the file changed");
}

//! Refreshes, sources and leases.

use std::time::Duration;

use robot_detection::{
    registry::Source,
    store::{RefreshOutcome, RefreshRecord, SourceState},
};
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines, state, web_robots};

on_each_engine! {
    a_refresh_comes_back_as_it_was_recorded,
    the_newest_refresh_comes_first,
    the_history_of_a_source_is_bounded,
    what_is_known_of_a_source_comes_back,
    a_lease_has_one_holder_until_it_ends,
    of_sixteen_who_want_a_lease_one_gets_it,
}

mod shared {
    use super::*;
    on_shared_engines! {
        of_sixteen_instances_one_gets_the_lease,
        what_was_stored_is_there_after_a_restart,
    }
}

fn record(source: Source, started_ms: i64) -> RefreshRecord {
    RefreshRecord {
        refresh_id: 0,
        source,
        url: "http://www.example.org/all.txt".to_owned(),
        trigger: "schedule".to_owned(),
        started_ms,
        finished_ms: started_ms + 1,
        outcome: RefreshOutcome::Replaced,
        error: String::new(),
        records: 1,
        added: 2,
        changed: 3,
        removed: 4,
        skipped: 5,
        quarantined: 6,
        unusable: 7,
        problems: vec!["line 7: \"no id\"".to_owned(), String::new()],
    }
}

async fn a_refresh_comes_back_as_it_was_recorded(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.last_refresh(&web_robots()).await.unwrap(), None);
    for outcome in [
        RefreshOutcome::Replaced,
        RefreshOutcome::NotModified,
        RefreshOutcome::Failed,
    ] {
        let mut expected = record(web_robots(), 1_000);
        expected.outcome = outcome;
        expected.error = "404 Not Found".into();
        expected.refresh_id = store.record_refresh(&expected).await.unwrap();
        assert!(expected.refresh_id > 0);
        let last = store.last_refresh(&web_robots()).await.unwrap();
        assert_eq!(last, Some(expected));
    }
}

async fn the_newest_refresh_comes_first(database: TestDatabase) {
    let store = database.store().await;
    for (source, started) in [(web_robots(), 1), (Source::bundled(), 2), (web_robots(), 3)] {
        store
            .record_refresh(&record(source, started))
            .await
            .unwrap();
    }
    let started: Vec<i64> = store
        .refreshes(2)
        .await
        .unwrap()
        .iter()
        .map(|refresh| refresh.started_ms)
        .collect();
    assert_eq!(started, [3, 2]);
    assert!(store.refreshes(0).await.unwrap().is_empty());
    assert_eq!(store.refreshes(u64::MAX).await.unwrap().len(), 3);
    let bundled = store.last_refresh(&Source::bundled()).await.unwrap();
    assert_eq!(bundled.unwrap().started_ms, 2);
}

async fn the_history_of_a_source_is_bounded(database: TestDatabase) {
    let store = database.store().await;
    store
        .record_refresh(&record(Source::bundled(), 0))
        .await
        .unwrap();
    for started in 1..=205 {
        store
            .record_refresh(&record(web_robots(), started))
            .await
            .unwrap();
    }
    let refreshes = store.refreshes(1_000).await.unwrap();
    assert_eq!(refreshes.len(), 201);
    assert_eq!(refreshes[0].started_ms, 205);
    assert_eq!(refreshes[199].started_ms, 6);
    assert_eq!(refreshes[200].source, Source::bundled());
}

async fn what_is_known_of_a_source_comes_back(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.source_state(&web_robots()).await.unwrap(), None);
    store.touch_source(&web_robots(), &state()).await.unwrap();
    let found = store.source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(state()));

    let full = SourceState {
        url: "file:///all.txt".to_owned(),
        etag: Some("W/\"1\"".to_owned()),
        last_modified: Some("Sat, 21 Nov 2026 09:00:00 GMT".to_owned()),
        content_sha256: Some("ab".repeat(32)),
        succeeded_ms: Some(1_800_000_000_000),
    };
    let version = store.registry_version().await.unwrap();
    store.touch_source(&web_robots(), &full).await.unwrap();
    let found = store.source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(full));
    assert_eq!(store.registry_version().await.unwrap(), version);
}

async fn a_lease_has_one_holder_until_it_ends(database: TestDatabase) {
    let store = database.store().await;
    let ttl = Duration::from_mins(1);
    let take = async |name: &str, holder: &str, now_ms| {
        store
            .acquire_lease(name, holder, now_ms, ttl)
            .await
            .unwrap()
    };
    assert!(take("refresh", "one", 0).await);
    assert!(!take("refresh", "two", 59_999).await);
    assert!(take("other", "two", 0).await);
    assert!(take("refresh", "one", 30_000).await, "its holder renews it");
    assert!(!take("refresh", "two", 89_999).await);
    assert!(take("refresh", "two", 90_000).await, "it ended");

    store.release_lease("refresh", "one").await.unwrap();
    assert!(!take("refresh", "one", 90_001).await, "it is not one's");
    store.release_lease("refresh", "two").await.unwrap();
    assert!(take("refresh", "one", 90_001).await);
    let for_ever = Duration::MAX;
    let endless = store.acquire_lease("endless", "one", 1, for_ever).await;
    assert!(endless.unwrap());
}

async fn of_sixteen_who_want_a_lease_one_gets_it(database: TestDatabase) {
    let store = database.store().await;
    let racers = (0..16).map(|_| store.clone()).collect();
    assert_eq!(race(racers).await, 1);
}

async fn of_sixteen_instances_one_gets_the_lease(database: TestDatabase) {
    let mut racers = Vec::new();
    for _ in 0..16 {
        racers.push(database.store().await);
    }
    for _ in 0..3 {
        assert_eq!(race(racers.clone()).await, 1);
        for racer in 0..16 {
            let holder = format!("racer {racer}");
            racers[0].release_lease("refresh", &holder).await.unwrap();
        }
    }
}

async fn race(racers: Vec<robot_detection::store::Store>) -> usize {
    let mut race = JoinSet::new();
    for (racer, store) in racers.into_iter().enumerate() {
        race.spawn(async move {
            let holder = format!("racer {racer}");
            let ttl = Duration::from_mins(1);
            store.acquire_lease("refresh", &holder, 1, ttl).await
        });
    }
    let results = race.join_all().await;
    results
        .into_iter()
        .filter(|won| *won.as_ref().unwrap())
        .count()
}

async fn what_was_stored_is_there_after_a_restart(database: TestDatabase) {
    let store = database.store().await;
    store.touch_source(&web_robots(), &state()).await.unwrap();
    let id = store
        .record_refresh(&record(web_robots(), 1))
        .await
        .unwrap();
    store.close().await;
    assert!(store.ping().await.is_err());

    let store = database.store().await;
    let found = store.source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(state()));
    let last = store.last_refresh(&web_robots()).await.unwrap().unwrap();
    assert_eq!(last.refresh_id, id);
    let next = store
        .record_refresh(&record(web_robots(), 2))
        .await
        .unwrap();
    assert!(next > id);
}

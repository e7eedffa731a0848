//! Refreshes, sources and leases.

use std::time::Duration;

use robot_detection::{
    registry::Source,
    store::{Lease, LeaseError, RefreshOutcome, RefreshRecord, SourceState, Store, StoreErrorKind},
};
use tokio::task::JoinSet;

use crate::support::eventually::eventually_async;

use super::{TestDatabase, on_each_engine, on_shared_engines, robot, state, web_robots};

on_each_engine! {
    a_refresh_is_loaded_as_it_was_recorded,
    the_newest_refresh_comes_first,
    the_history_of_a_source_is_limited,
    the_state_of_a_source_is_loaded_as_it_was_stored,
    a_lease_has_one_holder_until_it_is_released,
    an_expired_lease_is_lost_by_its_holder,
    only_one_of_sixteen_tasks_gets_the_lease,
}

mod shared {
    use super::*;
    on_shared_engines! {
        only_one_of_sixteen_instances_gets_the_lease,
        a_dropped_lease_is_free_immediately,
        an_unknown_holder_keeps_its_lease,
        stored_data_survives_a_restart,
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
        held_sha256: Some("ab".repeat(32)),
    }
}

async fn a_refresh_is_loaded_as_it_was_recorded(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.refreshes().last(&web_robots()).await.unwrap(), None);
    for outcome in [
        RefreshOutcome::Replaced,
        RefreshOutcome::NotModified,
        RefreshOutcome::Held,
        RefreshOutcome::Failed,
    ] {
        let mut expected = record(web_robots(), 1_000);
        expected.outcome = outcome;
        expected.error = "404 Not Found".into();
        expected.refresh_id = store.refreshes().record(&expected).await.unwrap();
        assert!(expected.refresh_id > 0);
        let last = store.refreshes().last(&web_robots()).await.unwrap();
        assert_eq!(last, Some(expected));
    }
}

async fn the_newest_refresh_comes_first(database: TestDatabase) {
    let store = database.store().await;
    for (source, started) in [(web_robots(), 1), (Source::bundled(), 2), (web_robots(), 3)] {
        store
            .refreshes()
            .record(&record(source, started))
            .await
            .unwrap();
    }
    let started: Vec<i64> = store
        .refreshes()
        .list(2)
        .await
        .unwrap()
        .iter()
        .map(|refresh| refresh.started_ms)
        .collect();
    assert_eq!(started, [3, 2]);
    assert!(store.refreshes().list(0).await.unwrap().is_empty());
    assert_eq!(store.refreshes().list(u64::MAX).await.unwrap().len(), 3);
    let bundled = store.refreshes().last(&Source::bundled()).await.unwrap();
    assert_eq!(bundled.unwrap().started_ms, 2);
}

async fn the_history_of_a_source_is_limited(database: TestDatabase) {
    let store = database.store().await;
    store
        .refreshes()
        .record(&record(Source::bundled(), 0))
        .await
        .unwrap();
    for started in 1..=205 {
        store
            .refreshes()
            .record(&record(web_robots(), started))
            .await
            .unwrap();
    }
    let refreshes = store.refreshes().list(1_000).await.unwrap();
    assert_eq!(refreshes.len(), 201);
    assert_eq!(refreshes[0].started_ms, 205);
    assert_eq!(refreshes[199].started_ms, 6);
    assert_eq!(refreshes[200].source, Source::bundled());
}

async fn the_state_of_a_source_is_loaded_as_it_was_stored(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(
        store.refreshes().source_state(&web_robots()).await.unwrap(),
        None
    );
    store
        .refreshes()
        .save_source_state(&web_robots(), &state())
        .await
        .unwrap();
    let found = store.refreshes().source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(state()));

    let full = SourceState {
        url: "file:///all.txt".to_owned(),
        etag: Some("W/\"1\"".to_owned()),
        last_modified: Some("Sat, 21 Nov 2026 09:00:00 GMT".to_owned()),
        content_sha256: Some("ab".repeat(32)),
        succeeded_ms: Some(1_800_000_000_000),
    };
    let version = store.registry_version().await.unwrap();
    store
        .refreshes()
        .save_source_state(&web_robots(), &full)
        .await
        .unwrap();
    let found = store.refreshes().source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(full));
    assert_eq!(store.registry_version().await.unwrap(), version);
}

const LIFE: Duration = Duration::from_hours(1);

async fn a_lease_has_one_holder_until_it_is_released(database: TestDatabase) {
    let store = database.store().await;
    let one = store.leases().acquire("refresh", LIFE).await.unwrap();
    let other = store
        .leases()
        .acquire("other", Duration::MAX)
        .await
        .unwrap();
    let refused = store.leases().acquire("refresh", LIFE).await.unwrap_err();
    let process = format!("in process {} on ", std::process::id());
    assert!(refused.to_string().contains(&process), "{refused}");
    assert!(matches!(refused, LeaseError::Held(_)));
    assert!(one.renew().await.unwrap());
    one.release().await;
    assert_eq!(store.leases().holder("refresh").await.unwrap(), None);
    let two = store.leases().acquire("refresh", LIFE).await.unwrap();
    assert!(two.renew().await.unwrap() && other.renew().await.unwrap());
}

async fn an_expired_lease_is_lost_by_its_holder(database: TestDatabase) {
    let store = database.store().await;
    let one = store
        .leases()
        .acquire("refresh", Duration::ZERO)
        .await
        .unwrap();
    let two = store.leases().acquire("refresh", LIFE).await.unwrap();
    assert!(!one.renew().await.unwrap());
    let lost = one
        .save_source_state(&web_robots(), &state())
        .await
        .unwrap_err();
    assert_eq!(lost.kind(), StoreErrorKind::LeaseLost);
    let robots = [robot("a")];
    let lost = one
        .replace_source(&web_robots(), &robots, &state(), 1)
        .await;
    assert_eq!(lost.unwrap_err().kind(), StoreErrorKind::LeaseLost);
    assert!(store.robots().list().await.unwrap().is_empty());
    assert_eq!(
        store.refreshes().source_state(&web_robots()).await.unwrap(),
        None
    );

    // Only the holder can release a lease.
    one.release().await;
    assert!(two.renew().await.unwrap());
    let changes = two
        .replace_source(&web_robots(), &robots, &state(), 1)
        .await;
    assert_eq!(changes.unwrap().added, ["a"]);
    two.release().await;
    // An expired lease stays with its holder until another takes it.
    let late = store
        .leases()
        .acquire("refresh", Duration::ZERO)
        .await
        .unwrap();
    late.save_source_state(&web_robots(), &state())
        .await
        .unwrap();
}

async fn a_dropped_lease_is_free_immediately(database: TestDatabase) {
    let (store, other) = (database.store().await, database.store().await);
    for _ in 0..3 {
        let dropped = store.leases().acquire("refresh", LIFE).await.unwrap();
        assert!(other.leases().acquire("refresh", LIFE).await.is_err());
        drop(dropped);
        // PostgreSQL notices the end of a session a moment later.
        let taken = eventually_async("the lease is free", async || {
            other.leases().acquire("refresh", LIFE).await.ok()
        });
        taken.await.release().await;
    }
}

async fn an_unknown_holder_keeps_its_lease(database: TestDatabase) {
    let store = database.store().await;
    let mut raw = database.raw().await;
    let insert = "INSERT INTO leases (name, holder, until_ms) VALUES \
                  ('refresh', 'as it was before', 4102444800000)";
    raw.execute(insert).await;
    let refused = store.leases().acquire("refresh", LIFE).await.unwrap_err();
    let told = "in another process, with a lease until Fri, 01 Jan 2100 00:00:00 GMT";
    assert!(refused.to_string().contains(told), "{refused}");
    raw.execute("UPDATE leases SET until_ms = 1").await;
    store.leases().acquire("refresh", LIFE).await.unwrap();
    raw.close().await;
}

async fn only_one_of_sixteen_tasks_gets_the_lease(database: TestDatabase) {
    let store = database.store().await;
    let racers = (0..16).map(|_| store.clone()).collect();
    assert_eq!(race(racers).await.len(), 1);
}

async fn only_one_of_sixteen_instances_gets_the_lease(database: TestDatabase) {
    let mut racers = Vec::new();
    for _ in 0..16 {
        racers.push(database.store().await);
    }
    for _ in 0..3 {
        let winners = race(racers.clone()).await;
        assert_eq!(winners.len(), 1);
        for winner in winners {
            winner.release().await;
        }
    }
}

async fn race(racers: Vec<Store>) -> Vec<Lease> {
    let mut race = JoinSet::new();
    for store in racers {
        race.spawn(async move { store.leases().acquire("refresh", LIFE).await });
    }
    let results = race.join_all().await.into_iter();
    let winner = |result| match result {
        Ok(lease) => Some(lease),
        Err(LeaseError::Held(_)) => None,
        Err(error) => panic!("{error}"),
    };
    results.filter_map(winner).collect()
}

async fn stored_data_survives_a_restart(database: TestDatabase) {
    let store = database.store().await;
    store
        .refreshes()
        .save_source_state(&web_robots(), &state())
        .await
        .unwrap();
    let id = store
        .refreshes()
        .record(&record(web_robots(), 1))
        .await
        .unwrap();
    store.close().await;
    assert!(store.ping().await.is_err());

    let store = database.store().await;
    let found = store.refreshes().source_state(&web_robots()).await.unwrap();
    assert_eq!(found, Some(state()));
    let last = store
        .refreshes()
        .last(&web_robots())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(last.refresh_id, id);
    let next = store
        .refreshes()
        .record(&record(web_robots(), 2))
        .await
        .unwrap();
    assert!(next > id);
}

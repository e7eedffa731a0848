//! A change notifies all other users of the database.

use std::time::Duration;

use robot_detection::store::{Store, StoreErrorKind};
use tokio::{task::JoinSet, time::timeout};

use super::{TestDatabase, on_each_engine, on_shared_engines, robot};
use crate::support::postgres::Cluster;

/// Far below the slow poll of PostgreSQL, far above the time of a notification.
const SOON: Duration = Duration::from_secs(15);

on_each_engine! {
    an_earlier_change_is_reported_immediately,
    a_closed_store_does_not_wait,
}

mod shared {
    use super::*;
    on_shared_engines! {
        a_change_reaches_every_other_handle,
        waiting_can_be_cancelled_and_restarted,
    }
}

fn wait_for_change(store: Store, seen: i64) -> JoinSet<i64> {
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { store.registry_changed(seen).await.unwrap() });
    waiting
}

async fn heard(mut waiting: JoinSet<i64>) -> i64 {
    let heard = timeout(SOON, waiting.join_next()).await;
    heard.expect("in time").expect("a task").expect("no panic")
}

async fn an_earlier_change_is_reported_immediately(database: TestDatabase) {
    let store = database.store().await;
    let before = store.registry_version().await.unwrap();
    store.robots().add(&robot("a"), 1).await.unwrap();
    let after = timeout(SOON, store.registry_changed(before)).await;
    assert_eq!(after.unwrap().unwrap(), before + 1);
}

async fn a_closed_store_does_not_wait(database: TestDatabase) {
    let store = database.store().await;
    let seen = store.registry_version().await.unwrap();
    let mut waiting = JoinSet::new();
    let waiter = store.clone();
    waiting.spawn(async move { waiter.registry_changed(seen).await });
    tokio::task::yield_now().await;
    timeout(SOON, store.close()).await.expect("closes");
    let result = timeout(SOON, waiting.join_next()).await;
    let error = result.unwrap().unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
}

async fn a_change_reaches_every_other_handle(database: TestDatabase) {
    let writer = database.store().await;
    let seen = writer.registry_version().await.unwrap();
    let first = wait_for_change(database.store().await, seen);
    let second = wait_for_change(database.store().await, seen);
    let own = wait_for_change(writer.clone(), seen);

    writer.robots().add(&robot("a"), 1).await.unwrap();
    let version = writer.registry_version().await.unwrap();
    for waiting in [first, second, own] {
        assert_eq!(heard(waiting).await, version);
    }
    let next = wait_for_change(database.store().await, version);
    writer.robots().remove("a").await.unwrap();
    assert!(heard(next).await > version);
}

async fn waiting_can_be_cancelled_and_restarted(database: TestDatabase) {
    let writer = database.store().await;
    let reader = database.store().await;
    let seen = reader.registry_version().await.unwrap();
    // Cancelled at every stage: connecting, listening, waiting.
    for millis in 0..40 {
        let patience = Duration::from_millis(millis);
        let given_up = timeout(patience, reader.registry_changed(seen)).await;
        assert!(given_up.is_err());
    }
    reader.ping().await.unwrap();
    let waiting = wait_for_change(reader.clone(), seen);
    writer.robots().add(&robot("a"), 1).await.unwrap();
    assert!(heard(waiting).await > seen);
    timeout(SOON, reader.close()).await.expect("closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_survives_a_restart_of_postgres() {
    let cluster = Cluster::start();
    let url = cluster.create_database().await;
    let store = Store::connect(&url).await.unwrap();
    let seen = store.registry_version().await.unwrap();
    let waiting = wait_for_change(store.clone(), seen);
    tokio::task::yield_now().await;

    cluster.stop();
    cluster.resume();
    let writer = Store::connect(&url).await.unwrap();
    writer.robots().add(&robot("a"), 1).await.unwrap();
    assert!(heard(waiting).await > seen);
}

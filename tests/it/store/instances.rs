//! Processes that serve from a database.

use std::time::Duration;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    an_instance_is_listed_with_its_leases_until_it_stops,
}

mod shared {
    use super::*;
    on_shared_engines! {
        an_instance_silent_for_two_minutes_is_forgotten,
    }
}

const LIFE: Duration = Duration::from_hours(1);

async fn an_instance_is_listed_with_its_leases_until_it_stops(database: TestDatabase) {
    let store = database.store().await;
    assert!(store.instances().list().await.unwrap().is_empty());
    let uptime = Duration::from_secs(50);
    store
        .instances()
        .heartbeat("1.2.3", "", uptime, 0)
        .await
        .unwrap();
    store
        .instances()
        .heartbeat("1.2.3", "192.0.2.1:9180", LIFE, 7_200_000)
        .await
        .unwrap();
    let one = store.leases().acquire("one", LIFE).await.unwrap();
    let two = store.leases().acquire("two", LIFE).await.unwrap();
    let over = store
        .leases()
        .acquire("over", Duration::ZERO)
        .await
        .unwrap();
    let listed = store.instances().list().await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].process, std::process::id());
    assert_eq!(listed[0].version, "1.2.3");
    assert_eq!(listed[0].address, "192.0.2.1:9180");
    assert_eq!(listed[0].ahead_ms, 7_200_000);
    // The start time precedes the first report, whatever the instance's clock shows.
    assert!(listed[0].seen_ms - listed[0].since_ms >= 50_000);
    assert!(listed[0].seen_ms - listed[0].since_ms < 3_600_000);
    assert!(listed[0].now_ms >= listed[0].seen_ms);
    assert_eq!(listed[0].leads, ["one", "two"]);
    one.release().await;
    assert_eq!(store.instances().list().await.unwrap()[0].leads, ["two"]);
    store.instances().remove_self().await.unwrap();
    assert!(store.instances().list().await.unwrap().is_empty());
    two.release().await;
    over.release().await;
}

async fn an_instance_silent_for_two_minutes_is_forgotten(database: TestDatabase) {
    let store = database.store().await;
    store
        .instances()
        .heartbeat("1.2.3", "", LIFE, 0)
        .await
        .unwrap();
    let mut raw = database.raw().await;
    raw.execute("UPDATE instances SET instance = 'other', seen_ms = seen_ms - 60000")
        .await;
    store
        .instances()
        .heartbeat("1.2.3", "", Duration::ZERO, 0)
        .await
        .unwrap();
    let names = async || {
        let listed = store.instances().list().await.unwrap();
        let names = listed.into_iter().map(|instance| instance.instance);
        names.collect::<Vec<_>>()
    };
    // The instance that has served longest comes first.
    let both = names().await;
    assert_eq!((both.len(), &*both[0]), (2, "other"));
    raw.execute("UPDATE instances SET seen_ms = seen_ms - 60000 WHERE instance = 'other'")
        .await;
    assert_eq!(names().await, both[1..]);
    store
        .instances()
        .heartbeat("1.2.3", "", Duration::ZERO, 0)
        .await
        .unwrap();
    let count = "SELECT CAST(COUNT(*) AS TEXT) FROM instances";
    assert_eq!(raw.text(count).await, "1");
    raw.close().await;
}

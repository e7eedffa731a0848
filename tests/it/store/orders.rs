//! Runs that are handed over, the instances that accept them, and the site robot's key.

use std::time::Duration;

use robot_detection::store::SiteRobotVersions;
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

const MINUTE_MS: i64 = 60_000;

on_each_engine! {
    an_order_is_accepted_shown_stopped_and_finished,
    an_unaccepted_order_is_withdrawn_or_expires,
    a_server_counts_as_available_for_a_minute,
}

mod shared {
    use super::*;
    on_shared_engines! {
        only_one_of_eight_servers_accepts_an_order,
        eight_concurrent_first_requests_get_the_same_key,
        other_instances_are_notified_of_orders_and_heavens,
    }
}

async fn an_order_is_accepted_shown_stopped_and_finished(database: TestDatabase) {
    let store = database.store().await;
    store.orders().place("a", "shop", "work", 1).await.unwrap();
    let taken = store.orders().take("server", 2).await.unwrap().unwrap();
    assert_eq!(
        (&*taken.order_id, &*taken.site, &*taken.work),
        ("a", "shop", "work")
    );
    assert!(!store.orders().withdraw("a").await.unwrap());
    assert_eq!(store.orders().take("other", 2).await.unwrap(), None);

    assert!(store.orders().update("a", "half", 3).await.unwrap());
    let order = store.orders().find("a").await.unwrap().unwrap();
    assert_eq!(
        (order.progress.as_deref(), order.seen_ms),
        (Some("half"), Some(3))
    );
    store.orders().stop("a").await.unwrap();
    assert!(!store.orders().update("a", "most", 4).await.unwrap());
    store.orders().finish("a", "all", 5).await.unwrap();
    let order = store.orders().find("a").await.unwrap().unwrap();
    assert_eq!(
        (order.outcome.as_deref(), order.holder.as_deref()),
        (Some("all"), Some("server"))
    );
    store.orders().remove("a").await.unwrap();
    assert_eq!(store.orders().find("a").await.unwrap(), None);
}

async fn an_unaccepted_order_is_withdrawn_or_expires(database: TestDatabase) {
    let store = database.store().await;
    store.orders().place("a", "s", "", 1).await.unwrap();
    assert!(store.orders().withdraw("a").await.unwrap());
    assert!(!store.orders().withdraw("a").await.unwrap());
    store.orders().place("b", "s", "", 1).await.unwrap();
    assert_eq!(
        store.orders().take("server", 1 + MINUTE_MS).await.unwrap(),
        None
    );
    let day_ms = 24 * 60 * MINUTE_MS;
    store
        .orders()
        .server_heartbeat("server", day_ms)
        .await
        .unwrap();
    assert!(store.orders().find("b").await.unwrap().is_some());
    store
        .orders()
        .server_heartbeat("server", day_ms + 1)
        .await
        .unwrap();
    assert_eq!(store.orders().find("b").await.unwrap(), None);
}

async fn a_server_counts_as_available_for_a_minute(database: TestDatabase) {
    let store = database.store().await;
    store.orders().server_heartbeat("a", 1).await.unwrap();
    store.orders().server_heartbeat("b", 2).await.unwrap();
    assert_eq!(store.orders().servers(2).await.unwrap(), ["b", "a"]);
    assert_eq!(store.orders().servers(1 + MINUTE_MS).await.unwrap(), ["b"]);
    store
        .orders()
        .server_heartbeat("a", MINUTE_MS)
        .await
        .unwrap();
    store.orders().remove_server("b").await.unwrap();
    assert_eq!(store.orders().servers(1 + MINUTE_MS).await.unwrap(), ["a"]);
}

async fn only_one_of_eight_servers_accepts_an_order(database: TestDatabase) {
    let store = database.store().await;
    store.orders().place("a", "s", "", 1).await.unwrap();
    let mut servers = JoinSet::new();
    for number in 0..8 {
        let store = store.clone();
        servers.spawn(async move { store.orders().take(&number.to_string(), 1).await.unwrap() });
    }
    let taken = servers.join_all().await;
    assert_eq!(taken.into_iter().flatten().count(), 1);
}

async fn eight_concurrent_first_requests_get_the_same_key(database: TestDatabase) {
    let mut instances = JoinSet::new();
    for number in 0..8 {
        let store = database.store().await;
        instances.spawn(async move {
            let key = format!("key {number}");
            store.site_robot_key(&key, 1).await.unwrap()
        });
    }
    let keys = instances.join_all().await;
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let store = database.store().await;
    assert_eq!(store.site_robot_key("another", 2).await.unwrap(), keys[0]);
}

async fn other_instances_are_notified_of_orders_and_heavens(database: TestDatabase) {
    let (ours, other) = (database.store().await, database.store().await);
    let mut seen = SiteRobotVersions::default();
    let hear = async |seen| {
        let heard = other.orders().site_robot_changed(seen);
        tokio::time::timeout(Duration::from_mins(1), heard)
            .await
            .unwrap()
            .unwrap()
    };
    for (orders, heavens) in [(1, 0), (1, 1)] {
        let tell = async {
            match heavens {
                0 => ours.orders().place("a", "s", "", 1).await.unwrap(),
                _ => ours.orders().announce_heaven().await.unwrap(),
            }
        };
        let (heard, ()) = tokio::join!(hear(seen), tell);
        seen = heard;
        assert_eq!((seen.orders, seen.heavens), (orders, heavens));
    }
}

//! Times of messages: once, from one instance of a fleet, and only the latest after an outage.

use std::time::Duration;

use robot_detection::{alerts::Watch, clock::Clock, store::Store};

use super::receiver::{Manner, NOW_MS, Receiver, count, key, watcher};
use crate::support::postgres::{self, Cluster};

const IMPOSTORS: Watch = Watch::Impostor { above: 10 };

async fn impostors(store: &Store, now_ms: i64) {
    let spoofed = key("googlebot", "spoofed", "refuse", "spoofed");
    count(store, now_ms, &[(0, spoofed, 11)]).await;
}

/// Runs an alert on a database from its start to its end.
async fn one_alert(url: &str) {
    let store = Store::connect(url).await.unwrap();
    let receiver = Receiver::start(Manner::Takes).await;
    let clock = Clock::manual(NOW_MS);
    let mut watcher = watcher(&store, &clock, vec![receiver.alert(IMPOSTORS)]);
    watcher.evaluate().await;
    assert!(receiver.told().is_empty());
    impostors(&store, NOW_MS).await;
    for _ in 0..3 {
        watcher.evaluate().await;
    }
    let told = receiver.told();
    assert_eq!(told.len(), 1);
    let message = told[0].json();
    assert_eq!(message["event"], "firing");
    assert_eq!(message["on"], "impostor");
    let finding = "11 requests pretending to be googlebot in the last hour.";
    assert_eq!(message["findings"][0], finding);
    let state = &store.alerts().list().await.unwrap()[0];
    assert!(state.is_firing && state.is_told);
    assert!(state.receiver.starts_with("http://127.0.0.1:"));

    // An instance that takes over continues where the other stopped.
    watcher.release_leadership().await;
    let mut successor = self::watcher(&store, &clock, vec![receiver.alert(IMPOSTORS)]);
    successor.evaluate().await;
    assert_eq!(receiver.told().len(), 1);
    clock.advance(Duration::from_hours(2));
    successor.evaluate().await;
    assert_eq!(receiver.events(), ["firing", "resolved"]);
    successor.evaluate().await;
    assert_eq!(receiver.told().len(), 2);
    let attempts = store.alerts().attempts(10).await.unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0].event, "resolved");
    assert!(attempts.iter().all(|attempt| attempt.error.is_empty()));

    // An alert that is no longer configured is forgotten.
    successor.release_leadership().await;
    self::watcher(&store, &clock, Vec::new()).evaluate().await;
    assert!(store.alerts().list().await.unwrap().is_empty());
}

#[tokio::test]
async fn one_message_at_the_start_and_one_at_the_end_on_sqlite() {
    one_alert("sqlite::memory:").await;
}

#[tokio::test]
async fn one_message_at_the_start_and_one_at_the_end_on_postgres() {
    one_alert(&postgres::database_url().await).await;
}

#[tokio::test]
async fn two_instances_send_one_message() {
    let url = postgres::database_url().await;
    let receiver = Receiver::start(Manner::Takes).await;
    let clock = Clock::manual(NOW_MS);
    let stores = [
        Store::connect(&url).await.unwrap(),
        Store::connect(&url).await.unwrap(),
    ];
    impostors(&stores[0], NOW_MS).await;
    let alerts = || vec![receiver.alert(IMPOSTORS)];
    let [mut one, mut other] = stores
        .each_ref()
        .map(|store| watcher(store, &clock, alerts()));
    for _ in 0..3 {
        tokio::join!(one.evaluate(), other.evaluate());
    }
    assert_eq!(receiver.events(), ["firing"]);
    // After the active instance leaves, the other continues.
    one.release_leadership().await;
    clock.advance(Duration::from_hours(2));
    tokio::join!(one.evaluate(), other.evaluate());
    assert_eq!(receiver.events(), ["firing", "resolved"]);
}

#[tokio::test]
async fn a_receiver_is_not_flooded_after_an_outage() {
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let receiver = Receiver::start(Manner::Refuses).await;
    let clock = Clock::manual(NOW_MS);
    let mut watcher = watcher(&store, &clock, vec![receiver.alert(IMPOSTORS)]);
    for hour in 0..6 {
        impostors(&store, NOW_MS + hour * 3_600_000).await;
        for _ in 0..60 {
            watcher.evaluate().await;
            clock.advance(Duration::from_mins(1));
        }
    }
    let tried = receiver.told().len();
    assert!((5..15).contains(&tried), "{tried}");
    let state = &store.alerts().list().await.unwrap()[0];
    assert!(!state.is_told);
    assert!(state.error.contains("status 500"), "{}", state.error);
    receiver.set(Manner::Takes);
    for _ in 0..70 {
        impostors(&store, clock.now_ms()).await;
        watcher.evaluate().await;
        clock.advance(Duration::from_mins(1));
    }
    assert_eq!(
        receiver.told().len(),
        tried + 1,
        "expected only the latest message"
    );
    assert_eq!(receiver.events().last().unwrap(), "firing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_outage_is_reported_from_memory() {
    let cluster = Cluster::start();
    let store = Store::connect(&cluster.create_database().await)
        .await
        .unwrap();
    let receiver = Receiver::start(Manner::Takes).await;
    let clock = Clock::manual(NOW_MS);
    let mut watcher = watcher(&store, &clock, vec![receiver.alert(Watch::Database)]);
    watcher.evaluate().await;
    cluster.stop();
    while store.outage().is_none() {
        store.check_availability(clock.now_ms()).await;
    }
    watcher.evaluate().await;
    assert!(
        receiver.told().is_empty(),
        "a restart takes less than a minute"
    );
    clock.advance(Duration::from_mins(2));
    watcher.evaluate().await;
    watcher.evaluate().await;
    assert_eq!(receiver.events(), ["firing"]);
    cluster.resume();
    while store.outage().is_some() {
        store.check_availability(clock.now_ms()).await;
    }
    clock.advance(Duration::from_mins(20));
    watcher.evaluate().await;
    assert_eq!(receiver.events(), ["firing", "resolved"]);
}

//! Bans, on both engines.

use robot_detection::store::Ban;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_ban_lasts_until_its_later_end_and_is_then_deleted,
}

fn ban(network: &str, cause: &str, until_ms: i64) -> Ban {
    Ban {
        network: network.to_owned(),
        cause: cause.to_owned(),
        since_ms: until_ms - 1_000,
        until_ms,
    }
}

async fn a_ban_lasts_until_its_later_end_and_is_then_deleted(database: TestDatabase) {
    let store = database.store().await;
    for added in [
        ban("203.0.113.5", "rule 1", 2_000),
        ban("2001:db8::/64", "rule 1", 1_500),
        ban("203.0.113.5", "robots.txt", 1_800),
        ban("2001:db8::/64", "rule 2", 3_000),
    ] {
        store.bans().add(&added).await.unwrap();
    }
    let told = |bans: Vec<Ban>| -> Vec<_> {
        let told = |ban: Ban| format!("{} {} {}", ban.network, ban.cause, ban.until_ms);
        bans.into_iter().map(told).collect()
    };
    let all = told(store.bans().list(0).await.unwrap());
    let expected = ["2001:db8::/64 rule 2 3000", "203.0.113.5 robots.txt 2000"];
    assert_eq!(all, expected);
    assert_eq!(told(store.bans().list(2_000).await.unwrap()), expected[..1]);
    store.bans().prune(2_000).await.unwrap();
    assert_eq!(told(store.bans().list(0).await.unwrap()), expected[..1]);
    assert!(store.bans().remove("2001:db8::/64").await.unwrap());
    assert!(!store.bans().remove("2001:db8::/64").await.unwrap());
    assert!(store.bans().list(0).await.unwrap().is_empty());
}

//! The counts of a fleet's instances add up, by the database's clock.

use robot_detection::store::{RateLimitDebt, Store};

use crate::support::eventually::eventually_async;

use super::{TestDatabase, on_shared_engines};

on_shared_engines! {
    the_counts_of_all_instances_add_up,
    concurrent_reports_do_not_wait_for_each_other,
    a_fleet_shares_a_seed_and_the_number_of_instances,
}

const HOUR_US: i64 = 3_600_000_000;

/// Longest time between two statements on a busy machine.
const MINUTE_US: i64 = 60_000_000;

fn debt(rule: i64, bucket: i64, debt_us: i64) -> RateLimitDebt {
    RateLimitDebt {
        rule,
        bucket,
        debt_us,
    }
}

async fn debt_of(store: &Store, rule: i64, bucket: i64) -> Option<i64> {
    let changes = store.pace().changes_since(0).await.unwrap();
    let mut debts = changes.debts.into_iter();
    let found = debts.find(|debt| (debt.rule, debt.bucket) == (rule, bucket));
    found.map(|debt| debt.debt_us)
}

/// Waits until the database's clock has advanced.
async fn let_a_millisecond_pass(store: &Store) {
    let read_ms = async || store.pace().changes_since(0).await.unwrap().read_ms;
    let before_ms = read_ms().await;
    eventually_async("the clock advances", async || {
        read_ms().await > before_ms + 1
    })
    .await;
}

async fn the_counts_of_all_instances_add_up(database: TestDatabase) {
    let (one, other) = (database.store().await, database.store().await);
    one.pace()
        .add(&[debt(1, -7, HOUR_US), debt(2, i64::MIN, HOUR_US)])
        .await
        .unwrap();
    other
        .pace()
        .add(&[debt(1, -7, HOUR_US), debt(1, i64::MAX, 1)])
        .await
        .unwrap();
    for store in [&one, &other] {
        let both = debt_of(store, 1, -7).await.unwrap();
        assert!(
            (2 * HOUR_US - MINUTE_US..=2 * HOUR_US).contains(&both),
            "{both}"
        );
        let alone = debt_of(store, 2, i64::MIN).await.unwrap();
        assert!((HOUR_US - MINUTE_US..=HOUR_US).contains(&alone), "{alone}");
    }
    // A full pace does not accumulate unused requests beyond its limit.
    let_a_millisecond_pass(&one).await;
    other
        .pace()
        .add(&[debt(1, i64::MAX, HOUR_US)])
        .await
        .unwrap();
    assert!(debt_of(&one, 1, i64::MAX).await.unwrap() <= HOUR_US);
    let read_ms = one.pace().changes_since(0).await.unwrap().read_ms;
    let much_later = one.pace().changes_since(read_ms + 60_000).await.unwrap();
    assert_eq!(
        (much_later.debts.len(), much_later.read_ms),
        (0, read_ms + 60_000)
    );
    other.pace().add(&[debt(9, 9, 1)]).await.unwrap();
    let_a_millisecond_pass(&one).await;
    one.pace().prune().await.unwrap();
    assert_eq!(debt_of(&other, 9, 9).await, None);
    assert!(debt_of(&other, 1, -7).await.is_some());
}

async fn concurrent_reports_do_not_wait_for_each_other(database: TestDatabase) {
    let store = database.store().await;
    let forwards: Vec<_> = (0..300).map(|bucket| debt(1, bucket, HOUR_US)).collect();
    let backwards: Vec<_> = forwards.iter().rev().copied().collect();
    for _ in 0..5 {
        let (one, other) = tokio::join!(store.pace().add(&forwards), store.pace().add(&backwards));
        one.and(other).unwrap();
    }
    let all = store.pace().changes_since(0).await.unwrap().debts;
    assert_eq!(all.len(), 300);
    let is_whole = |debt: &RateLimitDebt| debt.debt_us > 10 * HOUR_US - MINUTE_US;
    assert!(all.iter().all(is_whole));
}

async fn a_fleet_shares_a_seed_and_the_number_of_instances(database: TestDatabase) {
    let (one, other) = (database.store().await, database.store().await);
    let seed = one.pace().seed([1, u64::MAX]).await.unwrap();
    assert_eq!(seed, [1, u64::MAX]);
    assert_eq!(other.pace().seed([3, 4]).await.unwrap(), seed);
    assert_eq!(one.pace().join("one").await.unwrap(), 1);
    assert_eq!(other.pace().join("other").await.unwrap(), 2);
    assert_eq!(one.pace().join("one").await.unwrap(), 2);
    other.pace().leave("other").await.unwrap();
    assert_eq!(one.pace().join("one").await.unwrap(), 1);
}

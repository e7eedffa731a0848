//! Live rules are stored, announced and logged in one transaction.

use robot_detection::store::{AddRuleOutcome, LiveRuleChange, NewLiveRule, Store, StoredLiveRule};

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_rule_is_active_until_it_is_removed_or_expires,
    the_number_of_rules_is_limited,
    a_removed_rule_can_be_restored,
    a_name_belongs_to_one_active_rule,
    a_pause_expires_and_can_be_shortened,
    each_change_is_logged_in_its_transaction,
}

mod shared {
    use super::*;
    on_shared_engines! {
        another_instance_is_notified_of_a_change,
        concurrent_additions_respect_the_limit,
    }
}

const DAY_MS: i64 = 24 * 60 * 60_000;

fn change(now_ms: i64) -> LiveRuleChange<'static> {
    LiveRuleChange {
        actor: "admin",
        detail: "slow robot gptbot",
        now_ms,
    }
}

async fn add(store: &Store, ends_ms: Option<i64>, now_ms: i64) -> Option<i64> {
    let rule = NewLiveRule {
        definition: "{}",
        name: None,
        ends_ms,
        replaces: false,
    };
    match store.live_rules().add(rule, 3, change(now_ms)).await {
        Ok(AddRuleOutcome::Added(id)) => Some(id),
        Ok(AddRuleOutcome::Full) => None,
        other => panic!("{other:?}"),
    }
}

async fn in_force(store: &Store, now_ms: i64) -> Vec<i64> {
    let stored = store.live_rules().list(now_ms).await.unwrap();
    stored.rules.iter().map(|rule| rule.id).collect()
}

async fn a_rule_is_active_until_it_is_removed_or_expires(database: TestDatabase) {
    let store = database.store().await;
    let short = add(&store, Some(100), 1).await.unwrap();
    let lasting = add(&store, None, 2).await.unwrap();
    let stored = store.live_rules().list(50).await.unwrap();
    let expected = StoredLiveRule {
        id: short,
        definition: "{}".to_owned(),
        name: None,
        created_ms: 1,
        created_by: "admin".to_owned(),
        ends_ms: Some(100),
    };
    assert_eq!(stored.rules[0], expected);
    assert_eq!(in_force(&store, 99).await, [short, lasting]);
    assert_eq!(in_force(&store, 100).await, [lasting]);
    let text = |definition: &str| definition.to_owned();
    let over = store.live_rules().remove(short, change(100), text).await;
    assert_eq!(over.unwrap(), None, "an expired rule cannot be removed");
    let removed = store.live_rules().remove(lasting, change(100), text).await;
    assert_eq!(removed.unwrap().as_deref(), Some("{}"));
    assert_eq!(in_force(&store, 100).await, [0_i64; 0]);
    // A rule that expired long ago is deleted, and its number is not reused.
    let next = add(&store, None, 40 * DAY_MS).await.unwrap();
    assert!(next > lasting);
    assert_eq!(store.live_rules().restorable_ids(0).await.unwrap().len(), 0);
}

async fn the_number_of_rules_is_limited(database: TestDatabase) {
    let store = database.store().await;
    for _ in 0..3 {
        assert!(add(&store, Some(100), 1).await.is_some());
    }
    let version = store.live_rules().list(1).await.unwrap().version;
    assert_eq!(add(&store, None, 99).await, None);
    let stored = store.live_rules().list(99).await.unwrap();
    assert_eq!(stored.version, version, "nothing has changed");
    assert!(
        add(&store, None, 100).await.is_some(),
        "the other rules have expired"
    );
}

async fn a_name_belongs_to_one_active_rule(database: TestDatabase) {
    let store = database.store().await;
    let named = async |definition: &str, replaces, now_ms| {
        let rule = NewLiveRule {
            definition,
            name: Some("shop"),
            ends_ms: Some(100),
            replaces,
        };
        let added = store.live_rules().add(rule, 3, change(now_ms)).await;
        added.unwrap()
    };
    let AddRuleOutcome::Added(first) = named("{}", false, 1).await else {
        panic!("the name is not in use");
    };
    assert_eq!(named("{}", false, 2).await, AddRuleOutcome::Taken(first));
    let version = store.live_rules().list(2).await.unwrap().version;
    assert_eq!(named("{}", true, 3).await, AddRuleOutcome::Unchanged(first));
    let stored = store.live_rules().list(3).await.unwrap();
    assert_eq!(stored.version, version, "nothing has changed");
    let AddRuleOutcome::Replaced(second) = named("[]", true, 4).await else {
        panic!("the definition differs");
    };
    assert_eq!(in_force(&store, 5).await, [second]);
    let text = |definition: &str| definition.to_owned();
    let restored = store.live_rules().restore(first, 3, change(6), text).await;
    assert_eq!(restored.unwrap(), None, "the name is in use");
    let after = named("{}", false, 100).await;
    assert!(
        matches!(after, AddRuleOutcome::Added(_)),
        "the other rule has expired"
    );
}

async fn a_removed_rule_can_be_restored(database: TestDatabase) {
    let store = database.store().await;
    let id = add(&store, Some(100), 1).await.unwrap();
    let text = |definition: &str| definition.to_owned();
    let restore = async |now_ms| {
        let restored = store
            .live_rules()
            .restore(id, 3, change(now_ms), text)
            .await;
        restored.unwrap().is_some()
    };
    assert!(!restore(2).await, "the rule is active");
    store
        .live_rules()
        .remove(id, change(3), text)
        .await
        .unwrap();
    let removed = store.live_rules().restorable_ids(4).await.unwrap();
    assert_eq!(removed.into_iter().collect::<Vec<_>>(), [id]);
    assert!(restore(4).await);
    assert_eq!(in_force(&store, 5).await, [id]);
    store
        .live_rules()
        .remove(id, change(6), text)
        .await
        .unwrap();
    assert!(!restore(100).await, "the rule would have expired");
    assert!(
        store
            .live_rules()
            .restorable_ids(100)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_pause_expires_and_can_be_shortened(database: TestDatabase) {
    let store = database.store().await;
    assert!(!store.live_rules().resume(change(1)).await.unwrap());
    store.live_rules().pause(100, change(1)).await.unwrap();
    let pause = store.live_rules().list(99).await.unwrap().pause.unwrap();
    assert_eq!((pause.ends_ms, pause.begun_ms), (100, 1));
    assert_eq!(pause.begun_by, "admin");
    assert_eq!(store.live_rules().list(100).await.unwrap().pause, None);
    assert!(store.live_rules().resume(change(50)).await.unwrap());
    assert_eq!(store.live_rules().list(51).await.unwrap().pause, None);
    assert!(!store.live_rules().resume(change(52)).await.unwrap());
}

async fn each_change_is_logged_in_its_transaction(database: TestDatabase) {
    let store = database.store().await;
    let id = add(&store, None, 1).await.unwrap();
    let told = |definition: &str| format!("was {definition}");
    store
        .live_rules()
        .remove(id, change(2), told)
        .await
        .unwrap();
    store
        .live_rules()
        .restore(id, 3, change(3), told)
        .await
        .unwrap();
    store.live_rules().pause(100, change(4)).await.unwrap();
    store.live_rules().resume(change(5)).await.unwrap();
    let log = store.audit().list(0..9, 10).await.unwrap();
    let told: Vec<_> = log
        .iter()
        .map(|entry| (&*entry.event, &*entry.subject, &*entry.detail))
        .collect();
    let rule = format!("live rule {id}");
    let expected = [
        ("resumed", "enforcement", "slow robot gptbot"),
        ("paused", "enforcement", "slow robot gptbot"),
        ("rule-restored", &*rule, "was {}"),
        ("rule-removed", &*rule, "was {}"),
        ("rule-added", &*rule, "slow robot gptbot"),
    ];
    assert_eq!(told, expected);
}

async fn another_instance_is_notified_of_a_change(database: TestDatabase) {
    let (one, other) = (database.store().await, database.store().await);
    let seen = other.live_rules().list(1).await.unwrap().version;
    let waiting = other.live_rules().changed(seen);
    let adding = async {
        add(&one, None, 1).await;
    };
    let (version, ()) = tokio::join!(waiting, adding);
    assert!(version.unwrap() > seen);
    assert_eq!(in_force(&other, 2).await.len(), 1);
}

async fn concurrent_additions_respect_the_limit(database: TestDatabase) {
    let stores = [database.store().await, database.store().await];
    let adding = stores
        .iter()
        .cycle()
        .take(8)
        .map(|store| add(store, None, 1));
    let added = futures_util::future::join_all(adding).await;
    assert_eq!(added.iter().flatten().count(), 3);
    assert_eq!(in_force(&stores[0], 2).await.len(), 3);
}

//! Instances' reports about flagged visitors, on both engines.

use robot_detection::store::StoredSuspects;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    only_the_last_recent_report_of_an_instance_is_kept,
    all_instances_share_the_first_seed,
}

fn suspects(instance: &str, at_ms: i64, flags: &str) -> StoredSuspects {
    StoredSuspects {
        instance: instance.to_owned(),
        at_ms,
        flags: flags.to_owned(),
        sketch: "AAAA".to_owned(),
    }
}

async fn all_instances_share_the_first_seed(database: TestDatabase) {
    let store = database.store().await;
    for otherwise in [1 << 63, 7] {
        let [seed, _] = store.pace().seed([otherwise, 7]).await.unwrap();
        assert_eq!(seed, 1 << 63);
    }
}

async fn only_the_last_recent_report_of_an_instance_is_kept(database: TestDatabase) {
    let store = database.store().await;
    for (instance, at_ms, flags) in [
        ("b", 1_000, "{\"fleets\":[]}"),
        ("a", 2_000, "{}"),
        ("b", 3_000, "{\"text\":\"\u{1f916}\"}"),
    ] {
        store
            .suspects()
            .save(&suspects(instance, at_ms, flags), 0)
            .await
            .unwrap();
    }
    let told = async |since_ms| -> Vec<_> {
        let all = store.suspects().load(since_ms).await.unwrap();
        let told = all
            .into_iter()
            .map(|told| format!("{} {} {}", told.instance, told.at_ms, told.flags));
        told.collect()
    };
    let last = "b 3000 {\"text\":\"\u{1f916}\"}".to_owned();
    assert_eq!(told(0).await, ["a 2000 {}".to_owned(), last.clone()]);
    assert_eq!(told(3_000).await, std::slice::from_ref(&last));
    store
        .suspects()
        .save(&suspects("c", 9_000, "{}"), 2_500)
        .await
        .unwrap();
    assert_eq!(told(0).await, [last, "c 9000 {}".to_owned()]);
    store.suspects().remove("b").await.unwrap();
    store.suspects().remove("b").await.unwrap();
    assert_eq!(told(0).await, ["c 9000 {}"]);
}

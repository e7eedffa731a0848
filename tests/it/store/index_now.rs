//! Pending notifications of `IndexNow`, on both engines.

use robot_detection::store::{IndexNowState, StagedChange};

use super::{
    TestDatabase, on_each_engine, on_shared_engines,
    publications::{SITE, begin, publish, url, visit},
};

on_each_engine! {
    changes_of_a_publication_are_queued_for_notification,
}

async fn changes_of_a_publication_are_queued_for_notification(database: TestDatabase) {
    let store = database.store().await;
    let queue = store.index_now();
    let all = |_: &str| true;
    let waiting = async || {
        let urls = queue.urls(SITE, 100).await.unwrap();
        let path = |(url, _): &(String, i64)| url.rsplit('/').next().unwrap().to_owned();
        urls.iter().map(path).collect::<String>()
    };
    let first = begin(&store, 1).await;
    let pages = [("a", "A"), ("b", "B"), ("c", "C"), ("m", "M")];
    visit(&store, &first, &pages, 10).await;
    publish(&store, &first, 11).await;
    let open = |it: &str| !it.ends_with("/m");
    let noted = queue.queue_changes(SITE, first.run_id, open, 12).await;
    assert_eq!((noted.unwrap(), &*waiting().await), (3, "abc"));
    // Only once: another run without a publication changes nothing.
    let noted = queue.queue_changes(SITE, first.run_id, all, 13).await;
    assert_eq!((noted.unwrap(), &*waiting().await), (1, "abcm"));
    let other = queue.queue_changes(SITE, first.run_id + 1, all, 14).await;
    assert_eq!(other.unwrap(), 0);
    queue.remove(SITE, (&url("b"), 12)).await.unwrap();
    assert_eq!(waiting().await, "cm");
    queue.remove(SITE, (&url("m"), 13)).await.unwrap();
    assert_eq!(queue.queued_count(SITE).await.unwrap(), 0);

    let second = begin(&store, 20).await;
    let pages = [("a", "A"), ("b", "B anew"), ("d", "D")];
    visit(&store, &second, &pages, 20).await;
    let changes = [(url("c"), StagedChange::Remove, String::new())];
    let staged = store
        .publications()
        .stage(SITE, second.run_id, &changes, 21)
        .await;
    staged.unwrap();
    publish(&store, &second, 22).await;
    let noted = store
        .index_now()
        .queue_changes(SITE, second.run_id, all, 23)
        .await;
    assert_eq!((noted.unwrap(), &*waiting().await), (3, "bcd"));

    assert_eq!(store.index_now().state(SITE).await.unwrap(), None);
    let state = IndexNowState {
        told_ms: 30,
        taken: 4,
        failure: Some("busy".to_owned()),
        failures: 2,
        next_ms: 99,
    };
    for state in [state, IndexNowState::default()] {
        store.index_now().save(SITE, &state).await.unwrap();
        assert_eq!(store.index_now().state(SITE).await.unwrap(), Some(state));
    }
}

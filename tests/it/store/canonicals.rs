//! Canonical URLs, on both engines.

use robot_detection::store::LearnedCanonical;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    canonical_urls_expire_and_are_deleted_if_their_target_is_gone,
}

fn learnt(url: &str, canonical: Option<&str>) -> LearnedCanonical {
    LearnedCanonical {
        url: url.to_owned(),
        canonical: canonical.map(str::to_owned),
    }
}

async fn canonical_urls_expire_and_are_deleted_if_their_target_is_gone(database: TestDatabase) {
    let store = database.store().await;
    let first = [learnt("h/a", Some("h/b")), learnt("h/c", Some("h/d"))];
    store
        .canonicals()
        .save("s", &first, 1_000, 0)
        .await
        .unwrap();
    let second = [learnt("h/a", Some("h/d")), learnt("h/e", Some("h/f"))];
    store
        .canonicals()
        .save("s", &second, 2_000, 0)
        .await
        .unwrap();
    store
        .canonicals()
        .save("t", &first, 2_000, 0)
        .await
        .unwrap();
    let pair = |url: &str, canonical: &str| (url.to_owned(), canonical.to_owned());
    let all = [pair("h/a", "h/d"), pair("h/e", "h/f"), pair("h/c", "h/d")];
    assert_eq!(store.canonicals().list("s", 0).await.unwrap(), all);
    assert_eq!(store.canonicals().list("s", 1_000).await.unwrap(), all[..2]);
    // Old entries are deleted by the next write, and all entries of a target together.
    let gone = [learnt("h/d", None)];
    store.canonicals().save("s", &gone, 3_000, 0).await.unwrap();
    assert_eq!(store.canonicals().list("s", 0).await.unwrap(), all[1..2]);
    store
        .canonicals()
        .save("s", &[], 3_000, 2_000)
        .await
        .unwrap();
    assert_eq!(store.canonicals().list("s", 0).await.unwrap(), []);
    assert_eq!(store.canonicals().list("t", 0).await.unwrap().len(), 2);
    assert_eq!(
        store
            .canonicals()
            .list_from_pages("s", "", 0, 10)
            .await
            .unwrap(),
        []
    );
}

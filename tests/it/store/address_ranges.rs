//! Last good copies of published address ranges.

use robot_detection::store::StoredRanges;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_list_is_loaded_as_it_was_saved,
    saving_without_prefixes_keeps_the_earlier_ones,
    states_are_sorted_by_url_and_have_no_prefixes,
    a_list_can_be_forgotten,
}

mod shared {
    use super::*;
    on_shared_engines! {
        a_list_survives_a_restart,
    }
}

fn list(url: &str) -> StoredRanges {
    StoredRanges {
        url: url.to_owned(),
        prefixes: Some("192.0.2.0/24\n2001:db8::/48".to_owned()),
        created: Some("2026-11-20".to_owned()),
        unreadable: 3,
        etag: Some("\"v1\"".to_owned()),
        last_modified: Some("Fri, 20 Nov 2026 10:00:00 GMT".to_owned()),
        rules: 7,
        fetched_ms: Some(1_000),
        checked_ms: Some(2_000),
        tried_ms: Some(3_000),
        failures: 2,
        error: Some("it is a page".to_owned()),
    }
}

async fn a_list_is_loaded_as_it_was_saved(database: TestDatabase) {
    let store = database.store().await;
    let full = list("https://robots.example/ips.json#hooks");
    let empty = StoredRanges {
        url: "https://robots.example/other.json".to_owned(),
        ..StoredRanges::default()
    };
    for list in [&full, &empty] {
        assert_eq!(store.ranges().load(&list.url).await.unwrap(), None);
        store.ranges().save(list).await.unwrap();
        let read = store.ranges().load(&list.url).await.unwrap();
        assert_eq!(read.as_ref(), Some(list));
    }
    let other = StoredRanges {
        prefixes: Some("198.51.100.7/32".to_owned()),
        etag: None,
        ..full
    };
    store.ranges().save(&other).await.unwrap();
    let read = store.ranges().load(&other.url).await.unwrap();
    assert_eq!(read, Some(other));
}

async fn saving_without_prefixes_keeps_the_earlier_ones(database: TestDatabase) {
    let store = database.store().await;
    let first = list("https://robots.example/ips.json");
    store.ranges().save(&first).await.unwrap();
    let failed = StoredRanges {
        prefixes: None,
        failures: 3,
        tried_ms: Some(9_000),
        error: Some("no connection".to_owned()),
        ..first.clone()
    };
    store.ranges().save(&failed).await.unwrap();
    let expected = StoredRanges {
        prefixes: first.prefixes,
        ..failed
    };
    let read = store.ranges().load(&expected.url).await.unwrap();
    assert_eq!(read, Some(expected));
}

async fn states_are_sorted_by_url_and_have_no_prefixes(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.ranges().states().await.unwrap(), []);
    for url in ["https://b.example/", "https://a.example/"] {
        store.ranges().save(&list(url)).await.unwrap();
    }
    let expected = ["https://a.example/", "https://b.example/"].map(|url| StoredRanges {
        prefixes: None,
        ..list(url)
    });
    assert_eq!(store.ranges().states().await.unwrap(), expected);
}

async fn a_list_can_be_forgotten(database: TestDatabase) {
    let store = database.store().await;
    let url = "https://robots.example/ips.json";
    store.ranges().save(&list(url)).await.unwrap();
    store
        .ranges()
        .remove("https://other.example/")
        .await
        .unwrap();
    assert!(store.ranges().load(url).await.unwrap().is_some());
    store.ranges().remove(url).await.unwrap();
    assert_eq!(store.ranges().load(url).await.unwrap(), None);
}

async fn a_list_survives_a_restart(database: TestDatabase) {
    let saved = list("https://robots.example/ips.json");
    let store = database.store().await;
    store.ranges().save(&saved).await.unwrap();
    store.close().await;
    let store = database.store().await;
    let read = store.ranges().load(&saved.url).await.unwrap();
    assert_eq!(read, Some(saved));
}

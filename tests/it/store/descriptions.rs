//! Resource descriptions are stored, listed in order, and withdrawn.

use robot_detection::{
    description::{ResourceDescription, name},
    store::{DescriptionOrder, DescriptionQuery, SaveOutcome, Store},
};

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_description_is_loaded_as_it_was_stored,
    the_modified_time_changes_only_with_the_contents,
    pages_neither_overlap_nor_skip_descriptions,
    odd_keys_are_truncated_and_sorted_by_bytes,
    sites_are_kept_separate,
    texts_are_loaded_in_order_and_omitted_from_lists,
    an_unreadable_row_is_named,
}

const SITE: &str = "docs";

fn described(url: &str, attributes: &[(&str, &str)]) -> ResourceDescription {
    let mut description = ResourceDescription::new(format!("http://www.example.com/{url}"));
    for (name, value) in attributes {
        description.set(name, *value);
    }
    description
}

async fn save(
    store: &Store,
    descriptions: &[ResourceDescription],
    now_ms: i64,
) -> Vec<SaveOutcome> {
    let saved = store.descriptions().save(SITE, 1, descriptions, now_ms);
    saved.await.unwrap()
}

/// Returns the last part of each URL in an order, read in pieces of a given size.
async fn in_order(store: &Store, order: DescriptionOrder, key: Option<&str>, piece: u32) -> String {
    let mut query = DescriptionQuery::new(SITE).order(order).limit(piece);
    if let Some(key) = key {
        query = query.key(key);
    }
    let mut all = String::new();
    loop {
        let stored = store.descriptions().list(&query).await.unwrap();
        let entries = store.descriptions().entries(&query).await.unwrap();
        let urls = |stored: &[robot_detection::store::StoredDescription]| -> Vec<String> {
            let urls = stored.iter().map(|it| it.description.url().to_owned());
            urls.collect()
        };
        let entry_urls: Vec<_> = entries.into_iter().map(|entry| entry.url).collect();
        assert_eq!(urls(&stored), entry_urls);
        let Some(last) = stored.last() else {
            return all;
        };
        query = query.after(last.cursor(order));
        for url in entry_urls {
            all.push_str(url.rsplit('/').next().unwrap());
        }
    }
}

async fn a_description_is_loaded_as_it_was_stored(database: TestDatabase) {
    let store = database.store().await;
    let odd = described(
        "a",
        &[
            ("title", "Zürich \u{0} \u{1f600} 'quoted\" \\u0000 %_"),
            ("zz-first", ""),
            ("author", "line\nline\t\r"),
            ("url", "another"),
        ],
    );
    assert_eq!(
        save(&store, std::slice::from_ref(&odd), 5).await,
        [SaveOutcome::Added]
    );
    let stored = store
        .descriptions()
        .find(SITE, odd.url())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.description, odd);
    assert_eq!((stored.first_seen_ms, stored.modified_ms), (5, 5));
    assert_eq!(
        store.descriptions().find(SITE, "http://no/").await.unwrap(),
        None
    );
    let urls = [odd.url(), "http://no/"];
    let deleted = store.descriptions().delete(SITE, &urls);
    assert_eq!(deleted.await.unwrap(), 1);
    assert_eq!(store.descriptions().count(SITE).await.unwrap(), 0);
}

async fn the_modified_time_changes_only_with_the_contents(database: TestDatabase) {
    let store = database.store().await;
    let mut page = described("a", &[("title", "A"), (name::MD5, "1"), (name::DEPTH, "3")]);
    let times = async |store: &Store| {
        let url = "http://www.example.com/a";
        let stored = store.descriptions().find(SITE, url).await.unwrap().unwrap();
        let depth = stored.description.value(name::DEPTH).unwrap().to_owned();
        (stored.first_seen_ms, stored.modified_ms, depth)
    };
    assert_eq!(
        save(&store, &[page.clone()], 10).await,
        [SaveOutcome::Added]
    );
    page.set(name::RD_LAST_MODIFIED, "now");
    page.set(name::DEPTH, "2");
    assert_eq!(save(&store, &[page.clone()], 20).await, [SaveOutcome::Same]);
    assert_eq!(times(&store).await, (10, 10, "2".to_owned()));
    // New dates alone change nothing in the published bytes.
    let mut later = page.clone();
    later.set(name::RD_LAST_MODIFIED, "later");
    later.set(name::LAST_MODIFIED, "Sun, 01 Mar 2026 12:30:05 GMT");
    assert_eq!(save(&store, &[later], 25).await, [SaveOutcome::Same]);
    let kept = store
        .descriptions()
        .find(SITE, page.url())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.description, page);
    page.set(name::MD5, "2");
    let other = described("b", &[]);
    let both = [page.clone(), other.clone(), other];
    let saved = save(&store, &both, 30).await;
    assert_eq!(
        saved,
        [SaveOutcome::Changed, SaveOutcome::Added, SaveOutcome::Added]
    );
    assert_eq!(times(&store).await, (10, 30, "2".to_owned()));
    page.remove(name::MD5);
    assert_eq!(save(&store, &[page], 40).await, [SaveOutcome::Changed]);
}

async fn pages_neither_overlap_nor_skip_descriptions(database: TestDatabase) {
    let store = database.store().await;
    let all: Vec<_> = (0..137)
        .map(|number| {
            let title = format!("Title {}", number % 7);
            described(&format!("{number:03},"), &[("title", &title)])
        })
        .collect();
    save(&store, &all, 1).await;
    let by_url = (0..137)
        .map(|number| format!("{number:03},"))
        .collect::<Vec<_>>()
        .concat();
    let mut by_title: Vec<_> = (0..137).map(|number| (number % 7, number)).collect();
    by_title.sort_unstable();
    let by_title = by_title
        .iter()
        .map(|(_, number)| format!("{number:03},"))
        .collect::<Vec<_>>()
        .concat();
    for piece in [1, 10, 137, 1_000] {
        assert_eq!(
            in_order(&store, DescriptionOrder::Url, None, piece).await,
            by_url
        );
        let title = DescriptionOrder::Title;
        assert_eq!(in_order(&store, title, None, piece).await, by_title);
    }
    let title = DescriptionOrder::Title;
    let third = in_order(&store, title, Some("title 3"), 4).await;
    assert!(third.starts_with("003,010,017,"), "{third}");
    assert_eq!(third.len(), 4 * 20);
}

async fn odd_keys_are_truncated_and_sorted_by_bytes(database: TestDatabase) {
    let store = database.store().await;
    let long = "ä".repeat(5_000);
    let url = format!("{}3", "u".repeat(1_900));
    save(
        &store,
        &[
            described("1", &[("title", "_")]),
            described("2", &[("title", "Z")]),
            described("3", &[("title", "\0")]),
            described(&url, &[("title", &long)]),
        ],
        1,
    )
    .await;
    let by_title = DescriptionQuery::new(SITE).order(DescriptionOrder::Title);
    let titles = store.descriptions().entries(&by_title).await.unwrap();
    let titles: Vec<_> = titles
        .iter()
        .map(|entry| entry.title.chars().next().unwrap())
        .collect();
    assert_eq!(titles, ['_', 'Z', 'ä']);
}

async fn sites_are_kept_separate(database: TestDatabase) {
    let store = database.store().await;
    save(&store, &[described("a", &[])], 10).await;
    let other = [described("a", &[("title", "Another")]), described("b", &[])];
    store
        .descriptions()
        .save("shop", 1, &other, 20)
        .await
        .unwrap();
    let sites = store.descriptions().sites().await.unwrap();
    assert_eq!(sites, ["docs", "shop"]);
    for (site, changed_ms) in [("docs", Some(10)), ("none", None), ("shop", Some(20))] {
        let known = store.descriptions().changed_ms(site).await.unwrap();
        assert_eq!(known, changed_ms, "{site}");
    }
    assert_eq!(store.descriptions().clear("shop").await.unwrap(), 2);
    let url = "http://www.example.com/a";
    assert!(
        store
            .descriptions()
            .find(SITE, url)
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .descriptions()
            .find("shop", url)
            .await
            .unwrap()
            .is_none()
    );
}

async fn texts_are_loaded_in_order_and_omitted_from_lists(database: TestDatabase) {
    let store = database.store().await;
    let texts = [
        ("title", "A"),
        (name::FULL_TEXT, "All \"of\" it.\nZürich"),
        (name::DEPTH, "1"),
        (name::PARTIAL_TEXT, "with \u{0} in it"),
        (name::TABLE_OF_CONTENTS, ""),
        ("author", "Ada"),
    ];
    let pages = [
        described("a", &texts),
        described("b", &[]),
        described("c", &texts),
    ];
    save(&store, &pages, 5).await;
    let stored = store
        .descriptions()
        .list(&DescriptionQuery::new(SITE))
        .await
        .unwrap();
    let stored: Vec<_> = stored.into_iter().map(|it| it.description).collect();
    assert_eq!(stored, pages);

    let light = |after: &str, limit| {
        let (store, after) = (store.clone(), after.to_owned());
        async move {
            store
                .descriptions()
                .list_without_texts(SITE, &after, limit)
                .await
                .unwrap()
        }
    };
    let first = light("", 2).await;
    let description = &first[0].description;
    assert_eq!(
        (description.title(), description.value("author")),
        ("A", Some("Ada"))
    );
    assert_eq!(description.value(name::FULL_TEXT), None);
    assert_eq!((first[0].modified_ms, first.len()), (5, 2));
    let rest = light(first[1].description.url(), 2).await;
    assert_eq!((rest.len(), rest[0].description.url()), (1, pages[2].url()));
}

async fn an_unreadable_row_is_named(database: TestDatabase) {
    if database.url.contains(":memory:") {
        return;
    }
    let store = database.store().await;
    save(&store, &[described("a", &[])], 10).await;
    let mut raw = database.raw().await;
    raw.execute("UPDATE resource_descriptions SET attributes = '{'")
        .await;
    raw.close().await;
    let error = store
        .descriptions()
        .list(&DescriptionQuery::new(SITE))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("http://www.example.com/a"), "{text}");
    assert!(text.contains("run the site robot"), "{text}");
}

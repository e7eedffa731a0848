//! Heaven pages with more text than their originals, on both engines.

use robot_detection::{
    description::ResourceDescription,
    store::{DIFFERS_FROM_ORIGINAL, DescriptionQuery, ParityResult, ParityTerms, Store},
};

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    pages_with_extra_text_are_withdrawn_until_they_agree,
    the_least_recently_compared_pages_come_first,
}

const SITE: &str = "docs";

fn url(path: &str) -> String {
    format!("http://www.example.com/{path}")
}

async fn save(store: &Store, pages: &[(&str, &str)], now_ms: i64) {
    let description = |(path, title): &(&str, &str)| {
        let mut description = ResourceDescription::new(url(path));
        description.set("title", *title);
        description
    };
    let all: Vec<_> = pages.iter().map(description).collect();
    store
        .descriptions()
        .save(SITE, 1, &all, now_ms)
        .await
        .unwrap();
}

async fn shown(store: &Store) -> String {
    let stored = store
        .descriptions()
        .list(&DescriptionQuery::new(SITE))
        .await;
    let path = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let stored = stored.unwrap();
    let paths: Vec<_> = stored.iter().map(|it| path(it.description.url())).collect();
    paths.join("")
}

/// Records that some pages agree and others do not; returns how many were withdrawn and restored.
async fn record(
    store: &Store,
    (agree, more): (&str, &str),
    terms: ParityTerms,
    now_ms: i64,
) -> (u64, u64) {
    let of = |paths: &str, result: ParityResult| {
        let paths: Vec<_> = paths.chars().map(String::from).collect();
        paths
            .into_iter()
            .map(move |path| (url(&path), result.clone()))
    };
    let more = of(more, ParityResult::SaysMore("Said.".to_owned()));
    let all: Vec<_> = of(agree, ParityResult::Agrees).chain(more).collect();
    store
        .publications()
        .record_parity(SITE, &all, terms, now_ms)
        .await
        .unwrap()
}

async fn pages_with_extra_text_are_withdrawn_until_they_agree(database: TestDatabase) {
    use ParityTerms::{Report, Withdraw, WithdrawNoMore};
    let store = database.store().await;
    let publications = store.publications();
    save(&store, &[("a", "A"), ("b", "B"), ("c", "C")], 1).await;
    let version = store.heaven_version(SITE).await.unwrap();
    assert_eq!(record(&store, ("a", "b"), Report, 10).await, (0, 0));
    assert_eq!(shown(&store).await, "abc");
    assert_eq!(store.heaven_version(SITE).await.unwrap(), version);
    assert_eq!(record(&store, ("", "b"), Withdraw, 11).await, (1, 0));
    assert_eq!(shown(&store).await, "ac");
    assert_ne!(store.heaven_version(SITE).await.unwrap(), version);
    let reason = publications.hidden_reason(SITE, &url("b")).await.unwrap();
    assert_eq!(reason.as_deref(), Some(DIFFERS_FROM_ORIGINAL));
    let kept = store.descriptions().kept(SITE, &url("b")).await.unwrap();
    assert_eq!(kept.unwrap().description.title(), "B");
    let differing = publications.differing_pages(SITE, 9).await.unwrap();
    assert_eq!((&differing[0].url, differing[0].since_ms), (&url("b"), 10));
    assert!(differing[0].is_withdrawn && differing[0].sentence == "Said.");

    // A page with a new description stays withdrawn until it is compared.
    save(&store, &[("b", "B anew")], 20).await;
    assert_eq!(shown(&store).await, "ac");
    // If too many pages differ, withdrawn pages stay so, and no other is withdrawn.
    assert_eq!(record(&store, ("", "ac"), WithdrawNoMore, 21).await, (0, 0));
    assert_eq!(shown(&store).await, "ac");
    let state = publications.parity_state(SITE).await.unwrap();
    assert_eq!(
        (state.compared, state.differing, state.withdrawn),
        (3, 3, 1)
    );

    assert_eq!(record(&store, ("abc", ""), Withdraw, 30).await, (0, 1));
    assert_eq!(shown(&store).await, "abc");
    let b = store
        .descriptions()
        .find(SITE, &url("b"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(b.description.title(), "B anew");
    // Report mode restores pages that were withdrawn before.
    assert_eq!(record(&store, ("", "bc"), Withdraw, 40).await, (2, 0));
    assert_eq!(record(&store, ("", ""), Report, 41).await, (0, 2));
    assert_eq!(shown(&store).await, "abc");

    // A page withdrawn by an administrator is not restored.
    record(&store, ("", "a"), Withdraw, 50).await;
    publications
        .withdraw_url(SITE, &url("a"), true, 51)
        .await
        .unwrap();
    assert_eq!(record(&store, ("a", ""), Withdraw, 52).await, (0, 0));
    store.frontier().clear_site(SITE).await.unwrap();
    assert_eq!(publications.parity_state(SITE).await.unwrap().compared, 0);
}

async fn the_least_recently_compared_pages_come_first(database: TestDatabase) {
    let store = database.store().await;
    let all = ["a", "b", "c", "d", "e", "f"].map(|path| (path, path));
    save(&store, &all, 1).await;
    let next = async |count: u32| {
        let pages = store
            .publications()
            .pages_to_compare(SITE, 0, count)
            .await
            .unwrap();
        let word = |(url, is_out): (String, bool)| {
            let path = url.rsplit('/').next().unwrap().to_owned();
            if is_out { path.to_uppercase() } else { path }
        };
        pages.into_iter().map(word).collect::<String>()
    };
    assert_eq!(next(3).await, "abc");
    record(&store, ("abc", ""), ParityTerms::Withdraw, 10).await;
    assert_eq!(next(4).await, "defa");
    record(&store, ("bd", "ef"), ParityTerms::Withdraw, 20).await;
    // At most half are pages that already differ, so that the others are compared too.
    assert_eq!(next(4).await, "EFac");
    assert_eq!(next(2).await, "Ea");
    let unknown = [(url("a"), ParityResult::Unknown)];
    store
        .publications()
        .record_parity(SITE, &unknown, ParityTerms::Withdraw, 30)
        .await
        .unwrap();
    assert_eq!(next(4).await, "EFcb");
    // Removed pages are forgotten.
    store
        .descriptions()
        .delete(SITE, &[&url("e")])
        .await
        .unwrap();
    record(&store, ("", ""), ParityTerms::Withdraw, 40).await;
    assert_eq!(next(2).await, "Fc");
}

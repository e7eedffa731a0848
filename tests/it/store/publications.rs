//! A site's published descriptions: staged, published, restored, withdrawn.

use robot_detection::{
    description::ResourceDescription,
    store::{
        ClaimedUrl, DescriptionChange, DescriptionQuery, FoundUrl, Loss, PageRecord, RunCounts,
        RunKey, RunState, StagedChange, StagedSelection, Store, StoredRun, WITHDRAWN_BY_ADMIN,
    },
};

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    staged_results_take_effect_when_published,
    quarantined_results_are_discarded_by_the_next_run,
    a_publication_can_be_undone_and_redone,
    a_first_publication_cannot_be_undone,
    a_page_is_withdrawn_everywhere_and_admitted_again,
    a_permanently_withdrawn_page_stays_out,
    unresponsive_pages_are_counted_until_they_respond,
    identical_contents_at_many_urls_are_reported,
    a_heaven_has_a_version,
    pages_move_with_their_sites_address,
}

pub(super) const SITE: &str = "docs";

pub(super) fn url(path: &str) -> String {
    format!("http://www.example.com/{path}")
}

pub(super) async fn begin(store: &Store, now_ms: i64) -> StoredRun {
    store
        .frontier()
        .begin_run(SITE, "settings", now_ms)
        .await
        .unwrap()
        .0
}

/// Visits pages, each with a title; returns the counts.
pub(super) async fn visit(
    store: &Store,
    run: &StoredRun,
    pages: &[(&str, &str)],
    now_ms: i64,
) -> RunCounts {
    visit_as(store, run, pages, now_ms, |_| {}).await
}

async fn visit_as(
    store: &Store,
    run: &StoredRun,
    pages: &[(&str, &str)],
    now_ms: i64,
    change: impl Fn(&mut PageRecord),
) -> RunCounts {
    let urls = pages.iter().map(|(path, _)| FoundUrl {
        url: url(path),
        host: "www.example.com:80".to_owned(),
        depth: 0,
        max_depth: None,
        found_on: String::new(),
    });
    let urls: Vec<_> = urls.collect();
    store
        .frontier()
        .add_urls(SITE, run.run_id, 1, &urls)
        .await
        .unwrap();
    let hosts = [("www.example.com:80".to_owned(), 99)];
    let claimed = store
        .frontier()
        .claim_urls(SITE, run.run_id, "me", &hosts)
        .await;
    let record = |claimed: ClaimedUrl| {
        let title = pages.iter().find(|it| url(it.0) == claimed.url).unwrap().1;
        let mut description = ResourceDescription::new(claimed.url.clone());
        description.set("title", title);
        let mut page = PageRecord::new(claimed, "described");
        page.status = Some(200);
        page.etag = Some("\"1\"".to_owned());
        page.description = DescriptionChange::Save(description);
        change(&mut page);
        page
    };
    let records: Vec<_> = claimed.unwrap().into_iter().map(record).collect();
    let key = RunKey {
        site: SITE,
        run_id: run.run_id,
        settings: "settings",
        position: 2,
    };
    let none = RunCounts::default();
    let recorded = store
        .frontier()
        .record_pages(&key, &records, &none, now_ms)
        .await;
    recorded.unwrap().counts
}

pub(super) async fn publish(store: &Store, run: &StoredRun, now_ms: i64) {
    let published = store
        .publications()
        .publish(SITE, run.run_id, StagedSelection::All, now_ms);
    let gone = published.await.unwrap();
    let ended = store
        .frontier()
        .finish_run(SITE, run.run_id, gone, now_ms)
        .await;
    assert_eq!(ended.unwrap().state, RunState::Finished);
}

/// Returns path, title, first and last date of the published descriptions.
async fn in_force(store: &Store) -> Vec<String> {
    let all = DescriptionQuery::new(SITE);
    let stored = store.descriptions().list(&all).await.unwrap();
    let line = |it: &robot_detection::store::StoredDescription| {
        let path = it.description.url().rsplit('/').next().unwrap();
        let title = it.description.title();
        format!("{path} {title} {} {}", it.first_seen_ms, it.modified_ms)
    };
    stored.iter().map(line).collect()
}

async fn staged_results_take_effect_when_published(database: TestDatabase) {
    let store = database.store().await;
    let first = begin(&store, 1).await;
    let counts = visit(&store, &first, &[("a", "A"), ("b", "B")], 10).await;
    assert_eq!((counts.added, counts.same), (2, 0));
    assert!(in_force(&store).await.is_empty());
    publish(&store, &first, 11).await;
    assert_eq!(in_force(&store).await, ["a A 10 10", "b B 10 10"]);

    let second = begin(&store, 20).await;
    let counts = visit(&store, &second, &[("a", "A"), ("b", "B2"), ("c", "C")], 20).await;
    assert_eq!((counts.added, counts.changed, counts.same), (1, 1, 1));
    assert_eq!(in_force(&store).await, ["a A 10 10", "b B 10 10"]);
    let saved = store
        .publications()
        .publish(SITE, second.run_id, StagedSelection::Saved, 21);
    assert_eq!(saved.await.unwrap(), 0);
    let changes = [(url("a"), StagedChange::Hide, "noindex".to_owned())];
    let staged = store
        .publications()
        .stage(SITE, second.run_id, &changes, 22)
        .await;
    staged.unwrap();
    assert_eq!(
        in_force(&store).await,
        ["a A 10 10", "b B2 10 20", "c C 20 20"]
    );
    publish(&store, &second, 23).await;
    assert_eq!(in_force(&store).await, ["b B2 10 20", "c C 20 20"]);
    assert!(
        store
            .descriptions()
            .find(SITE, &url("a"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(
        store
            .publications()
            .description_states(SITE)
            .await
            .unwrap()
            .hidden,
        1
    );

    // A hidden page that responds again is restored unchanged.
    let third = begin(&store, 30).await;
    let counts = visit(&store, &third, &[("a", "A")], 30).await;
    assert_eq!(counts.added, 1);
    publish(&store, &third, 31).await;
    assert_eq!(in_force(&store).await[0], "a A 10 10");
}

async fn quarantined_results_are_discarded_by_the_next_run(database: TestDatabase) {
    let store = database.store().await;
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A")], 10).await;
    publish(&store, &first, 11).await;
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("a", "Log in"), ("b", "B")], 20).await;
    let held = store
        .frontier()
        .hold_run(second.run_id, "a login", 0, 21)
        .await
        .unwrap();
    assert_eq!(
        (held.state, held.held.as_deref()),
        (RunState::Held, Some("a login"))
    );
    assert_eq!(in_force(&store).await, ["a A 10 10"]);

    let third = begin(&store, 30).await;
    assert!(
        store
            .publications()
            .staged_counts(SITE)
            .await
            .unwrap()
            .is_empty()
    );
    let described = async |path: &str| {
        let known = store
            .frontier()
            .known_url(SITE, &url(path))
            .await
            .unwrap()
            .unwrap();
        known.is_described
    };
    assert!(described("a").await && !described("b").await);
    let found = visit_as(&store, &third, &[("a", "A"), ("b", "B")], 30, |page| {
        assert_eq!(page.claimed.etag, None, "it is fetched unconditionally");
    });
    assert_eq!(found.await.added, 1);

    let fourth = store
        .frontier()
        .hold_run(third.run_id, "much", 0, 31)
        .await
        .unwrap();
    let published = store
        .publications()
        .publish(SITE, fourth.run_id, StagedSelection::All, 32);
    published.await.unwrap();
    let accepted = store
        .frontier()
        .accept_run(SITE, fourth.run_id, 0)
        .await
        .unwrap();
    assert_eq!((accepted.state, accepted.held), (RunState::Finished, None));
    assert_eq!(in_force(&store).await, ["a A 10 10", "b B 30 30"]);
}

async fn a_publication_can_be_undone_and_redone(database: TestDatabase) {
    let store = database.store().await;
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A"), ("b", "B"), ("c", "C")], 10).await;
    publish(&store, &first, 11).await;
    let before = in_force(&store).await;
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("a", "A2"), ("d", "D")], 20).await;
    let changes = [
        (url("b"), StagedChange::Remove, String::new()),
        (url("c"), StagedChange::Hide, "noindex".to_owned()),
    ];
    store
        .publications()
        .stage(SITE, second.run_id, &changes, 20)
        .await
        .unwrap();
    publish(&store, &second, 21).await;
    let after = in_force(&store).await;
    assert_eq!(after, ["a A2 10 20", "d D 20 20"]);

    for round in 0..2 {
        let undone = store.publications().undo(SITE, 30).await.unwrap();
        let (publication, pages) = undone.unwrap();
        assert_eq!((publication.run_id, pages), (second.run_id, 3));
        assert_eq!(publication.undone_ms, Some(30));
        assert_eq!(in_force(&store).await, before, "{round}");
        let redone = store.publications().undo(SITE, 31).await.unwrap();
        let (publication, pages) = redone.unwrap();
        assert_eq!((publication.undone_ms, pages), (None, 2));
        assert_eq!(in_force(&store).await, after, "{round}");
    }
    store.publications().undo(SITE, 32).await.unwrap();
    let third = begin(&store, 40).await;
    let counts = visit_as(&store, &third, &[("a", "A2")], 40, |page| {
        assert_eq!(
            page.claimed.etag, None,
            "restored pages are fetched without a condition"
        );
    });
    assert_eq!(counts.await.changed, 1);
    publish(&store, &third, 41).await;
    assert_eq!(in_force(&store).await[0], "a A2 10 40");
    let undone = store.publications().undo(SITE, 50).await.unwrap().unwrap();
    assert_eq!(undone.0.run_id, third.run_id);
    assert_eq!(in_force(&store).await, before);
}

async fn a_first_publication_cannot_be_undone(database: TestDatabase) {
    let store = database.store().await;
    assert!(store.publications().undo(SITE, 1).await.unwrap().is_none());
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A")], 10).await;
    publish(&store, &first, 11).await;
    assert!(store.publications().undo(SITE, 12).await.unwrap().is_none());
    assert_eq!(in_force(&store).await.len(), 1);
    // A run without changes creates no publication.
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("a", "A")], 20).await;
    publish(&store, &second, 21).await;
    let publication = store
        .publications()
        .publication(SITE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(publication.run_id, first.run_id);
}

async fn a_page_is_withdrawn_everywhere_and_admitted_again(database: TestDatabase) {
    let store = database.store().await;
    let publications = store.publications();
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A"), ("b", "B")], 10).await;
    publish(&store, &first, 11).await;
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("a", "A2")], 20).await;
    publish(&store, &second, 21).await;
    assert!(
        publications
            .withdraw_url(SITE, &url("a"), false, 30)
            .await
            .unwrap()
    );
    assert_eq!(in_force(&store).await, ["b B 10 10"]);
    let reason = publications.hidden_reason(SITE, &url("a")).await.unwrap();
    assert_eq!(reason.as_deref(), Some(WITHDRAWN_BY_ADMIN));
    publications.undo(SITE, 31).await.unwrap().unwrap();
    assert_eq!(in_force(&store).await, ["b B 10 10"], "it stays withdrawn");

    assert!(
        !publications
            .withdraw_url(SITE, &url("none"), false, 32)
            .await
            .unwrap()
    );
    assert!(publications.readmit_url(SITE, &url("a")).await.unwrap());
    assert!(!publications.readmit_url(SITE, &url("a")).await.unwrap());
    assert_eq!(in_force(&store).await, ["a A 10 10", "b B 10 10"]);
    // A page that forbids indexing stays hidden.
    publications
        .withdraw_url(SITE, &url("b"), false, 33)
        .await
        .unwrap();
    let third = begin(&store, 40).await;
    visit_as(&store, &third, &[("b", "B")], 40, |page| {
        (page.description, page.loss) = (DescriptionChange::Withdraw, Some(Loss::Told));
    })
    .await;
    assert!(!publications.readmit_url(SITE, &url("b")).await.unwrap());
    assert_eq!(in_force(&store).await, ["a A 10 10"]);
}

async fn a_permanently_withdrawn_page_stays_out(database: TestDatabase) {
    let store = database.store().await;
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A"), ("b", "B")], 10).await;
    publish(&store, &first, 11).await;
    store
        .publications()
        .withdraw_url(SITE, &url("a"), true, 12)
        .await
        .unwrap();
    store
        .publications()
        .withdraw_url(SITE, &url("c"), true, 12)
        .await
        .unwrap();
    assert_eq!(
        store.publications().withdrawn_urls(SITE).await.unwrap(),
        ["a", "c"].map(url)
    );
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("a", "A2"), ("c", "C")], 20).await;
    publish(&store, &second, 21).await;
    assert_eq!(in_force(&store).await, ["b B 10 10"]);
    let imported = [ResourceDescription::new(url("a"))];
    store
        .descriptions()
        .save(SITE, 0, &imported, 22)
        .await
        .unwrap();
    assert_eq!(in_force(&store).await, ["b B 10 10"]);
    assert!(
        store
            .publications()
            .readmit_url(SITE, &url("c"))
            .await
            .unwrap()
    );
    assert_eq!(in_force(&store).await, ["b B 10 10", "c C 20 20"]);
}

async fn unresponsive_pages_are_counted_until_they_respond(database: TestDatabase) {
    let store = database.store().await;
    let first = begin(&store, 1).await;
    visit(&store, &first, &[("a", "A"), ("b", "B")], 10).await;
    publish(&store, &first, 11).await;
    let second = begin(&store, 20).await;
    visit(&store, &second, &[("b", "B")], 20).await;
    let changes = [(url("a"), StagedChange::Miss, "down".to_owned())];
    store
        .publications()
        .stage(SITE, second.run_id, &changes, 20)
        .await
        .unwrap();
    publish(&store, &second, 21).await;
    assert_eq!(
        store
            .publications()
            .description_states(SITE)
            .await
            .unwrap()
            .missing,
        1
    );
    assert_eq!(in_force(&store).await.len(), 2);
    let third = begin(&store, 30).await;
    visit(&store, &third, &[("a", "A"), ("b", "B")], 30).await;
    publish(&store, &third, 31).await;
    assert_eq!(
        store
            .publications()
            .description_states(SITE)
            .await
            .unwrap()
            .missing,
        0
    );
}

async fn identical_contents_at_many_urls_are_reported(database: TestDatabase) {
    let store = database.store().await;
    let paths = ["a", "b", "c", "d"];
    let own = paths.map(|path| (path, path));
    let first = begin(&store, 1).await;
    visit(&store, &first, &own, 10).await;
    publish(&store, &first, 11).await;
    let second = begin(&store, 20).await;
    let same = |page: &mut PageRecord| page.content_hash = Some("same".to_owned());
    let paused = paths.map(|path| (path, "Back soon"));
    visit_as(&store, &second, &paused[..3], 20, same).await;
    let alike = store
        .publications()
        .identical_contents(SITE, second.run_id, 3)
        .await
        .unwrap();
    assert_eq!(alike, [("same".to_owned(), 3)]);
    assert!(
        store
            .publications()
            .identical_contents(SITE, second.run_id, 4)
            .await
            .unwrap()
            .is_empty()
    );
    let login = |page: &mut PageRecord| page.loss = Some(Loss::Login);
    visit_as(&store, &second, &[("d", "Log in")], 20, login).await;
    assert!(
        store
            .publications()
            .has_staged_logins(SITE, second.run_id)
            .await
            .unwrap()
    );
    let same = ["same".to_owned()];
    let discarded = store
        .publications()
        .discard_suspicious_pages(SITE, second.run_id, &same);
    discarded.await.unwrap();
    assert!(
        !store
            .publications()
            .has_staged_logins(SITE, second.run_id)
            .await
            .unwrap()
    );
    publish(&store, &second, 21).await;
    assert_eq!(
        in_force(&store).await,
        ["a a 10 10", "b b 10 10", "c c 10 10", "d d 10 10"]
    );
}

async fn a_heaven_has_a_version(database: TestDatabase) {
    let store = database.store().await;
    let seen = store.heaven_version(SITE).await.unwrap();
    let run = begin(&store, 1).await;
    visit(&store, &run, &[("a", "A")], 10).await;
    assert_eq!(store.heaven_version(SITE).await.unwrap(), seen);
    let (heard, ()) = tokio::join!(store.heaven_changed(SITE, seen), publish(&store, &run, 11));
    let published = heard.unwrap();
    assert_ne!(published, seen);
    store
        .publications()
        .withdraw_url(SITE, &url("a"), false, 12)
        .await
        .unwrap();
    assert_ne!(store.heaven_version(SITE).await.unwrap(), published);
}

async fn pages_move_with_their_sites_address(database: TestDatabase) {
    let store = database.store().await;
    let descriptions = store.descriptions();
    let publications = store.publications();
    let run = begin(&store, 1).await;
    visit(&store, &run, &[("a", "A"), ("b", "B")], 10).await;
    publish(&store, &run, 11).await;
    publications
        .withdraw_url(SITE, &url("b"), true, 12)
        .await
        .unwrap();
    let (old, new) = ("http://www.example.com", "https://www.example.org");
    let others = [old.to_owned()];
    // The second page is hidden, and moves too.
    assert_eq!(publications.move_site(SITE, new, &others).await.unwrap(), 2);
    assert_eq!(publications.move_site(SITE, new, &others).await.unwrap(), 0);
    let there = descriptions.find(SITE, &format!("{new}/a")).await.unwrap();
    assert_eq!(there.unwrap().description.title(), "A");
    assert_eq!(
        publications.withdrawn_urls(SITE).await.unwrap(),
        [format!("{new}/b")]
    );
    assert_eq!(publications.site_addresses(SITE).await.unwrap(), [new, old]);
    // Back again, without a list of earlier addresses.
    assert_eq!(publications.move_site(SITE, old, &[]).await.unwrap(), 2);
    let back = descriptions.find(SITE, &url("a")).await.unwrap();
    assert!(back.is_some());
    let outcomes = publications
        .undescribed_outcomes(SITE, run.run_id, "")
        .await;
    assert!(outcomes.unwrap().is_empty());
    assert_eq!(publications.staged_pages(SITE).await.unwrap().pages, 0);
}

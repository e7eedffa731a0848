//! The site robot's runs and its frontier.

use std::collections::BTreeSet;

use robot_detection::{
    description::ResourceDescription,
    store::{
        AliasDescription, ClaimedUrl, DescriptionChange, FoundUrl, Loss, LostDescription,
        PageRecord, RobotsTxtCopy, RunCommand, RunCounts, RunKey, RunState, StagedChange,
        StagedSelection, Store, StoreErrorKind, StoredRun,
    },
};
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_run_is_resumed_until_it_ends,
    changed_settings_start_a_new_run,
    urls_are_claimed_nearest_first_and_once,
    a_url_found_at_a_lower_depth_is_followed_again,
    hosts_with_waiting_urls_are_listed,
    a_failed_url_waits_until_it_is_due,
    a_finished_run_withdraws_pages_that_it_has_not_described,
    the_next_run_gets_the_state_of_the_last_visit,
    thousands_of_descriptions_are_withdrawn_in_batches,
    a_site_is_deleted_completely,
    a_robots_txt_is_stored_replaced_and_deleted,
    duplicates_are_found_and_withdrawn,
}

mod shared {
    use super::*;
    on_shared_engines! {
        missing_holders_lose_their_claimed_urls,
        two_instances_visit_each_url_once,
    }
}

const SITE: &str = "docs";

fn url(path: &str) -> String {
    format!("http://www.example.com/{path}")
}

fn found(path: &str, depth: u32) -> FoundUrl {
    FoundUrl {
        url: url(path),
        host: "www.example.com:80".to_owned(),
        depth,
        max_depth: Some(9),
        found_on: String::new(),
    }
}

async fn begin(store: &Store) -> StoredRun {
    store
        .frontier()
        .begin_run(SITE, "settings", 1)
        .await
        .unwrap()
        .0
}

async fn enter(store: &Store, run: &StoredRun, paths: &[(&str, u32)]) -> u64 {
    let urls: Vec<_> = paths
        .iter()
        .map(|(path, depth)| found(path, *depth))
        .collect();
    let entered = store.frontier().add_urls(SITE, run.run_id, 1, &urls);
    entered.await.unwrap()
}

async fn claim(store: &Store, run: &StoredRun, holder: &str, count: u32) -> Vec<ClaimedUrl> {
    let hosts = [("www.example.com:80".to_owned(), count)];
    let claimed = store
        .frontier()
        .claim_urls(SITE, run.run_id, holder, &hosts);
    claimed.await.unwrap()
}

async fn record(store: &Store, run: &StoredRun, pages: &[PageRecord]) -> RunCounts {
    record_at(store, run, pages, 9).await
}

async fn record_at(store: &Store, run: &StoredRun, pages: &[PageRecord], now_ms: i64) -> RunCounts {
    let key = RunKey {
        site: SITE,
        run_id: run.run_id,
        settings: &run.settings,
        position: 2,
    };
    let counts = RunCounts::default();
    let recorded = store.frontier().record_pages(&key, pages, &counts, now_ms);
    recorded.await.unwrap().counts
}

fn described(claimed: ClaimedUrl) -> PageRecord {
    let mut description = ResourceDescription::new(claimed.url.clone());
    description.set("title", "A page");
    let mut page = PageRecord::new(claimed, "described");
    page.description = DescriptionChange::Save(description);
    page
}

fn paths(claimed: &[ClaimedUrl]) -> String {
    let paths = claimed.iter().map(|it| it.url.rsplit('/').next().unwrap());
    paths.collect::<Vec<_>>().join(" ")
}

/// Publishes a run's staged results, and ends the run.
async fn publish(store: &Store, run: &StoredRun, now_ms: i64) -> StoredRun {
    let published = store
        .publications()
        .publish(SITE, run.run_id, StagedSelection::All, now_ms);
    let gone = published.await.unwrap();
    store
        .frontier()
        .finish_run(SITE, run.run_id, gone, now_ms)
        .await
        .unwrap()
}

async fn a_run_is_resumed_until_it_ends(database: TestDatabase) {
    let store = database.store().await;
    let (run, is_resumed) = store.frontier().begin_run(SITE, "a", 1).await.unwrap();
    assert!(!is_resumed);
    assert!(
        store
            .frontier()
            .set_run_command(SITE, RunCommand::Pause)
            .await
            .unwrap()
    );
    let open = store.frontier().open_run(SITE).await.unwrap().unwrap();
    assert_eq!((open.run_id, open.wanted), (run.run_id, RunCommand::Pause));
    let (again, is_resumed) = store.frontier().begin_run(SITE, "a", 2).await.unwrap();
    assert!(is_resumed);
    assert_eq!((again.run_id, again.wanted), (run.run_id, RunCommand::Run));
    let ended = store
        .frontier()
        .finish_run(SITE, run.run_id, 0, 3)
        .await
        .unwrap();
    assert_eq!(
        (ended.state, ended.finished_ms),
        (RunState::Finished, Some(3))
    );
    assert_eq!(
        store
            .frontier()
            .finish_run(SITE, run.run_id, 0, 4)
            .await
            .unwrap(),
        ended
    );
    assert!(
        !store
            .frontier()
            .set_run_command(SITE, RunCommand::Stop)
            .await
            .unwrap()
    );
    let (next, is_resumed) = store.frontier().begin_run(SITE, "a", 5).await.unwrap();
    assert!(!is_resumed && next.run_id > run.run_id);
    assert_eq!(store.frontier().runs(SITE, 9).await.unwrap(), [next, ended]);
    let none = store.frontier().run(999).await.unwrap_err();
    assert_eq!(none.kind(), StoreErrorKind::NotFound);
}

async fn changed_settings_start_a_new_run(database: TestDatabase) {
    let store = database.store().await;
    let (run, _) = store.frontier().begin_run(SITE, "a", 1).await.unwrap();
    let (other, is_resumed) = store.frontier().begin_run(SITE, "b", 2).await.unwrap();
    assert!(!is_resumed);
    assert_ne!(run.run_id, other.run_id);
    let first = store.frontier().run(run.run_id).await.unwrap();
    assert_eq!(
        (first.state, first.finished_ms),
        (RunState::Abandoned, Some(2))
    );
    assert!(store.frontier().abandon_run(SITE, 3).await.unwrap());
    assert!(!store.frontier().abandon_run(SITE, 3).await.unwrap());
}

async fn urls_are_claimed_nearest_first_and_once(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    let entered = enter(&store, &run, &[("b", 2), ("a", 1), ("b", 1), ("c", 0)]);
    assert_eq!(entered.await, 3);
    assert_eq!(enter(&store, &run, &[("a", 1), ("b", 2)]).await, 0);
    assert_eq!(paths(&claim(&store, &run, "me", 1).await), "c");
    let rest = claim(&store, &run, "me", 9).await;
    assert_eq!(rest.len(), 2);
    assert!(claim(&store, &run, "other", 9).await.is_empty());
    let open = store.frontier().open_urls(SITE, run.run_id).await.unwrap();
    assert!(!open.has_waiting && open.has_taken);
    store
        .frontier()
        .release_urls(SITE, run.run_id, "me")
        .await
        .unwrap();
    assert_eq!(claim(&store, &run, "other", 9).await.len(), 3);
}

async fn a_url_found_at_a_lower_depth_is_followed_again(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    enter(&store, &run, &[("done", 5), ("taken", 5), ("waiting", 5)]).await;
    let mut claimed = claim(&store, &run, "me", 9).await;
    claimed.sort_by(|one, other| one.url.cmp(&other.url));
    let [done, taken, _] = claimed.as_slice() else {
        panic!("{claimed:?}");
    };
    record(&store, &run, &[described(done.clone())]).await;
    enter(&store, &run, &[("done", 2), ("taken", 2)]).await;
    let page = described(taken.clone());
    record(&store, &run, &[page]).await;
    let mut again = claim(&store, &run, "me", 9).await;
    again.sort_by(|one, other| one.url.cmp(&other.url));
    assert_eq!(paths(&again), "done taken");
    assert!(
        again
            .iter()
            .all(|it| it.is_relink && it.is_described && it.depth == 2)
    );
    let pages: Vec<_> = again
        .into_iter()
        .map(|claimed| PageRecord::new(claimed, ""))
        .collect();
    record(&store, &run, &pages).await;
    assert!(claim(&store, &run, "me", 9).await.is_empty());
    let known = store
        .frontier()
        .known_url(SITE, &url("done"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (known.state.as_str(), known.outcome.as_deref()),
        ("done", Some("described"))
    );
    assert!(known.is_described);
}

async fn hosts_with_waiting_urls_are_listed(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    assert!(
        store
            .frontier()
            .waiting_hosts(SITE, run.run_id)
            .await
            .unwrap()
            .is_empty()
    );
    let mut urls = Vec::new();
    for number in 0..300 {
        for page in ["a", "b"] {
            let host = format!("host{number:03}.example:80");
            urls.push(FoundUrl {
                url: format!("http://{host}/{page}"),
                host,
                depth: 0,
                max_depth: None,
                found_on: String::new(),
            });
        }
    }
    store
        .frontier()
        .add_urls(SITE, run.run_id, 1, &urls)
        .await
        .unwrap();
    let hosts = store
        .frontier()
        .waiting_hosts(SITE, run.run_id)
        .await
        .unwrap();
    assert_eq!(hosts.len(), 256);
    assert_eq!(hosts[1], "host001.example:80");
    let first = [(hosts[0].clone(), 1), (hosts[1].clone(), 2)];
    let claimed = store
        .frontier()
        .claim_urls(SITE, run.run_id, "me", &first)
        .await;
    assert_eq!(claimed.unwrap().len(), 3);
    let hosts = store
        .frontier()
        .waiting_hosts(SITE, run.run_id)
        .await
        .unwrap();
    assert_eq!(hosts[..2], ["host000.example:80", "host002.example:80"]);
}

async fn a_failed_url_waits_until_it_is_due(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    enter(&store, &run, &[("a", 0)]).await;
    let claimed = claim(&store, &run, "me", 9).await.remove(0);
    let mut page = PageRecord::new(claimed, "503");
    page.retry_ms = Some(1_000);
    record(&store, &run, &[page]).await;
    let open = store.frontier().open_urls(SITE, run.run_id).await.unwrap();
    assert_eq!(open.next_due_ms, Some(1_000));
    store
        .frontier()
        .heartbeat(SITE, run.run_id, "me", 999)
        .await
        .unwrap();
    assert!(claim(&store, &run, "me", 9).await.is_empty());
    store
        .frontier()
        .heartbeat(SITE, run.run_id, "me", 1_000)
        .await
        .unwrap();
    let again = claim(&store, &run, "me", 9).await;
    assert_eq!(again[0].attempts, 1);
}

async fn a_finished_run_withdraws_pages_that_it_has_not_described(database: TestDatabase) {
    let store = database.store().await;
    let frontier = store.frontier();
    let publications = store.publications();
    let run = begin(&store).await;
    enter(&store, &run, &[("stays", 0), ("noindex", 0), ("orphan", 0)]).await;
    let claimed = claim(&store, &run, "me", 9).await;
    let pages: Vec<_> = claimed.into_iter().map(described).collect();
    assert_eq!(record(&store, &run, &pages).await.added, 3);
    publish(&store, &run, 10).await;

    let next = begin(&store).await;
    enter(&store, &next, &[("stays", 0), ("noindex", 0)]).await;
    for claimed in claim(&store, &next, "me", 9).await {
        assert!(claimed.is_described);
        let mut page = PageRecord::new(claimed, "kept");
        if page.claimed.url.ends_with("noindex") {
            page.description = DescriptionChange::Withdraw;
            page.loss = Some(Loss::Told);
        }
        record(&store, &next, &[page]).await;
    }
    assert_eq!(store.descriptions().count(SITE).await.unwrap(), 3);
    let unmet = publications
        .unreached_descriptions(SITE, next.run_id, "", 9)
        .await;
    assert_eq!(unmet.unwrap()[0].url, url("orphan"));
    let lost = publications
        .lost_descriptions(SITE, next.run_id, "", 9)
        .await;
    let lost: Vec<_> = lost
        .unwrap()
        .into_iter()
        .map(|it| (it.url, it.loss))
        .collect();
    assert_eq!(
        lost,
        [(url("noindex"), Some(Loss::Told)), (url("orphan"), None)]
    );
    let changes = [
        (url("noindex"), StagedChange::Hide, "noindex".to_owned()),
        (url("orphan"), StagedChange::Remove, String::new()),
    ];
    let staged = publications.stage(SITE, next.run_id, &changes, 20).await;
    staged.unwrap();
    let ended = publish(&store, &next, 20).await;
    assert_eq!(ended.counts.withdrawn, 2);
    assert_eq!(store.descriptions().count(SITE).await.unwrap(), 1);
    let reason = publications.hidden_reason(SITE, &url("noindex")).await;
    assert_eq!(reason.unwrap().as_deref(), Some("noindex"));
    let is_known = async |name| {
        frontier
            .known_url(SITE, &url(name))
            .await
            .unwrap()
            .is_some()
    };
    assert!(!is_known("orphan").await);
    assert!(is_known("noindex").await);
}

async fn the_next_run_gets_the_state_of_the_last_visit(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    enter(&store, &run, &[("a", 3)]).await;
    let mut page = described(claim(&store, &run, "me", 9).await.remove(0));
    page.etag = Some("\"1\"".to_owned());
    page.last_modified = Some("yesterday".to_owned());
    page.content_hash = Some("hash".to_owned());
    page.status = Some(200);
    page.links = Some(vec![url("b"), url("c")]);
    page.found = vec![found("b", 4), found("c", 4)];
    assert_eq!(record(&store, &run, &[page]).await.found, 2);
    publish(&store, &run, 10).await;

    let next = begin(&store).await;
    assert_eq!(enter(&store, &next, &[("a", 1)]).await, 1);
    let claimed = claim(&store, &next, "me", 9).await;
    assert_eq!(paths(&claimed), "a");
    let a = &claimed[0];
    assert_eq!((a.depth, a.max_depth), (1, Some(9)));
    assert_eq!((a.is_relink, a.attempts), (false, 0));
    assert_eq!(a.etag.as_deref(), Some("\"1\""));
    assert_eq!(a.last_modified.as_deref(), Some("yesterday"));
    assert_eq!(a.content_hash.as_deref(), Some("hash"));
    assert_eq!(a.settings.as_deref(), Some("settings"));
    let links = store.frontier().links(SITE, &a.url).await.unwrap();
    assert_eq!(links, [url("b"), url("c")]);
}

async fn thousands_of_descriptions_are_withdrawn_in_batches(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    let all: Vec<_> = (0..2_500)
        .map(|number| ResourceDescription::new(url(&format!("{number:04}"))))
        .collect();
    let saved = store.descriptions().save(SITE, run.run_id, &all, 1).await;
    assert_eq!(saved.unwrap().len(), 2_500);
    enter(&store, &run, &[("1000", 0), ("2499", 0)]).await;
    let claimed = claim(&store, &run, "me", 9).await;
    let pages: Vec<_> = claimed.into_iter().map(described).collect();
    record(&store, &run, &pages).await;
    let mut after = String::new();
    loop {
        let lost = store
            .publications()
            .lost_descriptions(SITE, run.run_id, &after, 700)
            .await;
        let lost = lost.unwrap();
        let Some(last) = lost.last() else { break };
        after.clone_from(&last.url);
        let gone = |it: &LostDescription| (it.url.clone(), StagedChange::Remove, String::new());
        let changes: Vec<_> = lost.iter().map(gone).collect();
        let staged = store
            .publications()
            .stage(SITE, run.run_id, &changes, 2)
            .await;
        staged.unwrap();
    }
    let ended = publish(&store, &run, 2).await;
    assert_eq!(ended.counts.withdrawn, 2_498);
    let left = store
        .frontier()
        .described_digests(SITE, run.run_id, "", 9)
        .await
        .unwrap();
    assert_eq!(
        left,
        [(url("1000"), None, u8::MAX), (url("2499"), None, u8::MAX)]
    );
}

async fn a_site_is_deleted_completely(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    enter(&store, &run, &[("a", 0)]).await;
    let page = described(claim(&store, &run, "me", 9).await.remove(0));
    record(&store, &run, &[page]).await;
    publish(&store, &run, 5).await;
    assert_eq!(store.frontier().clear_site(SITE).await.unwrap(), 1);
    assert!(store.frontier().runs(SITE, 9).await.unwrap().is_empty());
    assert!(
        store
            .frontier()
            .known_url(SITE, &url("a"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.descriptions().count(SITE).await.unwrap(), 0);
}

async fn a_robots_txt_is_stored_replaced_and_deleted(database: TestDatabase) {
    let store = database.store().await;
    let file = url("robots.txt");
    let known = async |site: &str| store.frontier().robots_txt_copy(site, &file).await.unwrap();
    assert_eq!(known(SITE).await, None);
    let mut copy = RobotsTxtCopy {
        url: file.clone(),
        etag: Some("\"1\"".to_owned()),
        last_modified: None,
        body: "User-agent: *\nDisallow: /\u{e4}'\\\n".to_owned(),
    };
    store
        .frontier()
        .save_robots_txt_copy(SITE, &copy)
        .await
        .unwrap();
    assert_eq!(known(SITE).await.as_ref(), Some(&copy));
    assert_eq!(known("other").await, None);
    (copy.etag, copy.last_modified) = (None, Some("Sat, 21 Nov 2026 00:00:00 GMT".to_owned()));
    copy.body.clear();
    store
        .frontier()
        .save_robots_txt_copy(SITE, &copy)
        .await
        .unwrap();
    store
        .frontier()
        .save_robots_txt_copy("other", &copy)
        .await
        .unwrap();
    assert_eq!(known(SITE).await.as_ref(), Some(&copy));
    store
        .frontier()
        .remove_robots_txt_copy(SITE, &file)
        .await
        .unwrap();
    assert_eq!(known(SITE).await, None);
    store.frontier().clear_site("other").await.unwrap();
    assert_eq!(known("other").await, None);
}

async fn missing_holders_lose_their_claimed_urls(database: TestDatabase) {
    let store = database.store().await;
    let run = begin(&store).await;
    enter(&store, &run, &[("a", 0), ("b", 0)]).await;
    let heartbeat = async |holder| {
        // The database's clock counts, whatever this instance's clock shows.
        let year_2100 = 4_102_444_800_000;
        let shown = store
            .frontier()
            .heartbeat(SITE, run.run_id, holder, year_2100);
        shown.await.unwrap();
    };
    heartbeat("gone").await;
    assert_eq!(claim(&store, &run, "gone", 1).await.len(), 1);
    heartbeat("me").await;
    assert_eq!(claim(&store, &run, "me", 9).await.len(), 1);
    let silence = "UPDATE leases SET until_ms = until_ms - 20000 WHERE holder = 'gone'";
    let mut raw = database.raw().await;
    raw.execute(silence).await;
    raw.close().await;
    heartbeat("me").await;
    assert_eq!(claim(&store, &run, "me", 9).await.len(), 1);
    heartbeat("me").await;
    assert!(
        claim(&store, &run, "me", 9).await.is_empty(),
        "the other holders are alive"
    );
}

/// Visits pages with these contents.
async fn visit_contents(store: &Store, run: &StoredRun, contents: &[(&str, &str)]) {
    let paths: Vec<_> = contents.iter().map(|(path, _)| (*path, 0)).collect();
    enter(store, run, &paths).await;
    let mut pages = Vec::new();
    for claimed in claim(store, run, "me", 9).await {
        let content = contents.iter().find(|it| url(it.0) == claimed.url);
        let mut page = described(claimed);
        if let DescriptionChange::Save(description) = &mut page.description {
            description.set("md5", content.unwrap().1);
        }
        pages.push(page);
    }
    record_at(store, run, &pages, run.started_ms).await;
}

async fn duplicates_are_found_and_withdrawn(database: TestDatabase) {
    let store = database.store().await;
    let frontier = store.frontier();
    let publications = store.publications();
    let visit = async |run: &StoredRun, contents: &[(&str, &str)]| {
        visit_contents(&store, run, contents).await;
    };
    let first = begin(&store).await;
    visit(&first, &[("old", "1"), ("alone", "2")]).await;
    assert!(frontier.duplicates(&first, 9).await.unwrap().is_empty());
    publish(&store, &first, 5).await;

    let (second, _) = frontier.begin_run(SITE, "settings", 10).await.unwrap();
    visit(
        &second,
        &[("alone", "2"), ("new", "1"), ("newer", "1"), ("old", "1")],
    )
    .await;
    let twice = frontier.duplicates(&second, 9).await.unwrap();
    let urls: Vec<_> = twice.iter().map(|it| it.url.clone()).collect();
    assert_eq!(urls, ["new", "newer", "old"].map(url));
    let is_published: Vec<_> = twice.iter().map(|it| it.is_published).collect();
    assert_eq!(is_published, [false, false, true]);
    assert_eq!(frontier.duplicates(&second, 2).await.unwrap(), twice[..2]);
    let worse: Vec<_> = twice
        .iter()
        .filter(|it| it.url != url("new"))
        .map(|it| AliasDescription {
            url: it.url.clone(),
            alias_of: url("new"),
            is_published: it.is_published,
        })
        .collect();
    frontier
        .withdraw_duplicates(&second, &worse, "a duplicate")
        .await
        .unwrap();
    assert!(frontier.duplicates(&second, 9).await.unwrap().is_empty());
    let lost = publications
        .lost_descriptions(SITE, second.run_id, "", 9)
        .await;
    let lost = lost.unwrap();
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (&*lost[0].url, lost[0].loss),
        (&*url("old"), Some(Loss::Duplicate))
    );
    let counts = publish(&store, &second, 11).await.counts;
    assert_eq!((counts.added, counts.rejected), (1, 1));
    let aliases = frontier.aliases(SITE, "", 9).await.unwrap();
    assert_eq!(aliases, ["newer", "old"].map(|it| (url(it), url("new"))));
    let behind = frontier.aliases(SITE, &url("newer"), 9).await.unwrap();
    assert_eq!(behind, aliases[1..]);
    for path in ["newer", "old"] {
        let known = frontier.known_url(SITE, &url(path)).await.unwrap().unwrap();
        assert_eq!(known.outcome.as_deref(), Some("a duplicate"));
    }
}

async fn two_instances_visit_each_url_once(database: TestDatabase) {
    let first = database.store().await;
    let run = begin(&first).await;
    enter(&first, &run, &[("0", 0)]).await;
    let mut instances = JoinSet::new();
    for number in 0..4 {
        let (store, run) = (database.store().await, run.clone());
        instances.spawn(async move { visit_all(&store, &run, &format!("holder{number}")).await });
    }
    let mut visited = BTreeSet::new();
    while let Some(urls) = instances.join_next().await {
        for url in urls.unwrap() {
            assert!(visited.insert(url.clone()), "{url} is visited twice");
        }
    }
    assert_eq!(visited.len(), 400);
    let counts = publish(&first, &run, 9).await.counts;
    assert_eq!(
        (counts.found, counts.added, counts.withdrawn),
        (399, 400, 0)
    );
}

/// Visits pages with links to others, until no page is left for any holder.
async fn visit_all(store: &Store, run: &StoredRun, holder: &str) -> Vec<String> {
    let mut visited = Vec::new();
    store
        .frontier()
        .heartbeat(SITE, run.run_id, holder, 1)
        .await
        .unwrap();
    loop {
        let claimed = claim(store, run, holder, 7).await;
        if claimed.is_empty() {
            let open = store.frontier().open_urls(SITE, run.run_id).await.unwrap();
            if !open.has_waiting && !open.has_taken {
                return visited;
            }
            tokio::task::yield_now().await;
        }
        let mut pages = Vec::new();
        for claimed in claimed {
            visited.push(claimed.url.clone());
            let number: u32 = claimed.url.rsplit('/').next().unwrap().parse().unwrap();
            let mut page = described(claimed);
            page.found = (1..=5)
                .map(|step| (number + step * 13) % 400)
                .map(|linked| found(&linked.to_string(), 1))
                .collect();
            pages.push(page);
        }
        if !pages.is_empty() {
            record(store, run, &pages).await;
        }
    }
}

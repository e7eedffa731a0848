//! A successful refresh.

use robot_detection::{
    detect::{browsers, self_test},
    refresh::{Progress, RefreshError, RefreshOptions, SourceSpec, Trigger},
    registry::{Format, Pattern, PatternKind, Robot, Source, parse},
    store::RefreshOutcome,
};

use super::house::{DAY, DOZEN, House, START_MS, dozen, flat_file, source, spec};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

#[tokio::test]
async fn detection_changes_immediately() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/all.txt")).await;
    assert!(!house.knows("Alphafetcher"));
    let record = house.replace().await;
    assert!(DOZEN.iter().all(|name| house.knows(name)));
    assert_eq!((record.records, record.added, record.skipped), (12, 12, 0));
    assert_eq!(record.trigger, "admin");
    assert_eq!(record.url, server.url("/all.txt"));

    server.set(Reply::text(flat_file(&DOZEN[1..])));
    house.replace().await;
    assert!(!house.knows("Alphafetcher"));
    assert!(house.knows("Bravofetcher"));
}

#[tokio::test]
async fn added_changed_and_removed_counts_are_exact() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    house.replace().await;

    let mut later = flat_file(&DOZEN[2..]).replace("Limafetcher/1.0", "Limagetter/1.0");
    later.push_str(&flat_file(&["Mikefetcher"]));
    server.set(Reply::text(later));
    let record = house.replace().await;
    assert_eq!((record.added, record.changed, record.removed), (1, 1, 2));
    let ids = house.ids(&Source::web_robots_db()).await;
    assert_eq!(ids.len(), 11);
    assert!(ids.contains(&"mikefetcher".to_owned()));
    assert_eq!(house.store.refreshes().list(9).await.unwrap()[0], record);
}

#[tokio::test]
async fn robots_added_by_hand_survive_and_are_detected() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let mut robot = Robot::new("ownfetcher", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "ownfetcher")];
    house.store.robots().add(&robot, START_MS).await.unwrap();
    house.replace().await;
    assert!(house.knows("ownfetcher") && house.knows("Alphafetcher"));
    assert_eq!(house.ids(&Source::manual()).await, ["ownfetcher"]);
}

#[tokio::test]
async fn an_unmodified_list_is_not_sent_again() {
    let server = TestServer::with(|seen| match seen.header("If-None-Match") {
        Some("\"1\"") => Reply::status(304),
        _ => Reply::text(dozen()).with("ETag", "\"1\""),
    });
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    house.clock.advance(DAY);
    let version = house.store.registry_version().await.unwrap();
    let record = house.refresh().await.unwrap();
    assert_eq!(record.outcome, RefreshOutcome::NotModified);
    assert_eq!(house.store.registry_version().await.unwrap(), version);
    assert!(house.knows("Alphafetcher"));
    let state = house
        .store
        .refreshes()
        .source_state(&Source::web_robots_db())
        .await;
    let state = state.unwrap().unwrap();
    assert_eq!(state.succeeded_ms, Some(START_MS + 86_400_000));
    assert_eq!(state.etag.as_deref(), Some("\"1\""));

    // Without rows, or with force, the request is unconditional.
    house
        .store
        .robots()
        .drop_source(&Source::web_robots_db())
        .await
        .unwrap();
    house.replace().await;
    let record = house.force().await.unwrap();
    assert_eq!(record.outcome, RefreshOutcome::Replaced);
}

#[tokio::test]
async fn the_same_bytes_leave_the_rows_unchanged() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    let version = house.store.registry_version().await.unwrap();
    let record = house.refresh().await.unwrap();
    assert_eq!(record.outcome, RefreshOutcome::NotModified);
    assert_eq!(house.store.registry_version().await.unwrap(), version);
}

#[tokio::test]
async fn rows_written_by_an_older_parser_are_rewritten() {
    let server = TestServer::with(|seen| match seen.header("If-None-Match") {
        Some(_) => Reply::status(304),
        None => Reply::text(dozen()).with("ETag", "\"1\""),
    });
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    let wrd = Source::web_robots_db();
    let mut state = house
        .store
        .refreshes()
        .source_state(&wrd)
        .await
        .unwrap()
        .unwrap();
    let made = state.content_sha256.unwrap();
    state.content_sha256 = Some(made.replace(env!("CARGO_PKG_VERSION"), "0.0.1"));
    house
        .store
        .refreshes()
        .save_source_state(&wrd, &state)
        .await
        .unwrap();

    assert_eq!(
        house.refresher.next_due_ms(&wrd).await.unwrap(),
        Some(START_MS)
    );
    house.replace().await;
    let state = house
        .store
        .refreshes()
        .source_state(&wrd)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(state.content_sha256, Some(made));
}

#[tokio::test]
async fn a_pattern_that_matches_a_browser_is_quarantined() {
    let browser_word = browsers()
        .flat_map(|browser| browser.split(|c: char| !c.is_ascii_alphanumeric()))
        .find(|word| {
            let listed = parse(Format::List, word.as_bytes(), &Source::web_robots_db());
            self_test(&mut listed.map(|parsed| parsed.robots).unwrap_or_default()) == 1
        })
        .expect("no word of a browser is accepted as a pattern");
    let house = House::new("http://127.0.0.1:9/").await;
    let path = house.path("list.txt");
    std::fs::write(&path, format!("# mine\nGoodfetcher\n{browser_word}\n")).unwrap();
    let list = SourceSpec {
        source: source("own-list"),
        url: path.display().to_string(),
        format: Format::List,
        interval_days: 1,
    };
    let refresher = &house.refresher;
    let options = RefreshOptions::default();
    let record = refresher
        .refresh_from(&list, Trigger::Command, options)
        .await
        .unwrap();
    assert_eq!((record.added, record.quarantined), (2, 1));
    assert!(
        record.problems[0].contains("quarantined"),
        "{:?}",
        record.problems
    );
    assert!(house.detector.load().identify(b"Goodfetcher/1.0").is_some());
    assert!(
        house
            .detector
            .load()
            .identify(browser_word.as_bytes())
            .is_none()
    );
}

#[tokio::test]
async fn skipped_records_are_counted_and_reported_lines_limited() {
    let long = "x".repeat(300);
    let nameless = |number| format!("robot-name: nameless {number}\u{7} {long}\n\n");
    let text: String = std::iter::once(dozen())
        .chain((0..700).map(nameless))
        .collect();
    let server = TestServer::new(Reply::text(text));
    let house = House::new(&server.url("/")).await;
    let record = house.replace().await;
    assert_eq!(
        (record.records, record.skipped, record.added),
        (712, 700, 12)
    );
    assert_eq!(record.problems.len(), 500);
    assert!(
        record.problems[0].starts_with("line "),
        "{}",
        record.problems[0]
    );
    assert_eq!(record.problems[499], "and 201 more");
    for line in &record.problems {
        assert!(line.chars().count() <= 200 && !line.contains(char::is_control));
    }
}

#[tokio::test]
async fn files_and_file_urls_can_be_sources() {
    let house = House::new("http://127.0.0.1:9/never-asked").await;
    let path = house.path("all robots.txt");
    std::fs::write(&path, dozen()).unwrap();
    let as_url = format!("file://{}", path.display()).replace(' ', "%20");
    for (url, outcome) in [
        (path.display().to_string(), RefreshOutcome::Replaced),
        (as_url, RefreshOutcome::NotModified),
    ] {
        let spec = spec(&url);
        let options = RefreshOptions::default();
        let record = house
            .refresher
            .refresh_from(&spec, Trigger::Command, options)
            .await;
        assert_eq!(record.unwrap().outcome, outcome);
    }
    assert!(house.knows("Limafetcher"));
}

#[tokio::test]
async fn progress_starts_with_the_download_and_ends_with_the_record() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let mut progress = house.refresher.progress();
    assert!(matches!(*progress.borrow_and_update(), Progress::Idle));
    let record = house.replace().await;
    match &*progress.borrow_and_update() {
        Progress::Done { record: told } => assert_eq!(**told, record),
        other => panic!("expected the record: {other:?}"),
    }
}

#[tokio::test]
async fn only_a_configured_source_is_refreshed_by_name() {
    let house = House::new("http://127.0.0.1:9/").await;
    let options = RefreshOptions::default();
    let refresh = |name: &str| {
        let (name, options) = (source(name), options.clone());
        let refresher = house.refresher.clone();
        async move { refresher.refresh(&name, Trigger::Admin, options).await }
    };
    assert!(matches!(
        refresh("other").await,
        Err(RefreshError::UnknownSource(_))
    ));
    for reserved in [Source::manual(), Source::bundled()] {
        let spec = SourceSpec {
            source: reserved,
            ..spec("all.txt")
        };
        let options = RefreshOptions::default();
        let result = house
            .refresher
            .refresh_from(&spec, Trigger::Command, options)
            .await;
        assert!(matches!(result, Err(RefreshError::Reserved(_))));
    }
}

#[tokio::test]
async fn a_refresh_continues_without_its_caller() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    {
        let refresh = house.refresh();
        tokio::pin!(refresh);
        // One poll starts the refresh; then the caller is dropped.
        assert!(futures_util::poll!(refresh).is_pending());
    }
    eventually_async("the robot is known", async || house.knows("Alphafetcher")).await;
}

#[tokio::test]
async fn a_password_in_the_url_is_stored_nowhere() {
    let server = TestServer::new(Reply::text(dozen()));
    let url = server.url("/").replace("http://", "http://me:s3cret@");
    let house = House::new(&url).await;
    let record = house.replace().await;
    let state = house
        .store
        .refreshes()
        .source_state(&Source::web_robots_db())
        .await
        .unwrap();
    assert!(!format!("{record:?} {state:?}").contains("s3cret"));
    assert!(server.seen()[0].header("Authorization").is_some());
    // The redacted URL still identifies the same source.
    assert_eq!(
        house.refresh().await.unwrap().outcome,
        RefreshOutcome::NotModified
    );
    assert!(
        house
            .refresher
            .refresh_due(Trigger::Schedule)
            .await
            .is_empty()
    );
}

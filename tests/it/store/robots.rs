//! Robots are stored and listed; a source is replaced as a whole.

use robot_detection::{
    registry::{Exclusion, Pattern, PatternKind, Purpose, Robot, Source, Status},
    store::{RobotCount, Store, StoreErrorKind},
};
use tokio::task::JoinSet;

use super::{
    TestDatabase, ids, named, on_each_engine, on_shared_engines, robot, state, web_robots,
};

on_each_engine! {
    a_source_is_synchronised_exactly,
    the_same_content_changes_nothing,
    robots_added_by_hand_survive_a_refresh,
    a_failing_robot_changes_nothing,
    every_fact_of_a_robot_is_stored,
    odd_texts_are_stored_completely,
    nul_bytes_are_dropped,
    ids_may_differ_only_by_case_or_a_blank,
    the_source_given_in_the_call_counts,
    an_id_can_be_added_by_hand_only_once,
    only_robots_added_by_hand_can_be_removed,
    a_dropped_source_does_not_affect_the_others,
    robots_with_one_id_are_listed_in_order_of_precedence,
    robots_are_counted_by_source_and_status,
    ten_thousand_robots_can_be_stored,
    every_statement_prepares,
}

mod shared {
    use super::*;
    on_shared_engines! {
        readers_see_either_the_old_or_the_new_set,
        concurrent_replacements_do_not_mix,
    }
}

async fn replace(
    store: &Store,
    robots: &[Robot],
    now_ms: i64,
) -> robot_detection::store::RobotChanges {
    store
        .robots()
        .replace_source(&web_robots(), robots, &state(), now_ms)
        .await
        .unwrap()
}

async fn a_source_is_synchronised_exactly(database: TestDatabase) {
    let store = database.store().await;
    replace(
        &store,
        &[robot("stays"), robot("goes"), robot("moves")],
        1_000,
    )
    .await;

    let mut moved = robot("moves");
    moved.useragent = "moves/2.0".into();
    let changes = replace(&store, &[robot("new"), moved, robot("stays")], 2_000).await;

    assert_eq!(changes.added, ["new"]);
    assert_eq!(changes.changed, ["moves"]);
    assert_eq!(changes.removed, ["goes"]);
    assert_eq!(changes.unchanged, 1);
    let dates: Vec<(String, i64, i64)> = store
        .robots()
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|stored| (stored.robot.id, stored.insertion_ms, stored.modified_ms))
        .collect();
    let expected = [
        ("moves", 1_000, 2_000),
        ("new", 2_000, 2_000),
        ("stays", 1_000, 1_000),
    ];
    assert_eq!(dates, expected.map(|(id, i, m)| (id.to_owned(), i, m)));
}

async fn the_same_content_changes_nothing(database: TestDatabase) {
    let store = database.store().await;
    let mut quarantined = robot("b");
    quarantined.status = Status::Quarantined {
        pattern: "b".to_owned(),
        browser: "Mozilla/5.0".to_owned(),
    };
    let robots = [robot("a"), quarantined];
    replace(&store, &robots, 1_000).await;
    let version = store.registry_version().await.unwrap();

    let mut later = state();
    later.succeeded_ms = Some(2_000);
    let changes = store
        .robots()
        .replace_source(&web_robots(), &robots, &later, 2_000)
        .await
        .unwrap();

    assert!(changes.is_empty());
    assert_eq!(changes.unchanged, 2);
    assert_eq!(store.registry_version().await.unwrap(), version);
    let state = store
        .refreshes()
        .source_state(&web_robots())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(state.succeeded_ms, Some(2_000));
    replace(&store, &robots[..1], 3_000).await;
    assert!(store.registry_version().await.unwrap() > version);
}

async fn robots_added_by_hand_survive_a_refresh(database: TestDatabase) {
    let store = database.store().await;
    store.robots().add(&robot("mine"), 1_000).await.unwrap();
    replace(&store, &[robot("mine"), robot("theirs")], 2_000).await;
    let changes = replace(&store, &[], 3_000).await;

    assert_eq!(changes.removed, ["mine", "theirs"]);
    let robots = store.robots().list().await.unwrap();
    assert_eq!(robots.len(), 1);
    assert_eq!(robots[0].robot.id, "mine");
    assert_eq!(robots[0].robot.source, Source::manual());
    assert_eq!(robots[0].insertion_ms, 1_000);
}

async fn a_failing_robot_changes_nothing(database: TestDatabase) {
    let store = database.store().await;
    replace(&store, &[robot("old")], 1_000).await;
    let before = store.robots().list().await.unwrap();
    let version = store.registry_version().await.unwrap();

    // Enough rows that several statements have succeeded when one fails.
    let mut robots: Vec<Robot> = (0..500).map(|n| robot(&format!("new{n}"))).collect();
    robots.push(robot("new7"));
    let mut later = state();
    later.etag = Some("\"2\"".to_owned());
    let error = store
        .robots()
        .replace_source(&web_robots(), &robots, &later, 2_000)
        .await
        .unwrap_err();

    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert!(error.to_string().contains("\"new7\""), "{error}");
    // Also if each of them is already stored unchanged.
    let twice = [robot("old"), robot("old")];
    let error = store
        .robots()
        .replace_source(&web_robots(), &twice, &later, 2_000)
        .await;
    assert_eq!(error.unwrap_err().kind(), StoreErrorKind::Conflict);
    assert_eq!(store.robots().list().await.unwrap(), before);
    assert_eq!(store.registry_version().await.unwrap(), version);
    let state = store
        .refreshes()
        .source_state(&web_robots())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(state.etag, None);
    let changes = replace(&store, &[robot("old"), robot("new")], 3_000).await;
    assert_eq!(changes.added, ["new"]);
}

async fn every_fact_of_a_robot_is_stored(database: TestDatabase) {
    let store = database.store().await;
    let mut full = Robot::new("full", web_robots());
    full.name = "A \"Full\" Robot".into();
    full.details_url = Some("https://example.org/robot?a=1&b=2".to_owned());
    full.useragent = "Mozilla/5.0 (compatible; Full/1.0)".into();
    full.patterns = PatternKind::ALL
        .iter()
        .map(|kind| Pattern::new(*kind, format!("{}\\d+ \"x\"", kind.as_str())))
        .collect();
    full.purpose = Purpose::AiTraining;
    full.operator = Some("Example".to_owned());
    full.product_token = Some("FullBot".to_owned());
    full.exclusion = Exclusion::Partly;
    full.host_suffixes = vec![".example.org".to_owned(), ".example.com".to_owned()];
    full.ranges_url = Some("https://example.org/ranges.json".to_owned());
    full.signature_agents = vec!["keys.example.org".to_owned()];
    full.evidence = vec!["matomo".to_owned(), "operator".to_owned()];
    let mut quarantined = robot("quarantined");
    quarantined.status = Status::Quarantined {
        pattern: "safari".to_owned(),
        browser: "Mozilla/5.0 Safari".to_owned(),
    };
    let mut unusable = Robot::new("unusable", web_robots());
    unusable.status = Status::Unusable {
        reason: "no useragent".to_owned(),
    };
    let robots = [full, quarantined, unusable];
    replace(&store, &robots, 1_000).await;

    let stored = store.robots().list().await.unwrap();
    let stored: Vec<Robot> = stored.into_iter().map(|stored| stored.robot).collect();
    assert_eq!(stored, robots);
}

async fn odd_texts_are_stored_completely(database: TestDatabase) {
    let store = database.store().await;
    let mut useragent_of_107 = robot("a");
    useragent_of_107.useragent = "x".repeat(107);
    let mut useragent_of_10_kb = robot("b");
    useragent_of_10_kb.useragent = "0123456789".repeat(1_024);
    let mut nameless = robot("c");
    nameless.name = String::new();
    let mut foreign = robot("дом-机器人-🤖");
    foreign.name = "Größe\u{301} 'quoted' \u{202e}\r\n\t--".into();
    let robots = [useragent_of_107, useragent_of_10_kb, nameless, foreign];
    replace(&store, &robots, 1_000).await;

    let stored = store.robots().list().await.unwrap();
    let stored: Vec<Robot> = stored.into_iter().map(|stored| stored.robot).collect();
    assert_eq!(stored, robots);
    assert_eq!(replace(&store, &robots, 2_000).await.unchanged, 4);
}

async fn nul_bytes_are_dropped(database: TestDatabase) {
    let store = database.store().await;
    let mut nul = named("a\0b", "\0");
    nul.operator = Some("x\0".to_owned());
    replace(&store, &[nul.clone()], 1_000).await;

    let stored = store.robots().by_id("ab").await.unwrap();
    assert_eq!(stored[0].robot.name, "");
    assert_eq!(stored[0].robot.operator.as_deref(), Some("x"));
    assert_eq!(replace(&store, &[nul], 2_000).await.unchanged, 1);
}

async fn ids_may_differ_only_by_case_or_a_blank(database: TestDatabase) {
    let store = database.store().await;
    let robots = ["bot", "BOT", "bot ", " bot", "bo t"].map(robot);
    replace(&store, &robots, 1_000).await;

    assert_eq!(ids(&store).await, [" bot", "BOT", "bo t", "bot", "bot "]);
    assert_eq!(store.robots().by_id("bot").await.unwrap().len(), 1);
    assert!(store.robots().exists("bot ").await.unwrap());
    assert!(!store.robots().exists("Bot").await.unwrap());
}

async fn the_source_given_in_the_call_counts(database: TestDatabase) {
    let store = database.store().await;
    let source: Source = "other-list".parse().unwrap();
    let robots = [robot("a")];
    store
        .robots()
        .replace_source(&source, &robots, &state(), 1_000)
        .await
        .unwrap();
    assert_eq!(store.robots().list().await.unwrap()[0].robot.source, source);
}

async fn an_id_can_be_added_by_hand_only_once(database: TestDatabase) {
    let store = database.store().await;
    replace(&store, &[robot("a")], 1_000).await;
    store.robots().add(&robot("a"), 1_000).await.unwrap();
    let version = store.registry_version().await.unwrap();

    let error = store.robots().add(&robot("a"), 2_000).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    assert!(error.to_string().contains("\"a\""), "{error}");
    assert_eq!(store.registry_version().await.unwrap(), version);
}

async fn only_robots_added_by_hand_can_be_removed(database: TestDatabase) {
    let store = database.store().await;
    replace(&store, &[robot("a"), robot("b")], 1_000).await;
    store.robots().add(&robot("a"), 1_000).await.unwrap();
    let version = store.registry_version().await.unwrap();

    store.robots().remove("a").await.unwrap();
    assert!(store.registry_version().await.unwrap() > version);
    for id in ["a", "b", "c"] {
        let error = store.robots().remove(id).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotFound);
    }
    assert_eq!(ids(&store).await, ["a", "b"]);
}

async fn a_dropped_source_does_not_affect_the_others(database: TestDatabase) {
    let store = database.store().await;
    replace(&store, &[robot("a"), robot("b")], 1_000).await;
    let bundled = [robot("c")];
    store
        .robots()
        .replace_source(&Source::bundled(), &bundled, &state(), 1_000)
        .await
        .unwrap();
    let version = store.registry_version().await.unwrap();

    assert_eq!(store.robots().drop_source(&web_robots()).await.unwrap(), 2);
    assert!(store.registry_version().await.unwrap() > version);
    assert_eq!(ids(&store).await, ["c"]);
    assert_eq!(
        store.refreshes().source_state(&web_robots()).await.unwrap(),
        None
    );
    assert_eq!(store.robots().drop_source(&web_robots()).await.unwrap(), 0);
}

async fn robots_with_one_id_are_listed_in_order_of_precedence(database: TestDatabase) {
    let store = database.store().await;
    let robots = [robot("a")];
    for source in ["a-list", "web-robots-db", "bundled", "manual"] {
        let source: Source = source.parse().unwrap();
        store
            .robots()
            .replace_source(&source, &robots, &state(), 1_000)
            .await
            .unwrap();
    }
    let found = store.robots().by_id("a").await.unwrap();
    let sources: Vec<&str> = found
        .iter()
        .map(|stored| stored.robot.source.as_str())
        .collect();
    assert_eq!(sources, ["manual", "bundled", "web-robots-db", "a-list"]);
    assert!(store.robots().by_id("b").await.unwrap().is_empty());
}

async fn robots_are_counted_by_source_and_status(database: TestDatabase) {
    let store = database.store().await;
    assert!(store.robots().counts().await.unwrap().is_empty());
    let mut unusable = robot("u");
    unusable.status = Status::Unusable {
        reason: "empty".to_owned(),
    };
    let mut quarantined = robot("q");
    quarantined.status = Status::Quarantined {
        pattern: "q".to_owned(),
        browser: "Mozilla".to_owned(),
    };
    replace(&store, &[robot("a"), robot("b"), unusable, quarantined], 1).await;
    store.robots().add(&robot("m"), 1).await.unwrap();

    let count = |source, active, quarantined, unusable| RobotCount {
        source,
        active,
        quarantined,
        unusable,
    };
    assert_eq!(
        store.robots().counts().await.unwrap(),
        [
            count(Source::manual(), 1, 0, 0),
            count(web_robots(), 2, 1, 1)
        ]
    );
}

async fn ten_thousand_robots_can_be_stored(database: TestDatabase) {
    let store = database.store().await;
    let robots: Vec<Robot> = (0..10_000).map(|n| robot(&format!("robot{n}"))).collect();
    assert_eq!(replace(&store, &robots, 1).await.added.len(), 10_000);
    assert_eq!(store.robots().list().await.unwrap().len(), 10_000);
}

async fn every_statement_prepares(database: TestDatabase) {
    let store = database.store().await;
    store.check_statements().await.unwrap();
    store.ping().await.unwrap();
}

async fn readers_see_either_the_old_or_the_new_set(database: TestDatabase) {
    let store = database.store().await;
    let old: Vec<Robot> = (0..300).map(|n| robot(&format!("old{n}"))).collect();
    let new: Vec<Robot> = (0..400).map(|n| robot(&format!("new{n}"))).collect();
    replace(&store, &old, 1).await;

    let mut readers = JoinSet::new();
    let (done, is_done) = tokio::sync::watch::channel(false);
    for _ in 0..3 {
        let store = database.store().await;
        let is_done = is_done.clone();
        readers.spawn(async move {
            let mut reads = 0;
            while !*is_done.borrow() {
                let ids = ids(&store).await;
                let olds = ids.iter().filter(|id| id.starts_with("old")).count();
                let sets = (olds, ids.len() - olds);
                assert!(sets == (300, 0) || sets == (0, 400), "{sets:?}");
                reads += 1;
            }
            reads
        });
    }
    for now in 0..10 {
        replace(&store, if now % 2 == 0 { &new } else { &old }, now).await;
    }
    done.send(true).unwrap();
    for reads in readers.join_all().await {
        assert!(reads > 0);
    }
}

async fn concurrent_replacements_do_not_mix(database: TestDatabase) {
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let store = database.store().await;
        writers.spawn(async move {
            let robots: Vec<Robot> = (0..100).map(|n| robot(&format!("w{writer}-{n}"))).collect();
            for now in 0..3 {
                replace(&store, &robots, now).await;
            }
        });
    }
    writers.join_all().await;

    let ids = ids(&database.store().await).await;
    assert_eq!(ids.len(), 100);
    let prefix = ids[0].split('-').next().unwrap();
    assert!(ids.iter().all(|id| id.starts_with(prefix)), "{ids:?}");
}

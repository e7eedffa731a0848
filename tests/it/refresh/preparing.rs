//! Changes to the store when a server starts.

use robot_detection::{
    fetch::FetchLimits,
    refresh::{RefreshOptions, SourceSpec, Trigger},
    registry::{Pattern, PatternKind, Robot, Source, bundled},
};

use super::{
    house::{House, START_MS, dozen, flat_file, source, spec},
    running::Running,
};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

#[tokio::test]
async fn the_bundled_registry_is_stored_and_used() {
    let house = House::new("http://127.0.0.1:9/").await;
    house.refresher.prepare(true).await.unwrap();
    let stored = house.ids(&Source::bundled()).await;
    assert_eq!(stored.len(), bundled().robots.len());
    let googlebot = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    assert!(house.detector.load().identify(googlebot).is_some());

    let version = house.store.registry_version().await.unwrap();
    house.refresher.prepare(true).await.unwrap();
    assert_eq!(house.store.registry_version().await.unwrap(), version);

    house.refresher.prepare(false).await.unwrap();
    assert!(house.ids(&Source::bundled()).await.is_empty());
    assert!(house.detector.load().identify(googlebot).is_none());
}

#[tokio::test]
async fn bundled_rows_of_an_older_program_are_replaced() {
    let house = House::new("http://127.0.0.1:9/").await;
    let mut old = Robot::new("oldfetcher", Source::bundled());
    old.patterns = vec![Pattern::new(PatternKind::Token, "oldfetcher")];
    let state = robot_detection::store::SourceState::default();
    house
        .store
        .robots()
        .replace_source(&Source::bundled(), &[old], &state, START_MS)
        .await
        .unwrap();
    house.refresher.prepare(true).await.unwrap();
    assert!(!house.knows("oldfetcher"));
    assert_eq!(
        house.ids(&Source::bundled()).await.len(),
        bundled().robots.len()
    );
}

#[tokio::test]
async fn sources_removed_from_the_configuration_are_dropped_at_startup() {
    let server = TestServer::with(|seen| {
        let name = seen.path.trim_start_matches('/').to_owned();
        let text = flat_file(&[&format!("{name}fetcher")]);
        Reply::text(dozen() + &text)
    });
    let named = |name: &str| SourceSpec {
        source: source(name),
        ..spec(&server.url(&format!("/{name}")))
    };
    let house = House::with(vec![named("stays"), named("goes")], FetchLimits::default()).await;
    let refresher = &house.refresher;
    assert_eq!(refresher.refresh_due(Trigger::Start).await.len(), 2);
    let options = RefreshOptions::default();
    let given = named("given");
    refresher
        .refresh_from(&given, Trigger::Command, options)
        .await
        .unwrap();
    let mut robot = Robot::new("ownfetcher", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "ownfetcher")];
    house.store.robots().add(&robot, START_MS).await.unwrap();

    refresher.set_sources(vec![named("stays")]);
    refresher.prepare(false).await.unwrap();
    assert!(house.knows("goesfetcher"), "a command drops no source");
    let running = Running::start(refresher);
    eventually_async("the robot is gone", async || !house.knows("goesfetcher")).await;
    running.end().await;
    assert!(house.ids(&source("goes")).await.is_empty());
    for kept in ["staysfetcher", "givenfetcher", "ownfetcher"] {
        assert!(house.knows(kept), "{kept}");
    }
    let standing = refresher.standing_failure(&source("goes")).await.unwrap();
    assert_eq!(standing, None);
}

#[tokio::test]
async fn the_bundled_registry_works_without_a_database() {
    let house = House::new("http://127.0.0.1:9/").await;
    house.store.close().await;
    assert!(house.refresher.prepare(true).await.is_err());
    let googlebot = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    assert!(house.detector.load().identify(googlebot).is_some());
}

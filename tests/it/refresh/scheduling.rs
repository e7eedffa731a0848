//! Times at which sources are refreshed, and the instance that refreshes.

use std::time::Duration;

use robot_detection::{
    fetch::FetchLimits,
    refresh::{RefreshError, RefreshOptions, SourceSpec, Trigger},
    registry::Source,
    store::RefreshOutcome,
};

use super::house::{DAY, House, START_MS, dozen, source, spec};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

#[tokio::test]
async fn the_age_of_the_last_success_decides() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let refresher = &house.refresher;
    let wrd = Source::web_robots_db();
    assert_eq!(refresher.next_due_ms(&wrd).await.unwrap(), Some(START_MS));
    let results = refresher.refresh_due(Trigger::Start).await;
    let record = results[0].as_ref().unwrap();
    assert_eq!((results.len(), record.trigger.as_str()), (1, "start"));

    let due_ms = START_MS + 30 * 86_400_000;
    assert_eq!(refresher.next_due_ms(&wrd).await.unwrap(), Some(due_ms));
    let almost = DAY * 30 / 1_000 * 999;
    house.clock.advance(almost);
    assert!(refresher.refresh_due(Trigger::Start).await.is_empty());
    assert!(refresher.refresh_due(Trigger::Schedule).await.is_empty());
    house.clock.advance(DAY * 30 / 1_000);
    let results = refresher.refresh_due(Trigger::Schedule).await;
    assert_eq!(
        results[0].as_ref().unwrap().outcome,
        RefreshOutcome::NotModified
    );
    // Unmodified content restarts the interval, too.
    assert!(refresher.refresh_due(Trigger::Schedule).await.is_empty());
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn an_empty_table_is_always_due() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    let wrd = Source::web_robots_db();
    let state = house
        .store
        .refreshes()
        .source_state(&wrd)
        .await
        .unwrap()
        .unwrap();
    house.store.robots().drop_source(&wrd).await.unwrap();
    house
        .store
        .refreshes()
        .save_source_state(&wrd, &state)
        .await
        .unwrap();
    assert_eq!(house.refresher.refresh_due(Trigger::Start).await.len(), 1);
    assert_eq!(house.ids(&wrd).await.len(), 12);
}

#[tokio::test]
async fn failures_are_retried_after_a_growing_delay() {
    let server = TestServer::new(Reply::status(503));
    let house = House::new(&server.url("/")).await;
    let refresher = &house.refresher;
    let wrd = Source::web_robots_db();
    let mut delays = Vec::new();
    for _ in 0..9 {
        assert_eq!(refresher.refresh_due(Trigger::Schedule).await.len(), 1);
        assert!(refresher.refresh_due(Trigger::Schedule).await.is_empty());
        let due_ms = refresher.next_due_ms(&wrd).await.unwrap().unwrap();
        assert_eq!(refresher.next_due_ms(&wrd).await.unwrap(), Some(due_ms));
        let delay = Duration::from_millis((due_ms - house.clock.now_ms()).try_into().unwrap());
        house.clock.advance(delay);
        delays.push(delay.as_secs() / 60);
    }
    let expected = [5, 10, 20, 40, 80, 160, 320, 360, 360];
    for (delay, expected) in delays.iter().zip(expected) {
        assert!(delay * 10 >= expected * 8 - 10, "{delays:?}");
        assert!(delay * 10 <= expected * 12, "{delays:?}");
    }

    server.set(Reply::text(dozen()));
    assert!(refresher.refresh_due(Trigger::Schedule).await[0].is_ok());
    assert!(house.knows("Alphafetcher"));
}

#[tokio::test]
async fn a_changed_url_is_due_immediately() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/old")).await;
    house.replace().await;
    house.refresher.set_sources(vec![spec(&server.url("/new"))]);
    assert_eq!(house.refresher.refresh_due(Trigger::Start).await.len(), 1);
    assert_eq!(server.seen()[1].path, "/new");
    assert!(house.refresher.refresh_due(Trigger::Start).await.is_empty());
}

#[tokio::test]
async fn rows_from_an_imported_file_stay_for_the_interval() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let path = house.path("all.txt");
    std::fs::write(&path, dozen()).unwrap();
    let from = spec(&path.display().to_string());
    let options = RefreshOptions::default();
    house
        .refresher
        .refresh_from(&from, Trigger::Command, options)
        .await
        .unwrap();
    assert!(house.refresher.refresh_due(Trigger::Start).await.is_empty());
    house.clock.advance(DAY * 30);
    assert_eq!(house.refresher.refresh_due(Trigger::Start).await.len(), 1);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn one_failing_source_does_not_hide_the_next() {
    let server = TestServer::with(|seen| match seen.path.as_str() {
        "/good" => Reply::text(dozen()),
        _ => Reply::status(404),
    });
    let other = SourceSpec {
        source: source("other"),
        ..spec(&server.url("/good"))
    };
    let sources = vec![spec(&server.url("/bad")), other];
    let house = House::with(sources, FetchLimits::default()).await;
    let results = house.refresher.refresh_due(Trigger::Schedule).await;
    assert!(matches!(
        results.as_slice(),
        [Err(RefreshError::Failed(_)), Ok(_)]
    ));
    assert!(house.knows("Alphafetcher"));
}

#[tokio::test]
async fn only_one_of_two_instances_refreshes() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let (_, neighbour) = house.neighbour().await;
    let (ours, theirs) = tokio::join!(
        house.refresher.refresh_due(Trigger::Start),
        neighbour.refresh_due(Trigger::Start),
    );
    let results: Vec<_> = ours.into_iter().chain(theirs).collect();
    let done = results.iter().filter(|result| result.is_ok()).count();
    let busy = |result: &&Result<_, _>| matches!(result, Err(RefreshError::Busy(..)));
    assert_eq!(done, 1, "{results:?}");
    assert_eq!(done + results.iter().filter(busy).count(), results.len());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_refresh_is_busy_while_another_runs() {
    let server = TestServer::new(Reply::Hang);
    let house = House::new(&server.url("/")).await;
    let (_, neighbour) = house.neighbour().await;
    let first = house.refresh();
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    eventually_async("a request has arrived", async || !server.seen().is_empty()).await;

    let wrd = Source::web_robots_db();
    for refresher in [&house.refresher, &neighbour] {
        let options = RefreshOptions {
            force: true,
            ..RefreshOptions::default()
        };
        let result = refresher.refresh(&wrd, Trigger::Admin, options).await;
        assert!(matches!(result, Err(RefreshError::Busy(..))), "{result:?}");
    }
}

//! Background jobs of the program.

use std::{future::Future, time::Duration};

use robot_detection::{
    refresh::{RefreshError, RefreshOptions, Refresher, Trigger},
    registry::{Pattern, PatternKind, Robot, Source},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::house::{DOZEN, House, START_MS, dozen, flat_file, knows};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

/// Runs the jobs of a refresher; `ended` waits for them.
pub(super) struct Running {
    stop: DropGuard,
    tracker: TaskTracker,
}

impl Running {
    pub(super) fn start(refresher: &Refresher) -> Self {
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        let (refresher, token) = (refresher.clone(), stop.clone());
        tracker.spawn(async move { refresher.run(token).await });
        tracker.close();
        Self {
            stop: stop.drop_guard(),
            tracker,
        }
    }

    pub(super) async fn end(self) {
        drop(self.stop);
        in_time(self.tracker.wait()).await;
    }
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("the jobs took more than half a minute")
}

#[tokio::test]
async fn a_start_refreshes_due_sources() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let running = Running::start(&house.refresher);
    eventually_async("the robot is known", async || house.knows("Alphafetcher")).await;
    running.end().await;
    let record = house
        .store
        .refreshes()
        .last(&Source::web_robots_db())
        .await
        .unwrap();
    assert_eq!(record.unwrap().trigger, "start");
}

#[tokio::test]
async fn a_refresh_by_another_instance_is_loaded() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    house.replace().await;
    let (detector, neighbour) = house.neighbour().await;
    let running = Running::start(&neighbour);
    eventually_async("both detect the robot", async || {
        knows(&detector, "Alphafetcher")
    })
    .await;

    server.set(Reply::text(flat_file(&DOZEN[1..])));
    house.replace().await;
    eventually_async("it is removed", async || !knows(&detector, "Alphafetcher")).await;
    assert!(knows(&detector, "Bravofetcher"));

    // As the command line does, without a refresher.
    let mut robot = Robot::new("ownfetcher", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "ownfetcher")];
    house.store.robots().add(&robot, START_MS).await.unwrap();
    eventually_async("both detect it", async || knows(&detector, "ownfetcher")).await;
    running.end().await;
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn shutdown_cancels_a_download_and_releases_the_lease() {
    let server = TestServer::new(Reply::Hang);
    let house = House::new(&server.url("/")).await;
    let running = Running::start(&house.refresher);
    eventually_async("a request has arrived", async || !server.seen().is_empty()).await;
    running.end().await;
    assert!(house.store.refreshes().list(9).await.unwrap().is_empty());

    // A stopped refresher refreshes no more; the next instance can do so immediately.
    assert!(matches!(
        house.refresh().await,
        Err(RefreshError::Stopped(_))
    ));
    server.set(Reply::text(dozen()));
    let (_, next) = house.neighbour().await;
    let wrd = Source::web_robots_db();
    let options = RefreshOptions::default();
    in_time(next.refresh(&wrd, Trigger::Admin, options))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_closed_database_does_not_delay_shutdown() {
    let server = TestServer::new(Reply::text(dozen()));
    let house = House::new(&server.url("/")).await;
    let running = Running::start(&house.refresher);
    eventually_async("the robot is known", async || house.knows("Alphafetcher")).await;
    house.store.close().await;
    running.end().await;
    assert!(house.knows("Alphafetcher"));
}

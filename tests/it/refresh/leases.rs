//! A refresh in a killed or frozen process, or with a wrong clock.

use std::{
    path::Path,
    process::{Child, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use robot_detection::{
    clock::Clock,
    refresh::{RefreshError, RefreshOptions, Trigger},
    registry::Source,
    store::Store,
};
use sqlx::{Connection as _, SqliteConnection};

use super::house::{DOZEN, House, START_MS, dozen, flat_file};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
    postgres,
    program::{self, command},
};

/// Process that refreshes from a server.
struct RefreshProcess {
    child: Child,
}

impl RefreshProcess {
    fn start(directory: &Path, database: &str, from: &str) -> Self {
        let child = command(directory)
            .args(arguments(database, from))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child }
    }

    fn signal(&self, name: &str) {
        let mut kill = std::process::Command::new("kill");
        kill.args([format!("-{name}"), self.child.id().to_string()]);
        assert!(kill.status().unwrap().success());
    }

    /// Waits for the process; returns whether it succeeded, and its standard error.
    fn end(self) -> (bool, String) {
        let output = self.child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), told)
    }
}

fn arguments<'a>(database: &'a str, from: &'a str) -> [&'a str; 6] {
    [
        "--database",
        database,
        "registry",
        "refresh",
        "--from",
        from,
    ]
}

async fn in_the_middle(server: &TestServer) {
    eventually_async("a request has arrived", async || !server.seen().is_empty()).await;
}

async fn assert_survives_kill(database: &str, directory: &Path) {
    let server = TestServer::new(Reply::Hang);
    let killed = RefreshProcess::start(directory, database, &server.url("/all.txt"));
    in_the_middle(&server).await;
    killed.signal("KILL");
    assert!(!killed.end().0);
    server.set(Reply::text(dozen()));
    let told = program::succeed(directory, &arguments(database, &server.url("/all.txt")));
    assert!(told.contains("12 added"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_refresh_blocks_no_other_with_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    assert_survives_kill("sqlite://a.db", directory.path()).await;
    let files = std::fs::read_dir(directory.path()).unwrap();
    let left = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("lease"));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_refresh_blocks_no_other_with_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let database = postgres::database_url().await;
    assert_survives_kill(&database, directory.path()).await;
}

async fn named_in_the_message(database: &str, directory: &Path) {
    let server = TestServer::new(Reply::Hang);
    let url = server.url("/all.txt");
    let first = RefreshProcess::start(directory, database, &url);
    in_the_middle(&server).await;
    let second = program::run(directory, &arguments(database, &url));
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success());
    let process = format!("is already running in process {} on ", first.child.id());
    assert!(told.contains(&process), "{told}");
    assert!(told.contains(" with a lease until "), "{told}");
    first.signal("KILL");
    first.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refreshing_instance_is_named_with_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    named_in_the_message("sqlite://a.db", directory.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refreshing_instance_is_named_with_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let database = postgres::database_url().await;
    named_in_the_message(&database, directory.path()).await;
}

#[tokio::test]
async fn an_instance_with_a_fast_clock_takes_no_lease() {
    let server = TestServer::new(Reply::Hang);
    let house = House::new(&server.url("/")).await;
    let refresh = house.refresh();
    tokio::pin!(refresh);
    assert!(futures_util::poll!(&mut refresh).is_pending());
    in_the_middle(&server).await;

    let ahead = Clock::manual(START_MS + 2 * 3_600_000);
    let (_, neighbour) = house.neighbour_with(ahead).await;
    let source = Source::web_robots_db();
    let options = RefreshOptions::default();
    let stolen = neighbour.refresh(&source, Trigger::Admin, options).await;
    assert!(matches!(stolen, Err(RefreshError::Busy(..))), "{stolen:?}");
}

/// Gate at which the first request waits until it is opened.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    asked: AtomicUsize,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let closed = self.is_open.lock().unwrap();
        let limit = Duration::from_mins(2);
        drop(self.opened.wait_timeout_while(closed, limit, |open| !*open));
    }
}

/// Serves twelve robots to the first request once the gate is open; all others get eleven.
fn gated(gate: &Arc<Gate>) -> TestServer {
    let gate = Arc::clone(gate);
    TestServer::with(move |_| {
        if gate.asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Reply::text(flat_file(&DOZEN[1..]));
        }
        gate.wait();
        Reply::text(dozen())
    })
}

/// Expires all leases.
async fn expire_leases(database: &str) {
    let sql = "UPDATE leases SET until_ms = 1";
    if database.starts_with("postgres") {
        let mut raw = sqlx::PgConnection::connect(database).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    } else {
        let mut raw = SqliteConnection::connect(database).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    }
}

async fn assert_survives_freeze(database: &str, directory: &Path) {
    let gate = Arc::<Gate>::default();
    let server = gated(&gate);
    let url = server.url("/all.txt");
    let frozen = RefreshProcess::start(directory, database, &url);
    let has_asked = async || gate.asked.load(Ordering::SeqCst) > 0;
    eventually_async("a request has arrived", has_asked).await;
    frozen.signal("STOP");
    expire_leases(database).await;
    program::succeed(directory, &arguments(database, &url));

    frozen.signal("CONT");
    gate.open();
    let (is_well, told) = frozen.end();
    assert!(!is_well, "{told}");
    assert!(told.contains("another process"), "{told}");
    let robots = Store::connect(database).await.unwrap();
    let source = Source::web_robots_db();
    let rows = robots.robots().list().await.unwrap();
    let count = rows.iter().filter(|row| row.robot.source == source).count();
    assert_eq!(count, DOZEN.len() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_refresh_publishes_nothing_with_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.db");
    assert_survives_freeze(&format!("sqlite://{}", file.display()), directory.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_refresh_publishes_nothing_with_postgres() {
    let directory = tempfile::tempdir().unwrap();
    let database = postgres::database_url().await;
    assert_survives_freeze(&database, directory.path()).await;
}

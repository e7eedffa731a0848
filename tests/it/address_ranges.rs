//! Published address ranges are fetched, stored and queried.

use std::{
    net::IpAddr,
    slice,
    sync::{Arc, Mutex},
    time::Duration,
};

use robot_detection::{
    clock::Clock,
    fetch::{FetchLimits, Fetcher},
    store::Store,
    verify::{Finding, PublishedRanges, Ranges, RangesOutcome, RangesRefresher, RangesState},
};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::support::{
    http::{Reply, TestServer},
    log, postgres,
};

/// Declares tests that run on SQLite and on PostgreSQL.
macro_rules! on_both_engines {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::House::on_sqlite()).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::House::on_postgres().await).await;
            })+
        }
    };
}

on_both_engines! {
    a_list_is_fetched_once_a_day_and_only_if_it_changed,
    a_restart_serves_the_last_good_copy,
    a_damaged_list_keeps_the_last_good_copy,
    failures_are_retried_after_growing_delays,
    only_one_of_two_instances_fetches,
    lists_removed_from_the_configuration_are_forgotten,
    a_chosen_list_that_lost_most_is_quarantined_for_three_days,
    a_chosen_list_and_a_robots_list_are_kept_separate,
    an_unused_chosen_list_is_forgotten,
}

const DAY: Duration = Duration::from_hours(24);
const LISTED: &str = "192.0.2.1";
const UNLISTED: &str = "198.51.100.1";
const JSON: &str = r#"{"creationTime": "2026-11-20T10:00:00", "prefixes": [
    {"ipv4Prefix": "192.0.2.0/24"}, {"ipv6Prefix": "2001:db8::/48"}]}"#;

/// A database and a clock, shared by instances.
struct House {
    database: String,
    clock: Clock,
    _directory: Option<TempDir>,
}

/// One instance of the program.
struct Instance {
    store: Store,
    ranges: Ranges,
    refresher: RangesRefresher,
}

impl House {
    fn on_sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ranges.db");
        Self {
            database: format!("sqlite://{}", file.display()),
            clock: Clock::manual(1_790_000_000_000),
            _directory: Some(directory),
        }
    }

    async fn on_postgres() -> Self {
        Self {
            database: postgres::database_url().await,
            clock: Clock::manual(1_790_000_000_000),
            _directory: None,
        }
    }

    async fn instance(&self) -> Instance {
        let store = Store::connect(&self.database).await.unwrap();
        let limits = FetchLimits {
            timeout: Duration::from_secs(20),
            ..RangesRefresher::fetch_limits()
        };
        let fetcher = Fetcher::new(limits).unwrap();
        let ranges = Ranges::new(self.clock.clone());
        let refresher = RangesRefresher::new(store.clone(), fetcher, ranges.clone());
        Instance {
            store,
            ranges,
            refresher,
        }
    }
}

impl House {
    /// Returns an instance with address lists that an administrator has chosen.
    async fn chosen(&self) -> Instance {
        let Instance { store, .. } = self.instance().await;
        let fetcher = Fetcher::new(RangesRefresher::chosen_fetch_limits()).unwrap();
        let ranges = Ranges::new(self.clock.clone());
        let refresher = RangesRefresher::for_chosen_lists(store.clone(), fetcher, ranges.clone());
        Instance {
            store,
            ranges,
            refresher,
        }
    }
}

impl Instance {
    /// Refreshes one list; returns `None` if the refresh was not due.
    async fn refresh(&self, url: &str) -> Option<RangesOutcome> {
        self.refresh_with(url, false).await
    }

    async fn refresh_with(&self, url: &str, force: bool) -> Option<RangesOutcome> {
        let reports = self.refresher.refresh(&[url.to_owned()], force).await;
        assert!(reports.iter().all(|report| report.url == url));
        reports.into_iter().map(|report| report.outcome).next()
    }

    /// Refreshes one list, expecting a failure; returns the reason.
    async fn fail(&self, url: &str) -> String {
        match self.refresh(url).await {
            Some(RangesOutcome::Failed(reason)) => reason,
            other => panic!("expected a failure, got {other:?}"),
        }
    }

    fn contains(&self, url: &str, address: &str) -> Option<bool> {
        self.ranges.contains(url, address.parse().unwrap())
    }

    fn state(&self) -> RangesState {
        let states = self.refresher.states();
        assert_eq!(states.len(), 1);
        states.into_iter().next().unwrap()
    }
}

fn list() -> Reply {
    Reply::typed("application/json", JSON).with("ETag", "\"v1\"")
}

/// Serves the list, and 304 to clients that have a current copy.
fn server() -> TestServer {
    TestServer::with(|seen| match seen.header("if-none-match") {
        Some("\"v1\"") => Reply::status(304),
        _ => list(),
    })
}

async fn a_list_is_fetched_once_a_day_and_only_if_it_changed(house: House) {
    let server = server();
    let url = server.url("/ips.json");
    let instance = house.instance().await;
    assert_eq!(instance.contains(&url, LISTED), None);
    let began_ms = house.clock.now_ms();
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    assert_eq!(instance.contains(&url, LISTED), Some(true));
    assert_eq!(instance.contains(&url, UNLISTED), Some(false));
    assert_eq!(instance.refresh(&url).await, None);
    house.clock.advance(DAY);
    let reports = instance
        .refresher
        .refresh(slice::from_ref(&url), false)
        .await;
    assert_eq!(reports[0].outcome, RangesOutcome::Unchanged);
    assert_eq!(
        (reports[0].prefixes, reports[0].age),
        (2, Some(Duration::ZERO))
    );
    let state = instance.state();
    assert_eq!(state.created.as_deref(), Some("2026-11-20"));
    assert_eq!(state.fetched_ms, Some(began_ms));
    assert_eq!(state.checked_ms, Some(house.clock.now_ms()));
    assert_eq!((state.error, state.is_stale), (None, false));
    // A forced refresh sends no validators.
    assert_eq!(
        instance.refresh_with(&url, true).await,
        Some(RangesOutcome::Unchanged)
    );
    let conditions: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| seen.header("if-none-match").map(str::to_owned))
        .collect();
    assert_eq!(conditions, [None, Some("\"v1\"".to_owned()), None]);
}

async fn a_restart_serves_the_last_good_copy(house: House) {
    let server = server();
    let url = server.url("/ips.json");
    let first = house.instance().await;
    first.refresh(&url).await;
    first.store.close().await;
    drop(first);
    drop(server);
    let second = house.instance().await;
    assert_eq!(second.contains(&url, LISTED), None);
    second.refresher.load().await.unwrap();
    assert_eq!(second.contains(&url, LISTED), Some(true));
    assert_eq!(second.contains(&url, UNLISTED), Some(false));
    let Finding::Confirmed(evidence) = second.ranges.find(&url, LISTED.parse::<IpAddr>().unwrap())
    else {
        panic!("the list contains the address");
    };
    let expected = format!(
        "192.0.2.1 is within 192.0.2.0/24, listed in {url} (of 2026-11-20, checked just now)"
    );
    assert_eq!(evidence.text, expected);
    // The server is unreachable: the copy stays.
    house.clock.advance(DAY);
    let reason = second.fail(&url).await;
    assert!(reason.starts_with("cannot connect to "), "{reason}");
    assert_eq!(second.contains(&url, UNLISTED), Some(false));
}

async fn a_damaged_list_keeps_the_last_good_copy(house: House) {
    log::keep();
    let server = server();
    let url = server.url("/ips.json");
    let instance = house.instance().await;
    instance.refresh(&url).await;
    let cut = JSON.get(..100).unwrap();
    for (reply, reason) in [
        (Reply::text("<html>Sorry</html>"), "is a web page"),
        (Reply::text(cut), "is damaged JSON"),
        (Reply::text(r#"{"prefixes": []}"#), "lists no addresses"),
        (Reply::text("0.0.0.0/0"), "document lists 0.0.0.0/0"),
        (Reply::text("192.0.2.0/24\nx"), "1 of 2 entries"),
        (
            Reply::text(" ".repeat(4 * 1024 * 1024 + 1)),
            "larger than the maximum of 4194304 bytes",
        ),
        (Reply::status(500), "returned 500"),
        (Reply::status(404), "returned 404"),
        (Reply::Reset, "was reset"),
        (
            Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n192.0.2.0/24\n".to_vec()),
            "truncated",
        ),
    ] {
        server.set(reply);
        house.clock.advance(DAY);
        let told = instance.fail(&url).await;
        assert!(told.contains(reason) && told.contains(&url), "{told}");
        let state = instance.state();
        assert_eq!((state.prefixes, state.is_stale), (2, false));
        assert_eq!(state.error, Some(told));
        assert_eq!(instance.contains(&url, LISTED), Some(true));
        assert_eq!(instance.contains(&url, UNLISTED), Some(false));
    }
    assert_eq!(
        log::lines_with(&format!("{url}; keeping the previous 2")).len(),
        10
    );
    // The stored copy is used as the last good copy too, until it expires.
    let other = house.instance().await;
    other.refresher.load().await.unwrap();
    assert_eq!(other.contains(&url, UNLISTED), Some(false));
    house.clock.advance(20 * DAY);
    assert_eq!(other.contains(&url, UNLISTED), None);
    assert_eq!(other.contains(&url, LISTED), Some(true));
    server.set(list());
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::Unchanged));
    assert_eq!(instance.state().error, None);
    assert_eq!(instance.contains(&url, UNLISTED), Some(false));
}

async fn failures_are_retried_after_growing_delays(house: House) {
    let server = TestServer::new(Reply::status(503));
    let url = server.url("/ips.json");
    let instance = house.instance().await;
    for minutes in [5, 10, 20] {
        instance.fail(&url).await;
        assert_eq!(
            instance.contains(&url, UNLISTED),
            None,
            "without a copy no client is an impostor"
        );
        house.clock.advance(Duration::from_mins(minutes - 1));
        assert_eq!(instance.refresh(&url).await, None);
        house.clock.advance(Duration::from_mins(1));
    }
    server.set(list());
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    assert_eq!(instance.state().error, None);
    assert_eq!(server.seen().len(), 4);
}

async fn only_one_of_two_instances_fetches(house: House) {
    let server = server();
    let url = server.url("/ips.json");
    let (one, two) = (house.instance().await, house.instance().await);
    let (first, second) = tokio::join!(one.refresh(&url), two.refresh(&url));
    assert_eq!(server.seen().len(), 1, "{first:?} {second:?}");
    assert!(first == Some(RangesOutcome::New) || second == Some(RangesOutcome::New));
    // The other instance reads the list from the store.
    for instance in [&one, &two] {
        assert_eq!(instance.refresh(&url).await, None);
        assert_eq!(instance.contains(&url, LISTED), Some(true));
    }
    house.clock.advance(DAY);
    let name = format!("ranges:{url}");
    let lease = one
        .store
        .leases()
        .acquire(&name, Duration::from_mins(5))
        .await;
    let lease = lease.unwrap();
    assert_eq!(one.refresh(&url).await, Some(RangesOutcome::Busy));
    assert_eq!(server.seen().len(), 1);
    lease.release().await;
    assert_eq!(one.refresh(&url).await, Some(RangesOutcome::Unchanged));
}

async fn lists_removed_from_the_configuration_are_forgotten(house: House) {
    let server = server();
    let (kept, gone) = (server.url("/a.json"), server.url("/b.json"));
    let instance = house.instance().await;
    let urls = [kept.clone(), gone.clone(), kept.clone()];
    let reports = instance.refresher.refresh(&urls, false).await;
    assert_eq!(reports.len(), 2);
    instance
        .refresher
        .keep_only(slice::from_ref(&kept))
        .await
        .unwrap();
    assert_eq!(instance.contains(&gone, LISTED), None);
    assert_eq!(instance.state().url, kept);
    let stored = instance.store.ranges().states().await.unwrap();
    assert_eq!(stored.len(), 1);
}

#[tokio::test]
async fn each_list_is_fetched_from_its_own_url() {
    let server = TestServer::with(|seen| {
        let number = seen.path.trim_start_matches("/list/");
        Reply::text(format!("192.0.2.{number}\n"))
    });
    let urls: Vec<_> = (0..40)
        .map(|number| server.url(&format!("/list/{number}")))
        .collect();
    let instance = House::on_sqlite().instance().await;
    let reports = instance.refresher.refresh(&urls, false).await;
    assert_eq!(reports.len(), 40);
    assert!(
        reports
            .iter()
            .all(|report| report.outcome == RangesOutcome::New)
    );
    for (number, url) in urls.iter().enumerate() {
        assert_eq!(
            instance.contains(url, &format!("192.0.2.{number}")),
            Some(true)
        );
        assert_eq!(instance.contains(url, "192.0.2.250"), Some(false));
    }
}

#[tokio::test]
async fn a_fragment_selects_a_part_and_is_not_sent() {
    let server = TestServer::new(Reply::text(
        r#"{"hooks": ["192.0.2.0/24"], "rented": ["198.51.100.0/24"]}"#,
    ));
    let url = server.url("/meta#hooks");
    let house = House::on_sqlite();
    let instance = house.instance().await;
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    assert_eq!(server.seen()[0].path, "/meta");
    assert_eq!(instance.contains(&url, LISTED), Some(true));
    assert_eq!(instance.contains(&url, UNLISTED), Some(false));
}

#[tokio::test]
async fn only_http_urls_are_fetched() {
    let house = House::on_sqlite();
    let instance = house.instance().await;
    for url in ["file:///etc/hosts", "ftp://h/ips.json", "ips.json"] {
        let reason = instance.fail(url).await;
        assert!(reason.contains("cannot fetch"), "{reason}");
    }
}

#[tokio::test]
async fn an_instance_without_its_database_serves_from_memory() {
    let server = server();
    let url = server.url("/ips.json");
    let house = House::on_sqlite();
    let instance = house.instance().await;
    instance.store.close().await;
    assert!(instance.refresher.load().await.is_err());
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    assert_eq!(instance.contains(&url, LISTED), Some(true));
    assert_eq!(instance.refresh(&url).await, None);
}

#[tokio::test]
async fn a_copy_is_never_stored_with_the_etag_of_another() {
    let version = Arc::new(Mutex::new(("\"v1\"", "192.0.2.0/24")));
    let served = Arc::clone(&version);
    let server = TestServer::with(move |seen| {
        let (etag, list) = *served.lock().unwrap();
        match seen.header("if-none-match") {
            Some(known) if known == etag => Reply::status(304),
            _ => Reply::text(list).with("ETag", etag),
        }
    });
    let url = server.url("/ips.txt");
    let house = House::on_sqlite();
    let instance = house.instance().await;
    instance.refresh(&url).await;
    *version.lock().unwrap() = ("\"v2\"", "198.51.100.0/24");
    house.clock.advance(DAY);
    // The second list cannot be saved; a day later the server reports it as not modified.
    execute(&house.database, "ALTER TABLE address_ranges RENAME TO away").await;
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    execute(&house.database, "ALTER TABLE away RENAME TO address_ranges").await;
    house.clock.advance(DAY);
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::Unchanged));
    let restarted = house.instance().await;
    restarted.refresher.load().await.unwrap();
    assert_eq!(restarted.contains(&url, UNLISTED), Some(true));
    assert_eq!(restarted.contains(&url, LISTED), Some(false));
}

async fn execute(database: &str, sql: &'static str) {
    let options: SqliteConnectOptions = database.parse().unwrap();
    let mut connection: SqliteConnection = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn a_chosen_list_that_lost_most_is_quarantined_for_three_days(house: House) {
    let lines = |count: u8| {
        let lines = (0..count).map(|number| format!("192.0.2.{number}\n"));
        Reply::text(lines.collect::<String>())
    };
    let server = TestServer::new(lines(100));
    let url = server.url("/list.txt");
    let instance = house.chosen().await;
    assert_eq!(instance.refresh(&url).await, Some(RangesOutcome::New));
    server.set(lines(3));
    house.clock.advance(DAY);
    let reason = instance.fail(&url).await;
    assert!(
        reason.starts_with("the list has 3 address ranges, down from 100; it may be truncated"),
        "{reason}"
    );
    // The list is still there after a restart.
    let again = house.chosen().await;
    again.refresher.load().await.unwrap();
    let last = "192.0.2.99".parse().unwrap();
    assert!(again.ranges.list(&url).contains(last));
    house.clock.advance(DAY);
    again.fail(&url).await;
    house.clock.advance(DAY);
    assert_eq!(again.refresh(&url).await, Some(RangesOutcome::New));
    assert!(!again.ranges.list(&url).contains(last));
    // A list that grows, or shrinks by less than the limit, is accepted immediately.
    for count in [200, 110] {
        server.set(lines(count));
        house.clock.advance(DAY);
        assert_eq!(again.refresh(&url).await, Some(RangesOutcome::New));
    }
}

async fn an_unused_chosen_list_is_forgotten(house: House) {
    let server = TestServer::new(Reply::text("192.0.2.0/24\n"));
    let (kept, gone) = (server.url("/a.txt"), server.url("/b.txt"));
    let (one, other) = (house.chosen().await, house.chosen().await);
    let stored = async || {
        one.refresher
            .keep_only(slice::from_ref(&kept))
            .await
            .unwrap();
        one.store.ranges().states().await.unwrap().len()
    };
    for url in [&kept, &gone] {
        one.refresh(url).await;
    }
    house.clock.advance(36 * DAY);
    assert_eq!(stored().await, 2);
    assert_eq!(one.contains(&gone, LISTED), None);
    // The other instance still has the list in its configuration.
    assert_eq!(other.refresh(&gone).await, Some(RangesOutcome::Unchanged));
    house.clock.advance(36 * DAY);
    assert_eq!(stored().await, 2);
    house.clock.advance(DAY);
    assert_eq!(stored().await, 1);
    // Chosen lists never expire.
    house.clock.advance(100 * DAY);
    assert_eq!(stored().await, 1);
}

async fn a_chosen_list_and_a_robots_list_are_kept_separate(house: House) {
    let server = TestServer::new(Reply::text("10.0.0.0/8\n127.0.0.0/8\n192.0.2.0/24\n"));
    let url = server.url("/list.txt");
    let (robots, chosen) = (house.instance().await, house.chosen().await);
    let reason = robots.fail(&url).await;
    assert!(
        reason.contains("2 of 3 entries are not public addresses"),
        "{reason}"
    );
    assert_eq!(chosen.refresh(&url).await, Some(RangesOutcome::New));
    for refresher in [&robots.refresher, &chosen.refresher] {
        refresher.load().await.unwrap();
        assert_eq!(refresher.states().len(), 1);
    }
    let address = "10.0.0.1".parse().unwrap();
    assert!(
        !robots.ranges.list(&url).contains(address) && chosen.ranges.list(&url).contains(address)
    );
    // Forgetting the lists of one refresher keeps those of the other.
    robots.refresher.keep_only(&[]).await.unwrap();
    let restarted = house.chosen().await;
    restarted.refresher.load().await.unwrap();
    assert!(restarted.ranges.list(&url).contains(address));
}

#[tokio::test]
async fn a_file_is_read_when_it_changes_and_the_built_in_list_applies_until_then() {
    let house = House::on_sqlite();
    let instance = house.chosen().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("list.txt");
    let url = path.display().to_string();
    let built_in = PublishedRanges::new(["198.51.100.0/24".parse().unwrap()]);
    instance.ranges.put_built_in(&url, built_in);
    let lists = |address: &str| {
        instance
            .ranges
            .list(&url)
            .contains(address.parse().unwrap())
    };
    let long_ago = std::time::UNIX_EPOCH + Duration::from_hours(24 * 365);
    let age = || {
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(long_ago).unwrap();
    };
    let read = async || instance.refresher.read_files(slice::from_ref(&url)).await;
    read().await;
    assert!(lists(UNLISTED) && !lists(LISTED));
    assert!(instance.state().error.unwrap().contains("cannot read"));
    assert!(!instance.state().has_copy());
    std::fs::write(&path, "192.0.2.0/24\n").unwrap();
    age();
    read().await;
    assert!(lists(LISTED) && !lists(UNLISTED));
    let before = instance.state();
    house.clock.advance(DAY);
    read().await;
    assert_eq!(
        instance.state().fetched_ms,
        before.fetched_ms,
        "an unchanged file is not read again"
    );
    std::fs::write(&path, "198.51.100.0/24\n").unwrap();
    read().await;
    assert!(lists(UNLISTED) && !lists(LISTED));
    std::fs::remove_file(&path).unwrap();
    read().await;
    assert!(lists(UNLISTED) && instance.state().error.is_some());
    // A list from a local file is not stored for other instances.
    assert!(instance.store.ranges().states().await.unwrap().is_empty());
}

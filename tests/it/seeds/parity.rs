//! The original package, row by row: its behaviour, and ours.

mod functions;
mod keys;

use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use robot_detection::{
    app::{RobotDetection, RobotDetectionBuilder},
    clock::Clock,
    refresh::{RefreshError, RefreshOptions, Trigger},
    registry::Source,
    store::{RefreshOutcome, RefreshRecord},
};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    program::{FIREFOX, GOOGLEBOT, request},
};

/// Next response of the source.
#[derive(Clone, Debug)]
enum Serve {
    File(String),
    Status(u16),
    Html,
    Empty,
    Truncated,
    Loop,
    Never,
}

type Script = Arc<Mutex<Serve>>;

/// A site with robot detection and its own source.
struct Site {
    robots: RobotDetection,
    script: Script,
    addr: SocketAddr,
    clock: Clock,
    _directory: tempfile::TempDir,
}

const DAY: Duration = Duration::from_hours(24);

/// Returns a flat file of invented, numbered robots.
fn file(numbers: impl IntoIterator<Item = u32>) -> String {
    numbers.into_iter().fold(String::new(), |mut text, n| {
        let _ = write!(
            text,
            "robot-id: walker{n}\nrobot-name: The Walker Number {n}\n\
             robot-details-url: http://walker{n}.example/\n\
             robot-useragent: WalkerBot{n}x/1.0 (of the hills)\n\n"
        );
        text
    })
}

async fn site(
    start: Serve,
    settings: impl FnOnce(RobotDetectionBuilder) -> RobotDetectionBuilder,
) -> Site {
    let directory = tempfile::tempdir().unwrap();
    let script = Arc::new(Mutex::new(start));
    let source = listen(
        Router::new()
            .fallback(source)
            .with_state(Arc::clone(&script)),
    )
    .await;
    let clock = Clock::manual(1_800_000_000_000);
    let builder = RobotDetection::builder()
        .database_url(format!("sqlite://{}/robots.db", directory.path().display()))
        .web_robots_db(format!("http://{source}/all.txt"))
        .bundled_registry(false)
        .unlisted_robots(false)
        .clock(clock.clone());
    let robots = settings(builder).build().await.unwrap();
    let application = Router::new()
        .route("/members-only-stuff/{page}", get(async || "members only"))
        .route_layer(middleware::from_fn(login))
        .route("/robot-heaven/", get(async || "heaven"))
        .route("/robot-heavenly", get(async || "not heaven"))
        .nest_service(
            "/robot-detection/admin",
            robots.admin_router_without_login(),
        )
        .fallback(async || "elsewhere")
        .layer(robots.layer());
    Site {
        addr: listen(application).await,
        robots,
        script,
        clock,
        _directory: directory,
    }
}

/// The application's own login, which rejects every request.
async fn login(_: Request, _: Next) -> Response {
    StatusCode::UNAUTHORIZED.into_response()
}

async fn source(State(script): State<Script>, request: Request) -> Response {
    let serve = script.lock().unwrap().clone();
    let text = [(header::CONTENT_TYPE, "text/plain")];
    match serve {
        Serve::File(_) if request.headers().contains_key(header::IF_NONE_MATCH) => {
            StatusCode::NOT_MODIFIED.into_response()
        }
        Serve::File(file) => (text, file).into_response(),
        Serve::Status(status) => {
            (StatusCode::from_u16(status).unwrap(), text, file(0..50)).into_response()
        }
        Serve::Html => (
            [(header::CONTENT_TYPE, "text/html")],
            "<html><body>gone</body></html>",
        )
            .into_response(),
        Serve::Empty => (text, "").into_response(),
        Serve::Truncated => (text, file(0..8)).into_response(),
        Serve::Loop => (
            StatusCode::FOUND,
            [(header::LOCATION, request.uri().to_string())],
        )
            .into_response(),
        Serve::Never => std::future::pending().await,
    }
}

async fn listen(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
    addr
}

impl Site {
    fn get(&self, path: &str, user_agent: &str) -> u16 {
        request(self.addr, "GET", path, &[("User-Agent", user_agent)]).status
    }

    fn admin(&self, path: &str) -> String {
        let path = format!("/robot-detection/admin/{path}");
        request(self.addr, "GET", &path, &[("User-Agent", FIREFOX)]).text()
    }

    fn serve(&self, next: Serve) {
        *self.script.lock().unwrap() = next;
    }

    async fn refresh(&self) -> Result<RefreshRecord, String> {
        let source = Source::web_robots_db();
        let refresher = self.robots.refresher();
        // The first refresh is recorded in the history before its lease is released.
        eventually_async("no other refresh is under way", async || {
            let options = RefreshOptions::default();
            let refreshed = refresher.refresh(&source, Trigger::Command, options);
            match refreshed.await {
                Err(RefreshError::Busy(..)) => None,
                result => Some(result.map_err(|error| error.to_string())),
            }
        })
        .await
    }

    /// Waits until the first refresh is recorded in the history.
    async fn started(&self) {
        let refreshes = self.robots.store().refreshes();
        eventually_async("the refresh of the start is recorded", async || {
            !refreshes.list(1).await.unwrap().is_empty()
        })
        .await;
        assert!(!self.robots.detector().load().robots().is_empty());
    }

    fn known(&self) -> Vec<String> {
        let detector = self.robots.detector().load();
        let mut ids = detector
            .robots()
            .iter()
            .map(|robot| robot.id.clone())
            .collect::<Vec<_>>();
        ids.sort();
        ids
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_01_useragents_and_names_are_stored_completely() {
    let site = site(Serve::File(file(0..20)), |builder| builder).await;
    site.started().await;
    let row = site
        .robots
        .store()
        .robots()
        .by_id("walker7")
        .await
        .unwrap()
        .remove(0);
    assert_eq!(row.robot.name, "The Walker Number 7");
    assert_eq!(row.robot.useragent, "WalkerBot7x/1.0 (of the hills)");
    assert_eq!(
        row.robot.details_url.as_deref(),
        Some("http://walker7.example/")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_02_the_last_record_is_kept_without_a_final_newline() {
    let site = site(Serve::File(file(0..20).trim_end().to_owned()), |builder| {
        builder
    })
    .await;
    site.started().await;
    assert_eq!(site.known().len(), 20);
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot19x/2"), 302);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_03_an_invalid_record_is_skipped_counted_and_shown() {
    let long = format!("LongWalker/1.0 ({})", "w".repeat(90));
    assert_eq!(long.len(), 107);
    let bad = format!(
        "robot-id: long\nrobot-name: Long\nrobot-useragent: {long}\n\n\
         robot-id: nameless\nrobot-name:\nrobot-useragent: NamelessBot/1.0\n\n\
         robot-id: twin\nrobot-useragent: TwinBot/1\n\nrobot-id: twin \nrobot-useragent: TwinBot/2\n\n\
         robot-name: no id\n\n"
    );
    let site = site(Serve::File(format!("{bad}{}", file(0..20))), |builder| {
        builder
    })
    .await;
    site.started().await;
    let store = site.robots.store();
    assert_eq!(
        store.robots().by_id("long").await.unwrap()[0]
            .robot
            .useragent,
        long
    );
    assert_eq!(
        store.robots().by_id("nameless").await.unwrap()[0]
            .robot
            .name,
        "nameless"
    );
    assert_eq!(site.known().len(), 23);
    let record = store.refreshes().list(1).await.unwrap().remove(0);
    assert!(record.skipped >= 2, "{record:?}");
    assert!(
        record
            .problems
            .iter()
            .any(|problem| problem.contains("twin")),
        "{record:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_04_a_failed_download_leaves_the_rows_unchanged() {
    let site = site(Serve::File(file(0..30)), |builder| {
        builder.fetch_limits(robot_detection::fetch::FetchLimits {
            timeout: Duration::from_millis(500),
            ..Default::default()
        })
    })
    .await;
    site.started().await;
    for bad in [
        Serve::Status(404),
        Serve::Status(500),
        Serve::Html,
        Serve::Empty,
        Serve::Truncated,
        Serve::Loop,
        Serve::Never,
    ] {
        site.serve(bad.clone());
        assert!(site.refresh().await.is_err(), "{bad:?}");
        assert_eq!(site.known().len(), 30, "{bad:?}");
        assert_eq!(
            site.get("/members-only-stuff/a", "WalkerBot3x/1"),
            302,
            "{bad:?}"
        );
    }
    site.serve(Serve::Status(304));
    assert!(
        site.refresh()
            .await
            .map_or(true, |record| record.outcome == RefreshOutcome::NotModified)
    );
    assert_eq!(site.known().len(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_05_missing_robots_are_removed() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    let changed = file(3..46).replace("The Walker Number 5\n", "Five\n");
    site.serve(Serve::File(changed));
    let record = site.refresh().await.unwrap();
    assert_eq!((record.added, record.removed, record.changed), (16, 3, 1));
    assert!(
        !site
            .robots
            .store()
            .robots()
            .exists("walker0")
            .await
            .unwrap()
    );
    assert!(
        site.robots
            .store()
            .robots()
            .exists("walker45")
            .await
            .unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_06_a_refresh_takes_effect_without_a_restart() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot31x/1"), 401);
    site.serve(Serve::File(file(1..40)));
    site.refresh().await.unwrap();
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot31x/1"), 302);
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot0x/1"), 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_07_any_user_agent_with_the_robots_name_matches() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    for (user_agent, status) in [
        ("WalkerBot3x/1.0 (of the hills)", 302),
        ("walkerbot3X/7.1", 302),
        (
            "Mozilla/5.0 (compatible; WalkerBot3x/2.0; +http://walker3.example/)",
            302,
        ),
        ("AWalkerBot3x/1.0", 401),
        ("WalkerBot3xy/1.0", 401),
        (FIREFOX, 401),
    ] {
        assert_eq!(
            site.get("/members-only-stuff/a", user_agent),
            status,
            "{user_agent}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_08_the_age_decides_and_an_empty_table_refreshes_immediately() {
    let site = site(Serve::File(file(0..30)), |builder| {
        builder.refresh_interval_days(7)
    })
    .await;
    site.started().await;
    let refresher = site.robots.refresher();
    site.clock.advance(6 * DAY);
    assert!(refresher.refresh_due(Trigger::Schedule).await.is_empty());
    site.serve(Serve::File(file(1..40)));
    site.clock.advance(2 * DAY);
    assert_eq!(refresher.refresh_due(Trigger::Schedule).await.len(), 1);
    assert!(
        site.robots
            .store()
            .robots()
            .exists("walker39")
            .await
            .unwrap()
    );
    assert!(refresher.refresh_due(Trigger::Schedule).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_09_get_and_head_are_redirected_and_other_methods_pass() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    for (method, status) in [
        ("GET", 302),
        ("HEAD", 302),
        ("POST", 405),
        ("PUT", 405),
        ("DELETE", 405),
    ] {
        let headers = [("User-Agent", "WalkerBot3x/1")];
        let answer = request(site.addr, method, "/members-only-stuff/a", &headers);
        let status = if status == 405 && answer.status == 401 {
            401
        } else {
            status
        };
        assert_eq!(answer.status, status, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_10_patterns_are_plain_globs_on_the_decoded_path() {
    let site = site(Serve::File(file(0..30)), |builder| {
        builder.filter_patterns([" /a b/*.html ,, /x?z , /[0-9]*/end, /lit\\*", "/list/*"])
    })
    .await;
    site.started().await;
    for (path, is_filtered) in [
        ("/a%20b/c/d.html", true),
        ("/a%20b/c/d.htm", false),
        ("/xyz", true),
        ("/xyyz", false),
        ("/7/and/the/end", true),
        ("/n/the/end", false),
        ("/lit*", true),
        ("/literal", false),
        ("/list/1", true),
        ("/list", false),
    ] {
        let redirected = site.get(path, "WalkerBot3x/1") == 302;
        assert_eq!(redirected, is_filtered, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_11_the_loop_protection_compares_segments_and_own_hosts() {
    let site = site(Serve::File(file(0..30)), |builder| {
        builder.filter_patterns(["/*"])
    })
    .await;
    site.started().await;
    assert_eq!(site.get("/robot-heaven/", "WalkerBot3x/1"), 200);
    assert_eq!(site.get("/robot-heavenly", "WalkerBot3x/1"), 302);
    assert_eq!(site.get("/robots.txt", "WalkerBot3x/1"), 200);

    let policy = robot_detection::policy::Policy::builder()
        .filter_patterns(["/*"])
        .redirect_url("http://example.org/robot-heaven/")
        .build()
        .unwrap();
    site.robots.policy().replace(policy);
    let get = |host: &str| {
        let headers = [("User-Agent", "WalkerBot3x/1"), ("Host", host)];
        request(site.addr, "GET", "/robot-heaven/", &headers).status
    };
    assert_eq!(get("example.org"), 200);
    assert_eq!(get("other.example"), 302);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_12_redirects_are_302_and_are_not_cached() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    let answer = request(
        site.addr,
        "GET",
        "/members-only-stuff/a",
        &[("User-Agent", "WalkerBot3x/1")],
    );
    assert_eq!(answer.status, 302);
    assert_eq!(answer.header("location"), "/robot-heaven/");
    assert_eq!(answer.header("vary"), "User-Agent");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_13_the_layer_comes_before_the_applications_login() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    assert_eq!(site.get("/members-only-stuff/a", FIREFOX), 401);
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot3x/1"), 302);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_14_without_patterns_nothing_is_filtered_and_the_admin_page_shows_it() {
    let site = site(Serve::File(file(0..30)), |builder| {
        builder.filter_patterns([""; 0])
    })
    .await;
    site.started().await;
    assert!(site.robots.policy().load().is_disabled());
    assert_eq!(site.get("/members-only-stuff/a", "WalkerBot3x/1"), 401);
    assert!(site.admin("").contains("Nothing is filtered"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_15_the_admin_page_lists_robots_and_refreshes_by_post_only() {
    let hostile = "robot-id: hostile\nrobot-name: <script>alert(1)</script>\n\
                   robot-details-url: javascript:alert(1)\nrobot-useragent: HostileBot/1\n\n";
    let site = site(
        Serve::File(format!("{hostile}{}", file(0..30))),
        |builder| builder,
    )
    .await;
    site.started().await;
    let robots = site.admin("registry");
    assert!(robots.contains("The Walker Number 7"));
    assert!(
        !robots.contains("<script>alert(1)") && !robots.contains("javascript:"),
        "{robots}"
    );
    let before = site
        .robots
        .store()
        .refreshes()
        .list(10)
        .await
        .unwrap()
        .len();
    site.admin("refresh");
    assert_eq!(
        site.robots
            .store()
            .refreshes()
            .list(10)
            .await
            .unwrap()
            .len(),
        before,
        "a GET has no effect"
    );
    assert!(site.admin("sources").contains("method=\"post\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_16_a_failed_refresh_is_shown_until_the_next_success() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    let source = Source::web_robots_db();
    let standing = async || {
        site.robots
            .refresher()
            .standing_failure(&source)
            .await
            .unwrap()
    };
    assert!(standing().await.is_none());
    site.serve(Serve::Html);
    site.refresh().await.unwrap_err();
    assert!(standing().await.unwrap().error.contains("web page"));
    assert!(site.admin("").contains("web page"));
    site.serve(Serve::File(file(0..31)));
    site.refresh().await.unwrap();
    assert!(standing().await.is_none());
    assert!(!site.admin("").contains("role=\"alert\""));
}

#[test]
fn row_17_the_parameters_have_their_old_and_new_names() {
    use robot_detection::config::Loader;
    for text in [
        "WebRobotsDB = 'a.txt'\nFilterPattern = '/a/*,/b/*'\nRedirectURL = '/h/'\nRefreshIntervalDays = 3",
        "web_robots_db = 'a.txt'\nfilter_pattern = '/a/*,/b/*'\nredirect_url = '/h/'\nrefresh_interval_days = 3",
    ] {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        let settings = &loaded.settings().general;
        assert_eq!(&*settings.web_robots_db, "a.txt");
        assert_eq!(settings.filter_patterns, ["/a/*", "/b/*"]);
        assert_eq!(settings.redirect_url, "/h/");
        assert_eq!(settings.refresh_interval_days, 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_18_the_target_is_a_page_a_script_or_another_host() {
    let site = site(Serve::File(file(0..30)), |builder| builder).await;
    site.started().await;
    for target in [
        "/robot-heaven/",
        "/script.php?for=robots",
        "https://heaven.example/pages/",
    ] {
        let policy = robot_detection::policy::Policy::builder()
            .redirect_url(target)
            .build()
            .unwrap();
        site.robots.policy().replace(policy);
        let headers = [("User-Agent", "WalkerBot3x/1")];
        let answer = request(site.addr, "GET", "/members-only-stuff/a", &headers);
        assert_eq!(answer.header("location"), target);
    }
    assert_eq!(
        site.get("/members-only-stuff/a", GOOGLEBOT),
        401,
        "the robot is not in this registry"
    );
}

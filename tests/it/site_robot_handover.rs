//! `site-robot run` next to a running server: handed over, or admitted by the server.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    process::Stdio,
    sync::{Arc, OnceLock},
};

use robot_detection::store::Store;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::site_robot::site::{Page, Site};
use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
    postgres,
    program::{self, FIREFOX, GOOGLEBOT, Server, eventually, request},
};

const SQLITE: &str = "sqlite://robot.db";
const OWN: &str = "x-robot-detection-own";
const PAGES: usize = 37;

/// Starts a members' area of many pages.
fn members() -> TestServer {
    TestServer::with(move |seen| {
        let number = seen.path.strip_prefix("/members/");
        let Some(number) = number.and_then(|number| match number {
            "" => Some(0),
            number => number
                .parse::<usize>()
                .ok()
                .filter(|it| (1..PAGES).contains(it)),
        }) else {
            return Reply::status(404);
        };
        let all = (1..PAGES).map(|to| format!("<a href=/members/{to}>{to}</a> "));
        let all: String = all.filter(|_| number == 0).collect();
        let page = format!(
            "<title>Page {number}</title><p>The text of page {number} for members.</p>{all}"
        );
        Reply::typed("text/html", page)
    })
}

/// Starts a site of another owner.
fn foreign() -> TestServer {
    TestServer::with(|seen| match &*seen.path {
        "/robots.txt" => Reply::status(404),
        path => Reply::typed(
            "text/html",
            format!("<title>Foreign</title>Words of {path}."),
        ),
    })
}

fn write(directory: &Path, database: &str, more: &str) {
    let text = format!(
        "web_robots_db = ''\nfilter_pattern = '/members/*'\ndatabase.url = '{database}'\n{more}"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Serves a proxied members' area with heaven from the database, configured with its actual URL.
fn serve(directory: &Path, database: &str, upstream: &TestServer) -> Server {
    write(directory, database, "");
    let server = Server::start(directory, &["serve", "--upstream", &upstream.url("")]);
    let addr = server.addr;
    let settings = format!(
        "[heaven]\nsource = 'database'\nurl = 'http://{addr}'\n\
         [site_robot]\nstarting_points = 'http://{addr}/members/'\n"
    );
    write(directory, database, &settings);
    server.signal("HUP");
    eventually("the settings apply", || {
        let log = fs::read_to_string(directory.join("stderr.log")).unwrap();
        log.contains("reloaded sites")
    });
    server
}

/// Waits until the server announces that it accepts orders.
pub(crate) async fn wait_until_accepting(directory: &Path, database: &str) -> Store {
    let url = database.replace(
        "robot.db",
        &directory.join("robot.db").display().to_string(),
    );
    let store = Store::connect(&url).await.unwrap();
    eventually_async("a server accepts orders", async || {
        !store.orders().servers(now_ms()).await.unwrap().is_empty()
    })
    .await;
    store
}

fn now_ms() -> i64 {
    robot_detection::clock::Clock::system().now_ms()
}

/// Runs `site-robot`; returns exit code, standard output and standard error.
fn site_robot(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = program::command(directory)
        .arg("site-robot")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

fn ran(directory: &Path, arguments: &[&str]) -> (Value, String) {
    let (code, out, err) = site_robot(directory, arguments);
    assert_eq!(code, 0, "{out}{err}");
    (serde_json::from_str(&out).unwrap(), err)
}

/// Requests a members' page as a robot; returns status and redirect target.
fn sent(addr: SocketAddr, host: &str, path: &str) -> (u16, String) {
    let headers = [("User-Agent", GOOGLEBOT), ("Host", host)];
    let answer = request(addr, "GET", path, &headers);
    (answer.status, answer.header("location"))
}

/// Asserts that the upstream never saw the site robot's signature.
fn assert_unseen(upstream: &TestServer) {
    let seen = upstream.seen();
    assert!(seen.len() >= PAGES, "{}", seen.len());
    let told = seen.iter().find(|seen| seen.header(OWN).is_some());
    assert!(told.is_none(), "{told:?}");
}

async fn assert_handover(database: String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let upstream = members();
    let (server, upstream) = {
        let (path, database) = (path.clone(), database.clone());
        spawn_blocking(move || (serve(&path, &database, &upstream), upstream))
            .await
            .unwrap()
    };
    wait_until_accepting(&path, &database).await.close().await;
    spawn_blocking(move || {
        let addr = server.addr;
        let here = addr.to_string();
        for (added, unmodified) in [(PAGES, 0), (0, PAGES)] {
            let (ran, err) = ran(&path, &["run", "--json"]);
            assert!(err.contains("a running server"), "{err}");
            assert_eq!(
                (&ran["added"], &ran["withdrawn"]),
                (&added.into(), &0.into())
            );
            assert_eq!(ran["unmodified"], unmodified, "{ran}");
            assert_eq!(ran["heaven_source"], "database");
            // Immediately, because the server is notified.
            let page = "/robot-heaven/members/7.htm".to_owned();
            assert_eq!(sent(addr, &here, "/members/7"), (302, page));
        }
        let (code, out, err) = site_robot(&path, &["parity"]);
        let all = format!("{PAGES} pages compared, 0 differ, 0 are neither HTML nor text\n");
        assert_eq!((code, &*out), (0, &*all), "{err}");
        assert_unseen(&upstream);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_handed_to_the_running_server_and_published_when_it_ends() {
    assert_handover(SQLITE.to_owned()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_handed_over_with_postgres_too() {
    assert_handover(postgres::database_url().await).await;
}

async fn assert_local_run(database: String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    spawn_blocking(move || {
        let foreign = foreign();
        let upstream = members();
        let server = serve(&path, &database, &upstream);
        let addr = server.addr;
        let start = format!("http://{addr}/members/");
        // A run that publishes into a local directory is not handed over.
        let out = foreign.url("/");
        let arguments = ["run", &start, &out, "--publish", "elsewhere", "--json"];
        for added in [PAGES + 1, 0] {
            let (ran, err) = ran(&path, &arguments);
            assert!(!err.contains("a running server"), "{err}");
            assert_eq!(
                (&ran["added"], &ran["withdrawn"]),
                (&added.into(), &0.into()),
                "{ran}"
            );
        }
        let here = addr.to_string();
        let page = "/robot-heaven/members/7.htm".to_owned();
        eventually("heaven is published", || {
            sent(addr, &here, "/members/7") == (302, page.clone())
        });
        assert_unseen(&upstream);
        let seen = foreign.seen();
        assert!(!seen.is_empty() && seen.iter().all(|seen| seen.header(OWN).is_none()));
        // A client that only claims to be the site robot is not admitted; its claim is dropped.
        for (user_agent, status) in [(GOOGLEBOT, 302), (FIREFOX, 200)] {
            let headers = [("User-Agent", user_agent), ("Host", &*here), (OWN, "1.a")];
            assert_eq!(request(addr, "GET", "/members/9", &headers).status, status);
        }
        assert_unseen(&upstream);
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_run_in_its_own_process_is_admitted_by_the_key_in_the_database() {
    assert_local_run(SQLITE.to_owned()).await;
}

#[tokio::test]
async fn a_run_in_its_own_process_is_admitted_by_the_key_in_postgres() {
    assert_local_run(postgres::database_url().await).await;
}

#[tokio::test]
async fn a_redirect_to_another_host_does_not_carry_the_signature() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    spawn_blocking(move || {
        let foreign = foreign();
        let target = foreign.url("/target");
        let upstream = TestServer::with(move |seen| match &*seen.path {
            "/members/" => Reply::redirect(target.clone()),
            _ => Reply::status(404),
        });
        let server = serve(&path, SQLITE, &upstream);
        let start = format!("http://{}/members/", server.addr);
        // The foreign host is visited too, and so is the target of the redirect.
        let other = foreign.url("/");
        let (ran, _) = ran(
            &path,
            &["run", &start, &other, "--publish", "elsewhere", "--json"],
        );
        assert_eq!(ran["added"], 2, "{ran}");
        let followed = upstream.seen().iter().any(|seen| seen.path == "/members/");
        let seen = foreign.seen();
        assert!(
            followed && seen.iter().any(|seen| seen.path == "/target"),
            "{seen:?}"
        );
        assert!(
            seen.iter().all(|seen| seen.header(OWN).is_none()),
            "{seen:?}"
        );
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_run_at_the_upstream_creates_pages_that_robots_are_redirected_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    spawn_blocking(move || {
        let public = "https://www.example.com";
        // Links with all names of the site: by path, by the upstream's address, by the public URL.
        let itself = Arc::new(OnceLock::<String>::new());
        let address = Arc::clone(&itself);
        let upstream = TestServer::with(move |seen| match &*seen.path {
            "/robots.txt" => Reply::status(404),
            "/members/" => {
                let itself = address.get().unwrap();
                let links = [itself, public].map(|site| format!("<a href={site}/members/"));
                let [by_address, by_url] = links;
                let links = format!("<a href=5>5</a>{by_address}8>8</a>{by_url}9>9</a>");
                Reply::typed("text/html", format!("<title>Start</title>Words. {links}"))
            }
            path => Reply::typed("text/html", format!("<title>Page</title>Text of {path}.")),
        });
        itself.set(upstream.url("")).unwrap();
        let more = format!("[heaven]\nsource = 'database'\nurl = '{public}'\n");
        write(
            &path,
            SQLITE,
            &format!("server.upstream = '{}'\n{more}", upstream.url("")),
        );
        let (ran, _) = ran(&path, &["run", &upstream.url("/members/"), "--json"]);
        assert_eq!(ran["added"], 4, "{ran}");
        let described = site_robot(&path, &["export", "--format", "jsonl"]).1;
        for page in ["/members/", "/members/5", "/members/8", "/members/9"] {
            assert!(
                described.contains(&format!("{public}{page}\"")),
                "{page}: {described}"
            );
        }
        let host = upstream
            .seen()
            .iter()
            .find_map(|seen| seen.header("host").map(str::to_owned));
        assert_eq!(host.as_deref(), Some("www.example.com"));
        let server = Server::start(&path, &["serve"]);
        let page = "/robot-heaven/members/5.htm".to_owned();
        eventually("robots are redirected to the pages", || {
            sent(server.addr, "www.example.com", "/members/5") == (302, page.clone())
        });
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_run_that_no_server_accepts_is_done_locally() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let url = format!("sqlite://{}", path.join("robot.db").display());
    let store = Store::connect(&url).await.unwrap();
    // A recently seen server that does not respond.
    store
        .orders()
        .server_heartbeat("silent", now_ms())
        .await
        .unwrap();
    store.close().await;
    spawn_blocking(move || {
        let site = members();
        write(&path, SQLITE, "");
        let (ran, err) = ran(&path, &["run", &site.url("/members/"), "--json"]);
        assert_eq!(ran["added"], PAGES);
        assert!(err.contains("this process visits"), "{err}");
        assert!(!err.contains("not known"), "{err}");
        let (_, out, _) = site_robot(&path, &["status"]);
        assert!(
            out.contains("descriptions: they are not used: set heaven.source"),
            "{out}"
        );
        let nothing = site.url("/nothing");
        let (_, _, err) = site_robot(&path, &["run", &nothing, "--publish", "elsewhere"]);
        assert!(err.contains("do not belong to a configured site"), "{err}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_stops_a_run_in_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let links: Vec<_> = (0..1_000).map(|number| format!("/slow/{number}")).collect();
    let links: Vec<_> = links.iter().map(String::as_str).collect();
    let site = Site::open(&[("/", Page::html("Start", &links))]).await;
    for link in &links {
        site.put(link, Page::html(link, &[]));
    }
    let start = site.url("/");
    let more = format!(
        "server.upstream = '{}'\nsite_robot.starting_points = '{start}'\n",
        site.origin
    );
    write(&path, SQLITE, &more);
    let serve = path.clone();
    let server = spawn_blocking(move || Server::start(&serve, &["serve"]));
    let server = server.await.unwrap();
    wait_until_accepting(&path, SQLITE).await.close().await;
    let child = program::command(&path)
        .args(["site-robot", "run", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    site.wait_for_requests(5).await;
    let pid = child.id().to_string();
    let ended = spawn_blocking(move || {
        let status = std::process::Command::new("kill")
            .args(["-INT", &pid])
            .status();
        assert!(status.unwrap().success());
        child.wait_with_output().unwrap()
    });
    let output = ended.await.unwrap();
    let ran: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &ran["state"]),
        (Some(1), &"running".into())
    );
    drop(server);
}

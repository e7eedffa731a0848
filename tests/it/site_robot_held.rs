//! Protection of heaven: a run that saw no real pages must not empty it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
};

use robot_detection::store::{DescriptionQuery, Store};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::site_robot::site::{Page, Site};
use crate::support::{
    files::files,
    program::{self, GOOGLEBOT, Server, eventually},
};

const DATABASE: &str = "sqlite://robot.db";

/// Output of a command.
#[derive(Debug)]
struct CommandOutput {
    code: i32,
    out: String,
    err: String,
}

impl CommandOutput {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

async fn run_command(directory: &Path, arguments: &[&str]) -> CommandOutput {
    let directory = directory.to_owned();
    let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
    let run = move || {
        let output = program::command(&directory)
            .args(["--database", DATABASE])
            .args(&arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        CommandOutput {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    };
    spawn_blocking(run).await.unwrap()
}

async fn visit(directory: &Path, site: &Site, more: &[&str]) -> CommandOutput {
    let start = site.url("/");
    let mut arguments = vec!["site-robot", "run", &start, "--publish", "heaven", "--json"];
    arguments.extend(["--delay", "0"]);
    arguments.extend(more);
    run_command(directory, &arguments).await
}

fn heaven(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    files(&directory.join("heaven"))
}

async fn export(directory: &Path) -> String {
    let exported = run_command(directory, &["site-robot", "export", "--format", "jsonl"]).await;
    assert_eq!(exported.code, 0, "{exported:?}");
    exported.out
}

async fn status(directory: &Path) -> Value {
    let told = run_command(directory, &["site-robot", "status", "--json"])
        .await
        .json();
    told[0].clone()
}

fn page_paths(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("/p{number}")).collect()
}

/// Returns a site whose start page links to a number of pages.
async fn site_with_pages(count: usize) -> Site {
    let paths = page_paths(count);
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let site = Site::open(&[
        ("/robots.txt", Page::text("text/plain", "")),
        ("/", Page::html("Start", &links)),
    ])
    .await;
    for path in &paths {
        site.put(path, page(path));
    }
    site
}

fn page(path: &str) -> Page {
    Page::html(&format!("Page {path}"), &["/"])
}

fn login_page() -> Page {
    Page::new(
        "<title>Log in</title><h1>Log in</h1><form method=post>\
         <input name=user><input type=password name=secret></form>",
    )
}

fn put_all(site: &Site, count: usize, make: impl Fn(&str) -> Page) {
    for path in page_paths(count) {
        site.put(&path, make(&path));
    }
}

/// Returns a directory with a heaven of a start page and a number of pages.
async fn published(count: usize) -> (tempfile::TempDir, Site) {
    let directory = tempfile::tempdir().unwrap();
    let site = site_with_pages(count).await;
    let first = visit(directory.path(), &site, &[]).await;
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(first.json()["added"], count as u64 + 1);
    (directory, site)
}

async fn an_expired_login_is_held_back(expire: impl Fn(&Site)) {
    let (directory, site) = published(15).await;
    let path = directory.path();
    let (before, described) = (heaven(path), export(path).await);

    expire(&site);
    let held = visit(path, &site, &[]).await;
    assert_eq!(held.code, 1, "{held:?}");
    assert!(
        held.err.contains("log") && held.err.contains("--accept"),
        "{held:?}"
    );
    assert_eq!(held.json()["state"], "held");
    assert!(
        held.json()["held"]
            .as_str()
            .unwrap()
            .contains(&site.url("/"))
    );
    assert!(heaven(path) == before, "heaven has changed");
    assert_eq!(export(path).await, described);
    let told = status(path).await;
    assert_eq!(told["last_run"]["state"], "held");
    assert!(told["last_run"]["held"].is_string(), "{told}");

    put_all(&site, 15, page);
    let paths = page_paths(15);
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    site.put("/", Page::html("Start", &links));
    site.put("/p1", Page::html("Page one, changed", &["/"]));
    let renewed = visit(path, &site, &[]).await;
    assert_eq!(renewed.code, 0, "{renewed:?}");
    assert_eq!(renewed.json()["withdrawn"], 0);
    let now = export(path).await;
    assert_eq!(now.lines().count(), 16, "{now}");
    assert!(
        now.contains("Page one, changed") && !now.contains("Log in"),
        "{now}"
    );
}

#[tokio::test]
async fn a_login_by_redirect_is_quarantined() {
    an_expired_login_is_held_back(|site| {
        let away = |_: &str| Page::moved("/login");
        put_all(site, 15, away);
        site.put("/", away("/"));
        site.put("/login", login_page());
    })
    .await;
}

#[tokio::test]
async fn a_login_with_status_401_is_quarantined() {
    an_expired_login_is_held_back(|site| {
        put_all(site, 15, |_| Page::status(401));
        site.put("/", Page::status(401));
    })
    .await;
}

#[tokio::test]
async fn a_login_page_in_place_of_each_page_is_quarantined() {
    an_expired_login_is_held_back(|site| {
        // Like many login pages, this one forbids indexing.
        let login = |_: &str| login_page().in_head("<meta name=robots content=noindex>");
        put_all(site, 15, login);
        site.put("/", login("/"));
    })
    .await;
}

#[tokio::test]
async fn one_page_for_many_urls_is_quarantined_even_without_a_password_field() {
    let (directory, site) = published(15).await;
    let before = heaven(directory.path());
    let pause = |_: &str| Page::new("<title>Back soon</title><p>We are at work.</p>");
    put_all(&site, 15, pause);
    site.put("/", pause("/"));
    let held = visit(directory.path(), &site, &[]).await;
    assert_eq!(
        (held.code, &held.json()["state"]),
        (1, &Value::from("held")),
        "{held:?}"
    );
    assert!(
        heaven(directory.path()) == before,
        "heaven must stay unchanged"
    );
}

#[tokio::test]
async fn an_open_start_page_before_an_expired_login_is_quarantined_too() {
    let (directory, site) = published(15).await;
    let before = heaven(directory.path());
    put_all(&site, 15, |path| {
        Page::moved(&format!("/login?next={path}"))
    });
    for path in page_paths(15) {
        site.put(&format!("/login?next={path}"), login_page());
    }
    let held = visit(directory.path(), &site, &[]).await;
    assert_eq!(held.code, 1, "{held:?}");
    assert!(
        heaven(directory.path()) == before,
        "heaven must stay unchanged"
    );
}

#[tokio::test]
async fn many_missing_pages_are_quarantined_until_accepted() {
    let (directory, site) = published(15).await;
    let path = directory.path();
    let before = heaven(path);
    put_all(&site, 12, |_| Page::status(404));
    site.put("/p13", Page::html("Thirteen, changed", &["/"]));
    let held = visit(path, &site, &[]).await;
    assert_eq!(held.code, 1, "{held:?}");
    assert!(held.err.contains("12 of 16"), "{held:?}");
    assert!(heaven(path) == before, "heaven has changed");

    site.asked();
    let accepted = visit(path, &site, &["--accept"]).await;
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert_eq!(accepted.json()["state"], "finished");
    assert_eq!(site.asked().len(), 0, "the run's results were stored");
    let now = heaven(path);
    assert!(!now.contains_key("p1.htm") && now.contains_key("p15.htm"));
    let text = String::from_utf8_lossy(&now["p13.htm"]);
    assert!(text.contains("Thirteen, changed"));
    assert_eq!(export(path).await.lines().count(), 4);
}

#[tokio::test]
async fn a_site_that_answers_404_to_everything_keeps_its_few_pages() {
    let (directory, site) = published(4).await;
    let before = heaven(directory.path());
    put_all(&site, 4, |_| Page::status(404));
    site.put("/", Page::status(404));
    let run = visit(directory.path(), &site, &[]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        heaven(directory.path()) == before,
        "heaven must stay unchanged"
    );
}

#[tokio::test]
async fn a_server_outage_loses_no_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let site = site_with_pages(15).await;
    // This page is only listed in the sitemap.
    let listed = format!(
        "<urlset><url><loc>{}</loc></url></urlset>",
        site.url("/alone")
    );
    site.put("/sitemap.xml", Page::text("application/xml", listed));
    site.put("/alone", page("/alone"));
    let sitemap = format!("Sitemap: {}", site.url("/sitemap.xml"));
    site.put("/robots.txt", Page::text("text/plain", sitemap));
    let first = visit(path, &site, &[]).await;
    assert_eq!(first.json()["added"], 17, "{first:?}");
    let (before, start) = (heaven(path), site.url("/"));
    drop(site);
    let arguments = ["site-robot", "run", &start, "--publish", "heaven", "--json"];
    let run = run_command(path, &arguments).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(heaven(path) == before, "heaven has changed");
    assert_eq!(status(path).await["missing"], 17);
}

#[tokio::test]
async fn a_moved_starting_point_is_reported_and_its_pages_are_moved() {
    let (directory, old) = published(15).await;
    let path = directory.path();
    let before = heaven(path);
    let new = site_with_pages(15).await;
    put_all(&old, 15, |path| {
        Page::status(301).header("location", &new.url(path))
    });
    old.put("/", Page::status(301).header("location", &new.url("/")));
    let held = visit(path, &old, &[]).await;
    assert_eq!(held.code, 1, "{held:?}");
    assert!(held.err.contains(&new.url("/")), "{held:?}");
    assert!(held.err.contains("starting_points"), "{held:?}");
    assert!(heaven(path) == before, "heaven has changed");

    let moved = visit(path, &new, &[]).await;
    assert_eq!(moved.code, 0, "{moved:?}");
    let now = export(path).await;
    assert_eq!(now.lines().count(), 16, "{now}");
    assert!(!now.contains(&format!("\"url\":\"{}", old.origin)), "{now}");
}

#[tokio::test]
async fn pages_that_forbid_indexing_are_hidden_immediately_and_kept() {
    let (directory, site) = published(15).await;
    let path = directory.path();
    let database = format!("sqlite://{}/robot.db", path.display());
    let store = Store::connect(&database).await.unwrap();
    let all = DescriptionQuery::new("default");
    let before = store.descriptions().list(&all).await.unwrap();
    put_all(&site, 15, |path| {
        page(path).in_head("<meta name=robots content=noindex>")
    });
    site.put("/p2", Page::status(410));
    site.put("/p3", Page::status(403));
    let run = visit(path, &site, &[]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["withdrawn"], 15);
    assert_eq!(export(path).await.lines().count(), 1);
    assert!(!heaven(path).contains_key("p1.htm"));
    let feed = String::from_utf8_lossy(&heaven(path)["feed.atom"]).into_owned();
    assert!(!feed.contains("Page /p1"), "{feed}");
    assert_eq!(status(path).await["hidden"], 15);

    put_all(&site, 15, page);
    let run = visit(path, &site, &[]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let after = store.descriptions().list(&all).await.unwrap();
    let dates = |all: &[robot_detection::store::StoredDescription]| {
        let all = all.iter().map(|it| (it.first_seen_ms, it.modified_ms));
        all.collect::<Vec<_>>()
    };
    assert_eq!(
        dates(&after),
        dates(&before),
        "the restored pages have their old dates"
    );
}

#[tokio::test]
async fn robots_txt_hides_a_whole_site_immediately() {
    let (directory, site) = published(15).await;
    let rules = "User-agent: *\nDisallow: /\n";
    site.put("/robots.txt", Page::text("text/plain", rules));
    visit(directory.path(), &site, &[]).await;
    assert_eq!(export(directory.path()).await, "");
    site.put("/robots.txt", Page::text("text/plain", ""));
    let run = visit(directory.path(), &site, &[]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(export(directory.path()).await.lines().count(), 16);
}

#[tokio::test]
async fn an_unlinked_page_stays_until_it_is_confirmed_missing() {
    let (directory, site) = published(3).await;
    let path = directory.path();
    site.put("/", Page::html("Start", &["/p1"]));
    let run = visit(path, &site, &[]).await;
    assert_eq!((run.code, &run.json()["withdrawn"]), (0, &Value::from(0)));
    site.remove("/p2");
    let run = visit(path, &site, &[]).await;
    assert_eq!(run.json()["withdrawn"], 1, "{run:?}");
    assert!(!heaven(path).contains_key("p2.htm") && heaven(path).contains_key("p3.htm"));
}

#[tokio::test]
async fn a_page_is_not_replaced_by_a_missing_duplicate() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let twin = Page::html("Twin", &[]);
    let site = Site::open(&[
        ("/", Page::html("Start", &["/a"])),
        ("/a", twin.clone()),
        ("/longer", twin),
    ])
    .await;
    visit(path, &site, &[]).await;
    site.put("/", Page::html("Start", &["/longer"]));
    site.remove("/a");
    let run = visit(path, &site, &[]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let now = export(path).await;
    assert!(now.contains("/longer") && now.lines().count() == 2, "{now}");
}

#[tokio::test]
async fn text_with_a_display_ban_is_not_published() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let body = "<title>Prices</title><h1>Prices</h1><p>Open to all. \
        <span data-nosnippet>Secret discount.</span></p>\
        <div aria-hidden=\"true\"><h2>Hidden heading</h2></div>\
        <div hidden>Hidden words.</div><p data-nosnippet>A quiet paragraph.</p>";
    let site = Site::open(&[("/", Page::new(body))]).await;
    visit(path, &site, &[]).await;
    for (name, bytes) in heaven(path) {
        let text = String::from_utf8_lossy(&bytes);
        for word in ["Secret", "Hidden", "quiet"] {
            assert!(!text.contains(word), "{word} is in {name}");
        }
    }
    let page = String::from_utf8_lossy(&heaven(path)["rd.jsonl"]).into_owned();
    assert!(page.contains("Open to all."), "{page}");
}

#[tokio::test]
async fn a_loop_pauses_between_two_rounds() {
    let directory = tempfile::tempdir().unwrap();
    let site = site_with_pages(2).await;
    let conf = directory.path().join("robot.conf");
    std::fs::write(&conf, "onCompletion=loop\n").unwrap();
    let log = directory.path().join("log");
    let mut child = program::command(directory.path())
        .args(["--database", DATABASE, "site-robot", "run", &site.url("/")])
        .args(["--delay", "0", "--robot-conf", "robot.conf"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let told = move || {
        eventually("the robot reports its pause", || {
            let text = std::fs::read_to_string(&log).unwrap();
            text.contains("next round")
        });
        child.kill().unwrap();
        child.wait().unwrap();
    };
    spawn_blocking(told).await.unwrap();
    let rounds = site.paths().iter().filter(|path| *path == "/").count();
    assert_eq!(rounds, 1);
}

/// Starts a server with a heaven from the database, in front of a site.
async fn served(site: &Site, directory: &Path) -> Server {
    let text = format!(
        "bundled_registry = true\nweb_robots_db = ''\nfilter_pattern = '/*'\n\
         [database]\nurl = '{DATABASE}'\n\
         [server]\nupstream = '{}'\nhosts = 'www.example.com'\n\
         [site_robot]\nstarting_points = 'http://www.example.com/'\nrobot = 'server-delay=0'\n\
         [heaven]\nsource = 'database'\nurl = 'http://www.example.com'\n",
        site.origin
    );
    std::fs::write(directory.join("robot-detection.toml"), text).unwrap();
    let directory: PathBuf = directory.to_owned();
    spawn_blocking(move || Server::start(&directory, &["serve"]))
        .await
        .unwrap()
}

fn sees(server: &Server, path: &str, fits: impl Fn(u16, &str) -> bool) {
    eventually(path, || {
        let answer = server.get(path, GOOGLEBOT);
        fits(answer.status, &answer.text())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_can_restore_a_publication_and_withdraw_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let site = site_with_pages(3).await;
    let server = served(&site, path).await;
    let run = || run_command(path, &["site-robot", "run", "--delay", "0"]);
    let ok = |said: CommandOutput| assert_eq!(said.code, 0, "{said:?}");
    ok(run().await);
    let at = |text: &'static str| {
        tokio::task::block_in_place(|| {
            sees(&server, "/robot-heaven/p1.htm", |_, page| {
                page.contains(text)
            });
        });
    };
    at("Page /p1");
    let nothing = run_command(path, &["heaven", "undo"]).await;
    assert_eq!(nothing.code, 1, "{nothing:?}");
    site.put("/p1", Page::html("Changed for the worse", &["/"]));
    site.put("/", Page::html("Start", &["/p1", "/p2", "/p3", "/p4"]));
    site.put("/p4", Page::html("Page four", &["/"]));
    ok(run().await);
    at("Changed for the worse");
    ok(run_command(path, &["heaven", "undo"]).await);
    at("Page /p1");
    assert!(!export(path).await.contains("Page four"));
    ok(run_command(path, &["heaven", "undo"]).await);
    at("Changed for the worse");
    assert!(export(path).await.contains("Page four"));
    ok(run_command(path, &["heaven", "undo"]).await);
    ok(run().await);
    at("Changed for the worse");

    let url = "http://www.example.com/p1";
    let is_gone = || {
        tokio::task::block_in_place(|| {
            sees(&server, "/robot-heaven/p1.htm", |status, _| status == 404);
            for list in ["sitemap.xml", "feed.atom", "rd.jsonl", "titles.html"] {
                let list = format!("/robot-heaven/{list}");
                sees(&server, &list, |_, text| {
                    !text.contains("Changed") && !text.contains("p1.htm")
                });
            }
        });
    };
    let unknown = "http://www.example.com/none";
    let unknown = run_command(path, &["site-robot", "withdraw", unknown]).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
    ok(run_command(path, &["site-robot", "withdraw", url]).await);
    is_gone();
    ok(run().await);
    at("Changed for the worse");
    ok(run_command(path, &["site-robot", "withdraw", url, "--for-good"]).await);
    is_gone();
    site.put("/p1", Page::html("Changed once more", &["/"]));
    ok(run().await);
    is_gone();
    ok(run_command(path, &["site-robot", "withdraw", url, "--again"]).await);
    ok(run().await);
    at("Changed once more");
}

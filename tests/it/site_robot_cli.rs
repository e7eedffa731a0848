//! The site robot as a user runs and controls it.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Stdio},
};

use robot_detection::store::Store;
use serde_json::Value;
use sqlx::{Connection as _, SqliteConnection};
use tokio::task::spawn_blocking;

use crate::site_robot::site::{Page, Site};
use crate::support::{
    files::files,
    program::{self, GOOGLEBOT, Server, eventually},
};

const DATABASE: &str = "sqlite://robot.db";

/// Runs `site-robot` with these arguments; returns exit code and standard output.
async fn site_robot(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let (directory, arguments) = (directory.to_owned(), owned(arguments));
    let run = move || {
        let output = program::command(&directory)
            .args(["--database", DATABASE, "site-robot"])
            .args(&arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    };
    spawn_blocking(run).await.unwrap()
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&it| it.to_owned()).collect()
}

/// Runs a site from its start page, and expects the run to finish.
async fn visit(directory: &Path, site: &Site) -> Value {
    let start = site.url("/");
    let arguments = ["run", &start, "--publish", "heaven", "--json"];
    let (code, text) = site_robot(directory, &arguments).await;
    assert_eq!(code, 0, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Disables the comparison of heaven pages with their originals, which sends extra requests.
fn compare_none(directory: &Path) {
    let text = "heaven.parity_pages = 0\n";
    std::fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Starts a run; returns its running process.
fn begin(directory: &Path, site: &Site) -> Child {
    program::command(directory)
        .args(["--database", DATABASE, "site-robot", "run", &site.url("/")])
        .args(["--publish", "heaven", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn end(child: Child) -> Value {
    let output = spawn_blocking(move || child.wait_with_output().unwrap());
    let output = output.await.unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Waits until the status, as stored in the database, matches.
async fn until(directory: &Path, what: &str, is_so: fn(&Value) -> bool) {
    let directory = directory.to_owned();
    let what = what.to_owned();
    let wait = move || {
        eventually(&what, || {
            let arguments = ["--database", DATABASE, "site-robot", "status", "--json"];
            let text = program::succeed(&directory, &arguments);
            is_so(&serde_json::from_str::<Value>(&text).unwrap()[0])
        });
    };
    spawn_blocking(wait).await.unwrap();
}

async fn three_pages() -> Site {
    Site::open(&[
        ("/", Page::html("Start", &["/a", "/b"])),
        ("/a", Page::html("Apples", &["/"])),
        ("/b", Page::html("Barley", &[])),
    ])
    .await
}

/// Starts a site with a start page and many slow pages.
async fn slow_site(pages: usize) -> Site {
    let paths: Vec<_> = (0..pages).map(|number| format!("/slow/{number}")).collect();
    let links: Vec<_> = paths.iter().map(String::as_str).collect();
    let start = Page::html("Start", &links);
    let start = start.header("last-modified", "Fri, 01 May 2026 10:00:00 GMT");
    let site = Site::open(&[("/", start)]).await;
    for (number, path) in paths.iter().enumerate() {
        let page = Page::html(&format!("Page {number}"), &[]);
        site.put(
            path,
            page.header("last-modified", "Fri, 01 May 2026 10:00:00 GMT"),
        );
    }
    site
}

#[tokio::test]
async fn a_second_run_fetches_only_changes_and_leaves_heaven_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    compare_none(directory.path());
    let first = visit(directory.path(), &site).await;
    assert_eq!(
        (&first["added"], &first["heaven"]["pages"]),
        (&3.into(), &3.into())
    );
    let heaven = directory.path().join("heaven");
    let before = files(&heaven);
    assert!(
        before.contains_key("a.htm") && before.contains_key("sitemap.xml"),
        "{:?}",
        before.keys()
    );
    site.asked();

    let second = visit(directory.path(), &site).await;
    assert_eq!(
        (&second["unmodified"], &second["bytes"]),
        (&3.into(), &0.into())
    );
    assert_eq!(second["heaven"]["changed"], false);
    assert_eq!(files(&heaven), before);
    let asked = site.asked();
    let pages = asked.iter().filter(|asked| asked.path != "/robots.txt");
    assert!(pages.clone().count() == 3 && pages.clone().all(|asked| asked.is_conditional));
}

#[tokio::test]
async fn a_page_sent_again_with_the_same_text_keeps_its_date() {
    let directory = tempfile::tempdir().unwrap();
    // A server that ignores conditions: each response is 200, and seems new.
    let answer = |page: Page, minute: u32| {
        let date = format!("Sun, 22 Nov 2020 12:{minute:02}:05 GMT");
        page.header("last-modified", &date)
            .header("date", &date)
            .header("x-request-id", &minute.to_string())
            .unconditional()
    };
    let put = |site: &Site, minute| {
        site.put("/", answer(Page::html("Start", &["/a", "/b"]), minute));
        site.put("/a", answer(Page::html("Apples", &["/"]), minute));
        site.put("/b", answer(Page::html("Barley", &[]), minute));
    };
    let site = Site::open(&[]).await;
    put(&site, 1);
    visit(directory.path(), &site).await;
    let heaven = directory.path().join("heaven");
    let before = files(&heaven);
    for minute in [2, 3] {
        put(&site, minute);
        let again = visit(directory.path(), &site).await;
        assert_eq!(
            (&again["unmodified"], &again["changed"]),
            (&3.into(), &0.into()),
            "{again}"
        );
        assert_ne!(again["bytes"], 0, "the server ignores conditions");
        assert_eq!(again["heaven"]["changed"], false);
        assert_eq!(files(&heaven), before);
    }

    // Only a page with changed text gets a new date.
    site.put("/b", answer(Page::html("Barley and oats", &[]), 3));
    assert_eq!(visit(directory.path(), &site).await["changed"], 1);
    let after = files(&heaven);
    let dates = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        let sitemap = std::str::from_utf8(&files["sitemap.xml"]).unwrap();
        let dates = sitemap.split("<lastmod>").skip(1);
        let dates = dates.map(|rest| rest.split('<').next().unwrap().to_owned());
        dates.collect()
    };
    let (before_dates, after_dates) = (dates(&before), dates(&after));
    assert_eq!(after_dates.len(), 3);
    let pairs = before_dates.iter().zip(&after_dates);
    assert_eq!(pairs.filter(|(before, after)| before != after).count(), 1);
    assert_ne!(after["feed.atom"], before["feed.atom"]);
}

#[tokio::test]
async fn a_missing_or_noindex_page_is_removed_from_heaven() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    visit(directory.path(), &site).await;
    site.remove("/a");
    site.put(
        "/b",
        Page::html("Barley", &[]).in_head("<meta name=robots content=noindex>"),
    );
    let again = visit(directory.path(), &site).await;
    assert_eq!(again["withdrawn"], 2);
    for (name, bytes) in files(&directory.path().join("heaven")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!matches!(&*name, "a.htm" | "b.htm"), "{name}");
        assert!(
            !text.contains("Apples") && !text.contains("Barley"),
            "{name}"
        );
    }
    let (_, soif) = site_robot(directory.path(), &["export"]).await;
    assert!(soif.contains("Start") && !soif.contains("Apples"), "{soif}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_results_from_its_only_starting_point_fails_and_reports_it() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    let (lost, start) = (site.url("/lost"), site.url("/"));
    let run = |arguments: &[&str]| {
        let output = program::command(directory.path())
            .args(["--database", DATABASE, "site-robot", "run"])
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        let output = output.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = tokio::task::block_in_place(|| run(&[&lost]));
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains(&lost) && text.contains("status 404"),
        "{text}"
    );
    let (code, text) = tokio::task::block_in_place(|| run(&[&lost, &start]));
    let told = format!("warning: the starting point {lost} is not described: answer: status 404\n");
    assert_eq!((code, text), (0, told));
}

#[tokio::test]
async fn a_killed_run_continues_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let site = slow_site(60).await;
    let mut child = begin(directory.path(), &site);
    site.wait_for_requests(30).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let first: Vec<_> = site.paths();
    let recorded = recorded(directory.path(), &site, &first).await;
    let again = visit(directory.path(), &site).await;
    assert_eq!(
        (&again["resumed"], &again["heaven"]["pages"]),
        (&true.into(), &61.into())
    );
    let second = site.paths();
    let twice = second
        .iter()
        .filter(|path| *path != "/robots.txt" && first.contains(path));
    let twice: Vec<_> = twice.collect();
    // Pages in progress: at most as many as there are connections.
    assert!(twice.len() <= 8, "{twice:?}");
    assert_eq!(twice.iter().find(|it| recorded.contains(it)), None);

    let other = tempfile::tempdir().unwrap();
    visit(other.path(), &site).await;
    let tree = |directory: &tempfile::TempDir| {
        let mut files = files(&directory.path().join("heaven"));
        // Exports contain the time of each description.
        files.retain(|name, _| !name.starts_with("rd."));
        files
    };
    let (one, other) = (tree(&directory), tree(&other));
    assert!(one == other, "{:?} {:?}", one.keys(), other.keys());
}

/// Returns the finished paths, and makes the killed process appear alive for ever.
async fn recorded(directory: &Path, site: &Site, paths: &[String]) -> Vec<String> {
    let url = format!("sqlite://{}", directory.join("robot.db").display());
    let store = Store::connect(&url).await.unwrap();
    let run = store
        .frontier()
        .open_run("default")
        .await
        .unwrap()
        .unwrap()
        .run_id;
    let holders = store
        .frontier()
        .other_holders("default", run, "")
        .await
        .unwrap();
    assert_eq!(holders.len(), 1);
    let year_2100 = "UPDATE leases SET until_ms = 4102444800000 WHERE name LIKE 'site-robot/%'";
    let mut raw = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(year_2100).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let mut done = Vec::new();
    for path in paths {
        let known = store
            .frontier()
            .known_url("default", &site.url(path))
            .await
            .unwrap();
        if known.is_some_and(|known| known.state == "done") {
            done.push(path.clone());
        }
    }
    store.close().await;
    done
}

#[tokio::test]
async fn a_run_is_paused_resumed_and_stopped_from_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let site = slow_site(400).await;
    let child = begin(directory.path(), &site);
    site.wait_for_requests(5).await;
    let (code, text) = site_robot(directory.path(), &["pause"]).await;
    assert_eq!(code, 0, "{text}");
    until(directory.path(), "the run is paused", |site| {
        site["last_run"]["wanted"] == "pause"
    })
    .await;
    assert_eq!(site_robot(directory.path(), &["resume"]).await.0, 0);
    let (code, _) = site_robot(directory.path(), &["stop"]).await;
    assert_eq!(code, 0);
    let ran = end(child).await;
    assert_eq!(
        (&ran["state"], &ran["heaven"]),
        (&"running".into(), &Value::Null)
    );

    let ran = visit(directory.path(), &site).await;
    assert_eq!(
        (&ran["resumed"], &ran["heaven"]["pages"]),
        (&true.into(), &401.into())
    );
    assert_eq!(
        site_robot(directory.path(), &["stop"]).await.0,
        1,
        "no run is active"
    );
}

#[tokio::test]
async fn explain_shows_why_a_url_is_not_visited() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    let robots_txt = "User-agent: *\nDisallow: /b\n";
    site.put("/robots.txt", Page::text("text/plain", robots_txt));
    visit(directory.path(), &site).await;
    let explain =
        async |path: &str| site_robot(directory.path(), &["explain", &site.url(path)]).await;
    let (code, text) = explain("/a").await;
    assert!(code == 0 && text.contains("described"), "{text}");
    let (code, text) = explain("/b").await;
    assert!(code == 1 && text.contains("robots.txt"), "{text}");
    let (code, text) = explain("/robot-heaven/a.htm").await;
    assert!(code == 1 && text.contains("never visited"), "{text}");
}

#[tokio::test]
async fn parity_names_pages_that_have_changed() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    visit(directory.path(), &site).await;
    let (code, text) = site_robot(directory.path(), &["parity"]).await;
    assert_eq!(
        (code, &*text),
        (
            0,
            "3 pages compared, 0 differ, 0 are neither HTML nor text\n"
        )
    );
    site.put("/a", Page::html("Pears", &[]));
    site.remove("/b");
    let (code, text) = site_robot(directory.path(), &["parity", "--json"]).await;
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &found["compared"]), (1, &3.into()));
    let found = found["disparities"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{text}");
    assert!(
        found[0]["sentences"][0]
            .as_str()
            .unwrap()
            .contains("Apples"),
        "{text}"
    );
    assert_eq!(found[1]["reason"], "the page returned status 404");
}

#[tokio::test]
async fn descriptions_can_be_exported_and_imported() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    visit(directory.path(), &site).await;
    for format in ["soif", "jsonl"] {
        let arguments = ["export", "--format", format, "--output", "out"];
        assert_eq!(site_robot(directory.path(), &arguments).await.0, 0);
        let (code, text) = site_robot(directory.path(), &["import", "out", "--site", format]).await;
        assert_eq!(
            (code, &*text),
            (0, "3 descriptions imported, 0 could not be read\n")
        );
        let (_, own) = site_robot(directory.path(), &["export"]).await;
        let (_, other) = site_robot(directory.path(), &["export", "--site", format]).await;
        assert_eq!(own, other);
    }
    assert_eq!(
        site_robot(directory.path(), &["clear", "--site", "soif"])
            .await
            .0,
        2
    );
    let (code, text) = site_robot(directory.path(), &["clear", "--site", "soif", "--yes"]).await;
    assert_eq!(
        (code, &*text),
        (0, "soif: cleared, 3 descriptions deleted\n")
    );
}

#[tokio::test]
async fn reasons_for_omitted_pages_are_reported_with_counts() {
    let directory = tempfile::tempdir().unwrap();
    let closed =
        || Page::new("<meta name=robots content=noindex><title>Wiki</title><a href=/a>a</a>");
    let site = Site::open(&[
        ("/robots.txt", Page::text("text/plain", "")),
        ("/", closed()),
        ("/a", Page::html("Open", &["/b", "/c", "/gone"])),
        ("/b", closed()),
        ("/c", closed()),
    ])
    .await;
    let (start, path) = (site.url("/"), directory.path().to_owned());
    let visit = move |more: &'static str| {
        let arguments = [
            "--database",
            DATABASE,
            "site-robot",
            "run",
            &start,
            more,
            "--delay=0",
        ];
        let output = program::run(&path, &arguments);
        let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (told, start.clone())
    };
    let ([text, note], start, json) = spawn_blocking(move || {
        let (told, start) = visit("--fresh");
        (told, start, visit("--json").0[0].clone())
    })
    .await
    .unwrap();
    let reason = "robots meta: the page must not be indexed (noindex)";
    let of_start = format!("warning: the starting point {start} is not described: {reason}");
    assert!(note.contains(&of_start), "{text}{note}");
    let counted = format!("not described: 3, for example {start}: {reason}");
    assert!(
        text.contains(&counted) && text.contains("not described: 1, "),
        "{text}"
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["not_described"][0]["pages"], 3, "{json}");
    assert_eq!(json["undescribed_starts"][0]["url"], start, "{json}");
}

#[tokio::test]
async fn the_hook_runs_when_descriptions_have_changed() {
    let directory = tempfile::tempdir().unwrap();
    let site = three_pages().await;
    let text = format!(
        "heaven.open_to = 'all'\n[site_robot]\nstarting_points = '{}'\nlogin = 'bearer t0ken'\n\
         robot = ['cmd-hook=touch hooked', 'command-port=1']\n",
        site.url("/")
    );
    std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let (code, text) = site_robot(directory.path(), &["run"]).await;
    assert_eq!(code, 0, "{text}");
    let hooked = directory.path().join("hooked");
    std::fs::remove_file(&hooked).unwrap();
    assert_eq!(site_robot(directory.path(), &["run"]).await.0, 0);
    assert!(!hooked.exists(), "no description has changed");
}

#[tokio::test]
async fn a_server_runs_the_site_robot_and_resumes_it_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let site = slow_site(100).await;
    let text = format!(
        "bundled_registry = true\nweb_robots_db = ''\nfilter_pattern = '/slow/*'\n\
         [database]\nurl = '{DATABASE}'\n\
         [server]\nupstream = '{}'\n\
         [site_robot]\nstarting_points = 'http://www.example.com/'\nschedule = '0 3 * * *'\n\
         publish = 'heaven'\n[heaven]\ndirectory = 'heaven'\n",
        site.origin
    );
    std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let start = || {
        let path = directory.path().to_owned();
        spawn_blocking(move || Server::start(&path, &["serve"]))
    };
    let server = start().await.unwrap();
    site.wait_for_requests(20).await;
    server.signal("TERM");
    assert!(spawn_blocking(move || server.wait()).await.unwrap());

    let server = start().await.unwrap();
    until(directory.path(), "the run has finished", |site| {
        site["last_run"]["state"] == "finished"
    })
    .await;
    let page = directory.path().join("heaven/slow/7.htm");
    let published = move || eventually("heaven is published", || page.exists());
    spawn_blocking(published).await.unwrap();
    let sent = spawn_blocking(move || server.get("/slow/7", GOOGLEBOT))
        .await
        .unwrap();
    assert_eq!(sent.status, 302, "other robots are still redirected");
    let visits = site
        .paths()
        .into_iter()
        .filter(|path| path.starts_with("/slow/"))
        .count();
    assert!((100..120).contains(&visits), "{visits} visits of 100 pages");
}

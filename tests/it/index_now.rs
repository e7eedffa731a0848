//! Search engines are notified by `IndexNow` of the pages that a run has changed.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

use crate::site_robot::site::{Page, Site};
use crate::support::program::{FIREFOX, Server, request, run};

const SITE: &str = "https://www.example.com";

/// An IndexNow endpoint; its responses are set by a test.
struct Engine {
    url: String,
    state: Arc<Mutex<Heard>>,
    _server: JoinSet<()>,
}

#[derive(Debug)]
struct Heard {
    status: StatusCode,
    retry_after: Option<&'static str>,
    told: Vec<Value>,
}

impl Engine {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = Arc::new(Mutex::new(Heard {
            status: StatusCode::OK,
            retry_after: None,
            told: Vec::new(),
        }));
        let app = Router::new()
            .route("/indexnow", post(hear))
            .with_state(Arc::clone(&state));
        let url = format!("http://{}/indexnow", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            url,
            state,
            _server: server,
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.state.lock().unwrap()
    }

    /// Returns the notified paths since the last call.
    fn paths(&self) -> Vec<String> {
        let told = std::mem::take(&mut self.heard().told);
        let mut paths = Vec::new();
        for request in told {
            for url in request["urlList"].as_array().unwrap() {
                let path = url.as_str().unwrap().strip_prefix(SITE);
                paths.push(path.unwrap_or_else(|| panic!("{url}")).to_owned());
            }
        }
        paths
    }
}

async fn hear(
    State(state): State<Arc<Mutex<Heard>>>,
    headers: HeaderMap,
    Json(told): Json<Value>,
) -> Response {
    let json = "application/json; charset=utf-8";
    assert_eq!(headers[header::CONTENT_TYPE], json);
    let mut heard = state.lock().unwrap();
    heard.told.push(told);
    let after = heard
        .retry_after
        .map(|after| [(header::RETRY_AFTER, after)]);
    match after {
        Some(after) => (heard.status, after).into_response(),
        None => heard.status.into_response(),
    }
}

async fn site() -> Site {
    Site::open(&[
        ("/robots.txt", Page::text("text/plain", "")),
        (
            "/",
            Page::html("Start", &["/a", "/b", "/members/c", "/none"]),
        ),
        ("/a", Page::html("First", &[])),
        ("/b", Page::html("Second", &[])),
        ("/members/c", Page::html("Third", &[])),
        (
            "/none",
            Page::html("Hidden", &[]).in_head("<meta name=robots content=noindex>"),
        ),
    ])
    .await
}

fn write(directory: &Path, site: &Site, index_now: &str) {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\nfilter_pattern = '/members/*'\n\
         redirect_url = '/robot-heaven/'\n[server]\nupstream = '{}'\n\
         hosts = 'www.example.com'\n[heaven]\nsource = 'database'\nurl = '{SITE}'\n\
         [index_now]\n{index_now}\n[site_robot]\nstarting_points = '{SITE}/'\n",
        site.url("")
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Runs the site robot; returns the result of the notification, and standard error.
async fn told(directory: &Path) -> (Value, String) {
    let directory = directory.to_owned();
    let ran = move || run(&directory, &["site-robot", "run", "--json"]);
    let ran = tokio::task::spawn_blocking(ran).await.unwrap();
    let note = String::from_utf8(ran.stderr).unwrap();
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{note}"));
    (told["index_now"].clone(), note)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_a_run_are_announced_once_and_only_for_pages_open_to_all() {
    let (site, engine) = (site().await, Engine::open().await);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write(directory, &site, "");
    assert!(
        told(directory).await.0.is_null(),
        "notifications are off by default"
    );

    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let active = format!("active = true\nprivate = true\nendpoint = '{}'", engine.url);
    write(directory, &site, &active);
    let (first, note) = told(directory).await;
    assert_eq!(
        (&first["taken"], &first["waiting"]),
        (&3.into(), &0.into()),
        "{note}"
    );
    let request_of = engine.heard().told[0].clone();
    let key = request_of["key"].as_str().unwrap().to_owned();
    assert_eq!(request_of["host"], "www.example.com");
    assert_eq!(request_of["keyLocation"], format!("{SITE}/{key}.txt"));
    assert_eq!(engine.paths(), ["/", "/a", "/b"]);

    // The key file is at its published URL, whichever process has sent the notification.
    let server = Server::start(directory, &["serve"]);
    let headers = [("Host", "www.example.com"), ("User-Agent", FIREFOX)];
    let file = request(server.addr, "GET", &format!("/{key}.txt"), &headers);
    assert_eq!((file.status, file.text()), (200, key.clone()));
    assert!(file.header("content-type").starts_with("text/plain"));
    let other = request(server.addr, "GET", "/0123456789abcdef.txt", &headers);
    assert_eq!(other.status, 404, "other key files are the site's own");
    drop(server);

    // Nothing has changed: nothing is announced.
    assert_eq!(told(directory).await.0["taken"], 0);
    assert!(engine.paths().is_empty());
    site.put("/a", Page::html("First anew", &[]));
    site.put(
        "/",
        Page::html("Start", &["/a", "/d", "/members/c", "/none"]),
    );
    site.put("/d", Page::html("Fourth", &[]));
    site.remove("/b");
    told(directory).await;
    let mut paths = engine.paths();
    paths.sort();
    assert_eq!(paths, ["/", "/a", "/b", "/d"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusing_engine_is_retried_later_and_doctor_reports_it() {
    let (site, engine) = (site().await, Engine::open().await);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let key = "a-key-of-our-own";
    let active = format!(
        "active = true\nprivate = true\nendpoint = '{}'\nkey = '{key}'",
        engine.url
    );
    write(directory, &site, &active);
    engine.heard().status = StatusCode::TOO_MANY_REQUESTS;
    engine.heard().retry_after = Some("7200");
    let (first, note) = told(directory).await;
    assert_eq!((&first["taken"], &first["waiting"]), (&0.into(), &3.into()));
    assert!(note.contains("the IndexNow submission failed"), "{note}");
    assert!(note.contains("returned 429: too many URLs"), "{note}");
    assert_eq!(engine.heard().told[0]["key"], key);
    assert_eq!(engine.paths().len(), 3);
    let (second, _) = told(directory).await;
    assert_eq!(second["waiting"], 3);
    assert!(
        engine.paths().is_empty(),
        "nothing is sent before two hours are over"
    );
    let doctor = run(directory, &["doctor", "--offline"]);
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("IndexNow: 0 URLs accepted at"), "{doctor}");
    assert!(doctor.contains("returned 429"), "{doctor}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_are_not_open_to_all_are_not_announced() {
    let (site, engine) = (site().await, Engine::open().await);
    let active = format!("active = true\nprivate = true\nendpoint = '{}'", engine.url);
    for (from, to, why) in [
        (
            "[site_robot]\n",
            "[site_robot]\nlogin = 'bearer t'\n",
            "the site robot logs in, so",
        ),
        ("www.example.com", "intranet", "intranet is a local name"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(directory, &site, &active);
        let path = directory.join("robot-detection.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(from, to)).unwrap();
        let (told, _) = told(directory).await;
        assert!(told.is_null(), "{told}");
        let doctor = run(directory, &["doctor", "--offline"]);
        let doctor = String::from_utf8(doctor.stdout).unwrap();
        assert!(doctor.contains(why), "{doctor}");
    }
    assert!(engine.heard().told.is_empty());
    // An endpoint on this machine must be explicitly allowed.
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write(directory, &site, &active.replace("private = true\n", ""));
    let (refused, _) = told(directory).await;
    assert_eq!(
        (&refused["taken"], &refused["waiting"]),
        (&0.into(), &3.into())
    );
    assert!(engine.heard().told.is_empty());
}

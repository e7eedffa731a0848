//! Which component answers, and with which page: `explain` agrees with the running server.

use std::{fs, net::SocketAddr, path::Path};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use reqwest::{Client, Response, redirect};
use robot_detection::{
    app::{self, RobotDetection, ServerSettings},
    config::Loader,
    description::{ResourceDescription, name},
    heaven::{HeavenSettings, Library, publish},
    store::Store,
};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

use crate::support::{
    eventually::eventually_async,
    program::{GOOGLEBOT, succeed},
};

const SITE: &str = "http://www.example.com";
const ASKED: &str = "/members-only-stuff/log/7";
const OWN: &str = "/robot-heaven/members-only-stuff/log/7.htm";

async fn describe(directory: &Path) -> Store {
    let url = format!("sqlite://{}/heaven.db", directory.display());
    let store = Store::connect(&url).await.unwrap();
    let mut description = ResourceDescription::new(format!("{SITE}{ASKED}"));
    description.set(name::TITLE, "Logbook, day 7");
    description.set(name::FULL_TEXT, "Wind from the west, and rain.");
    store
        .descriptions()
        .save("default", 1, &[description], 1_790_000_000_000)
        .await
        .unwrap();
    store
}

fn configure(directory: &Path, more: &str) -> String {
    let place = directory.display();
    let text = format!(
        "web_robots_db = ''\n{more}\n[[rule]]\npath = '/served/*'\naction = 'serve'\n\
         [server]\nhosts = 'www.example.com'\nlisten = '127.0.0.1:0'\n\
         [database]\nurl = 'sqlite://{place}/heaven.db'\n[robots_txt]\nserve = 'settings'\n"
    );
    fs::write(directory.join("robot-detection.toml"), &text).unwrap();
    text
}

fn explain(directory: &Path, path: &str) -> Value {
    let arguments = [
        "explain",
        "--json",
        "--path",
        path,
        "--user-agent",
        GOOGLEBOT,
    ];
    serde_json::from_str(&succeed(directory, &arguments)).unwrap()
}

#[tokio::test]
async fn explain_names_the_redirect_target_without_a_running_server() {
    let directory = tempfile::tempdir().unwrap();
    let store = describe(directory.path()).await;
    let settings = HeavenSettings::new(SITE).unwrap();
    let library = Library::new(store.clone(), "default");
    let pages = directory.path().join("pages");
    publish(&library, &pages, &settings).await.unwrap();
    store.close().await;
    let files = format!("heaven.directory = '{}'", pages.display());
    for more in ["heaven.source = 'database'", &files] {
        configure(directory.path(), more);
        let told = explain(directory.path(), ASKED);
        assert_eq!(told["decision"], "redirect", "{more}");
        assert_eq!(told["location"], OWN, "{more}");
        let steps = told["steps"].to_string();
        assert!(
            steps.contains(&format!("The response is 302, a redirect to {OWN}")),
            "{steps}"
        );
        let other = explain(directory.path(), "/members-only-stuff/other");
        assert_eq!(other["location"], "/robot-heaven/", "{more}");
    }
    let none = "heaven.source = 'database'\nheaven.own_pages = false";
    configure(directory.path(), none);
    let told = explain(directory.path(), ASKED);
    assert_eq!(told["location"], "/robot-heaven/");
}

/// Paths, and a word that names the component that answers.
const ANSWERED: [(&str, &str); 5] = [
    ("/robot-detection/admin/", "admin page"),
    ("/robot-detection/admin/api/v1/identify?a", "admin page"),
    ("/robot-heaven/", "robot heaven"),
    ("/robot-heaven/members-only-stuff/log/7.htm", "robot heaven"),
    ("/robots.txt", "from its settings"),
];

#[tokio::test]
async fn explain_names_the_component_that_answers_instead_of_the_site() {
    let directory = tempfile::tempdir().unwrap();
    describe(directory.path()).await.close().await;
    configure(directory.path(), "heaven.source = 'database'");
    for (path, who) in ANSWERED {
        let told = explain(directory.path(), path);
        let by = told["answered_by"].as_str().unwrap_or_default();
        assert!(
            by.starts_with("this program, ") && by.contains(who),
            "{path}: {told}"
        );
        assert_eq!(told["decision"], "pass", "{path}");
    }
    for path in [
        "/about.html",
        "/robot-detection/administrator",
        "/metrics",
        ASKED,
    ] {
        let told = explain(directory.path(), path);
        assert_eq!(told["answered_by"], Value::Null, "{path}");
    }
}

/// A running server, with its admin pages accessible without a login.
struct Running {
    robots: RobotDetection,
    addr: SocketAddr,
    client: Client,
    stop: CancellationToken,
    done: JoinHandle<()>,
}

impl Running {
    async fn start(text: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let loaded = Loader::new().file("f.toml", text).load().unwrap();
        let builder = app::assemble(&loaded).unwrap();
        let robots = builder.build_idle().await.unwrap();
        let settings = ServerSettings::new(&loaded, false).unwrap();
        let server = settings.bind().await.unwrap();
        let (addr, stop) = (server.local_addr(), CancellationToken::new());
        let (ours, until) = (robots.clone(), stop.clone());
        let tasks = TaskTracker::new();
        let done = tasks.spawn(async move { server.run(&ours, until).await });
        let client = Client::builder().redirect(redirect::Policy::none());
        Self {
            robots,
            addr,
            client: client.build().unwrap(),
            stop,
            done,
        }
    }

    async fn get(&self, path: &str) -> Response {
        let request = self.client.get(format!("http://{}{path}", self.addr));
        let request = request.header("user-agent", GOOGLEBOT);
        request.send().await.unwrap()
    }

    /// Opens a page of the console that explains the decision for a path.
    async fn identify(&self, page: &str, path: &str) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("user_agent", GOOGLEBOT)
            .append_pair("path", path)
            .finish();
        let request = Request::get(format!("/{page}?{query}")).header("host", "www.example.com");
        let request = request.body(Body::empty()).unwrap();
        let pages = self.robots.admin_router_without_login();
        let answer = pages.oneshot(request).await.unwrap();
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }
}

#[tokio::test]
async fn the_identify_page_agrees_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    describe(directory.path()).await.close().await;
    let text = configure(directory.path(), "heaven.source = 'database'");
    let server = Running::start(&text).await;
    // The server has loaded the list of heaven pages once it redirects robots to one.
    eventually_async("the heaven pages are loaded", async || {
        server.get(ASKED).await.headers()["location"] == OWN
    })
    .await;
    let ask = async |path: &str| -> Value {
        serde_json::from_str(&server.identify("api/v1/identify", path).await).unwrap()
    };
    let told = ask(ASKED).await;
    assert_eq!(told["decision"], "redirect", "{told}");
    assert_eq!(told["location"], OWN, "{told}");
    for (path, who) in ANSWERED {
        let told = ask(path).await;
        let by = told["answered_by"].as_str().unwrap_or_default();
        assert!(by.contains(who), "{path}: {told}");
    }
    let shown = server.identify("identify", ASKED).await;
    let words = format!("is redirected to <code>{OWN}</code>");
    assert!(shown.contains(&words), "{shown}");
    let shown = server.identify("identify", "/robot-detection/admin/").await;
    let words = "is answered by this program, with its admin page";
    assert!(shown.contains(words), "{shown}");
    server.stop.cancel();
    server.done.await.unwrap();
    server.robots.shutdown().await;
}

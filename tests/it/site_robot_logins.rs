//! The site robot logs in with a site's form.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Form, Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    middleware::{self, Next},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use robot_detection::{
    site_robot::{
        SiteRobot, Summary,
        source::{FormLogin, HttpSettings, HttpSource, PageRequest, SiteAccess},
    },
    store::{DescriptionQuery, RunState, Store},
};
use tokio::{net::TcpListener, task::JoinSet};
use url::Url;

use crate::support::{
    http::{Reply, TestServer},
    program::{self, Server, admin_json, eventually, succeed},
};

const PASSWORD: &str = "open-sesame-7";
const TOKEN: &str = "token-4711";
const PAGES: usize = 9;

/// Application whose members log in with a form that contains a token.
struct Members {
    origin: String,
    state: Arc<Mutex<Login>>,
    _server: JoinSet<()>,
}

/// State of the application's only member, and the requests seen.
#[derive(Debug)]
struct Login {
    action: String,
    /// Requests after which a session ends.
    lasts: usize,
    left: usize,
    sessions: usize,
    posts: usize,
    asked: Vec<(String, String)>,
}

type Shared = State<Arc<Mutex<Login>>>;

impl Members {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = Arc::new(Mutex::new(Login {
            action: "/login".to_owned(),
            lasts: usize::MAX,
            left: 0,
            sessions: 0,
            posts: 0,
            asked: Vec::new(),
        }));
        let app = Router::new()
            .route("/login", get(form).post(log_in))
            .route("/members/{name}", get(member))
            .layer(middleware::from_fn_with_state(Arc::clone(&state), note))
            .with_state(Arc::clone(&state));
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            origin,
            state,
            _server: server,
        }
    }

    fn url(&self, path: &str) -> Url {
        format!("{}{path}", self.origin).parse().unwrap()
    }

    fn state(&self) -> MutexGuard<'_, Login> {
        self.state.lock().unwrap()
    }

    fn login(&self, password: &str) -> FormLogin {
        FormLogin::new(self.url("/login"), "pass", password)
            .field("user", "robot")
            .token_field("csrf")
    }

    fn source(&self, login: FormLogin, others: &[&str]) -> HttpSource {
        let starts = others.iter().map(|other| other.parse().unwrap());
        let sites = std::iter::once(self.url("/")).chain(starts);
        HttpSource::new(HttpSettings {
            sites: sites.map(|site| SiteAccess::new(&site).unwrap()).collect(),
            login: Some(login),
            ..HttpSettings::default()
        })
        .unwrap()
    }

    async fn run(&self, store: &Store, login: FormLogin) -> Summary {
        let robot = SiteRobot::builder("members", store.clone(), self.source(login, &[]))
            .start(self.url("/members/0"), Some(9))
            .retries(0, Duration::ZERO);
        robot.build().unwrap().run().await.unwrap()
    }
}

async fn note(State(state): Shared, request: Request, next: Next) -> Response {
    let cookie = request.headers().get(header::COOKIE);
    let cookie = cookie.map_or_else(String::new, |it| it.to_str().unwrap().to_owned());
    let path = request.uri().path().to_owned();
    state.lock().unwrap().asked.push((path, cookie));
    next.run(request).await
}

fn page(action: &str) -> Html<String> {
    Html(format!(
        "<title>Members</title><form action=/search><input name=q></form>\
         <form method=post action='{action}'><input type=hidden name=csrf value='{TOKEN}'>\
         <input name=user><input type=password name=pass><button>Log in</button></form>"
    ))
}

async fn form(State(state): Shared) -> impl IntoResponse {
    let cookie = format!("form={TOKEN}; Path=/; HttpOnly");
    (
        [(header::SET_COOKIE, cookie)],
        page(&state.lock().unwrap().action),
    )
}

async fn log_in(
    State(state): Shared,
    headers: HeaderMap,
    Form(fields): Form<HashMap<String, String>>,
) -> Response {
    let mut login = state.lock().unwrap();
    login.posts += 1;
    let is = |name: &str, value: &str| fields.get(name).is_some_and(|it| it == value);
    let cookie = headers.get(header::COOKIE).map(|it| it.to_str().unwrap());
    let is_ours = cookie.is_some_and(|cookie| cookie.contains(&format!("form={TOKEN}")));
    if !(is("user", "robot") && is("pass", PASSWORD) && is("csrf", TOKEN) && is_ours) {
        return page(&login.action).into_response();
    }
    login.sessions += 1;
    login.left = login.lasts;
    let session = format!("session=s{}; Path=/; HttpOnly", login.sessions);
    let to = "/members/0".to_owned();
    (
        StatusCode::SEE_OTHER,
        [(header::SET_COOKIE, session), (header::LOCATION, to)],
    )
        .into_response()
}

async fn member(State(state): Shared, request: Request) -> Response {
    let mut login = state.lock().unwrap();
    let cookie = request.headers().get(header::COOKIE);
    let session = format!("session=s{}", login.sessions);
    let is_in = cookie.is_some_and(|it| it.to_str().unwrap().contains(&session));
    if !is_in || login.left == 0 {
        let to: [(HeaderName, &str); 1] = [(header::LOCATION, "/login?next=/members")];
        return (StatusCode::FOUND, to).into_response();
    }
    login.left -= 1;
    let name = request.uri().path().rsplit('/').next().unwrap();
    let links = (1..PAGES).map(|to| format!("<a href=/members/{to}>{to}</a> "));
    let links: String = links
        .chain(["<a href=/login>Log in</a>".to_owned()])
        .collect();
    let text = format!("<title>Page {name}</title><p>Words for members on page {name}.</p>");
    Html(format!("{text}{links}")).into_response()
}

async fn store() -> Store {
    Store::connect("sqlite::memory:").await.unwrap()
}

async fn titles(store: &Store) -> Vec<String> {
    let query = DescriptionQuery::new("members");
    let found = store.descriptions().list(&query).await.unwrap();
    found
        .iter()
        .map(|it| it.description.title().to_owned())
        .collect()
}

fn all_pages() -> Vec<String> {
    (0..PAGES).map(|number| format!("Page {number}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_behind_a_form_with_a_token_are_described_and_the_form_is_not() {
    let (members, store) = (Members::open().await, store().await);
    let summary = members.run(&store, members.login(PASSWORD)).await;
    assert_eq!(summary.state, RunState::Finished, "{summary:?}");
    assert_eq!(titles(&store).await, all_pages());
    assert_eq!(members.state().posts, 1);
    let asked = members.state().asked.clone();
    let robots = asked
        .iter()
        .find(|(path, _)| path == "/robots.txt")
        .unwrap();
    assert_eq!(robots.1, "", "robots.txt is read before the login");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_sent_once_and_no_page_is_withdrawn() {
    let (members, store) = (Members::open().await, store().await);
    members.run(&store, members.login(PASSWORD)).await;
    members.state().posts = 0;
    let summary = members.run(&store, members.login("geheim")).await;
    assert_eq!(summary.state, RunState::Held);
    let held = summary.held.unwrap();
    assert!(
        held.contains("was refused") && held.contains("login_fields"),
        "{held}"
    );
    assert!(!held.contains("geheim"), "{held}");
    assert_eq!(members.state().posts, 1);
    assert_eq!(titles(&store).await, all_pages(), "no page is withdrawn");
    // The next run tries again.
    let summary = members.run(&store, members.login(PASSWORD)).await;
    assert_eq!(summary.state, RunState::Finished);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ends_during_a_run_is_renewed() {
    let (members, store) = (Members::open().await, store().await);
    members.state().lasts = 4;
    let summary = members.run(&store, members.login(PASSWORD)).await;
    assert_eq!(summary.state, RunState::Finished, "{summary:?}");
    assert_eq!(titles(&store).await, all_pages());
    let posts = members.state().posts;
    assert!((3..=9).contains(&posts), "{posts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_rejects_all_logins_is_not_requested_endlessly() {
    let (members, store) = (Members::open().await, store().await);
    // The session is valid only for the page behind the form.
    members.state().lasts = 1;
    let summary = members.run(&store, members.login(PASSWORD)).await;
    assert_eq!(summary.state, RunState::Held);
    assert!(titles(&store).await.is_empty());
    let posts = members.state().posts;
    assert!(posts <= 7, "{posts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_with_another_site_as_target_is_not_sent() {
    let (members, store) = (Members::open().await, store().await);
    let other = TestServer::new(Reply::text("thank you"));
    members.state().action = other.url("/collect");
    let summary = members.run(&store, members.login(PASSWORD)).await;
    assert_eq!(summary.state, RunState::Held);
    let held = summary.held.unwrap();
    assert!(
        held.contains("would be sent to http://127.0.0.1:"),
        "{held}"
    );
    assert!(other.seen().is_empty());
    assert_eq!(members.state().posts, 0);
}

#[tokio::test]
async fn a_password_is_not_sent_over_plain_http() {
    // Anyone in between, here a proxy, could read the password.
    let proxy = TestServer::new(Reply::typed("text/html", page("/login").0));
    let url: Url = "http://members.example/login".parse().unwrap();
    let login = FormLogin::new(url.clone(), "pass", PASSWORD).field("user", "robot");
    let source = HttpSource::new(HttpSettings {
        proxy: Some(proxy.url("/").parse().unwrap()),
        sites: vec![SiteAccess::new(&url).unwrap()],
        login: Some(login),
        ..HttpSettings::default()
    })
    .unwrap();
    let page = url.join("/a").unwrap();
    let error = source
        .fetch(&PageRequest::get(&page))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("would receive it unencrypted"), "{error}");
    assert!(!error.contains(PASSWORD), "{error}");
    assert_eq!(proxy.seen().len(), 1, "only the form was requested");
}

#[tokio::test]
async fn cookies_are_sent_only_to_their_own_host() {
    let members = Members::open().await;
    let of_run = TestServer::new(Reply::text("a"));
    let other = TestServer::new(Reply::text("b"));
    // Another name of this machine is another host.
    let of_run_url = of_run.url("/a").replace("127.0.0.1", "localhost");
    let source = members.source(members.login(PASSWORD), &[&of_run_url]);
    for url in [
        members.url("/members/0").as_str(),
        &of_run_url,
        &other.url("/b"),
    ] {
        let url = url.parse().unwrap();
        let answer = source.fetch(&PageRequest::get(&url)).await.unwrap();
        assert_eq!(answer.status, 200, "{url}");
    }
    let (path, cookie) = members.state().asked.last().unwrap().clone();
    assert!(cookie.contains("session=s1"), "{path} {cookie}");
    assert_eq!(of_run.seen()[0].header("cookie"), None);
    assert_eq!(
        other.seen()[0].header("cookie"),
        None,
        "the host does not belong to the run"
    );
    assert!(!format!("{source:?}").contains("session=s1"));
}

/// Writes the settings of a site robot that logs in; returns the path of its password file.
fn settings(directory: &Path, members: &Members) -> std::path::PathBuf {
    let password = directory.join("password");
    fs::write(&password, format!("{PASSWORD}\n")).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
    let origin = &members.origin;
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\nlog.level = 'debug'\n\
         heaven.open_to = 'all'\n\
         [site_robot]\nstarting_points = '{origin}/members/0'\nschedule = '* * * * *'\n\
         login_form = '{origin}/login'\nlogin_fields = ['user=robot']\n\
         login_password_field = 'pass'\nlogin_password_file = '{}'\nlogin_token_field = 'csrf'\n",
        password.display(),
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    password
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_robots_credentials_are_written_nowhere() {
    let members = Members::open().await;
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    settings(directory, &members);
    let url = members.url("/members/3");
    let token = succeed(directory, &["admin", "token", "console"]);
    let server = Server::start(directory, &["serve"]);
    let described = || succeed(directory, &["site-robot", "export", "--format", "jsonl"]);
    eventually("the pages are described", || {
        described().lines().count() == PAGES
    });
    let mut told = vec![
        described(),
        succeed(directory, &["site-robot", "explain", url.as_str()]),
        succeed(directory, &["site-robot", "status", "--json"]),
        String::from_utf8(program::run(directory, &["doctor"]).stdout).unwrap(),
    ];
    assert!(told[3].contains("logs in with a form"), "{}", told[3]);
    let admin = server.admin.unwrap_or(server.addr);
    for path in ["settings", "site-robot", "status"] {
        let answer = admin_json(admin, token.trim(), ("GET", path), "");
        assert_eq!(answer.status, 200, "{path}");
        told.push(answer.text());
    }
    assert!(told[4].contains("login_password_file"), "{}", told[4]);
    assert!(told[4].contains("user=***"), "{}", told[4]);
    drop(server);
    let log = fs::read_to_string(directory.join("stderr.log")).unwrap();
    assert!(
        log.contains("/members/3"),
        "the log must mention each page: {log}"
    );
    told.push(log);
    for text in told {
        for secret in [PASSWORD, TOKEN, "session=s"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_warns_of_a_password_file_readable_by_others() {
    let members = Members::open().await;
    let directory = tempfile::tempdir().unwrap();
    let password = settings(directory.path(), &members);
    let doctor = || {
        let output = program::run(directory.path(), &["doctor", "--offline"]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!doctor().contains("other users can read it"));
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();
    let told = doctor();
    assert!(told.contains("other users can read it: chmod o="), "{told}");
}

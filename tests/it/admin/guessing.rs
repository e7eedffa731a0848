//! A client guesses the administrator's password; the administrator still logs in.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use reqwest::{StatusCode, header, redirect};
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::support::{
    postgres,
    program::{self, Server, command, eventually, succeed},
};

const GUESSER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const ADMINISTRATOR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// Browser with its own address and a fixed cookie.
#[derive(Clone)]
struct Browser {
    http: reqwest::Client,
    origin: String,
    cookie: String,
}

/// Response to a login.
struct Login {
    status: StatusCode,
    headers: header::HeaderMap,
}

impl Browser {
    fn new(server: &Server, from: impl Into<IpAddr>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .local_address(from.into())
            .redirect(redirect::Policy::none())
            .build()
            .unwrap();
        Self {
            http,
            origin: format!("http://{}", server.addr),
            cookie: String::new(),
        }
    }

    async fn log_in(&self, password: &str) -> Login {
        let answer = self
            .http
            .post(format!("{}/robot-detection/admin/login", self.origin))
            .header(header::ORIGIN, &self.origin)
            .header(header::COOKIE, &self.cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(format!("password={password}"))
            .send()
            .await
            .unwrap();
        Login {
            status: answer.status(),
            headers: answer.headers().clone(),
        }
    }

    /// Guesses until the server demands a wait.
    async fn guess_until_refused(&self) {
        for guess in 0..20 {
            let login = self.log_in(&format!("guess-{guess}")).await;
            if login.status == StatusCode::TOO_MANY_REQUESTS {
                assert!(login.headers.contains_key(header::RETRY_AFTER));
                return;
            }
            assert_eq!(login.status, StatusCode::FORBIDDEN);
        }
        panic!("the server accepted twenty guesses");
    }
}

impl Login {
    /// Returns the cookie by which the server recognises the browser later.
    fn browser_cookie(&self) -> &str {
        let cookies = self.headers.get_all(header::SET_COOKIE).iter();
        cookies
            .filter_map(|cookie| cookie.to_str().ok())
            .find(|cookie| cookie.starts_with("robot-detection-browser="))
            .expect("the response to a login sets the browser's cookie")
    }
}

fn start(directory: &Path, database: &str) -> Server {
    Server::start(directory, &["--database", database, "serve"])
}

/// Guesses from one address without a pause, four at a time.
fn guess_for_ever(server: &Server) -> Vec<AbortOnDropHandle<()>> {
    let guesser = Browser::new(server, GUESSER);
    let guessing = |mut guess: u64| {
        let guesser = guesser.clone();
        let task: JoinHandle<()> = TaskTracker::new().spawn(async move {
            loop {
                guesser.log_in(&format!("guess-{guess}")).await;
                guess += 4;
            }
        });
        AbortOnDropHandle::new(task)
    };
    (0..4).map(guessing).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_password_is_accepted_during_guessing() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "sqlite://a.db");
    let password = server.password.clone().unwrap();
    Browser::new(&server, GUESSER).guess_until_refused().await;
    let _guessing = guess_for_ever(&server);
    for _ in 0..15 {
        let login = Browser::new(&server, ADMINISTRATOR).log_in(&password).await;
        assert_eq!(login.status, StatusCode::SEE_OTHER);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_counts_together_and_admits_the_administrator_everywhere() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = postgres::database_url().await;
    let one = start(one.path(), &database);
    let two = start(two.path(), &database);
    let password = one.password.clone().unwrap();
    Browser::new(&one, GUESSER).guess_until_refused().await;
    let elsewhere = Browser::new(&two, GUESSER).log_in("one-more-guess").await;
    assert_eq!(elsewhere.status, StatusCode::TOO_MANY_REQUESTS);
    for server in [&one, &two] {
        let login = Browser::new(server, ADMINISTRATOR).log_in(&password).await;
        assert_eq!(login.status, StatusCode::SEE_OTHER);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guesser_with_many_addresses_only_causes_delays() {
    let directory = tempfile::tempdir().unwrap();
    let server = Arc::new(start(directory.path(), "sqlite://a.db"));
    let password = server.password.clone().unwrap();
    for number in 1..=40 {
        let guesser = Browser::new(&server, Ipv4Addr::new(127, 0, 1, number));
        let login = guesser.log_in("guess").await;
        assert_eq!(login.status, StatusCode::FORBIDDEN, "{number}");
    }
    let login = Browser::new(&server, ADMINISTRATOR).log_in(&password).await;
    assert_eq!(login.status, StatusCode::SEE_OTHER);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guesser_with_a_network_of_addresses_does_not_lock_out_other_networks() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "sqlite://a.db");
    let password = server.password.clone().unwrap();
    let is_crowded = Arc::new(AtomicBool::new(false));
    // More guesses than may wait.
    let guessing = (1..=80).map(|last| {
        let guesser = Browser::new(&server, Ipv4Addr::new(127, 1, 0, last));
        let is_crowded = Arc::clone(&is_crowded);
        let task: JoinHandle<()> = TaskTracker::new().spawn(async move {
            loop {
                let status = guesser.log_in("guess").await.status;
                is_crowded.fetch_or(status == StatusCode::SERVICE_UNAVAILABLE, Relaxed);
            }
        });
        AbortOnDropHandle::new(task)
    });
    let guessing: Vec<_> = guessing.collect();
    eventually("the queue is full", || is_crowded.load(Relaxed));
    for _ in 0..3 {
        let login = Browser::new(&server, ADMINISTRATOR).log_in(&password).await;
        assert_eq!(login.status, StatusCode::SEE_OTHER);
    }
    drop(guessing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_browser_logs_in_while_its_address_is_guessing() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "sqlite://a.db");
    let password = server.password.clone().unwrap();
    let mut browser = Browser::new(&server, GUESSER);
    let login = browser.log_in(&password).await;
    let cookie = login.browser_cookie().to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/robot-detection/admin"] {
        assert!(cookie.contains(attribute), "{attribute} in {cookie}");
    }
    Browser::new(&server, GUESSER).guess_until_refused().await;
    let stranger = Browser::new(&server, GUESSER).log_in(&password).await;
    assert_eq!(stranger.status, StatusCode::TOO_MANY_REQUESTS);

    cookie
        .split(';')
        .next()
        .unwrap()
        .clone_into(&mut browser.cookie);
    assert_eq!(
        browser.log_in(&password).await.status,
        StatusCode::SEE_OTHER
    );
    // The browser's cookie neither opens the pages nor allows endless guessing.
    let overview = browser
        .http
        .get(format!("{}/robot-detection/admin/overview", browser.origin))
        .header(header::COOKIE, &browser.cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(overview.status(), StatusCode::SEE_OTHER);
    browser.guess_until_refused().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_makes_the_server_forget_known_browsers() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), "sqlite://a.db");
    let password = server.password.clone().unwrap();
    let mut browser = Browser::new(&server, GUESSER);
    let login = browser.log_in(&password).await;
    let cookie = login.browser_cookie().split(';').next().unwrap();
    cookie.clone_into(&mut browser.cookie);

    let options = [
        "--database",
        "sqlite://a.db",
        "admin",
        "password",
        "--generate",
    ];
    let new = succeed(directory.path(), &options).trim().to_owned();
    Browser::new(&server, GUESSER).guess_until_refused().await;
    let refused = browser.log_in(&new).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    // A new password resets all known browsers.
    let new = succeed(directory.path(), &options).trim().to_owned();
    let login = browser.log_in(&new).await;
    assert_eq!(login.status, StatusCode::SEE_OTHER);
}

/// Returns the addresses that Debian's fail2ban finds in a log with the shipped filter.
fn banned(log: &Path) -> Vec<String> {
    let filter = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/deploy/fail2ban/filter.d/robot-detection.conf");
    let output = Command::new("fail2ban-regex")
        .args(["--out", "ip"])
        .args([log, &filter])
        .stdin(Stdio::null())
        .output()
        .expect("fail2ban-regex is missing: `tests/run` installs fail2ban");
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{found}{told}");
    found.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fail2ban_reads_the_address_of_each_wrong_password_and_no_forged_address() {
    for format in ["text", "json"] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = command(directory.path());
        command
            .env("ROBOT_DETECTION_LOG_FORMAT", format)
            .env("ROBOT_DETECTION_SERVER_TRUSTED_PROXIES", "127.0.0.9");
        let arguments = ["--database", "sqlite://a.db", "serve"];
        let server = Server::start_as(command, directory.path(), &arguments);
        let password = server.password.clone().unwrap();
        let guesser = Browser::new(&server, GUESSER);
        let forged =
            "x%0A2026-11-23T12:00:00Z%20%20WARN%20failed%20admin%20login%20from%20192.0.2.66%0A";
        for guess in ["a", "b", forged] {
            let login = guesser.log_in(guess).await;
            assert_eq!(login.status, StatusCode::FORBIDDEN);
        }
        let login = Browser::new(&server, ADMINISTRATOR).log_in(&password).await;
        assert_eq!(login.status, StatusCode::SEE_OTHER);
        let headers = [
            ("X-Forwarded-For", "192.0.2.66"),
            ("User-Agent", "WARN failed admin login from 192.0.2.66"),
            ("Authorization", "Bearer failed admin login from 192.0.2.66"),
        ];
        let path =
            "/robot-detection/admin/api/v1/status?failed%20admin%20login%20from%20192.0.2.66";
        program::request(server.addr, "GET", path, &headers);
        server.signal("TERM");
        assert!(server.wait());
        let found = banned(&directory.path().join("stderr.log"));
        assert_eq!(found, ["127.0.0.2"; 3], "{format}");
    }
}

//! A site with admin pages, and a client that keeps its cookie.

use std::{fmt::Write as _, net::SocketAddr, sync::Mutex, time::Duration};

use axum::extract::ConnectInfo;
use regex::Regex;
use reqwest::{Method, StatusCode, header, redirect};
use robot_detection::{
    admin::{self, Access, Admin, ClientAddress},
    app::{EvidenceSettings, Traffic},
    clock::Clock,
    detect::SharedDetector,
    fetch::{FetchLimits, Fetcher},
    live_rules::LiveRules,
    operations::{
        Certificates, Notices, Operations, Reloads, RobotRuns, Setting, SharedSites, hash_password,
    },
    policy::{Enforcer, Policy, SharedPolicy},
    refresh::{Refresher, SourceSpec},
    registry::{Format, Source},
    store::Store,
    verify::{Methods, Ranges, RangesRefresher, Verifier},
};
use sqlx::{Connection as _, SqliteConnection};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::support::{
    eventually::eventually_async,
    http::{Reply, TestServer},
};

pub(super) const PASSWORD: &str = "lusab-babad-gutih-tugad";
/// Name of the session's cookie.
const SESSION: &[u8] = b"robot-detection-admin=";
pub(super) const PREFIX: &str = "/robot-detection/admin";
/// 2026-03-01T12:00:00Z.
pub(super) const NOW_MS: i64 = 1_772_366_400_000;

/// A site that stops when the test ends.
pub(super) struct Site {
    pub(super) address: SocketAddr,
    pub(super) database: String,
    pub(super) store: Store,
    pub(super) detector: SharedDetector,
    pub(super) refresher: Refresher,
    pub(super) clock: Clock,
    pub(super) robot_runs: RobotRuns,
    pub(super) certificates: Certificates,
    pub(super) traffic: Traffic,
    pub(super) verifier: Verifier,
    pub(super) ranges: RangesRefresher,
    pub(super) source: TestServer,
    _directory: tempfile::TempDir,
}

/// Options of a site.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate setting"
)]
pub(super) struct Plan {
    pub(super) access: Access,
    pub(super) hosts: Vec<String>,
    pub(super) filter: &'static str,
    pub(super) has_password: bool,
    pub(super) has_source: bool,
    /// Verify claims by address lists.
    pub(super) verifies: bool,
    pub(super) live_rules: bool,
    pub(super) time_zone: &'static str,
    pub(super) mount: fn(axum::Router) -> axum::Router,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            access: Access::Login {
                secure_cookies: false,
            },
            hosts: Vec::new(),
            filter: "/members-only-stuff/*",
            has_password: true,
            has_source: true,
            verifies: true,
            live_rules: true,
            time_zone: "UTC",
            mount: |admin| axum::Router::new().nest_service(PREFIX, admin),
        }
    }
}

impl Plan {
    /// Plan of a site in an application with its own login.
    pub(super) fn open() -> Self {
        Self {
            access: Access::Open,
            ..Self::default()
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "sets up the parts of a site one after the other"
    )]
    pub(super) async fn start(self) -> Site {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", directory.path().join("test.db").display());
        let store = Store::connect(&url).await.unwrap();
        let clock = Clock::manual(NOW_MS);
        if self.has_password {
            let hash = hash_password(PASSWORD).unwrap();
            let now_ms = clock.now_ms();
            store
                .access()
                .set_password_hash(&hash, now_ms)
                .await
                .unwrap();
        }
        let detector = SharedDetector::default();
        let source = TestServer::new(Reply::text(flat_file(12)));
        let limits = FetchLimits {
            timeout: Duration::from_secs(20),
            ..FetchLimits::default()
        };
        let spec = SourceSpec {
            source: Source::web_robots_db(),
            url: source.url("/db/all.txt"),
            format: Format::WebRobotsDb,
            interval_days: 30,
        };
        let sources = self.has_source.then_some(spec).into_iter().collect();
        let refresher = Refresher::new(
            store.clone(),
            Fetcher::new(limits).unwrap(),
            detector.clone(),
            clock.clone(),
            sources,
        );
        let tasks = TaskTracker::new();
        let robot_runs = RobotRuns::default();
        let certificates = Certificates::default();
        let policy = SharedPolicy::new(policy(self.filter));
        let live_rules = LiveRules::new(self.live_rules);
        let (verifier, ranges) = proving(self.verifies, &store, &clock, &tasks);
        let traffic = Traffic::new(
            Some(store.clone()),
            true,
            EvidenceSettings::default(),
            &clock,
        );
        let router = admin::router(Admin {
            operations: Operations {
                store: store.clone(),
                detector: detector.clone(),
                policy,
                enforcer: Enforcer::default(),
                sites: SharedSites::default(),
                live_rules: live_rules.clone(),
                reloads: Reloads::default(),
                robot_runs: robot_runs.clone(),
                certificates: certificates.clone(),
                notices: Notices::default(),
                refresher: refresher.clone(),
                traffic: traffic.clone(),
                verifier: verifier.clone(),
                ranges: ranges.clone(),
                settings: settings().into(),
                clock: clock.clone(),
                tasks: tasks.clone(),
            },
            time_zone: self.time_zone.parse().unwrap(),
            access: self.access,
            client_address: ClientAddress::new(|extensions| {
                let peer = extensions.get::<ConnectInfo<SocketAddr>>();
                peer.map(|ConnectInfo(peer)| peer.ip())
            }),
            hosts: self.hosts,
            stop: CancellationToken::new(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = (self.mount)(router).into_make_service_with_connect_info::<SocketAddr>();
        tasks.spawn(async move { axum::serve(listener, app).await });
        Site {
            address,
            database: url,
            store,
            detector,
            refresher,
            clock,
            robot_runs,
            certificates,
            traffic,
            verifier,
            ranges,
            source,
            _directory: directory,
        }
    }
}

impl Site {
    pub(super) fn client(&self) -> Client {
        Client::of(self.address)
    }

    pub(super) async fn logged_in(&self) -> Client {
        let client = self.client();
        let answer = client.log_in(PASSWORD).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        client
    }

    /// Makes failed logins a minute older.
    pub(super) async fn a_minute_passes(&self) {
        let mut raw = SqliteConnection::connect(&self.database).await.unwrap();
        let sql = "UPDATE login_failures SET forgotten_ms = forgotten_ms - 60000";
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
        raw.close().await.unwrap();
    }

    /// Refreshes the registry directly, without the page.
    pub(super) async fn refresh(&self) {
        self.refresher
            .refresh(
                &Source::web_robots_db(),
                robot_detection::refresh::Trigger::Command,
                robot_detection::refresh::RefreshOptions::default(),
            )
            .await
            .unwrap();
    }
}

/// Client with one cookie, stored as a browser does.
pub(super) struct Client {
    http: reqwest::Client,
    /// URL of the top of the pages, with a trailing slash.
    pub(super) top: String,
    pub(super) cookie: Mutex<Option<String>>,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: header::HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the session's cookie with its attributes.
    pub(super) fn session_cookie(&self) -> &str {
        let mut cookies = self.headers.get_all(header::SET_COOKIE).iter();
        let session = cookies.find(|cookie| cookie.as_bytes().starts_with(SESSION));
        session.map_or("", |cookie| cookie.to_str().unwrap())
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Returns the CSRF token of the first form on the page.
    pub(super) fn csrf(&self) -> String {
        let token = Regex::new(r#"name="csrf" value="([^"]+)""#).unwrap();
        token
            .captures(&self.body)
            .unwrap_or_else(|| panic!("no token in {}", self.body))[1]
            .to_owned()
    }

    /// Returns the page's text without its tags.
    pub(super) fn text(&self) -> String {
        let tags = Regex::new(r"<[^>]*>|\s+").unwrap();
        let blanks = Regex::new(r" +").unwrap();
        let text = tags.replace_all(&self.body, " ");
        blanks.replace_all(&text, " ").into_owned()
    }
}

impl Client {
    /// Creates a client for the pages at an address, without a cookie.
    pub(super) fn of(address: SocketAddr) -> Self {
        Self {
            http: reqwest::Client::builder()
                .redirect(redirect::Policy::none())
                .build()
                .unwrap(),
            top: format!("http://{address}{PREFIX}/"),
            cookie: Mutex::default(),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// Posts a form as a browser does, with the CSRF token of the session's pages.
    pub(super) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.get("account").await.csrf();
        let mut fields = fields.to_vec();
        fields.push(("csrf", &token));
        self.post_as_is(path, &fields).await
    }

    /// Posts a form without a token.
    pub(super) async fn post_as_is(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send(self.form(path, fields)).await
    }

    pub(super) async fn log_in(&self, password: &str) -> Answer {
        self.post_as_is("login", &[("password", password)]).await
    }

    pub(super) fn form(&self, path: &str, fields: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let body = fields
            .iter()
            .map(|(key, value)| format!("{key}={}", encode(value)))
            .collect::<Vec<_>>()
            .join("&");
        self.request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ORIGIN, self.origin())
            .body(body)
    }

    pub(super) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.top));
        match self.cookie.lock().unwrap().as_ref() {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    pub(super) fn json(&self, method: Method, path: &str, body: &str) -> reqwest::RequestBuilder {
        self.request(method, path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_owned())
    }

    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let cookies = response.headers().get_all(header::SET_COOKIE).iter();
        let mut session = cookies.filter(|cookie| cookie.as_bytes().starts_with(SESSION));
        if let Some(cookie) = session.next() {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let is_kept = !pair.ends_with('=');
            *self.cookie.lock().unwrap() = is_kept.then(|| pair.to_owned());
        }
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    /// Polls until the running refresh has ended; returns the final status.
    pub(super) async fn refresh_done(&self) -> serde_json::Value {
        eventually_async("the refresh ends", async || {
            let job = self.get("api/v1/refresh").await.json();
            (job.get("running") == Some(&false.into())).then_some(job)
        })
        .await
    }

    pub(super) fn origin(&self) -> String {
        let url = reqwest::Url::parse(&self.top).unwrap();
        url.origin().ascii_serialization()
    }
}

pub(super) fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Returns a registry in the schema of the Web Robots Database.
pub(super) fn flat_file(robots: usize) -> String {
    let mut file = String::new();
    for number in 1..=robots {
        let _ = write!(
            file,
            "robot-id:          acme{number:04}\n\
             robot-name:        Acme Robot {number:04}\n\
             robot-details-url: http://robots.example/acme{number}\n\
             robot-useragent:   Acme{number:04}Walker/1.0\n\n"
        );
    }
    file
}

/// Returns a verifier of claims by address lists alone, or none.
fn proving(
    is_on: bool,
    store: &Store,
    clock: &Clock,
    tasks: &TaskTracker,
) -> (Verifier, RangesRefresher) {
    let lists = Ranges::new(clock.clone());
    let mut methods = Methods::default();
    methods.allow_private_addresses = true;
    methods.ranges = is_on.then(|| lists.clone());
    let stop = CancellationToken::new();
    let verifier = Verifier::new(methods, clock.clone(), tasks.clone(), stop);
    // A list delayed by a test is awaited, however busy the machine is.
    let limits = FetchLimits {
        timeout: Duration::from_hours(1),
        ..RangesRefresher::fetch_limits()
    };
    let fetcher = Fetcher::new(limits).unwrap();
    (
        verifier,
        RangesRefresher::new(store.clone(), fetcher, lists),
    )
}

fn policy(filter: &str) -> Policy {
    Policy::builder()
        .filter_patterns([filter])
        .redirect_url("/robot-heaven/")
        .build()
        .unwrap()
}

fn settings() -> Vec<Setting> {
    let setting =
        |key: &str, old_name: Option<&str>, value: &str, origin: &str, help: &str| Setting {
            key: key.to_owned(),
            old_name: old_name.map(str::to_owned),
            value: value.to_owned(),
            origin: origin.to_owned(),
            help: help.to_owned(),
        };
    vec![
        setting(
            "web_robots_db",
            Some("WebRobotsDB"),
            "http://www.robotstxt.org/db/all.txt",
            "default",
            "Where the Web Robots Database is downloaded from.",
        ),
        setting(
            "filter_pattern",
            Some("FilterPattern"),
            "/members-only-stuff/*",
            "robot-detection.toml line 3",
            "Paths on which robots are redirected.",
        ),
        setting(
            "redirect_url",
            Some("RedirectURL"),
            "/robot-heaven/",
            "default",
            "Where robots are redirected to.",
        ),
        setting(
            "refresh_interval_days",
            Some("RefreshIntervalDays"),
            "30",
            "environment ROBOT_DETECTION_REFRESH_INTERVAL_DAYS",
            "Days between refreshes.",
        ),
        setting(
            "server.listen",
            None,
            "127.0.0.1:8080",
            "--listen",
            "Address that is listened on.",
        ),
    ]
}

//! README's axum example, as it stands.

use std::{io, net::SocketAddr};

use axum::{Router, routing::get};
use reqwest::{StatusCode, redirect};
use robot_detection::RobotDetection;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::task::TaskTracker;

use crate::{book::Shown, support::program};

/// Runs these lines, and keeps them as text.
macro_rules! lines_of_readme {
    ($robots:ident, $site:ident => $($line:tt)*) => {
        const LINES: &str = stringify!($($line)*);

        fn served($robots: &RobotDetection) -> Router {
            $($line)*
            $site
        }
    };
}

lines_of_readme! {
    robots, site =>
    let site: Router = Router::new()
        .route("/members-only-stuff/{page}", get(async || "behind the application's login"))
        .route("/robot-heaven/", get(async || "what search engines may index"))
        .nest_service("/robot-detection/admin", robots.admin_router())
        .layer(robots.layer());
}

/// Returns code without its comments and blanks.
fn bare(code: &str) -> String {
    let lines = code.lines().map(|line| match line.split_once("// ") {
        Some((code, _)) => code,
        None => line,
    });
    lines.flat_map(str::split_whitespace).collect()
}

/// The application of the README, running.
struct Running {
    robots: RobotDetection,
    address: SocketAddr,
    server: JoinHandle<io::Result<()>>,
}

impl Running {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let robots = RobotDetection::builder()
            .filter_patterns(["/members-only-stuff/*"])
            .redirect_url("/robot-heaven/")
            .database_url("sqlite::memory:")
            .web_robots_db("")
            .build()
            .await
            .unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = served(&robots).into_make_service_with_connect_info::<SocketAddr>();
        let server = TaskTracker::new().spawn(async move { axum::serve(listener, site).await });
        Self {
            robots,
            address,
            server,
        }
    }

    async fn end(self) {
        self.server.abort();
        self.robots.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_application_answers_as_the_readme_says() {
    let running = Running::start().await;
    let test = "the_application_answers_as_the_readme_says";
    for shown in Shown::of_readme("127.0.0.1:3000", test) {
        let user_agent = [("User-Agent", &*shown.user_agent)];
        let answer = program::request(running.address, "GET", &shown.path, &user_agent);
        shown.compare(&answer);
        let user_agent = [("User-Agent", program::FIREFOX)];
        let person = program::request(running.address, "GET", &shown.path, &user_agent);
        assert_eq!(person.text(), "behind the application's login");
    }
    running.end().await;
}

#[tokio::test]
async fn the_admin_page_asks_for_the_password() {
    let readme = include_str!("../../../README.md");
    assert!(bare(readme).contains(&bare(LINES)), "{LINES}");

    let running = Running::start().await;
    let top = format!("http://{}/robot-detection/admin", running.address);
    let client = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .build()
        .unwrap();
    let get = async |path: &str| client.get(format!("{top}{path}")).send().await.unwrap();
    for path in ["/", "/overview", "/robots/export"] {
        let answer = get(path).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
        assert!(
            answer.headers()["location"]
                .to_str()
                .unwrap()
                .contains("login")
        );
    }
    for path in ["/api/v1/status", "/api/v1/robots"] {
        assert_eq!(get(path).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    running.end().await;
}

//! README's axum example, as it stands.

use std::net::SocketAddr;

use axum::{Router, routing::get};
use reqwest::{StatusCode, redirect};
use robot_detection::app::RobotDetection;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

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

#[tokio::test]
async fn the_admin_page_asks_for_the_password() {
    let readme = include_str!("../../../README.md");
    assert!(bare(readme).contains(&bare(LINES)), "{LINES}");

    let _ = rustls::crypto::ring::default_provider().install_default();
    let robots = RobotDetection::builder()
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .build()
        .await
        .unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let top = format!(
        "http://{}/robot-detection/admin",
        listener.local_addr().unwrap()
    );
    let site = served(&robots).into_make_service_with_connect_info::<SocketAddr>();
    let server = TaskTracker::new().spawn(async move { axum::serve(listener, site).await });
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
    for path in ["/api/status", "/api/robots"] {
        assert_eq!(get(path).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    server.abort();
    robots.shutdown().await;
}

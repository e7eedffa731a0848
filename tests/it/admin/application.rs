//! Admin pages of an application that uses the library.

use axum::{
    body::Body,
    http::{Request, Response, StatusCode, header},
};
use robot_detection::app::{BuildError, RobotDetection, RobotDetectionBuilder};
use tower::ServiceExt as _;

use crate::support::{eventually::eventually_async, program::first_password};

fn application(directory: &tempfile::TempDir) -> RobotDetectionBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = directory.path().join("a.db");
    RobotDetection::builder()
        .database_url(format!("sqlite://{}", file.display()))
        .web_robots_db("")
}

async fn log_in(robots: &RobotDetection, password: &str) -> Response<Body> {
    let request = Request::post("/login")
        .header(header::HOST, "site.example")
        .header(header::ORIGIN, "http://site.example")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(format!("password={password}")))
        .unwrap();
    robots.admin_router().oneshot(request).await.unwrap()
}

async fn overview(pages: axum::Router, cookie: &str) -> StatusCode {
    let request = Request::get("/overview").header(header::COOKIE, cookie);
    let request = request.body(Body::empty()).unwrap();
    pages.oneshot(request).await.unwrap().status()
}

#[tokio::test]
async fn an_application_without_a_password_gets_one_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let robots = application(&directory).build().await.unwrap();
    drop(robots.admin_router());
    eventually_async("a password is generated", async || {
        robots.store().access().password_hash().await.unwrap()
    })
    .await;
    let password = first_password(directory.path()).unwrap();
    assert_eq!(
        log_in(&robots, &password).await.status(),
        StatusCode::SEE_OTHER
    );
    robots.shutdown().await;
}

#[tokio::test]
async fn a_password_set_by_an_application_opens_its_pages() {
    let directory = tempfile::tempdir().unwrap();
    let password = "a-password-of-its-own";
    let robots = application(&directory).admin_password(password);
    let robots = robots.build().await.unwrap();
    assert_eq!(log_in(&robots, "another").await.status(), 403);
    let entered = log_in(&robots, password).await;
    assert_eq!(entered.status(), StatusCode::SEE_OTHER);
    let cookies = entered.headers().get_all(header::SET_COOKIE).iter();
    let cookies = cookies.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap());
    let cookies = cookies.collect::<Vec<_>>().join("; ");
    assert_eq!(overview(robots.admin_router(), &cookies).await, 200);
    robots.shutdown().await;

    // A start with the same password keeps sessions; another password ends them.
    for (password, status) in [(password, 200), ("another-one-of-its-own", 303)] {
        let robots = application(&directory).admin_password(password);
        let robots = robots.build().await.unwrap();
        assert_eq!(overview(robots.admin_router(), &cookies).await, status);
        assert_eq!(log_in(&robots, password).await.status(), 303);
        robots.shutdown().await;
    }
    let short = application(&directory)
        .admin_password("short")
        .build()
        .await;
    assert!(matches!(short, Err(BuildError::ShortPassword(12))));
}

#[tokio::test]
async fn pages_without_a_login_must_be_enabled_explicitly() {
    let directory = tempfile::tempdir().unwrap();
    let robots = application(&directory).build().await.unwrap();
    assert_eq!(overview(robots.admin_router(), "").await, 303);
    let open = robots.admin_router_without_login();
    assert_eq!(overview(open, "").await, 200);
    robots.shutdown().await;
}

//! The router works wherever it is nested.

use std::collections::BTreeSet;

use regex::Regex;
use reqwest::{StatusCode, Url};

use super::site::{Plan, Site};

/// Number of addresses of one page with different queries that are followed.
const MAX_ALIKE: usize = 5;

/// Returns `true` if two addresses differ only in their query.
fn is_alike(seen: &str, url: &Url) -> bool {
    seen.split('?').next() == url.as_str().split('?').next()
}

/// Follows every link, image, script and search form of every page.
///
/// Returns the local paths of the pages, without their queries.
async fn follow_every_link(site: &Site, top: &str) -> BTreeSet<String> {
    let http = reqwest::Client::builder().build().unwrap();
    let reference = Regex::new(r#"(?:href|src|data-poll)="([^"]+)""#).unwrap();
    let form = Regex::new(r#"<form method="get" action="([^"]+)""#).unwrap();
    let top = Url::parse(&format!("http://{}{top}", site.address)).unwrap();
    let mut to_see = vec![top.clone()];
    let mut seen = BTreeSet::<String>::new();
    while let Some(url) = to_see.pop() {
        // Filters have more combinations than a test can follow.
        let alike = seen.iter().filter(|seen| is_alike(seen, &url)).count();
        if alike >= MAX_ALIKE || !seen.insert(url.to_string()) {
            continue;
        }
        let answer = http.get(url.clone()).send().await.unwrap();
        // An empty form may be refused with a page that has links like any other page.
        let is_refused_form =
            url.query().is_none() && answer.status() == StatusCode::UNPROCESSABLE_ENTITY;
        let is_answered = answer.status() == StatusCode::OK || is_refused_form;
        assert!(is_answered, "{url}: {}", answer.status());
        let base = answer.url().clone();
        let is_page = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html");
        let body = answer.text().await.unwrap();
        let targets = reference
            .captures_iter(&body)
            .chain(form.captures_iter(&body));
        for target in targets.filter(|_| is_page) {
            let target = target[1].replace("&amp;", "&").replace("&#38;", "&");
            let mut url = base.join(&target).unwrap();
            url.set_fragment(None);
            if url.origin() == top.origin() {
                to_see.push(url);
            }
        }
    }
    seen.iter()
        .map(|url| Url::parse(url).unwrap().path().to_owned())
        .collect()
}

async fn follow(mount: fn(axum::Router) -> axum::Router, top: &str, prefix: &str) {
    let plan = Plan {
        mount,
        ..Plan::open()
    };
    let site = plan.start().await;
    site.refresh().await;
    let seen = follow_every_link(&site, top).await;
    for page in [
        "/overview",
        "/robots",
        "/robots/new",
        "/robots/web-robots-db/acme0001",
        "/identify",
        "/refreshes",
        "/refreshes/1",
        "/refresh",
        "/api/v1/refresh",
        "/assets/admin.css",
    ] {
        let path = format!("{prefix}{page}");
        assert!(seen.contains(&path), "{path} is not in {seen:#?}");
    }
    let outside: Vec<&String> = seen
        .iter()
        .filter(|path| !path.starts_with(prefix))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}

#[tokio::test]
async fn pages_work_at_the_root_of_a_site() {
    follow(|admin| admin, "/", "").await;
}

#[tokio::test]
async fn pages_work_nested_as_a_service_with_the_slash() {
    let mount = |admin| axum::Router::new().nest_service("/robot-detection/admin", admin);
    follow(mount, "/robot-detection/admin/", "/robot-detection/admin").await;
}

#[tokio::test]
async fn pages_work_nested_as_a_service_without_the_slash() {
    let mount = |admin| axum::Router::new().nest_service("/robot-detection/admin", admin);
    follow(mount, "/robot-detection/admin", "/robot-detection/admin").await;
}

#[tokio::test]
async fn pages_work_nested_as_a_router() {
    let mount = |admin| axum::Router::new().nest("/some/where", admin);
    follow(mount, "/some/where", "/some/where").await;
}

#[tokio::test]
async fn pages_work_nested_as_a_router_with_a_slash() {
    let mount = |admin| axum::Router::new().nest("/some/where/", admin);
    follow(mount, "/some/where/", "/some/where").await;
}

#[tokio::test]
async fn pages_work_nested_below_a_parameter_and_another_router() {
    let mount = |admin| {
        let inner = axum::Router::new().nest("/admin", admin);
        axum::Router::new().nest("/{tenant}/x", inner)
    };
    follow(mount, "/acme/x/admin", "/acme/x/admin").await;
}

#[tokio::test]
async fn pages_work_as_the_fallback_of_an_application() {
    let mount = |admin| axum::Router::new().fallback_service(admin);
    follow(mount, "/", "").await;
}

#[tokio::test]
async fn without_the_slash_a_page_redirects_to_the_url_with_the_slash() {
    let site = Plan::open().start().await;
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let url = format!("http://{}/robot-detection/admin", site.address);
    let answer = http.get(url).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    assert_eq!(answer.headers()["location"], "./admin/overview");
}

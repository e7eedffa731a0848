//! The admin page about robots.txt, and its JSON.

use std::time::Duration;

use axum::{Router, body::Body};
use fantoccini::key::Key;
use http::Request;
use http_body_util::BodyExt as _;
use robot_detection::{
    app::RobotDetection,
    clock::Clock,
    policy::{Enforcement, EnforcementMode, RobotsFiles},
};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::site::{FILE, FIREFOX, UNLISTED, file};
use crate::support::{
    browser::{Browser, Screen},
    program::GOOGLEBOT,
};

const HOSTILE: &str = "\"><script>alert('x')</script>&amp;{{7*7}}<img src=x onerror=alert(1)>";

async fn handle(files: impl Into<RobotsFiles>, settings: Enforcement) -> RobotDetection {
    let robots = RobotDetection::builder()
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .enforcement(|_| settings)
        .clock(Clock::manual(1_772_366_400_000))
        .build_idle()
        .await
        .unwrap();
    robots.enforcer().files().replace(files.into());
    robots
}

fn googlebots(text: &str) -> robot_detection::robots_txt::RobotsTxt {
    file(&text.replace("ExampleBot", "Googlebot"))
}

async fn fetch(robots: &RobotDetection, path: &str) -> String {
    let request = Request::get(path).header("host", "www.example.com");
    let request = request.body(Body::empty()).unwrap();
    let answer = robots
        .admin_router_without_login()
        .oneshot(request)
        .await
        .unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn json(robots: &RobotDetection, path: &str) -> Value {
    serde_json::from_str(&fetch(robots, path).await).unwrap()
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Sends a request as a robot.
async fn visit(robots: &RobotDetection, host: &str, target: &str, user_agent: &str) {
    let app = Router::new().fallback(async || "a page");
    let app = app.layer(robots.layer()).layer(robots.traffic_layer());
    let request = Request::get(target)
        .header("host", host)
        .header("user-agent", user_agent);
    let answer = app.oneshot(request.body(Body::empty()).unwrap()).await;
    answer.unwrap().into_body().collect().await.unwrap();
}

#[tokio::test]
async fn empty_states_explain_what_to_do() {
    let robots = handle(RobotsFiles::default(), Enforcement::default()).await;
    let page = fetch(&robots, "/robots-txt").await;
    for words in [
        "No robots.txt is in force",
        "provide a robots.txt for the site",
        "No recorded violations",
        "No robot is known to have ignored its Crawl-delay",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let asked = fetch(&robots, "/robots-txt?robot=googlebot&url=/a").await;
    assert!(asked.contains("the request passes"), "{asked}");
    robots.shutdown().await;
}

#[tokio::test]
async fn the_page_shows_mode_text_and_violations() {
    let strict = Enforcement::default().rules(EnforcementMode::On);
    let text = format!("{FILE}\nUser-agent: bingbot\nCrawl-delay: 10\n");
    let robots = handle(googlebots(&text), strict).await;
    visit(&robots, "www.example.com", "/private/a?b=c", GOOGLEBOT).await;
    robots.clock().advance(Duration::from_hours(2));
    visit(&robots, "www.example.com", "/private/d", GOOGLEBOT).await;
    visit(&robots, "www.example.com", "/hidden/", UNLISTED).await;
    for seconds in [1, 3, 2] {
        visit(&robots, "www.example.com", "/e", "bingbot/2.0").await;
        robots.clock().advance(Duration::from_secs(seconds));
    }
    let page = fetch(&robots, "/robots-txt").await;
    for words in [
        "robots.txt is enforced",
        "Requests for disallowed paths are refused with status 403",
        "Requests sent before the Crawl-delay elapses are counted",
        "Disallow: /private/</li>",
        "line 3, group Googlebot",
        "on www.example.com",
        "In force on all hosts",
        "/private/d",
        "2 hours ago",
        "refused",
        "reported",
        "MysteryCrawler",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let answer = json(&robots, "/api/v1/robots-txt").await;
    assert_eq!(answer["enforce"], "on");
    assert_eq!(answer["files"][0]["host"], Value::Null);
    assert_eq!(answer["files"][0]["dialect"], "rfc9309");
    let rules = &answer["violations"]["rules"];
    assert_eq!(rules[0]["robot"], "unlisted");
    assert_eq!(rules[1]["robot"], "googlebot");
    assert_eq!(
        (&rules[1]["line"], &rules[1]["hits"]),
        (&3.into(), &2.into())
    );
    assert_eq!(rules[1]["mode"], "refused");
    assert_eq!(rules[1]["first"], "2026-03-01T12:00:00Z");
    let delay = &answer["violations"]["delays"][0];
    assert_eq!(delay["robot"], "bingbot");
    assert_eq!(delay["delay_seconds"], 10.0);
    assert_eq!(delay["shortest_gap_seconds"], 3.0);
    robots.shutdown().await;
}

#[tokio::test]
async fn the_tester_accepts_ids_tokens_and_user_agents_and_has_no_effects() {
    let strict = Enforcement::default().rules(EnforcementMode::On);
    let robots = handle(googlebots(FILE), strict).await;
    for (robot, url, line, decision) in [
        ("googlebot", "/private/a", Some(3), "refuse"),
        ("Googlebot", "/private/open/a", Some(4), "pass"),
        (
            GOOGLEBOT,
            "https://www.example.com/a?sort=b",
            Some(5),
            "refuse",
        ),
        ("bingbot", "/hidden/a", Some(8), "refuse"),
        ("bingbot", "/private/a", None, "pass"),
        (UNLISTED, "/hidden/a", Some(8), "refuse"),
        ("googlebot", "/members-only-stuff/a", None, "redirect"),
        ("googlebot", "/robots.txt", None, "pass"),
        (FIREFOX, "/hidden/a", Some(8), "pass"),
        ("", "", None, "pass"),
    ] {
        let query = format!("robot={}&url={}", encode(robot), encode(url));
        let answer = json(&robots, &format!("/api/v1/robots-txt/check?{query}")).await;
        assert_eq!(
            answer["robots_txt"]["line"].as_u64(),
            line,
            "{robot} {url}: {answer}"
        );
        assert_eq!(answer["decision"], decision, "{robot} {url}: {answer}");
        let page = fetch(&robots, &format!("/robots-txt?{query}")).await;
        let marked = line.map(|line| format!("value=\"{line}\"><mark>"));
        assert_eq!(page.matches("<mark>").count(), usize::from(line.is_some()));
        assert!(
            marked.is_none_or(|marked| page.contains(&marked)),
            "{robot} {url}: {page}"
        );
    }
    assert!(robots.enforcer().violations().rules.is_empty());
    assert!(robots.enforcer().robot_counts().is_empty());
    robots.shutdown().await;
}

#[tokio::test]
async fn each_hosts_file_can_be_viewed_and_tested() {
    let files = RobotsFiles::everywhere(file("User-agent: *\nDisallow: /else/\n"))
        .host("a.example", file("User-agent: *\nDisallow: /of-a/\n"));
    let robots = handle(files, Enforcement::default()).await;
    let page = fetch(&robots, "/robots-txt").await;
    assert!(
        page.contains("/else/") && !page.contains("/of-a/"),
        "{page}"
    );
    assert!(
        page.contains("all other hosts") && page.contains("?host=a.example"),
        "{page}"
    );
    let page = fetch(&robots, "/robots-txt?host=a.example").await;
    assert!(
        page.contains("/of-a/") && !page.contains("/else/"),
        "{page}"
    );
    for (query, allowed) in [
        ("url=/of-a/", true),
        ("url=/of-a/&host=a.example", false),
        ("url=http://a.example/of-a/", false),
        ("url=http://b.example/of-a/&host=a.example", true),
    ] {
        let path = format!("/api/v1/robots-txt/check?robot=googlebot&{query}");
        let answer = json(&robots, &path).await;
        assert_eq!(
            answer["robots_txt"]["allowed"], allowed,
            "{query}: {answer}"
        );
    }
    robots.shutdown().await;
}

#[tokio::test]
async fn the_identify_page_shows_robots_txt() {
    let strict = Enforcement::default().rules(EnforcementMode::On);
    let robots = handle(googlebots(FILE), strict).await;
    let page = fetch(
        &robots,
        "/identify?user_agent=Googlebot/2.1&path=/private/a",
    )
    .await;
    assert!(page.contains("is refused with 403"), "{page}");
    let answer = json(
        &robots,
        "/api/v1/identify?user_agent=Googlebot/2.1&path=/private/a",
    )
    .await;
    assert_eq!(
        (&answer["decision"], &answer["status"]),
        (&"refuse".into(), &403.into())
    );
    let steps = answer["steps"].as_array().unwrap();
    assert_eq!(steps.last().unwrap()["name"], "robots.txt");
    robots.shutdown().await;
}

#[tokio::test]
async fn hostile_text_is_escaped_and_never_run() {
    let text = format!(
        "User-agent: {HOSTILE}\nUser-agent: *\nDisallow: /*{HOSTILE}\nDisallow: /h\n\u{202e}\u{0}"
    );
    let files = RobotsFiles::everywhere(file(&text)).host(HOSTILE, file(&text));
    let robots = handle(files, Enforcement::default()).await;
    // Characters that a URL cannot contain reach no page.
    let target = format!("/h{}", HOSTILE.replace(['<', '>', ' '], "\""));
    let user_agent = format!("HostileCrawler/1.0 {HOSTILE} (+http://a.example/)");
    visit(&robots, HOSTILE, &target, &user_agent).await;
    let hostile = encode(HOSTILE);
    for query in [
        String::new(),
        format!("?host={hostile}"),
        format!("?robot={hostile}&url=/{hostile}&host={hostile}"),
        format!("?robot=googlebot&url=http://{hostile}/{hostile}"),
    ] {
        let page = fetch(&robots, &format!("/robots-txt{query}")).await;
        assert!(page.contains("&#60;script&#62;"), "{query}: {page}");
        for raw in ["<script>", "<img src=x", "\">", "49<"] {
            let raw = if raw == "\">" { "\"><script" } else { raw };
            assert!(!page.contains(raw), "{query}: {raw}: {page}");
        }
    }
    let long = "x".repeat(17_000);
    let page = fetch(&robots, &format!("/robots-txt?robot={long}")).await;
    assert!(page.contains("16 KiB"), "{}", page.len());
    robots.shutdown().await;
}

#[tokio::test]
async fn a_person_uses_the_tester_by_keyboard_on_desktop_and_phone() {
    let strict = Enforcement::default().rules(EnforcementMode::On);
    let text = format!(
        "{}\nSitemap: https://www.example.com/{}.xml\n",
        FILE,
        "long-".repeat(60)
    );
    let robots = handle(googlebots(&text), strict).await;
    visit(
        &robots,
        "www.example.com",
        &format!("/private/{}", "a-".repeat(90)),
        GOOGLEBOT,
    )
    .await;
    visit(&robots, "www.example.com", "/hidden/", UNLISTED).await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let top = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().nest_service("/admin", robots.admin_router_without_login());
    let tasks = TaskTracker::new();
    let server = tasks.spawn(async move { axum::serve(listener, app).await });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    browser
        .client
        .goto(&format!("{top}/admin/robots-txt"))
        .await
        .unwrap();
    browser.find("nav a[aria-current=page]").await;
    let field = browser.find("#robot").await;
    let typed = format!(
        "googlebot{tab}/private/x?y{enter}",
        tab = Key::Tab + "",
        enter = Key::Enter + ""
    );
    field.send_keys(&typed).await.unwrap();
    browser.wait_for_text("#verdict", "disallowed").await;
    browser.wait_for_text("mark", "Disallow: /private/").await;
    browser.keep_screenshot("robots-txt-desk").await;
    for (screen, scheme, name) in [
        (Screen::PHONE, "dark", "robots-txt-phone-dark"),
        (Screen::DESK, "dark", "robots-txt-dark"),
    ] {
        browser.look(screen, scheme).await;
        let script = "return document.documentElement.scrollWidth > window.innerWidth;";
        let is_wide = browser.client.execute(script, vec![]).await.unwrap();
        assert_eq!(is_wide, false, "{name}");
        browser.keep_screenshot(name).await;
    }
    browser.end().await;
    server.abort();
    robots.shutdown().await;
}

//! Verdicts on the administrator's pages: counts, impostors, address lists.

use std::{
    convert::Infallible,
    net::IpAddr,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use axum::{
    body::Body,
    http::{Request, Response},
};
use reqwest::{
    Method, StatusCode,
    header::{HeaderMap, ORIGIN},
};
use robot_detection::{
    detect::{Detector, Verdict},
    layer::RobotDetectionLayer,
    policy::{Policy, SharedPolicy},
    registry::{Pattern, PatternKind, Robot, Source},
    verify::ClaimedRequest,
};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

use super::{
    browser::{go, log_in},
    site::{Client, NOW_MS, Plan, Site},
};
use crate::support::{
    browser::{Browser, Screen},
    eventually::eventually_async,
    http::{Reply, TestServer},
};

const LIST: &str =
    r#"{"creationTime":"2026-02-20T10:00:00","prefixes":[{"ipv4Prefix":"192.0.2.0/24"}]}"#;
const HOME: &str = "192.0.2.7";
const ELSEWHERE: &str = "198.51.100.7";
const HOSTILE_HOST: &str = "<script>alert('x')</script>.example";
const HOSTILE_PATH: &str = "/a\"onload='x'&amp;";

/// Server of the address list of `listbot`, whose name is hostile; `plainbot` has no list.
pub(super) struct Lists {
    server: TestServer,
    url: String,
}

impl Lists {
    async fn of(site: &Site) -> Self {
        let server = TestServer::new(Reply::typed("application/json", LIST));
        let url = server.url("/ranges.json");
        let robot = |id: &str, name: &str| {
            let mut robot = Robot::new(id, Source::manual());
            name.clone_into(&mut robot.name);
            id.clone_into(&mut robot.useragent);
            robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
            robot
        };
        let mut listed = robot("listbot", "List <b>robot</b>");
        listed.ranges_url = Some(url.clone());
        let robots = [listed, robot("plainbot", "Plain robot")];
        for robot in &robots {
            site.store.robots().add(robot, NOW_MS).await.unwrap();
        }
        let detector = Detector::new(robots.map(Arc::new)).unwrap();
        site.detector.replace(detector);
        Self { server, url }
    }

    /// The same, after fetching the list and some visits of robots.
    pub(super) async fn visited(site: &Site) -> Self {
        let lists = Self::of(site).await;
        site.ranges
            .refresh(std::slice::from_ref(&lists.url), true)
            .await;
        assert_eq!(visit(site, "listbot", HOME).await, Verdict::Verified);
        site.traffic.catch_up().await;
        site.clock.advance(Duration::from_hours(2));
        site.traffic.catch_up().await;
        assert_eq!(visit(site, "listbot", HOME).await, Verdict::Verified);
        assert_eq!(visit(site, "listbot", ELSEWHERE).await, Verdict::Spoofed);
        for _ in 0..5 {
            assert_eq!(visit(site, "plainbot", HOME).await, Verdict::Unverifiable);
        }
        lists
    }
}

/// Sends a request as a robot; returns the verdict on its claim.
async fn visit(site: &Site, robot: &str, address: &str) -> Verdict {
    let policy = SharedPolicy::new(Policy::builder().build().unwrap());
    let client = address.parse::<IpAddr>().unwrap();
    let layer = RobotDetectionLayer::new(site.detector.clone(), policy)
        .clock(site.clock.clone())
        .verdicts(Arc::new(site.verifier.clone()))
        .client_address(move |_| Some(client))
        .visit_switch(site.traffic.visits().clone())
        .report_outcome(true);
    let page = async |_: Request<Body>| Ok::<_, Infallible>(Response::new(String::new()));
    let page = layer.layer(tower::service_fn(page));
    let request = Request::get(HOSTILE_PATH)
        .header("host", HOSTILE_HOST)
        .header("user-agent", robot);
    let request = request.body(Body::empty()).unwrap();
    let counted = site.traffic.layer("default").layer(page);
    counted.oneshot(request).await.unwrap();
    let detector = site.detector.load();
    let claim = detector.identify(robot.as_bytes()).unwrap();
    let (uri, headers) = (HOSTILE_PATH.parse().unwrap(), HeaderMap::new());
    let request = ClaimedRequest::new(&claim, Some(client), &Method::GET, &uri, &headers);
    site.verifier.verdict_now(&request)
}

/// Polls until no list is being fetched; returns the status of the only list.
async fn fetched(client: &Client) -> Value {
    let told = eventually_async("no list is being fetched", async || {
        let told = client.get("api/v1/verification").await.json();
        (told["fetching"] == false).then_some(told)
    })
    .await;
    assert_eq!(told["lists"].as_array().map(Vec::len), Some(1), "{told}");
    told["lists"][0].clone()
}

async fn fetch_json(client: &Client, body: &str) -> super::site::Answer {
    let path = "api/v1/verification/ranges/refresh";
    let request = client.json(Method::POST, path, body);
    client.send(request.header(ORIGIN, client.origin())).await
}

#[tokio::test]
async fn the_page_shows_and_escapes_verdicts_impostors_and_lists() {
    let site = Plan::default().start().await;
    let lists = Lists::visited(&site).await;
    let client = site.logged_in().await;
    let page = client.get("verification").await;
    assert_eq!(page.status, StatusCode::OK);
    let text = page.text();
    for words in [
        "Verified 2 Spoofed 1 Unverifiable 5 Pending now 0",
        "List &#60;b&#62;robot&#60;/b&#62; 3 2 0 1",
        "Plain robot 5 0 5 0",
        "at most 7 per interval",
        "12:00 1 0 0",
        "14:00 1 5 1",
        ELSEWHERE,
        "/a&#34;onload=&#39;x&#39;&#38;amp;",
        "&#60;script&#62;alert",
        "198.51.100.7 is not in the only range",
        "fresh 1 2026-02-20 2 hours ago 2 hours ago",
        lists.url.as_str(),
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(!page.body.contains("<script>"), "{}", page.body);
    assert!(!page.body.contains("<b>robot"));
    assert!(
        !page.body.contains(" style="),
        "the page has an inline style"
    );
    assert!(
        page.body
            .contains(r#"href="./verification" aria-current="page""#)
    );
    let robot = client.get("robots/manual/listbot").await;
    let words = "2 verified, 0 unverifiable, 1 spoofed";
    assert!(robot.text().contains(words), "{}", robot.text());
    assert!(robot.body.contains("../../verification?robot=listbot"));
}

#[tokio::test]
async fn the_json_matches_the_page() {
    let site = Plan::open().start().await;
    let lists = Lists::visited(&site).await;
    let client = site.client();
    let told = client.get("api/v1/verification").await.json();
    assert_eq!(told["methods"], json!(["ranges"]));
    let totals = json!({ "verified": 2, "unverifiable": 5, "spoofed": 1 });
    assert_eq!(told["totals"], totals);
    assert_eq!(told["pending"], 0);
    let plain = json!({
        "robot": { "id": "plainbot", "name": "Plain robot" },
        "requests": 5, "verified": 0, "unverifiable": 5, "spoofed": 0,
    });
    assert_eq!(told["robots"][0], plain, "most requests come first");
    let spoofed = &told["spoofed"][0];
    assert_eq!(spoofed["at"], "2026-03-01T14:00:00Z");
    assert_eq!(spoofed["robot"]["id"], "listbot");
    assert_eq!(spoofed["address"], ELSEWHERE);
    assert_eq!(spoofed["host"], HOSTILE_HOST);
    assert_eq!(spoofed["path"], HOSTILE_PATH);
    let list = &told["lists"][0];
    assert_eq!(list["url"], lists.url);
    assert_eq!(list["state"], "fresh");
    assert_eq!(list["prefixes"], 1);
    assert_eq!(list["robots"][0]["id"], "listbot");
    assert_eq!(list["checked"], "2026-03-01T12:00:00Z");
}

#[tokio::test]
async fn robots_can_be_sorted_and_the_chart_filtered() {
    let site = Plan::open().start().await;
    let _lists = Lists::visited(&site).await;
    let client = site.client();
    let order = async |query: &str| {
        let told = client
            .get(&format!("api/v1/verification{query}"))
            .await
            .json();
        told["robots"][0]["robot"]["id"].clone()
    };
    assert_eq!(order("?sort=spoofed").await, "listbot");
    assert_eq!(order("?sort=requests&dir=asc").await, "listbot");
    assert_eq!(order("?sort=robot&dir=desc").await, "plainbot");
    let sorted = client.get("verification?sort=spoofed").await;
    let heading = r#"aria-sort="descending" class="number"><a href="./verification?sort=spoofed"#;
    assert!(sorted.body.contains(heading), "{}", sorted.body);
    for query in ["?sort=size", "?dir=up"] {
        let refused = client.get(&format!("api/v1/verification{query}")).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let narrowed = client.get("verification?robot=plainbot").await.text();
    assert!(narrowed.contains("Verdicts over the last 90 days: plainbot"));
    let nobody = client.get("verification?robot=%3Cscript%3E").await;
    assert!(nobody.text().contains("No requests in this period."));
    assert!(!nobody.body.contains("<script>"));
}

#[tokio::test]
async fn a_button_fetches_a_list_and_a_failure_keeps_the_last_copy() {
    let site = Plan::default().start().await;
    let lists = Lists::of(&site).await;
    let client = site.logged_in().await;
    let before = client.get("verification").await.text();
    assert!(before.contains("not fetched yet"), "{before}");
    assert!(before.contains("No robot requests were counted"));
    assert!(before.contains("No spoofed requests in the last 30 days"));
    let path = "verification/ranges/refresh";
    let answer = client.post(path, &[("url", &lists.url)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let place = answer.header("location").to_owned();
    assert_eq!(place, "../../verification#list-fetch");
    let list = fetched(&client).await;
    assert_eq!(
        (&list["state"], &list["prefixes"]),
        (&json!("fresh"), &json!(1))
    );
    let after = client.get("verification").await.text();
    assert!(
        after.contains("The list was fetched. Finished just now"),
        "{after}"
    );

    lists.server.set(Reply::status(500));
    let answer = client.post(path, &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let list = fetched(&client).await;
    assert_eq!(
        (&list["state"], &list["prefixes"]),
        (&json!("fresh"), &json!(1))
    );
    assert!(list["error"].as_str().unwrap().contains("500"), "{list}");
    let page = client.get("verification").await.text();
    assert!(page.contains("Failed just now :"), "{page}");
    assert!(page.contains("The list could not be fetched."), "{page}");
    let told = client.get("api/v1/verification").await.json()["fetch"].clone();
    assert_eq!((&told["lists"], &told["done"]), (&json!(1), &json!(1)));
    assert_eq!(told["failed"][0]["url"], lists.url);
    assert_eq!(told["failed"][0]["error"], list["error"]);
    site.clock.advance(Duration::from_hours(24 * 60));
    // The session has ended, too.
    let client = site.logged_in().await;
    let page = client.get("verification").await.text();
    assert!(page.contains("stale"), "{page}");
}

#[tokio::test]
async fn programs_fetch_lists_one_fetch_at_a_time() {
    let site = Plan::open().start().await;
    let client = site.client();
    let none = fetch_json(&client, "{}").await;
    assert_eq!(
        none.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "there is no list yet"
    );
    let lists = Lists::of(&site).await;
    lists.server.set(Reply::Hang);
    let unknown = fetch_json(&client, r#"{"url":"http://127.0.0.1:9/admin"}"#).await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(unknown.json()["code"], "invalid");
    let never = client.get("api/v1/verification/ranges/refresh").await;
    assert_eq!(never.json(), Value::Null);
    let begun = fetch_json(&client, "{}").await;
    assert_eq!(begun.status, StatusCode::ACCEPTED);
    assert_eq!(begun.json()["fetching"], true);
    let progress = client
        .get("api/v1/verification/ranges/refresh")
        .await
        .json();
    assert_eq!(progress["running"], true);
    assert_eq!(
        (&progress["done"], &progress["lists"]),
        (&json!(0), &json!(1))
    );
    let second = fetch_json(&client, "{}").await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    assert_eq!(second.json()["code"], "busy");
    let page = client.get("verification").await.text();
    assert!(page.contains("Fetching lists: 0 of 1 done."), "{page}");
}

#[tokio::test]
async fn viewing_and_fetching_need_a_login_and_a_csrf_proof() {
    let site = Plan::default().start().await;
    let lists = Lists::of(&site).await;
    let (stranger, client) = (site.client(), site.logged_in().await);
    let page = stranger.get("verification").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    let api = stranger.get("api/v1/verification").await;
    assert_eq!(api.status, StatusCode::UNAUTHORIZED);
    for (who, status) in [
        (&stranger, StatusCode::UNAUTHORIZED),
        (&client, StatusCode::FORBIDDEN),
    ] {
        assert_eq!(fetch_json(who, "{}").await.status, status);
    }
    for token in ["", "wrong"] {
        let form = [("csrf", token)];
        let refused = client
            .post_as_is("verification/ranges/refresh", &form)
            .await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }
    let refused = client.get("verification/ranges/refresh").await;
    assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(lists.server.seen().is_empty());
}

#[tokio::test]
async fn disabled_verification_explains_how_to_enable_it() {
    let plan = Plan {
        verifies: false,
        ..Plan::open()
    };
    let site = plan.start().await;
    let lists = Lists::of(&site).await;
    let client = site.client();
    let page = client.get("verification").await;
    for words in [
        "Verification is off",
        "verify.enabled = true",
        "Lists are not used",
    ] {
        assert!(page.text().contains(words), "{words}");
    }
    assert!(!page.body.contains("<form method=\"post\""));
    let refused = fetch_json(&client, "{}").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.json()["code"], "off");
    assert!(lists.server.seen().is_empty());
}

#[tokio::test]
async fn verdicts_are_readable_in_any_colour_scheme_and_on_any_screen() {
    let site = Plan::default().start().await;
    let _lists = Lists::visited(&site).await;
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    let mut grounds = Vec::new();
    for (screen, scheme) in [
        (Screen::DESK, "light"),
        (Screen::DESK, "dark"),
        (Screen::PHONE, "light"),
    ] {
        browser.look(screen, scheme).await;
        go(&browser, &site, "verification").await;
        browser
            .keep_screenshot(&format!("admin-verification-{}-{scheme}", grounds.len()))
            .await;
        let script = "return [getComputedStyle(document.querySelector('.area .layer-1')).fill, \
            document.documentElement.scrollWidth <= window.innerWidth];";
        let seen = browser.client.execute(script, vec![]).await.unwrap();
        assert_eq!(seen[1], true, "{scheme}: the page is wider than the screen");
        grounds.push(seen[0].clone());
    }
    assert_ne!(grounds[0], grounds[1], "dark mode has its own colours");
    assert_ne!(grounds[0], "rgb(0, 0, 0)");
    browser.end().await;
}

#[tokio::test]
async fn a_person_sees_lists_arrive_and_fail() {
    let site = Plan::default().start().await;
    let _lists = Lists::visited(&site).await;
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let slow = TestServer::with(move |_| {
        let _ = released.lock().unwrap().recv();
        Reply::status(500)
    });
    let mut robot = Robot::new("slowbot", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Token, "slowbot")];
    robot.ranges_url = Some(slow.url("/slow.json"));
    let mut robots = site.detector.load().robots().to_vec();
    robots.push(Arc::new(robot));
    site.detector.replace(Detector::new(robots).unwrap());

    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    go(&browser, &site, "verification").await;
    browser.find("#fetch-all").await.click().await.unwrap();
    browser
        .wait_for_text("#list-fetch", "Fetching lists: 1 of 2 done.")
        .await;
    browser.keep_screenshot("admin-verification-fetching").await;
    let mark = "window.isTheSamePage = true; document.querySelector('details').open = true;";
    browser.client.execute(mark, vec![]).await.unwrap();
    drop(release);
    let told = browser
        .wait_for_text("#list-fetch", "1 of 2 lists could not be fetched.")
        .await;
    assert!(told.contains(&slow.url("/slow.json")), "{told}");
    assert!(told.contains("500"), "{told}");
    let script = "return [window.isTheSamePage === true && document.querySelector('details').open, \
        document.querySelector('#fetch-all').disabled, \
        document.querySelectorAll('#lists-panel .badge-good').length];";
    let seen = browser.client.execute(script, vec![]).await.unwrap();
    assert_eq!(seen, json!([true, false, 1]));
    browser
        .keep_screenshot("admin-verification-failed-light")
        .await;
    browser.look(Screen::DESK, "dark").await;
    browser
        .keep_screenshot("admin-verification-failed-dark")
        .await;
    browser.look(Screen::PHONE, "dark").await;
    browser
        .keep_screenshot("admin-verification-failed-phone")
        .await;
    let script = "return document.documentElement.scrollWidth <= window.innerWidth;";
    let fits = browser.client.execute(script, vec![]).await.unwrap();
    assert_eq!(fits, true, "the page is wider than a phone");
    browser.end().await;
}

//! The site robot on the administrator's pages: it is started, watched, and reset.

use std::sync::Arc;

use axum::{Router, http::header, response::Html, routing::get};
use reqwest::{Method, StatusCode};
use robot_detection::{
    operations::HeavenUse,
    site_robot::{SiteRobot, source::ApplicationSource},
};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinHandle,
};
use tokio_util::task::TaskTracker;

use super::{
    browser::{go, log_in},
    site::{Client, Plan, Site},
};
use crate::support::{
    browser::{Browser, Screen},
    eventually::eventually_async,
};

const HOSTILE: &str = "</title><script>alert('x')</script>";

/// Site robot of a site with 60 pages, each of which waits for a permit.
struct Walk {
    pages: Arc<Semaphore>,
    /// Counts requested pages.
    asked: Arc<Semaphore>,
    /// Permits to start a run.
    begin: Arc<Semaphore>,
    is_taken_up: Arc<Notify>,
    runner: JoinHandle<()>,
}

impl Drop for Walk {
    fn drop(&mut self) {
        self.runner.abort();
    }
}

impl Walk {
    /// Starts each run as soon as it is requested.
    fn of(site: &Site) -> Self {
        Self::begun_by(site, Arc::new(Semaphore::new(1_000)))
    }

    fn begun_by(site: &Site, begin: Arc<Semaphore>) -> Self {
        let (pages, asked) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (gate, came) = (Arc::clone(&pages), Arc::clone(&asked));
        let page = move |number: usize| {
            let (gate, came) = (Arc::clone(&gate), Arc::clone(&came));
            async move {
                came.add_permits(1);
                gate.acquire().await.unwrap().forget();
                Html(html(number))
            }
        };
        let first = page.clone();
        let app = Router::new()
            .route("/members/", get(async move || first(0).await))
            .route(
                "/members/{number}",
                get(
                    async move |axum::extract::Path(number): axum::extract::Path<usize>| {
                        page(number).await
                    },
                ),
            );
        let source = ApplicationSource::new(app, |_| {});
        let robot = SiteRobot::builder("default", site.store.clone(), source)
            .start("http://www.example.com/members/", None)
            .clock(site.clock.clone())
            .build()
            .unwrap();
        let runs = site.robot_runs.clone();
        runs.set_offered_sites(["default".to_owned()]);
        runs.show(&robot);
        let is_taken_up = Arc::new(Notify::new());
        let (gate, taken_up) = (Arc::clone(&begin), Arc::clone(&is_taken_up));
        let runner = TaskTracker::new().spawn(async move {
            loop {
                runs.wait_for_request().await;
                taken_up.notify_one();
                gate.acquire().await.unwrap().forget();
                let ended = if runs.take_acceptance("default") {
                    robot.accept().await.map(drop)
                } else {
                    robot.run().await.map(drop)
                };
                if let Err(error) = ended {
                    runs.fail("default", error.to_string());
                }
            }
        });
        Self {
            pages,
            asked,
            begin,
            is_taken_up,
            runner,
        }
    }
}

fn html(number: usize) -> String {
    let title = match number {
        0 => "Members".to_owned(),
        7 => HOSTILE.replace('<', "&lt;"),
        _ => format!("Page {number:02}"),
    };
    let links = (1..60)
        .filter(|_| number == 0)
        .map(|number| format!("<a href=\"/members/{number}\">{number}</a> "))
        .collect::<Vec<_>>()
        .concat();
    format!(
        "<!DOCTYPE html><html lang=en><title>{title}</title><h1>{title}</h1>\
         <p>This is the text of page {number}.</p>{links}</html>"
    )
}

/// Polls until the status matches.
async fn until(client: &Client, fits: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    eventually_async("the site robot's status matches", async || {
        let status = client.get("api/v1/site-robot").await.json();
        fits(&status).then_some(status)
    })
    .await
}

#[tokio::test]
async fn quarantined_results_are_shown_and_accepted_by_a_button() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    let client = site.logged_in().await;
    let refused = client.post("site-robot/accept", &[]).await;
    assert!(refused.header("location").ends_with("note=none"));
    walk.pages.add_permits(60);
    client.post("site-robot/run", &[]).await;
    until(&client, |status| status["descriptions"] == 60).await;
    until(&client, |status| status["state"] == "idle").await;
    let now_ms = site.clock.now_ms();
    let (run, _) = site
        .store
        .frontier()
        .begin_run("default", "other", now_ms)
        .await
        .unwrap();
    let why = "the starting point <b> asks for a password";
    let held = site
        .store
        .frontier()
        .hold_run(run.run_id, why, 0, now_ms)
        .await;
    held.unwrap();

    let status = client.get("api/v1/site-robot").await.json();
    assert_eq!(
        (&status["held"], &status["can_accept"]),
        (&why.into(), &true.into())
    );
    let page = client.get("site-robot").await;
    assert!(page.text().contains("held for review"), "{}", page.text());
    assert!(page.body.contains("id=\"accept\"") && !page.body.contains("<b>"));
    let accepted = client.post("site-robot/accept", &[]).await;
    assert!(accepted.header("location").ends_with("note=accepted"));
    let status = until(&client, |status| status["held"].is_null()).await;
    assert_eq!(status["run"]["outcome"], "finished");
    assert_eq!(status["descriptions"], 60);
    let page = client.get("site-robot").await;
    assert!(!page.body.contains("id=\"accept\""));
}

#[tokio::test]
async fn a_run_is_started_paused_resumed_and_shown_when_it_is_done() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    let client = site.logged_in().await;
    let page = client.get("site-robot").await;
    assert!(page.text().contains("No run is in progress."));
    assert!(page.body.contains("id=\"run\"") && !page.body.contains("id=\"pause\""));

    let begun = client.post("site-robot/run", &[]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER);
    assert!(
        begun
            .header("location")
            .starts_with("../site-robot?site=default")
    );
    walk.pages.add_permits(1);
    until(&client, |status| status["run"]["found"] == 60).await;
    let status = client.get("api/v1/site-robot").await.json();
    assert_eq!(status["state"], "running");
    assert_eq!(status["can_stop"], true);
    let page = client.get("site-robot").await;
    assert!(page.body.contains("id=\"pause\"") && !page.body.contains("id=\"run\""));
    assert!(page.text().contains("The robot is visiting pages."));

    client.post("site-robot/pause", &[]).await;
    let page = client.get("site-robot").await;
    assert!(page.text().contains("The run is paused."));
    client.post("site-robot/resume", &[]).await;
    walk.pages.add_permits(1_000);
    let done = until(&client, |status| status["state"] == "idle").await;
    assert_eq!(
        (&done["run"]["outcome"], &done["run"]["added"]),
        (&"finished".into(), &60.into())
    );
    assert_eq!(
        (&done["descriptions"], &done["live"]),
        (&60.into(), &serde_json::Value::Null)
    );
    let page = client.get("site-robot").await;
    assert!(page.text().contains("60 resources are described."));
    for (heaven, expected) in [
        (
            HeavenUse::Served,
            "are described; robot heaven is generated from them.",
        ),
        (
            HeavenUse::Nothing,
            "described; they are not used: set heaven.source",
        ),
    ] {
        site.robot_runs.set_heaven_use("default", heaven);
        let page = client.get("site-robot").await;
        assert!(page.text().contains(expected), "{}", page.text());
    }
}

/// Marks the page shown by a browser; a reload removes the mark.
async fn mark(browser: &Browser) {
    let script = "window.isMarked = true;";
    browser.client.execute(script, vec![]).await.unwrap();
}

async fn is_marked(browser: &Browser) -> bool {
    let script = "return window.isMarked === true;";
    browser.client.execute(script, vec![]).await.unwrap() == true
}

#[tokio::test]
async fn an_accepted_run_shows_as_starting_until_it_reports() {
    let site = Plan::default().start().await;
    let walk = Walk::begun_by(&site, Arc::new(Semaphore::new(0)));
    let client = site.logged_in().await;
    client.post("site-robot/run", &[]).await;
    walk.is_taken_up.notified().await;
    let status = client.get("api/v1/site-robot").await.json();
    assert_eq!(
        (&status["state"], &status["running"], &status["can_run"]),
        (&"starting".into(), &true.into(), &false.into())
    );
    walk.pages.add_permits(1_000);
    walk.begin.add_permits(1);
    let done = until(&client, |status| status["state"] == "idle").await;
    assert_eq!(
        (&done["run"]["added"], &done["can_run"]),
        (&60.into(), &true.into())
    );
}

#[tokio::test]
async fn a_person_watches_a_run_without_reloading_the_page() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    log_in(&browser, &site).await;
    go(&browser, &site, "site-robot").await;
    browser.find("#run").await.click().await.unwrap();
    let standing = "#site-robot h2";
    browser
        .wait_for_text(standing, "The robot is visiting pages.")
        .await;
    mark(&browser).await;
    walk.pages.add_permits(1);
    browser.wait_for_text("[data-count=found]", "60").await;
    browser
        .wait_for_text("[data-hosts]", "www.example.com")
        .await;
    walk.pages.add_permits(6);
    browser.wait_for_text("[data-count=fetched]", "7").await;
    browser
        .wait_for_text("[data-live=last_url]", "/members/")
        .await;
    assert!(is_marked(&browser).await, "the page was reloaded");
    browser.keep_screenshot("admin-site-robot-running").await;

    browser.find("#pause").await.click().await.unwrap();
    browser.wait_for_text(standing, "The run is paused.").await;
    browser.find("#resume").await.click().await.unwrap();
    browser
        .wait_for_text(standing, "The robot is visiting pages.")
        .await;
    mark(&browser).await;
    walk.pages.add_permits(5);
    browser.wait_for_text("[data-count=fetched]", "12").await;
    assert!(is_marked(&browser).await, "the page was reloaded");

    browser.find("#stop").await.click().await.unwrap();
    browser
        .wait_for_text(standing, "is finishing its current visits")
        .await;
    mark(&browser).await;
    walk.pages.add_permits(10);
    browser.wait_for_text(standing, "The run was stopped").await;
    assert_eq!(
        browser.find("#run").await.text().await.unwrap(),
        "Continue the run"
    );
    assert!(is_marked(&browser).await, "the page was reloaded");

    browser.find("#run").await.click().await.unwrap();
    browser.find("#stop").await;
    mark(&browser).await;
    walk.pages.add_permits(1_000);
    browser
        .wait_for_text(standing, "No run is in progress.")
        .await;
    let described = "a[href*=\"site-robot/descriptions\"]";
    browser.wait_for_text(described, "60 resources").await;
    assert!(is_marked(&browser).await, "the page was reloaded");
    browser.keep_screenshot("admin-site-robot-done").await;
    browser.end().await;
}

#[tokio::test]
async fn a_stopped_run_continues_where_it_was() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    let client = site.logged_in().await;
    client.post("site-robot/run", &[]).await;
    walk.pages.add_permits(1);
    until(&client, |status| status["run"]["found"] == 60).await;
    walk.asked.acquire_many(2).await.unwrap().forget();
    client.post("site-robot/stop", &[]).await;
    // Pages in progress are finished, and no more are started.
    until(&client, |status| status["live"]["state"] == "stopping").await;
    walk.pages.add_permits(1_000);
    let stopped = until(&client, |status| status["state"] == "stopped").await;
    let before = stopped["run"]["fetched"].as_u64().unwrap();
    let page = client.get("site-robot").await;
    assert!(page.text().contains("Continue the run"), "{}", page.text());
    client.post("site-robot/run", &[]).await;
    let done = until(&client, |status| status["state"] == "idle").await;
    assert_eq!(done["run"]["id"], stopped["run"]["id"]);
    assert!(done["run"]["fetched"].as_u64().unwrap() >= before);
    assert_eq!(done["descriptions"], 60);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "many queries of one site")]
async fn descriptions_are_searched_and_hostile_text_is_escaped() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    walk.pages.add_permits(1_000);
    let client = site.logged_in().await;
    client.post("site-robot/run", &[]).await;
    until(&client, |status| {
        status["descriptions"] == 60 && status["state"] == "idle"
    })
    .await;

    let list = client.get("site-robot/descriptions?limit=50").await;
    assert!(list.text().contains("Page 01") && list.body.contains("rel=\"next\""));
    assert!(!list.body.contains("<script>alert"));
    let count = |json: &serde_json::Value| json["descriptions"].as_array().unwrap().len();
    let first = client
        .get("api/v1/site-robot/descriptions?limit=50")
        .await
        .json();
    assert_eq!(count(&first), 50);
    let after = first["next"].as_str().unwrap();
    let path = format!("api/v1/site-robot/descriptions?limit=50&cursor={after}");
    let second = client.get(&path).await.json();
    assert_eq!(
        (count(&second), &second["next"]),
        (10, &serde_json::Value::Null)
    );
    for (begins, expected) in [
        ("/members/1", 11),
        ("http://www.example.com/members/2", 11),
        ("PAGE 3", 10),
        ("page", 58),
        ("nothing", 0),
        ("/other", 0),
    ] {
        let begins = super::site::encode(begins);
        let found = client
            .get(&format!("api/v1/site-robot/descriptions?q={begins}"))
            .await;
        assert_eq!(count(&found.json()), expected, "{begins}");
    }
    let url = super::site::encode("http://www.example.com/members/7");
    let one = client
        .get(&format!("site-robot/description?url={url}"))
        .await;
    assert_eq!(one.status, StatusCode::OK);
    assert!(one.body.contains("&#60;script&#62;alert") && !one.body.contains("<script>alert"));
    assert!(one.text().contains("This is the text of page 7."));
    let one = client
        .get(&format!("api/v1/site-robot/description?url={url}"))
        .await
        .json();
    assert_eq!(
        one["description"]["url"],
        "http://www.example.com/members/7"
    );
    let none = client
        .get("site-robot/description?url=http%3A%2F%2Fa%2F")
        .await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);

    let explained = client.get(&format!("site-robot/explain?url={url}")).await;
    assert!(
        explained.text().contains("The URL would be visited"),
        "{}",
        explained.text()
    );
    let outside = client
        .get("api/v1/site-robot/explain?url=http%3A%2F%2Fother.example%2F")
        .await;
    assert_eq!(outside.json()["explained"]["would_visit"], false);
}

#[tokio::test]
async fn a_reset_needs_a_confirmation_and_is_refused_during_a_run() {
    let site = Plan::default().start().await;
    let walk = Walk::of(&site);
    let client = site.logged_in().await;
    client.post("site-robot/run", &[]).await;
    until(&client, |status| status["state"] == "running").await;
    let refused = client.post("site-robot/clear", &[]).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    walk.pages.add_permits(1_000);
    until(&client, |status| {
        status["descriptions"] == 60 && status["state"] == "idle"
    })
    .await;
    let question = client.get("site-robot/clear").await;
    assert!(question.text().contains("60 descriptions"));
    let cleared = client
        .post("site-robot/clear", &[("site", "default")])
        .await;
    assert_eq!(cleared.status, StatusCode::SEE_OTHER);
    let status = client.get("api/v1/site-robot").await.json();
    assert_eq!(
        (&status["descriptions"], &status["run"]),
        (&0.into(), &serde_json::Value::Null)
    );
}

#[tokio::test]
async fn actions_need_a_csrf_proof() {
    let site = Plan::default().start().await;
    let _walk = Walk::of(&site);
    let client = site.logged_in().await;
    for action in ["run", "pause", "resume", "stop", "clear"] {
        let path = format!("site-robot/{action}");
        assert_eq!(
            client.post_as_is(&path, &[]).await.status,
            StatusCode::FORBIDDEN
        );
        let path = format!("api/v1/site-robot/{action}");
        let request = client.json(Method::POST, &path, "{}");
        assert_eq!(
            client.send(request).await.status,
            StatusCode::FORBIDDEN,
            "{action}"
        );
        let stranger = site.client();
        let request = stranger.json(Method::POST, &path, "{}");
        assert_eq!(
            stranger.send(request).await.status,
            StatusCode::UNAUTHORIZED
        );
    }
    assert_eq!(
        client.get("api/v1/site-robot").await.json()["state"],
        "idle"
    );
}

#[tokio::test]
async fn a_site_without_a_site_robot_shows_a_note() {
    let site = Plan::open().start().await;
    let client = site.client();
    let page = client.get("site-robot").await;
    assert!(
        page.text()
            .contains("No site of this process has a site robot")
    );
    for (action, status) in [("run", 409), ("pause", 409), ("stop", 409)] {
        let path = format!("api/v1/site-robot/{action}");
        let request = client.json(Method::POST, &path, "");
        let request = request.header(header::ORIGIN, client.origin());
        assert_eq!(client.send(request).await.status, status, "{action}");
    }
    assert_eq!(client.get("site-robot?site=nowhere").await.status, 404);
}

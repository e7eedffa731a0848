//! The audit log shows changes with their author, newest first, and can undo them.

use regex::Regex;
use reqwest::StatusCode;
use robot_detection::store::AuditEntry;

use super::{
    site::{Client, NOW_MS, PASSWORD, Plan, Site},
    visits::{DAY, NOW, USUAL, add, come, minute_of},
};

pub(super) const HOUR_MS: i64 = 60 * 60_000;

async fn events(client: &Client, query: &str) -> Vec<(String, String, String)> {
    let told = client.get(&format!("api/v1/changes{query}")).await.json();
    let changes = told["changes"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    changes
        .map(|change| {
            (
                text(&change["by"]),
                text(&change["event"]),
                text(&change["subject"]),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_on_the_pages_are_recorded() {
    let site = Plan::default().start().await;
    let client = site.client();
    for _ in 0..3 {
        client.log_in("not the password").await;
    }
    site.a_minute_passes().await;
    client.log_in(PASSWORD).await;
    client.post("refresh", &[("source", "")]).await;
    client.refresh_done().await;
    let robot = [("id", "acmebot"), ("useragent", "AcmeBot/1.0")];
    client.post("robots/new", &robot).await;
    client.post("robots/remove", &[("id", "acmebot")]).await;
    client
        .post("rules", &[("action", "slow"), ("robot", "acmebot")])
        .await;
    client.post("rules/pause", &[]).await;
    let told = events(&client, "").await;
    let by_admin =
        |event: &str, subject: &str| ("admin".to_owned(), event.to_owned(), subject.to_owned());
    let expected = [
        by_admin("paused", "enforcement"),
        by_admin("rule-added", "live rule 1"),
        by_admin("robot-removed", "acmebot"),
        by_admin("robot-added", "acmebot"),
        by_admin("refresh-started", "web-robots-db"),
        by_admin("login", "from 127.0.0.1"),
        by_admin("login-failed", "from 127.0.0.1"),
        by_admin("login-failed", "from 127.0.0.1"),
    ];
    assert_eq!(told, expected);
    let page = client.get("changes").await;
    assert!(
        page.text()
            .contains("2 wrong passwords since the last entry")
    );
    assert_eq!(page.body.matches(">Undo<").count(), 2, "{}", page.body);
    assert!(page.text().contains("8 changes."), "{}", page.text());
    assert_eq!(events(&client, "?event=login").await.len(), 1);
    assert_eq!(events(&client, "?until=1h").await, []);
    assert_eq!(events(&client, "?since=1h").await.len(), 8);
    let wrong = client.get("changes?since=soon").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let file = client.get("changes/export?event=robot-added").await.body;
    assert_eq!(
        file,
        "time,by,event,subject,detail\r\n\"2026-03-01T12:00:00Z\",\"admin\",\"robot-added\",\"acmebot\",\"AcmeBot/1.0\"\r\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_is_recorded() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let new = "another-password-of-mine";
    let fields = [("old", PASSWORD), ("new", new), ("again", new)];
    let answer = client.post("account", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    let told = events(&client, "?event=password-changed").await;
    assert_eq!(told.len(), 1);
}

/// Records a change that was made some time ago.
pub(super) async fn changed(site: &Site, ago_ms: i64, event: &str, subject: &str) {
    let entry = AuditEntry {
        at_ms: NOW_MS - ago_ms,
        actor: "token deploy".to_owned(),
        event: event.to_owned(),
        subject: subject.to_owned(),
        detail: String::new(),
    };
    site.store.audit().record(&entry).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_affect_traffic_are_marked_on_every_chart_over_time() {
    let site = Plan::open().start().await;
    let client = site.client();
    site.refresher.prepare(true).await.unwrap();
    come(&site.store, USUAL, 0..30).await;
    add(&site.store, &[minute_of(&USUAL[4], NOW - 6 * DAY, 5)]).await;
    changed(&site, 99 * HOUR_MS, "reloaded", "configuration").await;
    changed(&site, 5 * HOUR_MS, "rule-added", "<i>live</i> rule 7").await;
    changed(&site, 4 * HOUR_MS, "login", "from 127.0.0.1").await;
    changed(&site, 3 * HOUR_MS, "paused", "enforcement").await;
    let change = Regex::new(r#"<a href="[./]*(changes\?[^"]+)">2026-03-01 07:00"#).unwrap();
    for page in ["overview", "traffic", "robots/bundled/googlebot"] {
        let answer = client.get(page).await;
        let marks = answer.body.matches("class=\"change-mark\"").count();
        assert_eq!(marks, 2, "{page}: {}", answer.body);
        let text = answer.text();
        assert!(text.contains("2 changes in this period, marked"), "{text}");
        let title = "<title>2026-03-01 09:00 UTC: paused enforcement, by token deploy</title>";
        assert!(answer.body.contains(title), "{page}");
        assert!(!answer.body.contains("<i>live"), "{page}");
        let link = change.captures(&answer.body).unwrap()[1].replace("&#38;", "&");
        let led = client.get(&link).await.text();
        assert!(led.contains("rule-added"), "{link}: {led}");
        assert!(!led.contains("enforcement"), "{link}: {led}");
    }
    let week = client.get("overview?time=7d").await.text();
    assert!(week.contains("3 changes in this period"), "{week}");
    let hour = client.get("overview?time=1h").await.body;
    assert!(!hour.contains("change-mark"), "{hour}");
    assert!(!hour.contains("in this period, marked"), "{hour}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_changes_are_marked_and_the_others_counted() {
    let site = Plan::open().start().await;
    let client = site.client();
    come(&site.store, USUAL, 0..30).await;
    for number in 0..50 {
        let subject = format!("live rule {number}");
        changed(&site, HOUR_MS + number * 1_000, "rule-added", &subject).await;
    }
    let answer = client.get("overview").await;
    let text = answer.text();
    assert!(text.contains("50 changes in this period"), "{text}");
    assert!(
        text.contains("Only the most recent 20 are listed and marked."),
        "{text}"
    );
    assert!(text.contains("live rule 19 by token deploy"), "{text}");
    assert!(!text.contains("live rule 20 "), "{text}");
    // Changes at the same position of the axis share one mark.
    assert_eq!(answer.body.matches("class=\"change-mark\"").count(), 1);
    assert!(answer.body.contains("; and 17 more</title>"), "{text}");
}

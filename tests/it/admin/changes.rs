//! The audit log shows changes with their author, newest first, and can undo them.

use reqwest::StatusCode;

use super::site::{Client, PASSWORD, Plan};

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

//! Downloads for other programs, and robots listed by several sources.

use reqwest::StatusCode;
use robot_detection::registry::{ExportFormat, Pattern, PatternKind, Robot, Source};

use super::site::{NOW_MS, Plan, Site};

/// Site with the twelve robots of its source, one of them also added by hand.
async fn site() -> Site {
    let site = Plan::open().start().await;
    let mut robot = Robot::new("house", Source::manual());
    robot.name = String::from("House Robot");
    robot.patterns = vec![Pattern::new(PatternKind::Token, "Acme0001Walker")];
    site.store.robots().add(&robot, NOW_MS).await.unwrap();
    site.refresh().await;
    site
}

#[tokio::test]
async fn every_format_can_be_downloaded_and_is_linked_from_the_table() {
    let site = site().await;
    let client = site.client();
    let table = client.get("registry?q=acme0002").await;
    for format in ExportFormat::ALL {
        let word = format.as_str();
        let link = format!("robots/export?format={word}&amp;q=acme0002");
        let escaped = link.replace("&amp;", "&#38;");
        assert!(
            table.body.contains(&link) || table.body.contains(&escaped),
            "{link}"
        );
        let answer = client.get(&link.replace("&amp;", "&")).await;
        assert_eq!(answer.status, StatusCode::OK, "{word}");
        let name = format!("attachment; filename=\"{}\"", format.file_name());
        assert_eq!(answer.header("content-disposition"), name);
        assert!(!answer.body.contains("Acme0003"), "{}", answer.body);
        assert!(
            answer.body.to_lowercase().contains("acme0002walker"),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn an_unknown_format_is_rejected_with_the_choices() {
    let site = site().await;
    let refused = site.client().get("robots/export?format=apache").await;
    assert!(refused.status.is_client_error(), "{}", refused.status);
    assert!(
        refused.text().contains("nginx, haproxy"),
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn downloads_need_a_login() {
    let site = Plan::default().start().await;
    let answer = site.client().get("robots/export?format=nginx").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(!answer.body.contains("map "), "{}", answer.body);
}

#[tokio::test]
async fn a_duplicate_is_marked_and_links_to_the_first_robot() {
    let site = site().await;
    let client = site.client();
    let table = client.get("registry").await.text();
    assert_eq!(table.matches("duplicate of").count(), 1, "{table}");
    assert!(table.contains("duplicate of house"), "{table}");
    let page = client.get("robots/web-robots-db/acme0001").await;
    assert!(
        page.text().contains("Duplicate: House Robot"),
        "{}",
        page.text()
    );
    assert!(page.body.contains("robots/manual/house"), "{}", page.body);
    let json = client
        .get("api/v1/robots/web-robots-db/acme0001")
        .await
        .json();
    assert_eq!(json["robot"]["duplicate_of"]["id"], "house");
    let json = client.get("api/v1/robots/manual/house").await.json();
    assert!(json["robot"]["duplicate_of"].is_null(), "{json}");
}

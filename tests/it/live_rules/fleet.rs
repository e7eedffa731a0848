//! Every instance has a change made on one of them within a second.

use super::house::{House, Instance};
use crate::support::{postgres::database_url, program::FIREFOX};

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_applies_on_another_instance_within_a_second_and_is_undone_there() {
    let database = database_url().await;
    let (one, two) = (House::new(&database, ""), House::new(&database, ""));
    let (first, server) = (one.start(), two.serve());
    let second = Instance::of(server, &first);
    assert_eq!((first.robot().status, second.robot().status), (200, 200));
    let id = first.add(r#"{"action":"refuse","robot":"googlebot","status":410}"#);
    first.within_a_second(410);
    second.within_a_second(410);
    assert_eq!(second.server.get("/page", FIREFOX).status, 200);
    let (_, told) = second.json("GET", "rules", "");
    assert_eq!(told["live_rules"][0]["by"], "token console");
    // The rule appears in the site's rule list and in the settings.
    assert_eq!(told["rules"][0]["rule"], format!("live rule {id}"));
    let origin = told["rules"][0]["origin"].as_str().unwrap();
    assert!(
        origin.starts_with("created by token console on 20"),
        "{origin}"
    );
    let (_, settings) = second.json("GET", "settings", "");
    assert_eq!(settings["rules"][0]["rule"], format!("live rule {id}"));
    let (status, _) = second.json("DELETE", &format!("rules/{id}"), "");
    assert_eq!(status, 204);
    second.within_a_second(200);
    first.within_a_second(200);
    let (status, _) = first.json("POST", &format!("rules/{id}/restore"), "");
    assert_eq!(status, 204);
    second.within_a_second(410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_applies_on_every_instance_and_is_recorded() {
    let database = database_url().await;
    let more = "[[rule]]\naction = 'refuse'\npath = '/page'\n";
    let (one, two) = (House::new(&database, more), House::new(&database, more));
    let (first, server) = (one.start(), two.serve());
    let second = Instance::of(server, &first);
    assert_eq!((first.robot().status, second.robot().status), (403, 403));
    let (status, told) = first.json("POST", "pause", "{}");
    assert_eq!(status, 200);
    assert_eq!(told["pause"]["by"], "token console");
    first.within_a_second(200);
    second.within_a_second(200);
    let text = second.server.metrics();
    assert!(
        text.contains("robot_detection_enforcement_paused 1"),
        "{text}"
    );
    assert!(text.contains(r#"decision="would-refuse""#), "{text}");
    assert!(two.log().contains("all enforcement is paused for 3600 s"));
    let (status, _) = second.json("DELETE", "pause", "");
    assert_eq!(status, 204);
    first.within_a_second(403);
    second.within_a_second(403);
    assert!(
        second
            .server
            .metrics()
            .contains("robot_detection_enforcement_paused 0")
    );
    assert!(one.log().contains("enforcement has resumed"));
}

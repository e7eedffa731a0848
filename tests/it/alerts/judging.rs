//! Alert conditions found in figures.

use robot_detection::{
    alerts::{Figures, Watch, judge},
    operations::ServedCertificate,
    registry::Source,
    store::{RefreshOutcome, RefreshRecord, Store, TrafficKey, TrafficSum},
};

use super::receiver::{MINUTE_MS, NOW_MS, count, key};

const WEEK: i64 = 7 * 24 * 60;

async fn sums(rows: &[(TrafficKey, u64)]) -> Vec<TrafficSum> {
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let rows: Vec<_> = rows
        .iter()
        .map(|(key, requests)| (0, key.clone(), *requests))
        .collect();
    count(&store, NOW_MS, &rows).await;
    let now = NOW_MS / MINUTE_MS;
    store.traffic().read(now..now + 1, NOW_MS).await.unwrap()
}

fn listed(robot: &str, requests: u64) -> (TrafficKey, u64) {
    (key(robot, "verified", "pass", "not-filtered"), requests)
}

#[tokio::test]
async fn impostors_above_a_threshold_are_reported_largest_first() {
    let spoofed = |robot, requests| (key(robot, "spoofed", "refuse", "spoofed"), requests);
    let mut figures = Figures::default();
    figures.hour = sums(&[spoofed("a", 3), spoofed("b", 8), listed("a", 900)]).await;
    let found = |above| judge(Watch::Impostor { above }, &figures);
    assert_eq!(
        found(10),
        [
            "8 requests pretending to be b in the last hour.",
            "3 requests pretending to be a in the last hour."
        ]
    );
    assert_eq!(found(11), Vec::<String>::new());
}

#[tokio::test]
async fn robots_txt_violations_count_where_they_are_enforced_or_logged() {
    let mut figures = Figures::default();
    figures.hour = sums(&[
        (key("a", "none", "refuse", "robots.txt"), 4),
        (key("a", "none", "would-refuse", "robots.txt"), 2),
        (key("a", "none", "refuse", "rule 1"), 70),
        (key("a", "none", "pass", "robots.txt"), 70),
    ])
    .await;
    let found = |above| judge(Watch::RobotsTxt { above }, &figures);
    assert_eq!(
        found(5),
        ["6 requests from a violated robots.txt in the last hour."]
    );
    assert_eq!(found(6), Vec::<String>::new());
}

#[tokio::test]
async fn a_spike_is_far_above_the_usual_hour_and_above_a_minimum() {
    // Averages over 168 hours: 10, 10 and 0 per hour.
    let week = sums(&[listed("often", 1_680), listed("low", 1_680)]).await;
    for (robot, requests, hours, expected) in [
        (
            "often",
            51,
            168,
            "often sent 51 requests in the last hour; the usual number is 10.",
        ),
        ("often", 50, 168, ""),
        ("often", 51, 12, ""),
        ("low", 40, 168, ""),
        (
            "new",
            41,
            168,
            "new sent 41 requests in the last hour and none in the week before.",
        ),
        ("new", 40, 168, ""),
    ] {
        let mut figures = Figures::default();
        figures.hour = sums(&[listed(robot, requests)]).await;
        figures.week.clone_from(&week);
        figures.week_hours = hours;
        let watch = Watch::CrawlSpike {
            times: 5,
            above: 40,
        };
        assert_eq!(
            judge(watch, &figures).join(""),
            expected,
            "{robot} {requests}"
        );
    }
    assert_eq!(WEEK / 60, 168);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of alerts")]
fn refreshes_certificates_and_heavens_raise_alerts_when_they_need_attention() {
    let mut figures = Figures::default();
    figures.now_ms = NOW_MS;
    let record = |source: &str, outcome| RefreshRecord {
        refresh_id: 1,
        source: source.parse::<Source>().unwrap(),
        url: String::new(),
        trigger: "schedule".to_owned(),
        started_ms: 0,
        finished_ms: 0,
        outcome,
        error: "why".to_owned(),
        records: 0,
        added: 0,
        changed: 0,
        removed: 0,
        skipped: 0,
        quarantined: 0,
        unusable: 0,
        problems: Vec::new(),
        held_sha256: None,
    };
    figures.refreshes = vec![
        record("a", RefreshOutcome::Failed),
        record("b", RefreshOutcome::Held),
        record("c", RefreshOutcome::Replaced),
        record("d", RefreshOutcome::NotModified),
    ];
    figures.held = vec![("shop".to_owned(), "a third is gone".to_owned())];
    let (now_s, day) = (NOW_MS / 1_000, 86_400);
    let end = |names: &str, not_after| ServedCertificate {
        names: names.to_owned(),
        not_after: Some(not_after),
        failures: 0,
    };
    figures.certificates = vec![
        end("over", now_s - 1),
        end("today", now_s + 1),
        end("soon", now_s + 13 * day),
        end("later", now_s + 14 * day),
        ServedCertificate {
            names: "never".to_owned(),
            not_after: None,
            failures: 2,
        },
    ];
    assert_eq!(
        judge(Watch::Refresh, &figures),
        [
            "could not refresh a: why",
            "b is held for review until you accept it: why"
        ]
    );
    assert_eq!(
        judge(Watch::Heaven, &figures),
        ["The pages of shop are held for review: a third is gone"]
    );
    figures.differing = vec![("shop".to_owned(), 2, "https://shop.example/a".to_owned())];
    assert_eq!(
        judge(Watch::Parity, &figures),
        [
            "2 pages of robot heaven contain text that is not in the originals on shop, for example \
          https://shop.example/a"
        ]
    );
    assert_eq!(
        judge(Watch::Certificate { days: 14 }, &figures),
        [
            "The certificate for over has expired.",
            "The certificate for today expires today.",
            "The certificate for soon expires in 13 days.",
            "2 consecutive certificate orders for never failed; see the log."
        ]
    );
}

//! Stored history is charted on the pages of its subject.

use regex::Regex;
use robot_detection::store::{BrokenRule, Evidence, EvidenceBatch};

use super::{
    site::{Client, NOW_MS, Plan, Site},
    visits::{self, DAY, NOW, USUAL, Visits, come, minute_of},
};

const DAY_MS: i64 = 24 * 60 * 60_000;

/// Returns the table columns of a chart over time: each heading with the sum of its figures.
fn sums(body: &str) -> Vec<(String, u64)> {
    let table = Regex::new(r#"(?s)aria-label="Figures over time">(.*?)</table>"#).unwrap();
    let table = table.captures(body).unwrap()[1].to_owned();
    let heading = Regex::new(r#"<th scope="col" class="number">([^<]+)</th>"#).unwrap();
    let names: Vec<_> = heading
        .captures_iter(&table)
        .map(|found| found[1].to_owned())
        .collect();
    let figure = Regex::new(r#"<td class="number">(\d+)</td>"#).unwrap();
    let figures: Vec<u64> = figure
        .captures_iter(&table)
        .map(|found| found[1].parse().unwrap())
        .collect();
    let columns = names.len();
    let sum = |at: usize| figures.iter().skip(at).step_by(columns).sum();
    let named = names.into_iter().enumerate();
    named.map(|(at, name)| (name, sum(at))).collect()
}

/// Returns the requests of listed robots in the JSON, selected by a query.
async fn told(client: &Client, query: &str) -> u64 {
    let told = client
        .get(&format!("api/v1/traffic?time=90d&{query}"))
        .await
        .json();
    told["totals"]["all"]["hits"].as_u64().unwrap()
}

/// Adds evidence of robots.txt violations on the only site, one for each number of days ago.
pub(super) async fn violate(site: &Site, days_ago: &[i64], cause: &str) {
    let noted: Vec<_> = days_ago
        .iter()
        .map(|days| Evidence {
            at_ms: NOW_MS - days * DAY_MS,
            event: "violation".to_owned(),
            site: "default".to_owned(),
            kind: "listed".to_owned(),
            robot: "gptbot".to_owned(),
            decision: if cause == "robots.txt" {
                "refuse"
            } else {
                "pass"
            }
            .to_owned(),
            cause: cause.to_owned(),
            path: "/private/a".to_owned(),
            broken: Some(BrokenRule::Rule {
                line: 3,
                rule: "Disallow: /private/".to_owned(),
                group_line: 1,
                group: "*".to_owned(),
            }),
            ..Evidence::default()
        })
        .collect();
    let batch = EvidenceBatch {
        writer: cause,
        number: 1,
        noted: &noted,
    };
    site.store.evidence().add(&batch, NOW_MS).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_are_charted_over_months_and_add_up_to_the_figures() {
    let site = Plan::open().start().await;
    let client = site.client();
    site.refresher.prepare(true).await.unwrap();
    come(&site.store, USUAL, 0..60).await;
    visits::add(&site.store, &[minute_of(&USUAL[4], NOW - 60 * DAY, 5)]).await;
    let page = client.get("verification").await;
    let shown = sums(&page.body);
    let names: Vec<_> = shown.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["verified", "unverifiable", "spoofed"]);
    for (name, sum) in &shown {
        let query = format!("visitors=listed&verdict={name}");
        assert_eq!(*sum, told(&client, &query).await, "{name}");
        let link = format!("traffic?time=90d&#38;visitors=listed&#38;verdict={name}");
        assert!(page.body.contains(&link), "{link}: {}", page.body);
    }
    let one = client.get("verification?robot=ahrefsbot").await;
    assert!(
        one.text()
            .contains("Verdicts over the last 90 days: ahrefsbot")
    );
    let sum = told(&client, "robot=ahrefsbot").await;
    assert_eq!(sums(&one.body), [("unverifiable".to_owned(), sum)]);
    let nobody = client.get("verification?robot=nobody").await.text();
    assert!(nobody.contains("No requests in this period."), "{nobody}");
}

#[tokio::test(flavor = "multi_thread")]
async fn violations_are_charted_by_day_next_to_robots_txt_decisions() {
    let site = Plan::open().start().await;
    let client = site.client();
    let none = client.get("robots-txt").await.text();
    assert!(!none.contains("Violations by day"), "{none}");
    assert!(!none.contains("over the last 90 days"), "{none}");
    violate(&site, &[29, 29, 1, 31], "path-not-filtered").await;
    violate(&site, &[1, 0], "robots.txt").await;
    let refused = Visits {
        decision: "refuse",
        ..USUAL[9]
    };
    let mut counted = minute_of(&refused, NOW - 40 * DAY, 7);
    counted.key.cause = "robots.txt".to_owned();
    let mut slowed = minute_of(&refused, NOW - 2 * DAY, 2);
    slowed.key.cause = "crawl-delay".to_owned();
    visits::add(&site.store, &[counted, slowed]).await;
    let page = client.get("robots-txt").await;
    for (day, refused, reported) in [
        ("2026-01-31", 0, 2),
        ("2026-02-28", 1, 1),
        ("2026-03-01", 1, 0),
    ] {
        let row = format!(
            "<th scope=\"row\">{day}</th><td class=\"number\">{refused}</td>\
             <td class=\"number\">{reported}</td>"
        );
        assert!(page.body.contains(&row), "{row}");
    }
    // Days older than the charted ones appear only in the list below.
    assert!(!page.body.contains("<th scope=\"row\">2026-01-30</th>"));
    let shown = [("robots.txt".to_owned(), 7), ("crawl-delay".to_owned(), 2)];
    assert_eq!(sums(&page.body), shown);
    let days = client.get("api/v1/robots-txt").await.json();
    let last = &days["violation_days"][29];
    assert_eq!(last["day"], "2026-03-01");
    assert_eq!(
        (&last["refused"], &last["reported"]),
        (&1.into(), &0.into())
    );
    let fetched = client.get("paths?path=%2Frobots.txt&time=30d").await;
    assert!(
        page.body.contains("paths?path=%2Frobots.txt&#38;time=30d"),
        "{}",
        page.body
    );
    assert!(fetched.status.is_success(), "{}", fetched.text());
}

//! Traffic figures: on pages, as JSON and CSV, and in the command line's report.

use std::collections::BTreeSet;

use regex::Regex;
use reqwest::StatusCode;
use robot_detection::clock::Clock;
use robot_detection::store::{MinuteCounts, TrafficCount, TrafficKey};
use serde_json::Value;

use super::{
    site::{Client, NOW_MS, Plan, Site},
    visits::{self, DAY, HOUR, NOW, USUAL, Visits, come, minute_of},
};
use crate::support::program::succeed;

const HOSTILE: &str = "\"><script>alert('x')</script>&amp;{{7*7}}<img src=x onerror=alert(1)>";

/// Whole days, which give the same figures to programs that start later.
const WHOLE_DAYS: &str = "since=2026-02-22&until=2026-02-28";

const GROUPINGS: [&str; 10] = [
    "class", "robot", "operator", "purpose", "verdict", "decision", "cause", "site", "status",
    "total",
];

/// Returns a site with some days of usual traffic, from robots in the registry among others.
async fn visited(days: i64) -> (Site, Client) {
    let site = Plan::open().start().await;
    site.refresher.prepare(true).await.unwrap();
    come(&site.store, USUAL, 0..days * 24).await;
    let client = site.client();
    (site, client)
}

/// Returns the numbers of requests or bytes on a page, as machine-readable values.
fn values(body: &str) -> Vec<u64> {
    let value = Regex::new(r#"<data value="(\d+)""#).unwrap();
    let found = value.captures_iter(body);
    found.map(|found| found[1].parse().unwrap()).collect()
}

/// Returns the links of figures, each with the figure that it shows.
fn figure_links(body: &str) -> BTreeSet<(String, u64)> {
    let link = Regex::new(r#"<a href="((?:\./|\.\./)+)([^"]+)"><data value="(\d+)""#).unwrap();
    let found = link.captures_iter(body);
    found
        .map(|found| (unescaped(&found[2]), found[3].parse().unwrap()))
        .collect()
}

fn unescaped(text: &str) -> String {
    text.replace("&#38;", "&").replace("&amp;", "&")
}

/// Returns the command line's report for the same days.
fn report(site: &Site, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("robot-detection.toml");
    std::fs::write(config, "web_robots_db = ''").unwrap();
    let mut all = vec!["--database", &*site.database, "report"];
    all.extend(["--since", "2026-02-22", "--until", "2026-02-28"]);
    all.extend(arguments);
    succeed(directory.path(), &all)
}

fn hits(value: &Value) -> u64 {
    value["hits"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_json_csv_and_the_report_agree_exactly() {
    let (site, client) = visited(9).await;
    let json = client
        .get(&format!("api/v1/traffic?{WHOLE_DAYS}"))
        .await
        .json();
    let told: Value =
        serde_json::from_str(&report(&site, &["--json", "--by", &GROUPINGS.join(",")])).unwrap();
    for (name, table) in told.as_object().unwrap() {
        assert_eq!(&json[name], table, "{name}");
    }
    assert!(hits(&json["totals"]["all"]) > 100_000, "{}", json["totals"]);
    for by in GROUPINGS {
        let csv = client
            .get(&format!("traffic/export?{WHOLE_DAYS}&by={by}"))
            .await;
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(csv.body, report(&site, &["--csv", "--by", by]), "{by}");
        let page = client.get(&format!("traffic?{WHOLE_DAYS}&by={by}")).await;
        let shown = values(&page.body);
        assert_eq!(shown[0], hits(&json["totals"]["all"]), "{by}");
        let lines: Vec<_> = csv.body.lines().skip(1).collect();
        assert!(!lines.is_empty(), "{by}");
        for line in lines {
            let figures: Vec<_> = line.rsplit(',').collect();
            for figure in [figures[3], figures[1]] {
                assert!(shown.contains(&figure.parse().unwrap()), "{by}: {line}");
            }
        }
    }
    // The same with a filter.
    let path = format!("api/v1/traffic?{WHOLE_DAYS}&site=shop&purpose=search");
    let narrow = client.get(&path).await.json();
    let arguments = [
        "--json",
        "--by",
        "robot",
        "--site",
        "shop",
        "--purpose",
        "search",
    ];
    let told: Value = serde_json::from_str(&report(&site, &arguments)).unwrap();
    assert_eq!(narrow["robots"], told["robots"]);
    assert!(hits(&narrow["totals"]["all"]) > 0);
}

#[tokio::test]
async fn figures_over_time_add_up_to_the_totals() {
    let (_site, client) = visited(12).await;
    for time in ["1h", "24h", "7d", "30d", "90d", "all"] {
        let whole = client
            .get(&format!("api/v1/traffic?time={time}"))
            .await
            .json();
        for by in GROUPINGS {
            let path = format!("api/v1/traffic/series?time={time}&by={by}");
            let series = client.get(&path).await.json();
            assert_eq!(series["since"], whole["since"], "{time}");
            let steps = series["steps"].as_array().unwrap().len();
            let mut all = 0;
            for line in series["lines"].as_array().unwrap() {
                let by_step = line["hits_by_step"].as_array().unwrap();
                assert_eq!(by_step.len(), steps);
                let sum: u64 = by_step.iter().map(|hits| hits.as_u64().unwrap()).sum();
                assert_eq!(sum, hits(line), "{path}");
                all += sum;
            }
            if ["site", "decision", "status", "total"].contains(&by) {
                assert_eq!(all, hits(&whole["totals"]["all"]), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn every_figure_links_to_a_page_with_that_figure() {
    let (_site, client) = visited(3).await;
    let mut followed = 0;
    for page in [
        "overview",
        "overview?by=decision&site=shop",
        "robots",
        "robots?by=operator&time=1h",
        "robots/bundled/googlebot",
        "sites",
        "traffic?by=cause",
        "traffic?by=purpose&site=blog",
        "traffic?by=status&visitors=robots",
        "traffic?by=total",
    ] {
        let answer = client.get(page).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}: {}", answer.text());
        for (link, figure) in figure_links(&answer.body) {
            let led = client.get(&link).await;
            assert_eq!(led.status, StatusCode::OK, "{page}: {link}");
            assert_eq!(values(&led.body)[0], figure, "{page}: {link}");
            followed += 1;
        }
    }
    assert!(followed > 60, "{followed}");
}

#[tokio::test]
async fn a_filter_excludes_everything_else() {
    let (_site, client) = visited(2).await;
    let total = async |query: &str| {
        let json = client.get(&format!("api/v1/traffic?{query}")).await.json();
        hits(&json["totals"]["all"])
    };
    let all = total("").await;
    assert_eq!(total("site=shop").await + total("site=blog").await, all);
    assert_eq!(
        total("visitors=people").await + total("visitors=robots").await,
        all
    );
    let google = total("operator=Google").await;
    assert!(google > 0);
    assert_eq!(google, total("robot=googlebot").await);
    let verdicts =
        ["verified", "spoofed"].map(|verdict| format!("robot=googlebot&verdict={verdict}"));
    assert_eq!(
        total(&verdicts[0]).await + total(&verdicts[1]).await,
        google
    );
    let spared = total("decision=spared").await;
    assert_eq!(
        spared,
        total("decision=redirect").await + total("decision=refuse").await
    );
    // Robots that are not in the registry have an unknown operator.
    assert!(total("operator=-").await >= total("robot=unlisted").await);
}

#[tokio::test]
async fn an_invalid_parameter_is_rejected_with_the_valid_ones() {
    let (_site, client) = visited(1).await;
    for (path, told) in [
        (
            "overview?time=2h",
            "time must be one of 1h, 24h, 7d, 30d, 90d, all",
        ),
        ("overview?tme=7d", "did you mean time?"),
        ("overview?by=site", "by must be one of purpose, decision"),
        ("robots?since=yesterday", "since: use 30m"),
        (
            "robots?since=2026-03-01&until=2026-02-01",
            "since must be earlier than until",
        ),
        (
            "robots?sort=size",
            "sort must be one of robot, purpose, requests",
        ),
        ("robots?dir=up", "dir must be asc or desc"),
        ("traffic?site=sohp", "site must be one of blog, shop"),
        ("traffic?robot=nobody", "robot must be one of"),
        ("traffic?verdict=true", "verdict must be one of verified"),
        (
            "traffic?decision=block",
            "decision must be one of pass, redirect",
        ),
        ("traffic?purpose=seach", "purpose must be one of"),
        ("traffic?time=7d&since=2026-01-01", "must not be combined"),
        ("traffic/export?by=page", "by must be one of class"),
        ("sites?sort=name", "parameter"),
        (
            "robots/bundled/googlebot?robot=bingbot",
            "is not supported on a robot",
        ),
        ("api/v1/traffic?by=robot,page", "by must be one of class"),
        ("api/v1/traffic/series?step=1", "parameter"),
    ] {
        let answer = client.get(path).await;
        // An unknown parameter is reported differently from an invalid value.
        let status = match told {
            "parameter" | "did you mean time?" => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let text = answer.text();
        assert!(text.contains(told), "{path}: {text}");
    }
}

/// Adds visits of one robot: some in the current hour, and some on the day before.
async fn twice(site: &Site, robot: &'static str, now: u64, before: u64) {
    let visits = Visits { robot, ..USUAL[4] };
    let counted = [
        minute_of(&visits, NOW - 5, now),
        minute_of(&visits, NOW - DAY - 5, before),
        // Much earlier, so that the whole day before was counted.
        minute_of(&visits, NOW - 3 * DAY, 1),
    ];
    let counted: Vec<_> = counted
        .into_iter()
        .filter(|one| one.count.requests > 0)
        .collect();
    visits::add(&site.store, &counted).await;
}

#[tokio::test]
async fn sentences_come_first_and_compare_with_the_previous_period() {
    let site = Plan::open().start().await;
    let client = site.client();
    site.refresher.prepare(true).await.unwrap();
    twice(&site, "claudebot", 240, 100).await;
    let page = client.get("overview").await;
    let text = page.text();
    assert!(
        text.contains("ClaudeBot sent 2.4 times as many requests as in the previous 24 hours."),
        "{text}"
    );
    assert!(text.contains("Nothing needs attention."), "{text}");
    assert!(text.contains("+140 %"), "{text}");
    let text = client.get("overview?time=1h").await.text();
    assert!(text.contains("and none in the previous hour"), "{text}");
    // The range of all stored traffic has no previous period.
    let text = client.get("overview?time=all").await.text();
    assert!(!text.contains("times as many"), "{text}");
    let spoofed = Visits {
        verdict: "spoofed",
        ..USUAL[4]
    };
    visits::add(&site.store, &[minute_of(&spoofed, NOW - 2, 14)]).await;
    let text = client.get("overview").await.text();
    let words = "14 requests pretending to be Googlebot were seen, and 14 got the page.";
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("Nothing needs attention."), "{text}");
}

#[tokio::test]
async fn a_range_stored_in_days_is_shown_with_its_actual_bounds() {
    let (_site, client) = visited(1).await;
    let json = client
        .get("api/v1/traffic?since=2026-02-28T13:30&until=2026-02-28T14:10")
        .await;
    assert_eq!(json.json()["since"], "2026-02-28T13:30:00Z");
    let site = Plan::open().start().await;
    let visits = USUAL[4];
    visits::add(&site.store, &[minute_of(&visits, NOW - 60 * DAY, 5)]).await;
    let text = site
        .client()
        .get("traffic?since=2025-12-31T06:00&until=2025-12-31T08:00")
        .await;
    let text = text.text();
    assert!(
        text.contains("2025-12-31 00:00 UTC to 2026-01-01 00:00 UTC"),
        "{text}"
    );
}

#[tokio::test]
async fn times_are_shown_and_parsed_in_the_administrators_zone() {
    let plan = Plan {
        time_zone: "Europe/Berlin",
        ..Plan::open()
    };
    let site = plan.start().await;
    come(&site.store, USUAL, 0..30).await;
    let client = site.client();
    let text = client.get("overview").await.text();
    assert!(text.contains("Times are in Europe/Berlin."), "{text}");
    assert!(text.contains("to 2026-03-01 13:01 CET"), "{text}");
    let json = client
        .get("api/v1/traffic?since=2026-03-01T10:00&until=2026-03-01T11:00")
        .await;
    assert_eq!(json.json()["since"], "2026-03-01T09:00:00Z");
    let exact = client
        .get("api/v1/traffic?since=2026-03-01T09:00Z&until=2026-03-01T10:00Z")
        .await;
    assert_eq!(exact.json(), json.json());
}

#[tokio::test]
async fn a_robots_page_shows_its_traffic_next_to_its_facts() {
    let (_site, client) = visited(4).await;
    let page = client.get("robots/bundled/googlebot?time=7d").await;
    let text = page.text();
    for words in [
        "Verdicts",
        "spoofed",
        "filter-pattern",
        "Patterns",
        "Last seen just now",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = client
        .get("api/v1/traffic?time=7d&robot=googlebot")
        .await
        .json();
    assert_eq!(values(&page.body)[0], hits(&json["totals"]["all"]));
}

#[tokio::test]
async fn robots_are_sorted_by_any_column() {
    let (_site, client) = visited(2).await;
    let names = async |query: &str| {
        let page = client.get(&format!("robots?{query}")).await;
        let row = Regex::new(r#"<th scope="row"><a href="[^"]+"><bdi>([^<]+)"#).unwrap();
        let rows = row.captures_iter(&page.body);
        rows.map(|found| found[1].to_owned()).collect::<Vec<_>>()
    };
    let by_traffic = names("").await;
    assert_eq!(by_traffic[0], "Googlebot", "{by_traffic:?}");
    let mut by_name = by_traffic.clone();
    by_name.sort_by_key(|name| name.to_lowercase());
    assert_eq!(names("sort=robot").await, by_name);
    by_name.reverse();
    assert_eq!(names("sort=robot&dir=desc").await, by_name);
    let mut least = names("sort=requests&dir=asc").await;
    least.reverse();
    assert_eq!(least, by_traffic);
    let operators = names("by=operator").await;
    assert!(operators.contains(&"OpenAI".to_owned()), "{operators:?}");
}

#[tokio::test]
async fn before_any_request_is_counted_pages_explain_what_to_do() {
    let site = Plan::open().start().await;
    let client = site.client();
    for page in ["overview", "robots"] {
        let text = client.get(page).await.text();
        assert!(
            text.contains("robot-detection traffic import"),
            "{page}: {text}"
        );
    }
    for page in ["traffic", "sites", "traffic?time=all"] {
        assert_eq!(client.get(page).await.status, StatusCode::OK, "{page}");
    }
    let json = client.get("api/v1/traffic/series?time=all").await.json();
    assert_eq!(json["steps"], Value::Array(vec![]));
}

#[tokio::test]
async fn names_from_outside_are_escaped_everywhere() {
    let site = Plan::open().start().await;
    let client = site.client();
    for name in [HOSTILE, "=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-1", "\tx"] {
        let counted = MinuteCounts {
            minute: NOW - 1,
            key: TrafficKey {
                site: name.to_owned(),
                kind: "listed".to_owned(),
                robot: name.to_owned(),
                verdict: "spoofed".to_owned(),
                decision: "redirect".to_owned(),
                cause: name.to_owned(),
                status: 3,
            },
            count: TrafficCount {
                requests: 150,
                bytes: 7,
                micros: 7,
            },
        };
        visits::add(&site.store, &[counted]).await;
    }
    let mut escaped = 0;
    for path in [
        "overview",
        "overview?by=decision",
        "robots",
        "sites",
        "traffic",
        "traffic?by=cause",
        "traffic?by=site",
        "traffic?by=verdict",
    ] {
        let page = client.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
        for bare in ["<script>alert", "<img src=x"] {
            assert!(!page.body.contains(bare), "{path}: {bare}");
        }
        escaped += usize::from(page.body.contains("&#60;script&#62;alert"));
    }
    assert!(escaped >= 6, "{escaped}");
    for by in ["robot", "site", "cause"] {
        let csv = client.get(&format!("traffic/export?by={by}")).await.body;
        for line in csv.lines().skip(1) {
            let cell = line.trim_start_matches("redirect,").trim_start_matches('"');
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t']), "{line}");
        }
    }
}

#[tokio::test]
async fn figures_need_a_login() {
    let site = Plan::default().start().await;
    come(&site.store, USUAL, 0..3).await;
    let client = site.client();
    for path in [
        "overview",
        "robots",
        "sites",
        "traffic",
        "traffic/export",
        "registry",
        "sources",
        "settings",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
        assert!(!answer.body.contains("googlebot"), "{path}");
    }
    for path in ["api/v1/traffic", "api/v1/traffic/series"] {
        assert_eq!(
            client.get(path).await.status,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
    }
}

/// Prints how long the pages take with the traffic of 10 million requests in 90 days.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "prints the timing for people")]
async fn ninety_days_of_two_hundred_robots_are_shown() {
    let site = Plan::open().start().await;
    let mut counted = Vec::new();
    for number in 0..200 {
        let robot = format!("robot-{number:03}");
        for name in ["shop", "blog", "docs"] {
            for day in 0..180 {
                let mut one = minute_of(&USUAL[4], NOW - day * DAY - 13 * HOUR, 185);
                one.key.site = name.to_owned();
                one.key.robot = robot.clone();
                one.minute -= number % 60;
                counted.push(one);
            }
        }
    }
    visits::add(&site.store, &counted).await;
    let client = site.client();
    for page in [
        "overview?time=90d",
        "robots?time=90d",
        "traffic?time=90d&robot=robot-007",
        "traffic?time=90d&by=site",
        "sites?time=90d",
    ] {
        client.get(page).await;
        let began_ms = Clock::system().now_ms();
        let answer = client.get(page).await;
        println!("{page}: {} ms", Clock::system().now_ms() - began_ms);
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    }
    let json = client.get("api/v1/traffic?time=all").await.json();
    assert_eq!(hits(&json["totals"]["all"]), 200 * 3 * 180 * 185);
    assert_eq!(site.clock.now_ms(), NOW_MS);
}

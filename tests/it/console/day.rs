//! A day of invented but plausible traffic, and an administrator's actions during the day.

use robot_detection::registry::Source;
use robot_detection::store::{
    AlertAttempt, AlertState, AuditEntry, Ban, BrokenRule, CountedPaths, Evidence, EvidenceBatch,
    ParameterKey, ParityResult, ParityTerms, PathCount, PathKey, PathOmissions, RefreshOutcome,
    RefreshRecord, Store, StoredRanges, TrafficBatch, TrafficSpan,
};

use super::house::House;
use crate::{
    admin::visits::{USUAL, Visits, come_until},
    support::program::{FIREFOX, GOOGLEBOT},
};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// URL of Google's address list, as given in the bundled registry.
const GOOGLE: &str = "https://developers.google.com/static/crawling/ipranges/common-crawlers.json";

const GPTBOT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
const AHREFS: &str = "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)";
const UNLISTED: &str = "Mozilla/5.0 (compatible; frobnicator-crawler/1.0; +https://frob.example/)";

/// Starts a server with a day of traffic.
pub(super) async fn filled() -> House {
    let house = House::start(async |store: &Store, now_ms: i64| fill(store, now_ms).await).await;
    come_now(&house);
    act(&house);
    house
}

/// Fills the database with earlier traffic.
pub(super) async fn fill(store: &Store, now_ms: i64) {
    let now = now_ms / MINUTE_MS;
    come_until(now, store, USUAL, 0..9 * 24).await;
    let more = Visits {
        per_hour: 160,
        ..USUAL[11]
    };
    come_until(now, store, &[more], 0..20).await;
    ranges(store, now_ms).await;
    paths(store, now_ms).await;
    evidence(store, now_ms).await;
    compared(store, now_ms).await;
    for (hours, error) in [(300, ""), (200, ""), (26, "the server answers 503")] {
        refreshed(store, now_ms - hours * HOUR_MS, error).await;
    }
    for (minutes, actor, event, subject, detail) in [
        (
            2_000,
            "command line",
            "rule-added",
            "live rule 7",
            "refuse robot bytespider with 403",
        ),
        (
            1_400,
            "admin",
            "login",
            "from 203.0.113.7",
            "Firefox on Linux",
        ),
        (900, "schedule", "refresh", "web-robots-db", ""),
        (
            300,
            "SIGHUP",
            "reloaded",
            "the configuration",
            "sites shop, blog",
        ),
        (
            45,
            "admin",
            "login-failed",
            "from 198.51.100.23",
            "3 wrong passwords since the last entry",
        ),
    ] {
        let entry = AuditEntry {
            at_ms: now_ms - minutes * MINUTE_MS,
            actor: actor.to_owned(),
            event: event.to_owned(),
            subject: subject.to_owned(),
            detail: detail.to_owned(),
        };
        store.audit().record(&entry).await.unwrap();
    }
    alerts(store, now_ms).await;
}

async fn ranges(store: &Store, now_ms: i64) {
    let list = StoredRanges {
        url: GOOGLE.to_owned(),
        prefixes: Some("66.249.64.0/19\n2001:4860:4801::/48".to_owned()),
        created: Some("2026-11-20".to_owned()),
        unreadable: 1,
        etag: None,
        last_modified: None,
        rules: 1,
        fetched_ms: Some(now_ms - 2 * HOUR_MS),
        checked_ms: Some(now_ms - 2 * HOUR_MS),
        tried_ms: Some(now_ms - 2 * HOUR_MS),
        failures: 0,
        error: None,
    };
    store.ranges().save(&list).await.unwrap();
}

async fn paths(store: &Store, now_ms: i64) {
    let row = |site: &str, robot: &str, path: &str, requests: u64| {
        let key = PathKey {
            site: site.to_owned(),
            robot: robot.to_owned(),
            path: path.to_owned(),
        };
        let count = PathCount {
            requests,
            redirects: if path.starts_with("/members/") {
                requests
            } else {
                0
            },
            client_errors: requests / 20,
            server_errors: u64::from(path.ends_with("checkout")) * 3,
        };
        (key, count)
    };
    let rows = vec![
        row("shop", "", "/recipes/*", 4_120),
        row("shop", "", "/*", 1_930),
        row("shop", "", "/cart/*", 210),
        row("shop", "googlebot", "/recipes/plum-cake.html", 312),
        row(
            "shop",
            "googlebot",
            "/recipes/a-very-long-name-of-a-recipe-with-walnuts-and-honey-from-the-mountains.html",
            97,
        ),
        row("shop", "googlebot", "/members/recipe-1.html", 48),
        row("shop", "gptbot", "/recipes/plum-cake.html", 180),
        row("shop", "gptbot", "/recipes/plum-cake.md", 61),
        row("shop", "ahrefsbot", "/cart/checkout", 85),
        row("blog", "", "/2026/*", 910),
        row("blog", "claudebot", "/2026/11/robots-and-people.html", 700),
        row("blog", "claudebot", "/feed.xml", 160),
        row("blog", "unlisted", "/drafts/winter", 22),
    ];
    let cuts = vec![(
        "shop".to_owned(),
        PathOmissions {
            paths: 3,
            patterns: 0,
            skipped: 0,
        },
    )];
    let counted = [CountedPaths {
        minute: now_ms / MINUTE_MS - 90,
        rows,
        cuts,
    }];
    let batch = TrafficBatch {
        writer: "paths of the day",
        number: 1,
        counted: &[],
        paths: &counted,
        live: &[],
    };
    store.traffic().add(&batch, now_ms).await.unwrap();
    let key = ParameterKey {
        began: TrafficSpan::Day.start(counted[0].minute),
        site: "shop".to_owned(),
        robot: "gptbot".to_owned(),
        writer: "paths of the day".to_owned(),
    };
    let packed = r#"{"/recipes/*": {"requests": 241, "with_query": 180, "names": {
        "servings": {"requests": 172, "values": [1, 2, 3, 4, 5, 6], "pages": [1, 2], "is_shown": true},
        "": {"requests": 8, "values": [1], "pages": [1], "is_shown": true}}}}"#;
    store.traffic().put_parameters(&key, packed).await.unwrap();
}

async fn compared(store: &Store, now_ms: i64) {
    let url = store.descriptions().first_url("shop", "").await.unwrap();
    let more = ParityResult::SaysMore("The sale ends on Sunday.".to_owned());
    let terms = ParityTerms::Report;
    let results = [(url.unwrap(), more)];
    let recorded = store
        .publications()
        .record_parity("shop", &results, terms, now_ms - HOUR_MS);
    assert_eq!(recorded.await.unwrap(), (0, 0));
}

#[expect(clippy::too_many_lines, reason = "a table of traffic")]
async fn evidence(store: &Store, now_ms: i64) {
    let base = |minutes: i64, event: &str, robot: &str, path: &str| Evidence {
        at_ms: now_ms - minutes * MINUTE_MS,
        event: event.to_owned(),
        site: "shop".to_owned(),
        kind: "listed".to_owned(),
        robot: robot.to_owned(),
        verdict: "unverifiable".to_owned(),
        decision: event.to_owned(),
        cause: "filter-pattern".to_owned(),
        status: 302,
        method: "GET".to_owned(),
        host: "shop.example".to_owned(),
        path: path.to_owned(),
        address: "203.0.113.9".to_owned(),
        user_agent: AHREFS.to_owned(),
        referrer: "search.example".to_owned(),
        ..Evidence::default()
    };
    let mut noted = Vec::new();
    for number in 0..40 {
        noted.push(base(
            600 - 9 * number,
            "redirect",
            "ahrefsbot",
            "/members/recipe-2.html",
        ));
        let mut impostor = base(
            590 - 9 * number,
            "impostor",
            "googlebot",
            "/recipes/plum-cake.html",
        );
        "spoofed".clone_into(&mut impostor.verdict);
        "refuse".clone_into(&mut impostor.decision);
        "spoofed".clone_into(&mut impostor.cause);
        impostor.status = 403;
        impostor.address = format!("198.51.100.{number}");
        GOOGLEBOT.clone_into(&mut impostor.user_agent);
        impostor.proof = format!("198.51.100.{number} is not among the addresses of Google");
        noted.push(impostor);
        let mut violation = base(
            580 - 9 * number,
            "violation",
            "gptbot",
            "/recipes/plum-cake.html",
        );
        "refuse".clone_into(&mut violation.decision);
        "robots.txt".clone_into(&mut violation.cause);
        violation.status = 403;
        GPTBOT.clone_into(&mut violation.user_agent);
        violation.broken = Some(BrokenRule::Rule {
            line: 7,
            rule: "Disallow: /recipes/".to_owned(),
            group_line: 6,
            group: "GPTBot".to_owned(),
        });
        noted.push(violation);
    }
    let batch = EvidenceBatch {
        writer: "evidence of the day",
        number: 1,
        noted: &noted,
    };
    store.evidence().add(&batch, now_ms).await.unwrap();
}

async fn refreshed(store: &Store, at_ms: i64, error: &str) {
    let is_failed = !error.is_empty();
    let record = RefreshRecord {
        refresh_id: 0,
        source: Source::web_robots_db(),
        url: "http://www.robotstxt.org/db/all.txt".to_owned(),
        trigger: "schedule".to_owned(),
        started_ms: at_ms,
        finished_ms: at_ms + 1_900,
        outcome: if is_failed {
            RefreshOutcome::Failed
        } else {
            RefreshOutcome::Replaced
        },
        error: error.to_owned(),
        records: if is_failed { 0 } else { 302 },
        added: 4,
        changed: 2,
        removed: 1,
        skipped: 3,
        quarantined: 1,
        unusable: 0,
        problems: vec!["line 812: a record without robot-id".to_owned()],
        held_sha256: None,
    };
    store.refreshes().record(&record).await.unwrap();
}

async fn alerts(store: &Store, now_ms: i64) {
    for (hours, name, event, error) in [
        (30, "sources", "resolved", ""),
        (
            9,
            "impostors",
            "firing",
            "the receiver returned 500: no such channel",
        ),
        (8, "impostors", "firing", ""),
        (3, "impostors", "resolved", ""),
    ] {
        let attempt = AlertAttempt {
            at_ms: now_ms - hours * HOUR_MS,
            name: name.to_owned(),
            event: event.to_owned(),
            error: error.to_owned(),
        };
        store.alerts().record_attempt(&attempt).await.unwrap();
    }
    let state = AlertState {
        name: "impostors".to_owned(),
        watch: "impostor".to_owned(),
        receiver: "http://127.0.0.1".to_owned(),
        is_firing: true,
        since_ms: now_ms - HOUR_MS,
        seen_ms: now_ms,
        findings: "84 requests pretending to be googlebot in the last hour.".to_owned(),
        is_told: true,
        told_ms: now_ms - HOUR_MS,
        ..AlertState::default()
    };
    store.alerts().save(&state).await.unwrap();
    for network in ["203.0.113.5", "2001:db8:1:2::/64"] {
        let ban = Ban {
            network: network.to_owned(),
            cause: "rule \"no scraping\"".to_owned(),
            since_ms: now_ms - MINUTE_MS,
            until_ms: now_ms + HOUR_MS,
        };
        store.bans().add(&ban).await.unwrap();
    }
}

/// Sends real requests, which become live decisions and verdicts.
pub(super) fn come_now(house: &House) {
    for (host, path, agent, address) in [
        (
            "shop.example",
            "/recipes/plum-cake.html",
            GOOGLEBOT,
            "66.249.66.1",
        ),
        (
            "shop.example",
            "/members/recipe-1.html",
            GOOGLEBOT,
            "66.249.66.1",
        ),
        (
            "shop.example",
            "/recipes/plum-cake.html",
            GOOGLEBOT,
            "198.51.100.7",
        ),
        (
            "shop.example",
            "/recipes/plum-cake.html",
            GPTBOT,
            "203.0.113.20",
        ),
        (
            "shop.example",
            "/recipes/a-very-long-name-of-a-recipe-with-walnuts-and-honey-from-the-mountains.html",
            AHREFS,
            "203.0.113.9",
        ),
        ("shop.example", "/missing/old-page", AHREFS, "203.0.113.9"),
        (
            "blog.example",
            "/2026/11/robots-and-people.html",
            UNLISTED,
            "2001:db8::7",
        ),
        ("blog.example", "/drafts/winter", UNLISTED, "2001:db8::7"),
        ("blog.example", "/", GPTBOT, "203.0.113.20"),
        (
            "shop.example",
            "/members/recipe-3.html",
            FIREFOX,
            "192.0.2.55",
        ),
        ("shop.example", "/robots.txt", GOOGLEBOT, "66.249.66.1"),
    ] {
        house.visit(host, path, agent, address);
    }
}

/// Performs an administrator's actions: creates rules, a robot and tokens.
pub(super) fn act(house: &House) {
    for rule in [
        r#"{"action":"slow","robot":"claudebot"}"#,
        r#"{"action":"refuse","purpose":"ai-training","path":"/recipes/*","site":"shop","ends":"never"}"#,
        r#"{"action":"pass","operator":"Google","ends":"1d"}"#,
        r#"{"action":"redirect","robot":"bytespider"}"#,
    ] {
        house.json("POST", "rules", rule);
    }
    house.json("DELETE", "rules/4", "");
    let robot = r#"{"id":"winter-crawler","useragent":"WinterCrawler/1.0","name":"Winter crawler","operator":"Winter Inc.","purpose":"search","host_suffixes":["crawl.winter.example"]}"#;
    house.json("POST", "robots", robot);
    for token in [
        r#"{"name":"grafana","scope":"read"}"#,
        r#"{"name":"deploy","scope":"write","ends":"30d"}"#,
    ] {
        house.json("POST", "tokens", token);
    }
}

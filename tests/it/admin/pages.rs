//! Contents of the pages.

use std::time::Duration;

use reqwest::StatusCode;
use robot_detection::registry::{Pattern, PatternKind, Robot, Source, Status};
use robot_detection::store::{AlertState, RefreshOutcome, RefreshRecord, SourceState};
use sqlx::{Connection as _, SqliteConnection};

use super::site::{NOW_MS, Plan, Site, encode, flat_file};
use crate::support::http::Reply;

const HOSTILE: &str = "\"><script>alert('x')</script>&amp;{{7*7}}<img src=x onerror=alert(1)>";

#[tokio::test]
async fn the_settings_show_what_is_filtered_and_where_it_was_set() {
    let site = Plan::open().start().await;
    site.refresh().await;
    let client = site.client();
    let settings = client.get("settings").await.text();
    let text = settings + &client.get("sources").await.text();
    for words in [
        "Robots are redirected",
        "/members-only-stuff/*",
        "/robot-heaven/",
        "WebRobotsDB",
        "FilterPattern",
        "RedirectURL",
        "RefreshIntervalDays",
        "robot-detection.toml line 3",
        "environment ROBOT_DETECTION_REFRESH_INTERVAL_DAYS",
        "server.listen",
        "Web Robots Database",
        "just now",
        "in 30 days",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[tokio::test]
async fn the_settings_list_the_instances_of_a_fleet_and_mark_the_current_instance() {
    let site = Plan::open().start().await;
    let uptime = Duration::from_hours(3);
    let beat = site
        .store
        .instances()
        .heartbeat("1.2.3", "192.0.2.21:9180", uptime, 0);
    beat.await.unwrap();
    let lease = site.store.leases().acquire("alerts", uptime).await.unwrap();
    let client = site.client();
    let alone = client.get("settings").await.text();
    assert!(!alone.contains("192.0.2.21:9180"), "{alone}");
    let mut raw = SqliteConnection::connect(&site.database).await.unwrap();
    let other = "INSERT INTO instances (instance, host, process, version, address, since_ms, seen_ms, \
                 ahead_ms) SELECT 'other', '<b>two', 7, '1.2.4', '', since_ms, seen_ms, 7200000 FROM instances";
    sqlx::query(other).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let answer = client.get("settings").await;
    let listed = answer.text();
    for words in [
        "Instances",
        "1.2.3",
        "192.0.2.21:9180",
        "3 hours ago",
        "alerts",
        "two 7",
        "1.2.4",
        "7200 s ahead",
    ] {
        assert!(listed.contains(words), "{words:?} is not in {listed}");
    }
    assert_eq!(listed.matches("this instance").count(), 1, "{listed}");
    assert!(!answer.body.contains("<b>two"), "{}", answer.body);
    lease.release().await;
}

#[tokio::test]
async fn the_first_page_states_plainly_that_nothing_is_filtered() {
    let plan = Plan {
        filter: "",
        ..Plan::open()
    };
    let site = plan.start().await;
    let client = site.client();
    let now = client.get("overview").await.text();
    assert!(now.contains("Nothing is filtered"), "{now}");
    let text = client.get("settings").await.text();
    assert!(text.contains("Nothing is filtered"), "{text}");
    assert!(text.contains("filter_pattern (FilterPattern)"), "{text}");
    assert!(!text.contains("Robots are redirected"));
}

#[tokio::test]
async fn without_a_source_there_is_a_note_instead_of_a_button() {
    let plan = Plan {
        has_source: false,
        ..Plan::open()
    };
    let site = plan.start().await;
    let client = site.client();
    for page in ["sources", "refresh"] {
        let answer = client.get(page).await;
        assert!(!answer.body.contains(r#"<form method="post""#), "{page}");
        assert!(answer.text().contains("set web_robots_db"), "{page}");
    }
    let refused = client.post_as_is("refresh", &[]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn ten_thousand_robots_are_paged() {
    let site = Plan::open().start().await;
    site.source.set(Reply::text(flat_file(10_000)));
    site.refresh().await;
    let last = site
        .client()
        .get("registry?page=100&sort=modified&dir=desc")
        .await;
    let text = last.text();
    assert!(text.contains("9901 to 10000 of 10000 robots"), "{text}");
    assert_eq!(last.body.matches("<th scope=\"row\">").count(), 100);
    assert!(last.body.len() < 100_000, "{} bytes", last.body.len());
}

#[tokio::test]
async fn a_first_start_without_network_is_shown() {
    let site = Plan::open().start().await;
    site.refresher.prepare(true).await.unwrap();
    let client = site.client();
    let words = "The bundled registry is in use.";
    assert!(client.get("overview").await.text().contains(words));
    site.refresh().await;
    assert!(!client.get("overview").await.text().contains(words));
}

#[tokio::test]
async fn a_failure_is_shown_until_the_next_success() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    site.source.set(Reply::status(404));
    client.post("refresh", &[]).await;
    let job = client.refresh_done().await;
    assert_eq!(job["sources"][0]["state"], "failed");
    let page = client.get("refresh").await.text();
    assert!(page.contains("The refresh failed."), "{page}");
    assert!(page.contains("404"), "{page}");
    let overview = client.get("overview").await.text();
    assert!(
        overview.contains("The refresh of Web Robots Database failed"),
        "{overview}"
    );
    site.source.set(Reply::text(flat_file(12)));
    client.post("refresh", &[]).await;
    client.refresh_done().await;
    let overview = client.get("overview").await.text();
    assert!(!overview.contains("The refresh of Web Robots Database failed"));
}

#[tokio::test]
async fn the_button_refreshes_and_the_outcome_is_shown() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let agent = b"Acme0003Walker/9";
    assert!(site.detector.load().identify(agent).is_none());
    let started = client.post("refresh", &[("source", "web-robots-db")]).await;
    assert_eq!(started.status, StatusCode::SEE_OTHER);
    assert_eq!(started.header("location"), "./refresh");
    client.refresh_done().await;
    let page = client.get("refresh").await.text();
    assert!(page.contains("12 added, 0 changed, 0 removed"), "{page}");
    assert!(site.detector.load().identify(agent).is_some());
    let history = client.get("refreshes").await;
    assert!(history.body.contains("refreshes/1"));
    let started = r#"<td data-label="Started by">the administrator</td>"#;
    assert!(history.body.contains(started), "{}", history.body);
    let record = client.get("refreshes/1").await.text();
    assert!(record.contains("/db/all.txt"), "{record}");
}

#[tokio::test]
async fn a_running_refresh_is_followed_without_a_script() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    site.source.set(Reply::Hang);
    client.post("refresh", &[]).await;
    let page = client.get("refresh").await;
    let meta = r#"<noscript><meta http-equiv="refresh" content="2"></noscript>"#;
    assert!(page.body.contains(meta));
    let again = client.post("refresh", &[]).await;
    assert_eq!(again.header("location"), "./refresh?note=busy");
    let told = client.get("refresh?note=busy").await.text();
    assert!(told.contains("A refresh was already running"), "{told}");
}

#[tokio::test]
async fn force_accepts_an_apparently_damaged_list() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    site.source.set(Reply::text(flat_file(3)));
    client.post("refresh", &[]).await;
    assert_eq!(client.refresh_done().await["sources"][0]["state"], "held");
    client.post("refresh", &[("force", "1")]).await;
    assert_eq!(client.refresh_done().await["sources"][0]["state"], "done");
}

#[tokio::test]
async fn a_quarantined_list_is_shown_with_a_button_that_accepts_only_that_list() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    site.source.set(Reply::text(flat_file(100)));
    site.refresh().await;
    site.source.set(Reply::text(flat_file(80)));
    client.post("refresh", &[]).await;
    client.refresh_done().await;
    let page = client.get("refresh").await.text();
    assert!(page.contains("The download is held for review."), "{page}");
    assert!(
        page.contains("the document has 80 robots, down from 100"),
        "{page}"
    );
    let overview = client.get("overview").await;
    let text = overview.text();
    assert!(
        text.contains("The download from Web Robots Database is held for review"),
        "{text}"
    );
    assert!(!text.contains("failed"), "{text}");
    assert!(overview.body.contains("Accept the download"));
    let status = client.get("api/v1/status").await.json();
    let held = status["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|source| source["held"].as_object())
        .unwrap();
    let document = held["document"].as_str().unwrap().to_owned();
    assert!(overview.body.contains(&document));

    let other = "0".repeat(64);
    let fields = [("source", "web-robots-db"), ("document", other.as_str())];
    let refused = client.post("refresh/accept", &fields).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    let fields = [("source", "web-robots-db"), ("document", document.as_str())];
    let accepted = client.post("refresh/accept", &fields).await;
    assert_eq!(accepted.header("location"), "../refresh");
    assert_eq!(
        client.refresh_done().await["sources"][0]["refresh"]["removed"],
        20
    );
    let overview = client.get("overview").await.text();
    assert!(!overview.contains("is held for review"), "{overview}");
    let again = client.post("refresh/accept", &fields).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn robots_are_searched_sorted_and_paged() {
    let site = Plan::open().start().await;
    let client = site.client();
    let empty = client.get("registry").await.text();
    assert!(empty.contains("No robots registered."), "{empty}");
    site.source.set(Reply::text(flat_file(250)));
    site.refresh().await;
    let first = client.get("registry").await;
    assert!(first.text().contains("1 to 100 of 250 robots"));
    assert!(
        first
            .body
            .contains(r#"aria-sort="ascending"><a href="./registry?dir=desc""#)
    );
    let last = client.get("registry?page=3&dir=desc").await.text();
    assert!(last.contains("201 to 250 of 250 robots"));
    assert!(last.contains("Acme Robot 0001"));
    let beyond = client.get("registry?page=999").await.text();
    assert!(beyond.contains("Page 3 of 3"));
    let found = client.get("registry?q=acme0123walker").await.text();
    assert!(found.contains("1 to 1 of 1 robots"), "{found}");
    let none = client
        .get("registry?q=nobody&status=quarantined")
        .await
        .text();
    assert!(none.contains("No robots match."));
    let wrong = client.get("registry?sort=size").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_robot_is_shown_with_its_patterns_and_links() {
    let site = Plan::open().start().await;
    site.refresh().await;
    let page = site.client().get("robots/web-robots-db/acme0005").await;
    let link = r#"<a href="http://robots.example/acme5" rel="noopener noreferrer">"#;
    assert!(page.body.contains(link));
    for words in [
        "Acme Robot 0005",
        "acme0005",
        "Acme0005Walker/1.0",
        "active",
        "2026-03-01 12:00 UTC",
    ] {
        assert!(page.text().contains(words), "{words}");
    }
    let none = site.client().get("robots/manual/acme0005").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_identify_page_shows_the_match_and_the_decision() {
    let site = Plan::open().start().await;
    site.refresh().await;
    let agent = encode("Mozilla/5.0 (compatible; Acme0007Walker/2.1)");
    let path = format!("identify?user_agent={agent}&path=%2Fmembers-only-stuff%2F");
    let page = site.client().get(&path).await;
    assert!(
        page.body
            .contains("compatible; <mark>Acme0007Walker</mark>/2.1")
    );
    assert!(page.text().contains("is redirected to"), "{}", page.text());
    let person = site
        .client()
        .get("identify?user_agent=Firefox&path=/")
        .await;
    assert!(person.text().contains("No robot matches this User-Agent"));
    let blank = site.client().get("identify").await.text();
    assert!(!blank.contains("No robot is known"));
}

#[tokio::test]
async fn a_robot_is_added_by_hand_checked_and_removed() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let wrong = [
        ("id", "x y"),
        ("useragent", ""),
        ("details_url", "javascript:alert(1)"),
        ("host_suffixes", "localhost"),
        ("ranges_url", "ftp://x.example/"),
        ("signature_agents", "http://x.example"),
    ];
    let refused = client.post("robots/new", &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    for (field, value) in wrong {
        let told = format!("id=\"{field}-wrong\"");
        assert!(refused.body.contains(&told), "{field}");
        assert!(
            refused.body.contains(&format!("value=\"{value}\"")),
            "{field}"
        );
    }
    let words = "\"localhost\" is not the suffix of a host name, such as crawl.example.com";
    assert!(
        refused.body.contains(&words.replace('"', "&#34;")),
        "{}",
        refused.body
    );
    let right = [
        ("id", "xyzzy"),
        ("useragent", "XyzzyFetch/1.0"),
        ("name", "Xyzzy"),
        ("host_suffixes", "crawl.xyzzy.example"),
        ("ranges_url", "https://xyzzy.example/ips.json"),
        ("signature_agents", "keys.xyzzy.example"),
    ];
    let added = client.post("robots/new", &right).await;
    assert_eq!(
        added.header("location"),
        "../robots/manual/xyzzy?note=added"
    );
    assert!(site.detector.load().identify(b"XyzzyFetch/7").is_some());
    let page = client.get("robots/manual/xyzzy?note=added").await;
    assert!(page.text().contains("Robot added."));
    assert!(page.text().contains("Remove robot"));
    for (_, fact) in &right[3..] {
        assert!(page.text().contains(fact), "{fact}");
    }
    site.refresh().await;
    assert!(site.detector.load().identify(b"XyzzyFetch/7").is_some());
    let removed = client.post("robots/remove", &[("id", "xyzzy")]).await;
    assert_eq!(removed.header("location"), "../registry?note=removed");
    assert!(site.detector.load().identify(b"XyzzyFetch/7").is_none());
}

#[tokio::test]
async fn a_robot_that_matches_a_browser_is_added_only_after_confirmation() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let robot = [("id", "odd"), ("useragent", "YaBrowser/24.1")];
    let warned = client.post("robots/new", &robot).await;
    assert_eq!(warned.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        warned
            .text()
            .contains("This User-Agent would match a browser"),
        "{}",
        warned.text()
    );
    let meant = [robot[0], robot[1], ("accept_browser_hits", "1")];
    let added = client.post("robots/new", &meant).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.text());
}

#[tokio::test]
async fn a_missing_database_is_reported_without_further_damage() {
    let site = Plan::open().start().await;
    site.refresh().await;
    site.store.close().await;
    let client = site.client();
    let page = client.get("overview").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(page.text().contains("The database does not respond."));
    let json = client.get("api/v1/status").await;
    assert_eq!(json.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(json.json()["code"], "database");
    let identified = client
        .get("api/v1/identify?user_agent=Acme0001Walker")
        .await;
    assert_eq!(identified.json()["claim"]["id"], "acme0001");
}

/// Puts hostile text into every displayed column.
async fn poison(site: &Site) -> i64 {
    let mut robot = Robot::new(HOSTILE, Source::web_robots_db());
    HOSTILE.clone_into(&mut robot.name);
    HOSTILE.clone_into(&mut robot.useragent);
    robot.details_url = Some("javascript:alert(1)".to_owned());
    robot.operator = Some(HOSTILE.to_owned());
    robot.product_token = Some(HOSTILE.to_owned());
    robot.patterns = vec![Pattern::new(PatternKind::Exact, HOSTILE)];
    let mut quarantined = robot.clone();
    "quarantined".clone_into(&mut quarantined.id);
    quarantined.status = Status::Quarantined {
        pattern: HOSTILE.to_owned(),
        browser: HOSTILE.to_owned(),
    };
    let mut unusable = robot.clone();
    "unusable".clone_into(&mut unusable.id);
    unusable.status = Status::Unusable {
        reason: HOSTILE.to_owned(),
    };
    let state = SourceState {
        url: HOSTILE.to_owned(),
        ..SourceState::default()
    };
    let robots = [robot, quarantined, unusable];
    let store = &site.store;
    let source = Source::web_robots_db();
    store
        .robots()
        .replace_source(&source, &robots, &state, NOW_MS)
        .await
        .unwrap();
    site.refresher.reload().await.unwrap();
    store
        .refreshes()
        .record(&RefreshRecord {
            refresh_id: 0,
            source,
            url: HOSTILE.to_owned(),
            trigger: "schedule".to_owned(),
            started_ms: NOW_MS,
            finished_ms: NOW_MS,
            outcome: RefreshOutcome::Failed,
            error: HOSTILE.to_owned(),
            records: 3,
            added: 0,
            changed: 0,
            removed: 0,
            skipped: 1,
            quarantined: 1,
            unusable: 1,
            problems: vec![HOSTILE.to_owned()],
            held_sha256: None,
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn hostile_text_is_escaped_on_every_page() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let refresh_id = poison(&site).await;
    let hostile = encode(HOSTILE);
    let fields = [("id", HOSTILE), ("useragent", HOSTILE), ("name", HOSTILE)];
    let mut pages = vec![client.post("robots/new", &fields).await];
    for path in [
        "overview".to_owned(),
        "robots".to_owned(),
        "registry".to_owned(),
        "settings".to_owned(),
        "sources".to_owned(),
        format!("registry?q={hostile}"),
        format!("robots?sort={hostile}"),
        format!("traffic?site={hostile}"),
        format!("robots/web-robots-db/{hostile}"),
        "robots/web-robots-db/quarantined".to_owned(),
        "robots/web-robots-db/unusable".to_owned(),
        format!("robots/{hostile}/{hostile}"),
        format!("identify?user_agent={hostile}&path={hostile}"),
        "refreshes".to_owned(),
        format!("refreshes/{refresh_id}"),
        format!("refreshes/{hostile}"),
        format!("refresh?note={hostile}"),
        format!("account?note={hostile}"),
        hostile.clone(),
    ] {
        pages.push(client.get(&path).await);
    }
    let stranger = site.client();
    pages.push(stranger.get(&format!("login?next={hostile}")).await);
    pages.push(stranger.post_as_is("login", &[("next", HOSTILE)]).await);
    let mut escaped = 0;
    for page in &pages {
        assert!(page.header("content-type").starts_with("text/html"));
        for bare in ["<script>", "<img src=x", "javascript:alert"] {
            assert!(!page.body.contains(bare), "{bare} in {}", page.body);
        }
        escaped += usize::from(page.body.contains("&#60;script&#62;"));
    }
    // The test could not fail if the text never reached the pages.
    assert!(escaped >= 10, "{escaped} of {}", pages.len());
}

#[tokio::test]
async fn an_alert_without_findings_is_shown_as_ok() {
    let site = Plan::open().start().await;
    let state = AlertState {
        name: "quiet".to_owned(),
        watch: "refresh".to_owned(),
        ..AlertState::default()
    };
    site.store.alerts().save(&state).await.unwrap();
    let shown = site.client().get("alerts").await.text();
    assert!(shown.contains("quiet refresh ok"), "{shown}");
}

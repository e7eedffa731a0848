//! Text from visitors, lists and receivers is escaped on every screen, and no formula in a file.

use robot_detection::{
    registry::{Pattern, PatternKind, Robot, Source},
    store::Store,
};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use super::{
    day::{act, come_now, fill},
    house::House,
    screens::SCREENS,
};
use crate::support::{
    browser::{Browser, Screen},
    program::request,
};

/// Text that would run in any HTML context if it were not escaped.
const HOSTILE: &str = "'\"><script>window.ran=1</script><img src=x onerror=window.ran=2 class=hostile>{{7*7}}</title></textarea><svg onload=window.ran=3>";

/// Text that a spreadsheet would treat as a formula.
const FORMULA: &str = "=HYPERLINK(0)";

/// Tables with their columns of text from outside.
const COLUMNS: [(&str, &[&str]); 13] = [
    ("traffic_keys", &["cause"]),
    ("traffic_paths", &["path"]),
    (
        "evidence",
        &[
            "host",
            "path",
            "user_agent",
            "referrer",
            "proof",
            "cause",
            "rule",
            "agents",
            "address",
        ],
    ),
    ("audit_log", &["actor", "event", "subject", "detail"]),
    ("refreshes", &["url", "error", "triggered_by"]),
    ("alerts", &["findings", "error", "receiver"]),
    ("alert_attempts", &["name", "event", "error"]),
    ("bans", &["network", "cause"]),
    (
        "resource_descriptions",
        &["title", "full_text", "partial_text"],
    ),
    ("address_ranges", &["error", "created"]),
    ("site_robot_urls", &["outcome"]),
    ("heaven_parity", &["sentence"]),
    ("traffic_imports", &["name"]),
];

/// Appends hostile text to all texts from outside in the database, or prepends it to names.
async fn poison(store: &Store, now_ms: i64) {
    fill(store, now_ms).await;
    let robot = |id: &str| {
        let mut robot = Robot::new(id, Source::manual());
        robot.name = format!("{FORMULA}{HOSTILE}");
        HOSTILE.clone_into(&mut robot.useragent);
        robot.operator = Some(format!("{FORMULA}{HOSTILE}"));
        robot.product_token = Some(HOSTILE.to_owned());
        robot.details_url = Some("javascript:window.ran=4".to_owned());
        robot.ranges_url = Some(format!("https://x.example/{HOSTILE}"));
        robot.host_suffixes = vec![HOSTILE.to_owned()];
        robot.patterns = vec![Pattern::new(PatternKind::Token, "hostilebot")];
        robot
    };
    for id in ["hostile", HOSTILE] {
        store.robots().add(&robot(id), now_ms).await.unwrap();
    }
    let mut raw = SqliteConnection::connect(store.url()).await.unwrap();
    let mut statements = vec!["UPDATE refreshes SET problems = json_array(?)".to_owned()];
    for (table, columns) in COLUMNS {
        for column in columns {
            statements.push(format!(
                "UPDATE {table} SET {column} = '{FORMULA}' || {column} || ?"
            ));
        }
    }
    for table in ["traffic_keys", "traffic_paths", "evidence"] {
        let robots = "robot IN ('ahrefsbot', 'bingbot')";
        statements.push(format!(
            "UPDATE {table} SET robot = '{FORMULA}' || ? WHERE {robots} AND site = 'shop'"
        ));
        statements.push(format!(
            "UPDATE {table} SET site = site || ? WHERE {robots}"
        ));
    }
    for statement in statements {
        let query = sqlx::query(AssertSqlSafe(statement.clone())).bind(HOSTILE);
        let done = query.execute(&mut raw).await;
        assert!(done.is_ok(), "{statement}: {done:?}");
    }
    raw.close().await.unwrap();
}

/// Checks a screen for scripts that ran and for injected elements and addresses.
const LOOK: &str = "
    return {
        ran: window.ran || 0,
        made: document.querySelectorAll('.hostile, [onload], [onerror], script:not([src])').length,
        links: [...document.querySelectorAll('a[href], form[action]')]
            .map(one => new URL(one.getAttribute('href') || one.getAttribute('action'), location).protocol)
            .filter(protocol => !/^https?:$/.test(protocol)),
        sums: document.body.innerText.includes('49</') || document.title.includes('49'),
        shown: document.body.textContent.includes('<script>window.ran=1</script>'),
    };";

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Returns screens with hostile parameters or about items with hostile names.
fn more_screens() -> Vec<String> {
    let hostile = encode(HOSTILE);
    let named = format!("{}{hostile}", encode(FORMULA));
    vec![
        format!("robots/manual/{hostile}"),
        "robots/manual/hostile".to_owned(),
        format!("robots?operator={named}"),
        format!("traffic?robot={named}&by=cause"),
        "traffic?by=operator".to_owned(),
        "traffic?by=site".to_owned(),
        format!("traffic?site={hostile}"),
        format!("paths?path={hostile}&robot={hostile}"),
        format!("registry?q={hostile}"),
        format!("evidence?robot={hostile}&site={hostile}"),
        format!("rules/new?action=refuse&operator={hostile}&path=%2F{hostile}"),
        format!("rules/confirm?action=refuse&operator={hostile}"),
        format!("identify?user_agent={hostile}&path=%2F{hostile}&host={hostile}"),
        format!("changes?since={hostile}"),
        format!("verification?robot={hostile}"),
        format!("site-robot/explain?site=shop&url={hostile}"),
        format!("robots-txt?site=shop&robot={hostile}&url=%2F{hostile}"),
        hostile,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_escaped_on_every_screen_and_no_formula_in_any_file() {
    let house = House::start(async |store: &Store, now_ms: i64| poison(store, now_ms).await).await;
    come_now(&house);
    act(&house);
    let rule = serde_json::json!({ "action": "refuse", "operator": HOSTILE });
    house.json("POST", "rules", &rule.to_string());
    let token = serde_json::json!({ "name": format!("{FORMULA}<script>window.ran=1</script>"), "ends": "1d" });
    house.json("POST", "tokens", &token.to_string());
    // Bytes that a request head may contain; those invalid in a path are encoded.
    let path = format!("/members/{}", encode(HOSTILE));
    house.visit(
        "shop.example",
        &path,
        &format!("hostilebot {HOSTILE}"),
        "203.0.113.1",
    );
    let mut browser = Browser::start().await;
    browser.look(Screen::DESK, "light").await;
    house.log_in(&browser).await;
    let mut shown = 0;
    let screens = SCREENS.iter().map(|(page, _)| (*page).to_owned());
    for page in screens.chain(more_screens()) {
        house.go(&browser, &page).await;
        let found = browser.client.execute(LOOK, vec![]).await.unwrap();
        let harm = (
            &found["ran"],
            &found["made"],
            &found["links"],
            &found["sums"],
        );
        let none = (&0.into(), &0.into(), &serde_json::json!([]), &false.into());
        assert_eq!(harm, none, "{page}");
        shown += usize::from(found["shown"] == true);
    }
    browser.end().await;
    // The test could not fail if the text never reached the screens.
    assert!(shown >= 20, "the text is visible on only {shown} screens");
    files(&house);
}

/// Checks every file that a spreadsheet may open.
fn files(house: &House) {
    let cookie = house.cookie();
    let host = house.server.addr.to_string();
    for path in [
        "api/v1/evidence?format=csv&limit=1000",
        "traffic/export?by=robot",
        "traffic/export?by=cause",
        "traffic/export?by=site",
        "paths/export",
        "changes/export",
    ] {
        let headers = [("Cookie", &*cookie), ("Host", &*host)];
        let path = format!("/robot-detection/admin/{path}");
        let text = request(house.server.addr, "GET", &path, &headers).text();
        assert!(text.contains("window.ran=1"), "{path}: {text}");
        for cell in cells(&text) {
            let begins = cell.chars().next();
            let is_formula = begins.is_some_and(|first| "=+-@\t\r".contains(first));
            // A number may be negative.
            let is_number = cell.parse::<f64>().is_ok();
            assert!(!is_formula || is_number, "{path}: {cell}");
        }
    }
}

/// Returns the cells of a CSV file (RFC 4180 §2).
fn cells(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ',' | '\n' | '\r' if !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().unwrap().push(character),
        }
    }
    cells
}

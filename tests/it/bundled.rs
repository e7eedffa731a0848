//! The bundled registry, checked against its schema.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use reqwest::Url;
use robot_detection::{
    clock::Clock,
    detect::{Claim, Detector, Duplicates, browser_hits},
    registry::{Pattern, PatternKind, Purpose, Robot, bundled},
};

/// Unnumbered fields of the schema.
const FIELDS: &[&str] = &[
    "robot-checked",
    "robot-details-url",
    "robot-evidence",
    "robot-exclusion",
    "robot-exclusion-useragent",
    "robot-host",
    "robot-id",
    "robot-name",
    "robot-operator",
    "robot-proof-url",
    "robot-proofs",
    "robot-purpose",
    "robot-ranges-url",
    "robot-signature-agent",
    "robot-useragent",
    "robot-useragent-kind",
];

/// Product tokens as published by their operators with characters other than letters, `_` and `-`,
/// the characters that RFC 9309 §2.2.1 allows.
const ODD_TOKENS: &[&str] = &[
    "008",
    "360Spider",
    "360Spider-Image",
    "360Spider-Video",
    "A1 Website Analyzer",
    "A6-Indexer",
    "AI2Bot",
    "Algolia Crawler",
    "Dataprovider.com",
    "ExB Language Crawler",
    "HubSpot Crawler",
    "HubSpot Links Crawler",
    "ICCrawler - iCjobs",
    "InfoSeek Sidewinder",
    "Kangaroo Bot",
    "L.webis",
    "MJ12bot",
    "Mail.RU_Bot",
    "MegaIndex.ru",
    "NLNZHarvester2010",
    "NerdByNature.Bot",
    "Screaming Frog SEO Spider",
    "Sogou News Spider",
    "Sogou Orion spider",
    "Sogou Pic Spider",
    "Sogou blog",
    "Sogou inst spider",
    "Sogou spider",
    "Sogou wap spider",
    "Sogou web spider",
    "Spinn3r",
    "W3C-checklink",
    "Y!J-ASR",
    "Y!J-BRW",
    "Y!J-WSC",
    "archive.org_bot",
    "bnf.fr_bot",
    "netEstate NE Crawler",
    "panscient.com",
    "peer39_crawler",
    "search.marginalia.nu",
    "w3mir",
];

const BEGIN: &str = "<!-- counts:begin -->\n";
const END: &str = "<!-- counts:end -->";

/// The best-known robots, shown as examples in the book's table.
const EXAMPLES: &[(Purpose, &str)] = &[
    (
        Purpose::Search,
        "Googlebot, bingbot, YandexBot, Baiduspider",
    ),
    (Purpose::AiTraining, "GPTBot, ClaudeBot, CCBot, Bytespider"),
    (
        Purpose::AiSearch,
        "OAI-SearchBot, PerplexityBot, Claude-SearchBot",
    ),
    (
        Purpose::AiUser,
        "ChatGPT-User, Claude-User, Perplexity-User",
    ),
    (Purpose::Seo, "AhrefsBot, SemrushBot, MJ12bot"),
    (Purpose::Monitoring, "UptimeRobot, Pingdom, Better Stack"),
    (
        Purpose::Preview,
        "facebookexternalhit, Twitterbot, Slackbot",
    ),
    (Purpose::Feed, "Feedly, Inoreader, NewsBlur"),
    (Purpose::Archive, "archive.org_bot, Heritrix"),
    (Purpose::Academic, "TurnitinBot, CiteSeerX, IRLbot"),
    (Purpose::Advertising, "AdsBot-Google, Mediapartners-Google"),
    (Purpose::Scanner, "CensysInspect, Nikto, sqlmap"),
    (Purpose::Library, "curl, Wget, python-requests"),
    (Purpose::Automation, "HeadlessChrome, PhantomJS"),
    (Purpose::Assistive, "Google-Read-Aloud"),
    (Purpose::Shared, "Amazon CloudFront, Opera Mini, Puffin"),
];

/// A record as written in its file: fields in order.
struct Raw {
    place: String,
    fields: Vec<(String, String)>,
}

impl Raw {
    fn value(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Returns the records of all files of the bundled registry.
fn records() -> Vec<Raw> {
    let mut records = Vec::new();
    for entry in fs::read_dir(root().join("crates/layer/src/registry/bundled")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let mut fields = Vec::new();
        for (number, line) in (1..).zip(text.lines().chain([""])) {
            if line.trim().is_empty() && !fields.is_empty() {
                let place = format!("{name}, before line {number}");
                let fields = std::mem::take(&mut fields);
                records.push(Raw { place, fields });
            } else if let Some((field, value)) = line.split_once(':')
                && !line.starts_with('#')
            {
                fields.push((field.to_owned(), value.trim().to_owned()));
            }
        }
    }
    records
}

fn is_label(label: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !label.is_empty()
        && label.len() <= 63
        && label.chars().all(is_inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_host_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap();
    name.contains('.')
        && name.split('.').all(is_label)
        && last.len() >= 2
        && last.chars().all(|c| c.is_ascii_alphabetic())
}

fn is_web_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    let is_web = matches!(url.scheme(), "http" | "https");
    let is_plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    is_web && is_plain && url.host_str().is_some_and(is_host_name)
}

/// Returns today's date as `2026-11-21`, from the days since 1970.
fn today() -> String {
    let mut days = Clock::system().now_ms() / 86_400_000;
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}

#[test]
fn every_field_of_every_record_is_in_the_schema_and_is_parsed() {
    let parsed = bundled();
    let records = records();
    let robots: HashMap<&str, &Robot> = parsed
        .robots
        .iter()
        .map(|robot| (robot.id.as_str(), robot))
        .collect();
    assert_eq!(parsed.skipped, []);
    assert_eq!(records.len(), parsed.robots.len(), "a file is not bundled");
    assert!(parsed.robots.len() >= 350, "{}", parsed.robots.len());
    let (mut wrong, mut ids) = (Vec::new(), HashSet::new());
    for raw in &records {
        let id = raw.value("robot-id");
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{}, {id}: {what}", raw.place));
            }
        };
        let Some(robot) = robots.get(id) else {
            expect(false, "the robot is missing");
            continue;
        };
        expect(ids.insert(id), "the id is used twice");
        expect(
            is_label(id),
            "an id consists of lower-case letters, digits and -",
        );
        for (field, value) in &raw.fields {
            let base = field.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_known = FIELDS.contains(&field.as_str()) || base == "robot-useragent";
            expect(is_known, &format!("{field} is no field"));
            expect(!value.is_empty(), &format!("{field} is empty"));
        }
        let names: HashSet<_> = raw.fields.iter().map(|(field, _)| field).collect();
        expect(names.len() == raw.fields.len(), "a field appears twice");
        let read = |text: &Option<String>| text.clone().unwrap_or_default();
        for (field, text) in [
            ("robot-name", robot.name.clone()),
            ("robot-details-url", read(&robot.details_url)),
            ("robot-ranges-url", read(&robot.ranges_url)),
            ("robot-operator", read(&robot.operator)),
            ("robot-exclusion-useragent", read(&robot.product_token)),
            ("robot-checked", read(&robot.checked)),
            ("robot-evidence", robot.evidence.join(", ")),
            ("robot-host", robot.host_suffixes.join(", ")),
            ("robot-signature-agent", robot.signature_agents.join(", ")),
            ("robot-purpose", robot.purpose.to_string()),
        ] {
            expect(
                text == raw.value(field),
                &format!("{field} is read as {text:?}"),
            );
        }
        let exclusion = raw.value("robot-exclusion");
        let is_known = ["", "yes", "no", "partly"].contains(&exclusion);
        expect(is_known, "robot-exclusion is yes, no or partly");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn facts_are_plausible() {
    let today = today();
    assert!(
        today.as_str() > "2026-01-01" && today.len() == 10,
        "{today}"
    );
    let mut wrong = Vec::new();
    for robot in &bundled().robots {
        let mut expect = |holds: bool, what: String| {
            if !holds {
                wrong.push(format!("{}: {what}", robot.id));
            }
        };
        expect(robot.is_active(), format!("it is {:?}", robot.status));
        expect(
            robot.purpose != Purpose::Unknown,
            "the purpose is missing".to_owned(),
        );
        for url in robot.details_url.iter().chain(&robot.ranges_url) {
            expect(is_web_url(url), format!("{url} is no URL of the web"));
        }
        for suffix in robot.host_suffixes.iter().chain(&robot.signature_agents) {
            expect(is_host_name(suffix), format!("{suffix} is no host name"));
        }
        if let Some(day) = &robot.checked {
            expect(*day <= today, format!("{day} is in the future"));
        }
        if let Some(token) = &robot.product_token {
            let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '-';
            let is_plain = token.chars().all(is_letter);
            // If the operator publishes no token, the robot's name is its token.
            let is_name = *token == robot.name;
            let fits = is_plain || is_name || ODD_TOKENS.contains(&token.as_str());
            expect(fits, format!("{token:?} is no product token of RFC 9309"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns User-Agents that consist of one of the robot's literals.
fn alone(robot: &Robot) -> Vec<String> {
    let mut user_agents = Vec::new();
    for pattern in &robot.patterns {
        let text = pattern.text.as_str();
        if pattern.kind == PatternKind::Regex {
            continue;
        }
        user_agents.push(text.to_owned());
        match pattern.kind {
            PatternKind::Exact => {}
            _ if text.ends_with(['/', ' ']) => user_agents.push(format!("{text}1.0")),
            PatternKind::Prefix => user_agents.push(format!("{text}1.0")),
            _ => user_agents.push(format!("{text}/1.0")),
        }
        if pattern.kind == PatternKind::Token {
            user_agents.push(format!("Mozilla/5.0 (compatible; {text}/1.0)"));
        }
    }
    user_agents
}

#[test]
fn every_robot_is_recognised_by_its_literals_and_none_is_a_browser() {
    let robots = bundled().robots;
    let hits = browser_hits(&robots);
    assert!(hits.is_empty(), "{hits:?}");
    let detector = Detector::new(robots.into_iter().map(Arc::new)).unwrap();
    assert_eq!(detector.rejected(), []);
    let duplicates = Duplicates::new(&detector);
    let mut wrong = Vec::new();
    for robot in detector.robots() {
        for user_agent in alone(robot) {
            let claim = detector.claim(user_agent.as_bytes());
            // A robot with a whole User-Agent as pattern may look like a browser.
            let is_whole = |pattern: &Pattern| pattern.kind == PatternKind::Exact;
            let named = claim.as_ref().map(|claim| match claim.shared() {
                Some(record) => record.id.as_str(),
                None => claim.id(),
            });
            let is_stated = claim
                .as_ref()
                .and_then(Claim::pattern)
                .is_some_and(is_whole);
            if named != Some(&robot.id) && !is_stated {
                wrong.push(format!("{}: {user_agent:?} is {named:?}", robot.id));
            }
        }
        if let Some(winner) = duplicates.winner(robot) {
            wrong.push(format!("{} is {}", robot.id, winner.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the book's table.
fn table(robots: &[Robot]) -> String {
    let mut counts = BTreeMap::new();
    for robot in robots {
        *counts.entry(robot.purpose).or_insert(0) += 1;
    }
    let mut table = "| purpose | robots | such as |\n| --- | ---: | --- |\n".to_owned();
    for (purpose, examples) in EXAMPLES {
        let count = counts.remove(purpose).unwrap_or(0);
        let _ = writeln!(table, "| `{purpose}` | {count} | {examples} |");
    }
    assert!(counts.is_empty(), "no examples of {counts:?}");
    let _ = writeln!(table, "| all | {} | |", robots.len());
    table
}

#[test]
fn the_books_table_counts_the_robots_of_each_purpose() {
    let page = fs::read_to_string(root().join("docs/src/recognition.md")).unwrap();
    let (_, rest) = page.split_once(BEGIN).unwrap();
    let (shown, _) = rest.split_once(END).unwrap();
    let right = table(&bundled().robots);
    assert!(
        shown == right,
        "docs/src/recognition.md should say:\n\n{right}"
    );
}

#[test]
fn the_readme_states_the_number_of_bundled_robots() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let robots = bundled().robots.len();
    let right = format!("{},{:03} robots come", robots / 1_000, robots % 1_000);
    assert!(readme.contains(&right), "README.md should say: {right}");
}

#[test]
fn the_books_examples_are_robots_of_their_purpose() {
    let robots = bundled().robots;
    for (purpose, examples) in EXAMPLES {
        for name in examples.split(", ") {
            let is_it = |robot: &&Robot| {
                let mut patterns = robot.patterns.iter().map(|pattern| pattern.text.as_str());
                let same = |text: &str| text.trim_end_matches('/').eq_ignore_ascii_case(name);
                robot.purpose == *purpose && (same(&robot.name) || patterns.any(same))
            };
            assert!(robots.iter().find(is_it).is_some(), "{name}, {purpose}");
        }
    }
}

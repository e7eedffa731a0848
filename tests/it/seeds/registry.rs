//! Registries as files: eras of a flat file, third-party lists, and arbitrary bytes.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::Path,
};

use proptest::prelude::*;
use robot_detection::{
    detect::self_test,
    registry::{
        Format, Parsed, Pattern, PatternKind, Purpose, Robot, Source, Status, bundled, normalise,
        parse, write_flat_file,
    },
};

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/registry")
        .join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn era(number: u8) -> Parsed {
    let bytes = data(&format!("era{number}.txt"));
    parse(Format::WebRobotsDb, &bytes, &Source::web_robots_db()).expect("invalid flat file")
}

fn import(format: Format, name: &str) -> Parsed {
    let source = "test".parse().expect("invalid name of a source");
    parse(format, &data(name), &source).expect("invalid file of the format")
}

fn by_id(parsed: &Parsed) -> BTreeMap<&str, &Robot> {
    parsed
        .robots
        .iter()
        .map(|robot| (robot.id.as_str(), robot))
        .collect()
}

fn ids(parsed: &Parsed) -> Vec<&str> {
    parsed
        .robots
        .iter()
        .map(|robot| robot.id.as_str())
        .collect()
}

fn skipped(parsed: &Parsed) -> Vec<(usize, &str)> {
    parsed
        .skipped
        .iter()
        .map(|skipped| (skipped.line, skipped.what.as_str()))
        .collect()
}

#[test]
fn every_record_of_an_era_is_a_robot_or_reported() {
    let parsed = era(1);
    assert_eq!((parsed.robots.len(), parsed.records), (40, 43));
    assert_eq!(parsed.comment_lines, 3);
    assert_eq!(
        skipped(&parsed),
        [
            (212, "alder-robot"),
            (216, "Nobody"),
            (219, "There is no more.")
        ]
    );
    let unusable: Vec<_> = parsed
        .robots
        .iter()
        .filter(|robot| matches!(robot.status, Status::Unusable { .. }))
        .map(|robot| robot.id.as_str())
        .collect();
    assert_eq!(
        unusable,
        ["bramblescout", "vetchling", "cottongrass", "knapweed"]
    );
    let robots = by_id(&parsed);
    assert_eq!(robots["nettlekit"].name, "Nättlekit für Älteste");
    assert_eq!(robots["zinnia"].name, "Zinnia & Sons <Robots>");
    assert_eq!(robots["hawkbit"].name, "Hawkbit");
    assert_eq!(robots["elderflower"].useragent.len(), 107);
    assert_eq!(robots["larkspur"].details_url, None);
    assert!(robots["birch-bark"].is_active());
}

#[test]
fn sixteen_robots_appear_three_disappear_and_one_changes_between_the_eras() {
    let (before, after) = (era(1), era(2));
    let (old, new) = (by_id(&before), by_id(&after));
    let added: Vec<_> = new
        .keys()
        .filter(|id| !old.contains_key(*id))
        .copied()
        .collect();
    let removed: Vec<_> = old
        .keys()
        .filter(|id| !new.contains_key(*id))
        .copied()
        .collect();
    let changed: Vec<_> = old
        .iter()
        .filter(|(id, robot)| new.get(*id).is_some_and(|other| other != *robot))
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(
        added,
        [
            "agrimonybot",
            "betonycrawler",
            "campionbot",
            "danewort",
            "newtbot",
            "orchisspider",
            "pimpernel",
            "quincebot",
            "ragwort",
            "sorrelcrawl",
            "teaselbot",
            "unicornrobot",
            "vervain",
            "woodruffbot",
            "yellowrattle",
            "zephyrspider",
        ]
    );
    assert_eq!(removed, ["figwort", "rushlight", "umberwing"]);
    assert_eq!(changed, ["mallow"]);
    assert_eq!(after.robots.len(), 53);
}

#[test]
fn no_pattern_of_the_eras_matches_a_browser() {
    for mut robots in [era(1).robots, era(2).robots] {
        assert_eq!(self_test(&mut robots), 0, "{robots:?}");
    }
}

#[test]
fn an_export_can_be_imported_unchanged() {
    let all = [
        (Source::web_robots_db(), era(2)),
        (Source::bundled(), bundled()),
        (
            "test".parse().unwrap(),
            import(Format::CrawlerUserAgents, "crawler-user-agents.json"),
        ),
        (
            "test".parse().unwrap(),
            import(Format::AiRobotsTxt, "robots.json"),
        ),
        ("test".parse().unwrap(), import(Format::Matomo, "bots.yml")),
        ("test".parse().unwrap(), import(Format::List, "list.txt")),
    ];
    for (source, parsed) in all {
        let written = write_flat_file(&parsed.robots);
        let again = parse(Format::WebRobotsDb, written.as_bytes(), &source).unwrap();
        assert_eq!(again.robots, parsed.robots);
        assert_eq!(again.skipped, []);
    }
}

#[test]
fn the_bundled_registry_is_parsed_without_a_loss() {
    let parsed = bundled();
    assert_eq!(parsed.skipped, []);
    assert!(parsed.robots.iter().any(|robot| robot.id == "googlebot"));
    for robot in &parsed.robots {
        assert!(robot.is_active(), "{robot:?}");
        assert!(robot.purpose != Purpose::Unknown, "{robot:?}");
    }
}

#[test]
fn crawler_user_agents_are_parsed_with_their_anchors() {
    let parsed = import(Format::CrawlerUserAgents, "crawler-user-agents.json");
    assert_eq!(
        ids(&parsed),
        [
            "cua:newtbot",
            "cua:orchis",
            "cua:pimpernel-fetcher-newt",
            "cua:quince",
            "cua:newtbot-2"
        ]
    );
    let orchis = &parsed.robots[1];
    assert_eq!(
        orchis.patterns,
        [Pattern::new(PatternKind::Regex, "^Orchis\\/[0-9]")]
    );
    assert_eq!(orchis.purpose, Purpose::Search);
    assert_eq!(parsed.robots[4].details_url, None);
    assert_eq!(
        skipped(&parsed),
        [(0, "Ragwort(?!-Browser)"), (0, ".*"), (0, "entry 8")]
    );
    assert_eq!(parsed.records, 8);
}

#[test]
fn ai_robots_are_parsed_as_tokens() {
    let parsed = import(Format::AiRobotsTxt, "robots.json");
    assert_eq!(
        ids(&parsed),
        ["ai:sorrelbot", "ai:teasel-ai", "ai:teasel-ai-2"]
    );
    let purposes: Vec<_> = parsed.robots.iter().map(|robot| robot.purpose).collect();
    assert_eq!(
        purposes,
        [Purpose::AiTraining, Purpose::AiSearch, Purpose::AiUser]
    );
    assert_eq!(
        parsed.robots[0].patterns,
        [Pattern::new(PatternKind::Token, "SorrelBot")]
    );
    assert_eq!(skipped(&parsed), [(0, "Operator"), (0, "Unicorn")]);
}

#[test]
fn matomo_robots_are_parsed_with_their_lines() {
    let parsed = import(Format::Matomo, "bots.yml");
    assert_eq!(
        ids(&parsed),
        [
            "matomo:vervain-bot",
            "matomo:woodruff",
            "matomo:vervain-bot-2"
        ]
    );
    assert_eq!(parsed.robots[1].purpose, Purpose::Monitoring);
    assert_eq!(
        parsed.robots[1].details_url.as_deref(),
        Some("http://woodruff.example")
    );
    assert_eq!(skipped(&parsed), [(21, "Rattle"), (28, "Nothing to match")]);
}

#[test]
fn a_plain_list_is_parsed_line_by_line() {
    let parsed = import(Format::List, "list.txt");
    assert_eq!(
        ids(&parsed),
        [
            "list:agrimonybot",
            "list:betonyspider",
            "list:campion-crawler"
        ]
    );
    assert_eq!(skipped(&parsed), [(6, "agrimonybot"), (7, "bot")]);
}

#[test]
fn the_format_of_each_file_is_detected() {
    for (name, format) in [
        ("era1.txt", Format::WebRobotsDb),
        ("era2.txt", Format::WebRobotsDb),
        ("crawler-user-agents.json", Format::CrawlerUserAgents),
        ("robots.json", Format::AiRobotsTxt),
        ("bots.yml", Format::Matomo),
        ("list.txt", Format::List),
    ] {
        assert_eq!(Format::guess(&data(name)), Some(format), "{name}");
    }
}

#[test]
fn a_file_of_another_format_is_rejected_with_its_format_named() {
    let error = parse(
        Format::WebRobotsDb,
        &data("bots.yml"),
        &Source::web_robots_db(),
    );
    let text = error.unwrap_err().to_string();
    assert!(text.ends_with("the file looks like matomo"), "{text}");
    for (format, name) in [
        (Format::CrawlerUserAgents, "era1.txt"),
        (Format::AiRobotsTxt, "crawler-user-agents.json"),
        (Format::Matomo, "list.txt"),
    ] {
        let source = Source::web_robots_db();
        assert!(parse(format, &data(name), &source).is_err(), "{name}");
    }
}

const FILES: &[&str] = &[
    "era1.txt",
    "era2.txt",
    "crawler-user-agents.json",
    "robots.json",
    "bots.yml",
    "list.txt",
];

/// Generates arbitrary bytes, and bytes that begin like a known format.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"robot-id: "[..],
        b"robot-useragent: ",
        b"robot-name:",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"[",
        b"]",
        b"{",
        b"}",
        b"\"pattern\": \"",
        b"\"",
        b",",
        b": ",
        b"- regex: '",
        b"'\n  name: '",
        b"#",
        b"&#x41;",
        b"(compatible; ",
        b"Mozilla/5.0 ",
        b"Quill",
        b"Bot/1.0",
        b"\xe4",
        b"\xff\xfe",
        b"\0",
        b"\\",
        b"(",
        b")",
        b"*",
        b"&a ",
        b"*a ",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
        (
            prop::sample::select(FILES),
            any::<prop::sample::Index>(),
            any::<u8>()
        )
            .prop_map(|(name, at, byte)| {
                let mut bytes = data(name);
                let at = at.index(bytes.len());
                bytes.splice(at..=at, [byte]);
                bytes.truncate(bytes.len() - at % 7);
                bytes
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_parser_panic_or_violate_its_contract(bytes in bytes()) {
        for &format in Format::ALL {
            let Ok(parsed) = parse(format, &bytes, &Source::bundled()) else {
                continue;
            };
            let mut seen = HashSet::new();
            for robot in &parsed.robots {
                prop_assert!(seen.insert(&robot.id), "{} twice", robot.id);
                prop_assert!(!robot.id.is_empty() && !robot.id.contains(char::is_whitespace));
                prop_assert!(!robot.name.is_empty());
                prop_assert!(robot.patterns.iter().all(|pattern| !pattern.text.is_empty()));
                prop_assert_eq!(robot.patterns.is_empty(), robot.status != Status::Active);
                prop_assert!(!robot.name.contains(char::is_control));
            }
            prop_assert_eq!(parsed.records, parsed.robots.len() + parsed.skipped.len());
        }
    }

    #[test]
    fn no_useragent_makes_the_rules_panic_or_produces_a_loose_token(useragent in "\\PC{0,60}|[a-zA-Z/ .();:,_-]{0,60}") {
        for pattern in normalise(&useragent).unwrap_or_default() {
            let size = pattern.text.chars().filter(|c| c.is_alphanumeric()).count();
            let least = if pattern.kind == PatternKind::Token { 4 } else { 1 };
            prop_assert!(size >= least, "{:?} gives {}", useragent, pattern);
        }
    }

    #[test]
    fn browsers_produce_no_pattern(version in 60_u32..200, system in prop::sample::select(vec![
        "Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7",
        "iPhone; CPU iPhone OS 17_1 like Mac OS X", "Linux; Android 10; K",
    ])) {
        let chrome = format!("Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36");
        let firefox = format!("Mozilla/5.0 ({system}; rv:{version}.0) Gecko/20100101 Firefox/{version}.0");
        for browser in [chrome, firefox] {
            prop_assert!(normalise(&browser).is_err(), "{}", browser);
        }
    }
}

//! The registry exported for other programs: exported patterns match what detection matches.

use std::{collections::HashSet, fs, path::Path, sync::Arc};

use proptest::prelude::*;
use regex::bytes::{RegexSet, RegexSetBuilder};
use robot_detection::{
    detect::{Detector, browsers, export},
    registry::{
        ExportFormat, Format, Parsed, Pattern, PatternKind, Purpose, Robot, Source, Status,
        bundled, parse, write_list, write_robots_txt,
    },
};
use serde_json::Value;

use crate::support::program::{run, succeed};

const NGINX: ExportFormat = ExportFormat::Nginx;
const HAPROXY: ExportFormat = ExportFormat::HaProxy;

fn import(format: Format, name: &str) -> Vec<Robot> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/registry")
        .join(name);
    let source = "test".parse().unwrap();
    parse(format, &fs::read(path).unwrap(), &source)
        .unwrap()
        .robots
}

/// Returns some of the bundled robots, and robots of lists in every format. Of the bundled robots,
/// returns every sixteenth and Google's, because more expressions take too long.
fn robots() -> Vec<Arc<Robot>> {
    let lists = [
        import(Format::WebRobotsDb, "era2.txt"),
        import(Format::CrawlerUserAgents, "crawler-user-agents.json"),
        import(Format::AiRobotsTxt, "robots.json"),
        import(Format::Matomo, "bots.yml"),
        import(Format::List, "list.txt"),
        every_kind(),
    ];
    let bundled = bundled().robots.into_iter().enumerate();
    bundled
        .filter(|(number, robot)| number % 16 == 0 || robot.id.contains("google"))
        .map(|(_, robot)| robot)
        .chain(lists.into_iter().flatten())
        .map(Arc::new)
        .collect()
}

/// Returns robots with a pattern of each kind, and expressions of many shapes.
fn every_kind() -> Vec<Robot> {
    let kinds = [
        (PatternKind::Token, "Mallow Robot"),
        (PatternKind::Prefix, "burnet/"),
        (PatternKind::Product, "comfrey"),
        (
            PatternKind::Exact,
            "Dock (a robot; $1 {2} [3] \"4\" #5 \\6)",
        ),
        (PatternKind::Regex, r"^Tansy\/[0-9]+(?:\.[0-9]+)*"),
        (PatternKind::Regex, "(?i)yarrow(-image|-video)?bot"),
        (PatternKind::Regex, "[wW]oad ?(Fetch|Get)er"),
        (PatternKind::Regex, r"\bAlkanet\b|Borage$|^Chervil"),
        (PatternKind::Regex, "Dill[^a-z0-9_]{2,4}(?P<n>x|yy)+?"),
    ];
    let robot = |(number, (kind, text)): (usize, &(PatternKind, &str))| {
        let mut robot = Robot::new(format!("kind-{number}"), Source::manual());
        robot.patterns.push(Pattern::stated(*kind, text).unwrap());
        robot
    };
    kinds.iter().enumerate().map(robot).collect()
}

/// Returns User-Agents that contain the robots' names, nearly do, or are browsers'.
fn user_agents(robots: &[Arc<Robot>]) -> Vec<String> {
    let mut all: Vec<String> = browsers().map(str::to_owned).collect();
    for (number, pattern) in robots.iter().flat_map(|robot| &robot.patterns).enumerate() {
        let name = pattern.text.trim_end_matches('/');
        all.push(format!("{name}/1.0"));
        all.push(match number % 8 {
            0 => name.to_owned(),
            1 => format!("Mozilla/5.0 (compatible; {name}/1.0; +http://x.example)"),
            2 => format!("x{name} 1"),
            3 => format!("{name}x"),
            4 => format!("-{name}_"),
            5 => name.to_uppercase(),
            6 => format!("{} (x)", name.to_lowercase()),
            _ => format!("{name} 2.0"),
        });
    }
    let more = [
        "Tansy/1",
        "Tansy/x",
        "xTansy/1.0",
        "tansy/1.0",
        "Yarrow-ImageBot/1",
        "yarrowbotx",
        "woadGeter",
        "Woad Fetcher",
        "WOAD Geter",
        "AlkanetX",
        "an Alkanet (x)",
        "x_Alkanet",
        "a Borage",
        "Borages",
        "Chervil",
        "a Chervil",
        "Dill--xyy",
        "Dill-x",
        "Dillaaxx",
        "Dock (a robot; $1 {2} [3] \"4\" #5 \\6)",
        "Dock (a robot",
        "burnet/",
        "burnet",
        "comfrey_2",
        "comfrey 2",
        "comfrey x",
        "comfreys",
        "Mallow Robot2",
        "Mallow Robots",
        "MALLOW ROBOT",
    ];
    all.extend(more.map(str::to_owned));
    all
}

/// Expressions in order, with their ids.
struct Map {
    expressions: RegexSet,
    ids: Vec<String>,
}

impl Map {
    fn new(lines: Vec<(String, String)>) -> Self {
        let (expressions, ids): (Vec<_>, _) = lines.into_iter().unzip();
        let expressions = RegexSetBuilder::new(expressions)
            .unicode(false)
            .size_limit(1 << 28)
            .dfa_size_limit(1 << 28)
            .build()
            .unwrap();
        Self { expressions, ids }
    }

    /// Returns the id of the first matching expression.
    fn first(&self, user_agent: &str) -> Option<&str> {
        let first = self.expressions.matches(user_agent.as_bytes()).iter().min();
        first.map(|at| self.ids[at].as_str())
    }
}

/// Parses the expressions and ids of an nginx map.
fn nginx_lines(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| line.starts_with("    \""));
    lines.map(|line| nginx_line(line).unwrap()).collect()
}

/// Parses the expressions and ids of a HAProxy map, where a blank ends an expression.
fn haproxy_lines(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &str| {
        let (expression, id) = line.split_once(' ').unwrap();
        (expression.replace("\\x20", " "), id.to_owned())
    };
    lines.map(pair).collect()
}

/// Parses `    "~*expression" "id";` with nginx's rules for quotation marks.
fn nginx_line(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("    \"")?;
    let mut key = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => match chars.next()? {
                c @ ('\\' | '"' | '\'') => key.push(c),
                't' | 'r' | 'n' => return None,
                c => key.extend(['\\', c]),
            },
            c => key.push(c),
        }
    }
    let id = chars.as_str().strip_prefix(" \"")?.strip_suffix("\";")?;
    let expression = match key.strip_prefix("~*") {
        Some(caseless) => format!("(?i){caseless}"),
        None => key.strip_prefix('~')?.to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    (!id.is_empty() && id.chars().all(is_plain)).then(|| (expression, id.to_owned()))
}

#[test]
fn proxies_identify_the_same_robots_as_detection() {
    let robots = robots();
    let detector = Detector::new(robots.iter().cloned()).unwrap();
    let (nginx, haproxy) = (export(NGINX, &robots), export(HAPROXY, &robots));
    let lines = nginx_lines(&nginx.text);
    assert_eq!(haproxy_lines(&haproxy.text), lines);
    let map = Map::new(lines);
    let user_agents = user_agents(&robots);
    assert!(user_agents.len() > 2_000, "{}", user_agents.len());
    let mut hits = 0;
    for user_agent in &user_agents {
        let named = detector
            .identify(user_agent.as_bytes())
            .and_then(|claim| Some(claim.robot()?.id.as_str()));
        assert_eq!(map.first(user_agent), named, "{user_agent}");
        hits += usize::from(named.is_some());
    }
    assert!(hits > 300, "{hits}");
    let is_written = |robot: &&Arc<Robot>| robot.is_active() && robot.purpose != Purpose::Shared;
    let written = robots.iter().filter(is_written).count();
    assert_eq!((nginx.robots, haproxy.robots), (written, written));
    assert!(nginx.text.is_ascii() && haproxy.text.is_ascii());
}

#[test]
fn an_imported_list_matches_nothing_else_than_before_its_export() {
    let robots = robots();
    let detector = |robots: &[Arc<Robot>]| Detector::new(robots.iter().cloned()).unwrap();
    let before = detector(&robots);
    let list = export(ExportFormat::List, &robots);
    let source = "test".parse().unwrap();
    let parsed = parse(Format::List, list.text.as_bytes(), &source).unwrap();
    assert_eq!(parsed.skipped, []);
    let back: Vec<_> = parsed.robots.into_iter().map(Arc::new).collect();
    let by_list = detector(&back);
    assert!(list.robots > 100, "{}", list.robots);
    for user_agent in user_agents(&robots) {
        let hits = |detector: &Detector| detector.identify(user_agent.as_bytes()).is_some();
        assert!(!hits(&by_list) || hits(&before), "{user_agent}");
    }
}

/// Returns the robots' compared fields after export and import.
fn facts(robots: &[Robot]) -> Vec<(&str, &[Pattern], Purpose, Option<&str>)> {
    let facts = robots.iter().map(|robot| {
        (
            robot.id.as_str(),
            robot.patterns.as_slice(),
            robot.purpose,
            robot.details_url.as_deref(),
        )
    });
    facts.collect()
}

#[test]
fn a_list_exported_in_its_own_format_is_unchanged() {
    let robots = import(Format::List, "list.txt");
    let exported = write_list(&robots);
    assert_eq!(exported.left_out, []);
    assert_eq!(exported.robots, robots.len());
    let source = "test".parse().unwrap();
    let again = parse(Format::List, exported.text.as_bytes(), &source).unwrap();
    assert_eq!(facts(&again.robots), facts(&robots));
    assert_eq!(again.skipped, []);
}

#[test]
fn unmatched_robots_are_omitted_and_reported() {
    let mut quarantined = every_kind().swap_remove(0);
    quarantined.status = Status::Quarantined {
        pattern: "x".to_owned(),
        browser: "y".to_owned(),
    };
    let unusable = Robot::new("unusable", Source::manual());
    let mut outdone = every_kind().swap_remove(1);
    outdone.source = Source::bundled();
    let kept = every_kind().swap_remove(1);
    let robots = [quarantined, unusable, outdone, kept].map(Arc::new);
    for format in [NGINX, HAPROXY] {
        let exported = export(format, &robots);
        assert_eq!(exported.robots, 1);
        assert_eq!(exported.text.matches("burnet/").count(), 1);
        assert!(!exported.text.contains("Mallow"), "{}", exported.text);
        let reasons: Vec<_> = exported.reasons().into_iter().collect();
        assert_eq!(
            reasons,
            [
                ("in quarantine", 1),
                ("with an ID that is also in a better source", 1),
                ("without a pattern", 1)
            ]
        );
    }
}

#[test]
fn an_exported_robots_txt_excludes_only_the_selected_robots() {
    let named = |id: &str, token: Option<&str>, operator: Option<&str>| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, id)];
        robot.product_token = token.map(str::to_owned);
        robot.operator = operator.map(str::to_owned);
        robot
    };
    let robots = [
        named("one", Some("OneBot"), Some("Acme\nUser-agent: *")),
        named("two", Some("Two_Robot 2.0!"), Some("Acme\nUser-agent: *")),
        named("same", Some("onebot"), Some("Other")),
        named("all", Some("*"), None),
        named("lines", Some("A\nAllow: /"), None),
        named("comment", Some("A # b"), None),
        named("colon", Some("A: b"), None),
        named("blank", Some(" "), None),
        named("none", None, None),
        named("alone", Some("alone"), None),
    ];
    let exported = write_robots_txt(&robots);
    assert_eq!(
        exported.text,
        "# Acme User-agent: *\nUser-agent: OneBot\nUser-agent: Two_Robot 2.0!\nDisallow: /\n\n\
         # No operator known\nUser-agent: none\nUser-agent: alone\nDisallow: /\n"
    );
    assert_eq!((exported.robots, exported.left_out.len()), (5, 5));
}

/// Generates texts that would end a string, a comment, a line or a block in some format.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n",
        "\r",
        "\"",
        "'",
        "\\",
        "$",
        "$x",
        "{",
        "}",
        ";",
        "#",
        " #",
        "*",
        "/",
        "(",
        ")",
        "[",
        "]",
        ": ",
        "- ",
        "\0",
        "\u{1b}[0m",
        "\u{2028}",
        "\u{85}",
        "\u{202e}",
        "ä",
        "<b>",
        "](",
        "%",
        "|",
        "^",
        "?",
        "+",
        ".",
        "Acme",
        "bot",
        "a",
        "7",
        " ",
        "  ",
        "\t",
        "&amp;",
        "robot-id: x",
        "http://x.example/",
        "default",
        "include",
    ]);
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

fn any_robot() -> impl Strategy<Value = Robot> {
    let kind = prop::sample::select(PatternKind::ALL);
    let patterns = prop::collection::vec((kind, hostile()), 1..3);
    let more = (hostile(), hostile(), hostile(), hostile());
    (hostile(), patterns, more).prop_map(|(id, patterns, (name, url, operator, token))| {
        let mut robot = Robot::new(format!("a{id}"), Source::manual());
        let patterns = patterns
            .into_iter()
            .map(|(kind, text)| Pattern::new(kind, text));
        robot.patterns = patterns.collect();
        robot.useragent.clone_from(&name);
        robot.name = name;
        robot.details_url = Some(format!("http://{url}"));
        robot.operator = Some(operator);
        robot.product_token = Some(token);
        robot
    })
}

fn is_robots_txt_line(line: &str) -> bool {
    let mut token = line.strip_prefix("User-agent: ").unwrap_or("*").chars();
    line.is_empty()
        || line.starts_with("# ")
        || line == "Disallow: /"
        || token.all(|c| c.is_ascii_alphanumeric() || " _-.!".contains(c))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_of_a_registry_escapes_its_place(robots in prop::collection::vec(any_robot(), 1..5)) {
        let robots: Vec<_> = robots.into_iter().map(Arc::new).collect();
        let exported = |format| export(format, &robots).text;
        let no_control = |text: &str| !text.contains(|c: char| c != '\n' && c.is_control());
        for &format in ExportFormat::ALL {
            prop_assert!(no_control(&exported(format)), "{format:?}");
        }
        let nginx = exported(NGINX);
        let body = nginx.split_once("    default \"\";\n").unwrap().1;
        let mut lines = body.lines();
        for line in lines.by_ref().take_while(|line| *line != "}") {
            prop_assert!(nginx_line(line).is_some(), "{line}");
        }
        for line in lines {
            prop_assert!(line.starts_with('#'), "{line}");
        }
        for line in exported(HAPROXY).lines() {
            prop_assert!(line.starts_with("# ") || line.starts_with("#  ") || line.split(' ').count() == 2, "{line}");
        }
        for line in exported(ExportFormat::RobotsTxt).lines() {
            prop_assert!(is_robots_txt_line(line), "{line}");
        }
        let export = export(ExportFormat::List, &robots);
        if export.robots > 0 {
            let parsed = parse(Format::List, export.text.as_bytes(), &Source::bundled());
            let Ok(Parsed { records, .. }) = parsed else {
                panic!("{parsed:?}\n{}", export.text);
            };
            let written: usize = robots.iter().map(|robot| robot.patterns.len()).sum();
            prop_assert!(records <= written, "{}", export.text);
        }
    }
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("robot-detection.toml");
    fs::write(config, "web_robots_db = \"\"\n").unwrap();
    directory
}

#[test]
fn the_bundled_registry_is_exported_without_a_database() {
    let directory = directory();
    let path = directory.path();
    for &format in ExportFormat::ALL {
        let command = [
            "registry",
            "export",
            "--bundled",
            "--format",
            format.as_str(),
        ];
        assert!(succeed(path, &command).len() > 1000, "{format:?}");
    }
    let json = succeed(
        path,
        &["registry", "export", "--bundled", "--format", "json"],
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["total"], bundled().robots.len());
    let files: Vec<_> = fs::read_dir(path).unwrap().collect();
    assert_eq!(files.len(), 1, "expected only the configuration: {files:?}");
}

#[test]
fn robots_are_selected_by_purpose_and_operator() {
    let directory = directory();
    let list = |more: &[&str]| {
        let arguments = [&["registry", "list", "--bundled", "--json"], more].concat();
        let json = succeed(directory.path(), &arguments);
        let robots: Value = serde_json::from_str(&json).unwrap();
        let words = |robot: &Value, key: &str| robot[key].as_str().unwrap_or_default().to_owned();
        let robots = robots["robots"].as_array().unwrap();
        let words = robots
            .iter()
            .map(|robot| (words(robot, "purpose"), words(robot, "operator")));
        words.collect::<HashSet<_>>()
    };
    let chosen = list(&["--purpose", "ai-training,ai-search,AI-user"]);
    let purposes: HashSet<_> = chosen.iter().map(|(purpose, _)| purpose.as_str()).collect();
    assert_eq!(
        purposes,
        HashSet::from(["ai-training", "ai-search", "ai-user"])
    );
    let chosen = list(&["--operator", "openai", "--purpose", "ai-training"]);
    assert_eq!(
        chosen,
        HashSet::from([("ai-training".to_owned(), "OpenAI".to_owned())])
    );
    for (flag, word, hint) in [
        ("--purpose", "ai-trainin", "ai-training"),
        ("--format", "ngin", "nginx"),
    ] {
        let wrong = run(
            directory.path(),
            &["registry", "export", "--bundled", flag, word],
        );
        let text = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert_eq!(wrong.status.code(), Some(2), "{text}");
        assert!(text.contains(hint), "{text}");
    }
}

#[test]
fn a_file_is_written_completely_or_left_unchanged() {
    let directory = directory();
    let file = directory.path().join("robots.conf");
    let export = |word: &str| {
        let arguments = [
            "registry",
            "export",
            word,
            "--bundled",
            "--format",
            "nginx",
            "--output",
            "robots.conf",
        ];
        run(directory.path(), &arguments)
    };
    let output = export("googlebot");
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("Googlebot") && text.ends_with("}\n"),
        "{text}"
    );
    assert_eq!(export("zzzzzz").status.code(), Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn robots_omitted_by_an_export_are_listed_on_standard_error() {
    let directory = directory();
    let path = directory.path();
    let list = "Sogou\nAgrimonyBot\n".to_owned() + &"#\n".repeat(3);
    fs::write(path.join("list.txt"), list).unwrap();
    let refresh = [
        "registry", "refresh", "--from", "list.txt", "--format", "list", "--force",
    ];
    succeed(path, &refresh);
    let arguments = [
        "registry", "export", "--source", "list", "--format", "nginx",
    ];
    let output = run(path, &arguments);
    let note = String::from_utf8_lossy(&output.stderr);
    assert_eq!(note.trim_end(), "omitted, in quarantine: 1: list:sogou");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("AgrimonyBot") && !text.contains("Sogou"),
        "{text}"
    );
    assert!(
        text.ends_with("}\n# Omitted, in quarantine: 1\n#   list:sogou\n"),
        "{text}"
    );
}

#[test]
fn every_format_reports_the_robots_it_omits() {
    let directory = directory();
    let path = directory.path();
    let record = "robot-id: wide\nrobot-name: Wide open robot\nrobot-useragent: Wide open robot\n\n\
        robot-id: idle\nrobot-name: Idle\nrobot-unusable: no name\n\n\
        robot-id: good\nrobot-name: GoodRobot\nrobot-useragent: GoodRobot/1.0\n";
    fs::write(path.join("own.txt"), record).unwrap();
    succeed(
        path,
        &["registry", "refresh", "--from", "own.txt", "--force"],
    );
    for (format, id) in [
        ("list", "idle"),
        ("nginx", "idle"),
        ("haproxy", "idle"),
        ("robots-txt", "wide"),
    ] {
        let arguments = [
            "registry",
            "export",
            "--source",
            "web-robots-db",
            "--format",
            format,
        ];
        let output = run(path, &arguments);
        let note = String::from_utf8_lossy(&output.stderr);
        let is_told = note
            .lines()
            .any(|line| line.starts_with("omitted, with") && line.contains(id));
        assert!(is_told, "{format}: {note}");
        let text = String::from_utf8_lossy(&output.stdout);
        let comment = format!("#   {id}");
        assert!(text.lines().any(|line| line == comment), "{format}: {text}");
    }
    let flat = succeed(path, &["registry", "export", "--source", "web-robots-db"]);
    assert!(
        flat.contains("robot-id: idle\n") && !flat.contains("# Omitted"),
        "{flat}"
    );
}

#[test]
fn a_robot_in_a_better_source_is_shown_as_its_duplicate() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("list.txt"), "Googlebot\nAgrimonyBot\n").unwrap();
    let refresh = [
        "registry", "refresh", "--from", "list.txt", "--format", "list", "--force",
    ];
    succeed(path, &refresh);
    let table = succeed(path, &["registry", "list", "--duplicates"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[1].starts_with("list:googlebot") && lines[1].contains("bundled:googlebot"));
    let shown = succeed(path, &["registry", "show", "list:googlebot"]);
    assert!(
        shown.contains("duplicate of  bundled:googlebot\n"),
        "{shown}"
    );
    let json = succeed(path, &["registry", "list", "--json", "--source", "list"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let of = |id: &str| {
        let mut robots = json["robots"].as_array().unwrap().iter();
        robots.find(|robot| robot["id"] == id).unwrap()["duplicate_of"]["source"].clone()
    };
    assert_eq!(
        (of("list:googlebot"), of("list:agrimonybot")),
        ("bundled".into(), Value::Null)
    );
}

#[test]
fn show_prints_all_facts_about_a_robot() {
    let directory = directory();
    let shown = succeed(directory.path(), &["registry", "show", "googlebot"]);
    for line in [
        "obeys it      yes\n",
        "host          googlebot.com\n",
        "ranges        https://",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

//! User-Agents shared by many people: never redirected, slowed or refused as one robot.

use std::{fs, path::Path, sync::Arc};

use robot_detection::{
    detect::{Claim, Detector, Kind},
    registry::{Pattern, PatternKind, Purpose, Robot, Source, bundled},
};
use serde_json::Value;

use crate::support::program::{GOOGLEBOT, Server, eventually, request, run, succeed};

const CLOUDFRONT: &str = "Amazon CloudFront";
const TRANSLATED: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36,gzip(gfe) (via translate.google.com)";
const OPERA_MINI: &str =
    "Opera/9.80 (Android; Opera Mini/36.2.2254/191.283; U; en) Presto/2.12.423 Version/12.16";

/// User-Agents with the id of the identified record; `-` means a person.
const CASES: &[(&str, &str)] = &[
    (CLOUDFRONT, "amazon-cloudfront"),
    ("amazon cloudfront", "amazon-cloudfront"),
    (
        "Chrome Privacy Preserving Prefetch Proxy",
        "chrome-prefetch-proxy",
    ),
    ("GTranslate-Translation-Proxy", "gtranslate"),
    (TRANSLATED, "google-translate-proxy"),
    (
        "DoCoMo/2.0 SH901iS(c100;TB;W24H12),gzip(gfe) (via translate.google.com)",
        "google-translate-proxy",
    ),
    (
        "Mozilla/5.0 (Linux; Android 4.2.1; en-us; Nexus 5 Build/JOP40D) AppleWebKit/535.19 (KHTML, like Gecko; googleweblight) Chrome/38.0.1025.166 Mobile Safari/535.19",
        "google-web-light",
    ),
    (OPERA_MINI, "opera-mini"),
    (
        "Mozilla/5.0 (Linux; Android 7.0; SM-G925T Build/NRD90M; en-us) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Mobile Safari/537.36 Puffin/6.1.4.16005AT",
        "puffin-browser",
    ),
    (
        "UCWEB/2.0 (MIDP-2.0; U; Adr 9; en-US; Redmi) U2/1.0.0 UCBrowser/10.7.6 U2/1.0.0 Mobile",
        "uc-browser-proxy",
    ),
    // A robot's name takes precedence over the mark, whether the robot is listed or not.
    (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html),gzip(gfe) (via translate.google.com)",
        "googlebot",
    ),
    ("curl/8.5.0 (via translate.google.com)", "curl"),
    (
        "Foocrawler/1.0,gzip(gfe) (via translate.google.com)",
        "unlisted",
    ),
    // A person's User-Agent belongs to no record.
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        "-",
    ),
];

fn detector(more: impl IntoIterator<Item = Robot>) -> Detector {
    let robots = bundled().robots.into_iter().chain(more);
    let detector = Detector::new(robots.map(Arc::new)).unwrap();
    detector.recognise_unlisted(true)
}

#[test]
fn shared_user_agents_are_distinguished_from_robots_and_people() {
    let detector = detector([]);
    for (user_agent, expected) in CASES {
        let claim = detector.claim(user_agent.as_bytes());
        let found = claim.as_ref().map_or("-", |claim| match claim.shared() {
            Some(record) => &record.id,
            None => claim.id(),
        });
        assert_eq!(found, *expected, "{user_agent}");
        let kind = claim.as_ref().map_or(Kind::Person, Claim::kind);
        assert_eq!(
            detector.is_robot(user_agent),
            !kind.is_human(),
            "{user_agent}"
        );
        let named = detector.identify(user_agent.as_bytes());
        assert_eq!(named.is_some(), !kind.is_human(), "{user_agent}");
    }
}

#[test]
fn a_list_that_calls_a_shared_user_agent_a_robot_changes_nothing() {
    let mut listed = Robot::new(
        "cua:amazon-cloudfront",
        "crawlers".parse::<Source>().unwrap(),
    );
    listed.patterns = vec![Pattern::new(PatternKind::Regex, "^Amazon CloudFront")];
    let detector = detector([listed]);
    let claim = detector.claim(CLOUDFRONT.as_bytes()).unwrap();
    assert_eq!(claim.kind(), Kind::Shared);
}

#[test]
fn only_our_own_records_can_mark_a_user_agent_as_shared() {
    let file = "robot-id: all\nrobot-useragent: Mozilla/5.0\nrobot-useragent-kind: prefix\nrobot-purpose: shared\n";
    let read = |source: Source| {
        let format = robot_detection::registry::Format::WebRobotsDb;
        let parsed = robot_detection::registry::parse(format, file.as_bytes(), &source);
        parsed.unwrap().robots.remove(0)
    };
    let (theirs, ours) = (read(Source::web_robots_db()), read(Source::manual()));
    assert_eq!(
        (theirs.purpose, theirs.is_active()),
        (Purpose::Shared, false)
    );
    assert_eq!((ours.purpose, ours.is_active()), (Purpose::Shared, true));
}

fn serve(directory: &Path, text: &str) -> Server {
    let text = format!("web_robots_db = ''\n{text}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

#[test]
fn shared_user_agents_are_not_refused_slowed_or_redirected_as_one_robot() {
    let directory = tempfile::tempdir().unwrap();
    let robots_txt = directory.path().join("robots.txt");
    fs::write(&robots_txt, "User-agent: *\nDisallow: /\nCrawl-delay: 60\n").unwrap();
    let server = serve(
        directory.path(),
        "redirect_purposes = ['monitoring', 'unknown', 'search']\n[access_log]\npath = 'access.log'\nformat = 'json'\n\
         [robots_txt]\nserve = 'file'\nfile = 'robots.txt'\nenforce = 'on'\n\
         [[rule]]\npath = '/refused/*'\naction = 'refuse'\n\
         [[rule]]\npath = '/*'\naction = 'slow'\nrequests = 1\n",
    );
    for user_agent in [CLOUDFRONT, TRANSLATED, OPERA_MINI] {
        for path in ["/", "/", "/", "/members-only-stuff/", "/refused/a"] {
            let status = server.get(path, user_agent).status;
            assert!(
                [200, 404].contains(&status),
                "{path} {user_agent}: {status}"
            );
        }
    }
    assert_eq!(server.get("/refused/a", GOOGLEBOT).status, 403);
    let text = server.metrics();
    let counted = "visitor=\"shared\",decision=\"pass\"} 15";
    assert!(text.contains(counted), "{text}");
    assert!(!text.contains("robot=\"amazon-cloudfront\""), "{text}");
    assert!(!text.contains("robot=\"shared\""), "{text}");
    let log = directory.path().join("access.log");
    eventually("the access log", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let lines: Vec<Value> = text
            .lines()
            .filter_map(|it| serde_json::from_str(it).ok())
            .collect();
        let shared = lines.iter().filter(|line| line["visitor"] == "shared");
        shared.filter(|line| line["robot"].is_null()).count() == 15
    });
}

/// A rule for shared User-Agents, preceded by a rule for other visitors.
const NAMING: &str = "[[rule]]
path = '/a*'
visitors = 'robots'
action = 'redirect'
[[rule]]
path = '/a*'
visitors = 'shared'
action = 'refuse'
text = 'Please come by yourself.'
[[rule]]
path = '/index.html'
visitors = 'shared'
action = 'slow'
requests = 1
per_seconds = 86400
";

#[test]
fn only_rules_for_shared_user_agents_apply_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), NAMING);
    let refused = server.get("/about.html", OPERA_MINI);
    assert_eq!(
        (refused.status, &*refused.text()),
        (403, "Please come by yourself.\n")
    );
    assert_eq!(server.get("/about.html", GOOGLEBOT).status, 302);
    assert_eq!(
        server
            .get(
                "/about.html",
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
            )
            .status,
        200
    );
    assert_eq!(server.get("/index.html", OPERA_MINI).status, 200);
    assert_eq!(server.get("/index.html", OPERA_MINI).status, 429);
}

#[test]
fn impossible_rules_are_rejected_with_their_place() {
    for (text, expected) in [
        (
            "redirect_purposes = ['shared']",
            "redirect_purposes: shared is not a purpose of robots",
        ),
        (
            "[robots_txt]\nserve = 'settings'\nrefuse_purposes = ['shared']",
            "robots_txt.refuse_purposes: shared is not a purpose of robots",
        ),
        (
            "[[rule]]\naction = 'refuse'\nvisitors = 'shard'",
            "did you mean \"shared\"?",
        ),
        (
            "[[rule]]\naction = 'refuse'\nvisitors = 'shared'\nverdicts = 'spoofed'",
            "human and nameless visitors have no claim to verify",
        ),
        (
            "[[rule]]\naction = 'refuse'\nvisitors = 'people'\npurposes = 'seo'",
            "human visitors have no purpose",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = run(
            directory.path(),
            &["explain", "--path", "/", "--user-agent", "x"],
        );
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn commands_show_shared_user_agents() {
    let directory = tempfile::tempdir().unwrap();
    let answer = succeed(
        directory.path(),
        &["identify", "--bundled", CLOUDFRONT, GOOGLEBOT, "Firefox"],
    );
    assert_eq!(answer, "shared\ngooglebot\n-\n");
    let answer = succeed(
        directory.path(),
        &["identify", "--bundled", "--json", OPERA_MINI],
    );
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let claim = &answer["claim"];
    assert_eq!(
        (&claim["id"], &claim["kind"], &claim["robot"]),
        (&"shared".into(), &"shared".into(), &"opera-mini".into())
    );
    let told = succeed(
        directory.path(),
        &[
            "explain",
            "--path",
            "/members-only-stuff/",
            "--user-agent",
            CLOUDFRONT,
        ],
    );
    assert!(
        told.contains("Many visitors share the User-Agent of \"Amazon CloudFront\""),
        "{told}"
    );
    assert!(
        told.contains("No rule on this path applies to shared visitors"),
        "{told}"
    );
    assert!(told.contains("decision  pass"), "{told}");
    let export = succeed(
        directory.path(),
        &["registry", "export", "--format", "nginx"],
    );
    assert!(!export.contains("CloudFront"), "{export}");
}

#[test]
fn both_lookups_agree_where_another_source_calls_the_user_agent_a_robot() {
    let mut robot = Robot::new("mini", Source::manual());
    robot.patterns = vec![Pattern::new(PatternKind::Exact, "Opera Mini")];
    let robots = bundled().robots.into_iter().chain([robot]).map(Arc::new);
    let detector = Detector::new(robots).unwrap().recognise_unlisted(true);
    for (user_agent, is_robot) in [
        ("Opera Mini", true),
        ("Opera/9.80 (J2ME/MIDP; Opera Mini/7.0; U; en)", false),
    ] {
        let claim = detector.identify(user_agent.as_bytes());
        assert_eq!(claim.is_some(), is_robot, "{user_agent}: {claim:?}");
        assert_eq!(detector.is_robot(user_agent), is_robot, "{user_agent}");
    }
}

#[test]
fn a_front_proxy_that_hides_the_visitors_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), "");
    let doctor = || {
        let text = format!("web_robots_db = ''\n[server]\nlisten = '{}'\n", server.addr);
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = server.run(directory.path(), &["doctor", "--offline"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for _ in 0..99 {
        assert_eq!(server.get("/", CLOUDFRONT).status, 200);
    }
    assert!(!doctor().contains("Amazon CloudFront"));
    for _ in 0..3 {
        assert_eq!(server.get("/", GOOGLEBOT).status, 200);
    }
    let told = doctor();
    let expected = "warn  visitors: site default: 97 % of the requests have the User-Agent of Amazon CloudFront";
    assert!(told.contains(expected), "{told}");
    assert!(told.contains("an origin request policy"), "{told}");
    let text = "web_robots_db = ''";
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let token = succeed(directory.path(), &["admin", "token", "test"]);
    let bearer = format!("Bearer {}", token.split_whitespace().last().unwrap());
    let status = request(
        server.addr,
        "GET",
        "/robot-detection/admin/api/v1/status",
        &[("authorization", bearer.as_str())],
    );
    let status: Value = serde_json::from_str(&status.text()).unwrap();
    let front = status["front"].as_str().unwrap();
    assert!(front.starts_with("97 % of the requests"), "{front}");
}

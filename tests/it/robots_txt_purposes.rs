//! Robots refused by purpose, whatever their name in robots.txt.

use std::fs;

use robot_detection::robots_txt::{Dialect, PolicyToken, RobotsTxt};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{
    http::{Reply, TestServer},
    program::{self, Server, eventually, request, run, succeed},
};

/// Model-training robots without a published token, each with its derived token. Without derived
/// tokens, each of them would be admitted and missing from the file.
const NAMED: [(&str, &str); 12] = [
    ("Mozilla/5.0 (compatible; DeepSeekBot/1.0)", "DeepSeekBot"),
    ("img2dataset", "img2dataset"),
    ("anthropic-ai/1.0", "anthropic-ai"),
    ("ChatGLM-Spider/1.0", "ChatGLM-Spider"),
    ("Factset_spyderbot/1.0", "Factset_spyderbot"),
    ("FriendlyCrawler/1.0", "FriendlyCrawler"),
    ("imageSpider", "imageSpider"),
    ("KunatoCrawler/2", "KunatoCrawler"),
    ("laion-huggingface-processor", "laion-huggingface-processor"),
    ("omgilibot/0.4", "omgilibot"),
    ("Spawning-AI", "Spawning-AI"),
    ("webzio-extended/1.0", "webzio-extended"),
];

struct House {
    directory: TempDir,
    upstream: TestServer,
}

impl House {
    fn new(robots_txt: &str) -> Self {
        let robots_txt = format!("refuse_purposes = ['ai-training']\n{robots_txt}");
        Self::over("User-agent: *\nDisallow: /theirs\n", &robots_txt)
    }

    /// Serves a site with its own robots.txt.
    fn over(theirs: &'static str, robots_txt: &str) -> Self {
        let upstream = TestServer::with(move |seen| match seen.path.as_str() {
            "/robots.txt" => Reply::text(theirs),
            _ => Reply::text("site"),
        });
        let url = upstream.url("");
        let directory = tempfile::tempdir().unwrap();
        let text = format!(
            "web_robots_db = ''\n[server]\nupstream = '{url}'\nlisten = '127.0.0.1:0'\n\
             [robots_txt]\n{robots_txt}\n"
        );
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        Self {
            directory,
            upstream,
        }
    }

    fn serve(&self) -> Server {
        Server::start(self.directory.path(), &["serve"])
    }

    /// Adds a model-training robot that no `User-agent` line can name.
    fn add_unnamed(&self) {
        let arguments = [
            "registry",
            "add",
            "wide",
            "--useragent",
            "Wide Open Gatherer",
            "--name",
            "Wide Open Gatherer",
            "--purpose",
            "ai-training",
        ];
        succeed(self.directory.path(), &arguments);
    }
}

fn get(server: &Server, path: &str, user_agent: &str) -> (u16, String) {
    let headers = [("Host", "www.example.com"), ("User-Agent", user_agent)];
    let answer = request(server.addr, "GET", path, &headers);
    (answer.status, answer.text())
}

#[test]
fn robots_of_a_purpose_are_listed_and_refused_with_or_without_a_token() {
    let house = House::new("serve = 'settings'\nenforce = 'on'");
    let server = house.serve();
    let (_, file) = get(&server, "/robots.txt", "x");
    for (user_agent, token) in NAMED {
        let line = format!("User-agent: {token}");
        assert!(file.lines().any(|found| found == line), "{line}\n{file}");
        let (status, text) = get(&server, "/articles/1", user_agent);
        assert_eq!(status, 403, "{user_agent}: {text}");
    }
    for user_agent in ["Googlebot/2.1", "AhrefsBot/7.0"] {
        assert_eq!(
            get(&server, "/articles/1", user_agent).0,
            200,
            "{user_agent}"
        );
    }
    assert_eq!(get(&server, "/robots.txt", "DeepSeekBot/1.0").0, 200);
}

#[test]
fn all_model_training_robots_of_the_bundled_registry_are_refused() {
    let house = House::new("serve = 'merge'\nenforce = 'on'");
    let server = house.serve();
    let list = [
        "registry",
        "list",
        "--bundled",
        "--purpose",
        "ai-training",
        "--json",
    ];
    let rows = succeed(house.directory.path(), &list);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let rows = rows["robots"].as_array().unwrap();
    assert!(rows.len() > 40);
    for row in rows {
        let origin = row["product_token_origin"].as_str();
        assert!(
            row["product_token"].is_string() && matches!(origin, Some("published" | "derived")),
            "{row}"
        );
        let sent = row["patterns"][0]["text"].as_str().unwrap();
        let user_agent = format!("{}/1.0", sent.trim_end_matches('/'));
        assert_eq!(
            get(&server, "/articles/1", &user_agent).0,
            403,
            "{user_agent}"
        );
    }
}

#[test]
fn a_robot_that_robots_txt_cannot_name_is_refused_and_reported() {
    for (settings, status, told) in [
        (
            "serve = 'settings'\nenforce = 'on'",
            403,
            "these robots are still refused",
        ),
        (
            "serve = 'merge'\nenforce = 'on'",
            403,
            "these robots are still refused",
        ),
        (
            "serve = 'settings'\nenforce = 'report'",
            200,
            "these robots pass: to refuse them, set robots_txt.enforce to on",
        ),
    ] {
        let house = House::new(settings);
        house.add_unnamed();
        let server = house.serve();
        let (found, text) = get(&server, "/articles/1", "Wide Open Gatherer/1.0");
        assert_eq!(found, status, "{settings}: {text}");
        if status == 403 {
            assert!(
                text.contains("refuses all robots with the purpose ai-training"),
                "{text}"
            );
        }
        let (_, file) = get(&server, "/robots.txt", "x");
        assert!(!file.contains("Wide"), "{file}");
        let path = house.directory.path();
        let report = run(path, &["doctor", "--offline"]);
        let report = String::from_utf8_lossy(&report.stdout).into_owned();
        let line = report
            .lines()
            .find(|line| line.contains("wide (ai-training)"));
        let line = line.unwrap_or_else(|| panic!("{report}"));
        assert!(
            line.starts_with("warn  robots.txt: ") && line.contains(told),
            "{line}"
        );
        let explained = succeed(
            path,
            &[
                "explain",
                "--path",
                "/a",
                "--user-agent",
                "Wide Open Gatherer",
            ],
        );
        assert!(
            explained.contains("The site refuses all robots with the purpose ai-training"),
            "{explained}"
        );
        assert!(house.upstream.seen().len() < 1_000);
    }
}

/// A page that is redirected for robots, and a page of robot heaven.
const LED: [&str; 2] = ["/members-only-stuff/a", "/robot-heaven/"];

#[test]
fn a_robot_refused_everything_is_not_redirected_to_heaven_either() {
    for (settings, statuses) in [
        ("enforce = 'on'", [403, 403]),
        ("enforce = 'on'\nrefusal = '429'", [429, 429]),
        // Here robots get heaven instead of the site.
        ("enforce = 'on'\nrefusal = 'redirect'", [302, 200]),
        ("enforce = 'on'\nrefusal = 'pass'", [302, 200]),
        ("enforce = 'report'", [302, 200]),
        ("enforce = 'off'", [302, 200]),
    ] {
        let house = House::new(&format!("serve = 'merge'\n{settings}"));
        let server = house.serve();
        for (path, status) in LED.into_iter().zip(statuses) {
            let (found, text) = get(&server, path, "GPTBot/1.2");
            assert_eq!(found, status, "{settings} {path}: {text}");
            let question = ["explain", "--path", path, "--user-agent", "GPTBot/1.2"];
            let explained = succeed(house.directory.path(), &question);
            let decision = match status {
                200 => "decision  pass".to_owned(),
                302 => "decision  redirect 302 /robot-heaven/".to_owned(),
                refused => format!("decision  refuse {refused}"),
            };
            assert!(
                explained.contains(&decision),
                "{settings} {path}: {explained}"
            );
            let why = "this site refuses all robots with the purpose ai-training";
            let line = format!("robots.txt  Robot heaven is refused too: {why}.\n");
            let is_told = explained.contains(&line);
            let counted =
                explained.contains("robots.txt  The request passes and is counted, because ");
            match status {
                403 | 429 => assert!(is_told && text.contains(why), "{text} {explained}"),
                _ => {
                    let passes = settings.contains("'pass'") || settings.contains("'report'");
                    assert_eq!([is_told, counted], [passes; 2], "{settings}: {explained}");
                }
            }
        }
        let others = LED.map(|path| get(&server, path, "Googlebot/2.1").0);
        assert_eq!(others, [302, 200], "{settings}");
    }
}

#[test]
fn exempt_robots_are_not_refused_and_reported_violations_are_counted() {
    let house = House::new("serve = 'settings'\nenforce = 'report'");
    let server = house.serve();
    for path in LED {
        get(&server, path, "GPTBot/1.2");
    }
    let metrics = server.metrics();
    let counted = metrics
        .lines()
        .find(|line| line.contains("robots_txt") && line.contains("gptbot"));
    assert!(
        counted.is_some_and(|line| line.ends_with(" 2")),
        "{counted:?} {metrics}"
    );
    drop(server);
    let house = House::new("serve = 'settings'\nenforce = 'on'");
    let file = house.directory.path().join("robot-detection.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("allow_robots = 'gptbot'\n{text}")).unwrap();
    let server = house.serve();
    for path in LED {
        assert_eq!(get(&server, path, "GPTBot/1.2").0, 200, "{path}");
    }
}

#[test]
fn a_token_is_shown_as_published_or_derived() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (id, line) in [
        ("gptbot", "robots.txt    GPTBot\n"),
        (
            "img2dataset",
            "robots.txt    img2dataset, derived from its name\n",
        ),
    ] {
        let shown = succeed(path, &["registry", "show", id]);
        assert!(shown.contains(line), "{shown}");
    }
}

const POLICY: &str = "User-agent: *\nDisallow: /closed/\n\nUser-agent: __usage_ai-training\nDisallow: /\n\
                      Allow: /press/\nAllow: /*.txt$\nDisallow: /press/drafts/\n";

/// Robots with other purposes too, and a human visitor.
const PASSING: [&str; 11] = [
    "Googlebot/2.1",
    "bingbot/2.0",
    "Applebot/0.1",
    "Amazonbot/0.1",
    "meta-externalagent/1.1",
    "CCBot/2.0",
    "OAI-SearchBot/1.0",
    "ChatGPT-User/1.0",
    "Claude-User/1.0",
    "GoogleOther",
    program::FIREFOX,
];

#[test]
fn preferences_about_training_are_enforced_for_robots_that_only_train() {
    let house = House::over(
        POLICY,
        "serve = 'merge'\nenforce_usage = 'on'\ncrawl_delay_seconds = 0",
    );
    let server = house.serve();
    eventually("the site's robots.txt", || {
        get(&server, "/robots.txt", "x").0 == 200
    });
    let paths: Vec<String> = ["", "press/", "press/drafts/", "closed/"]
        .iter()
        .flat_map(|folder| {
            ["", "a", "a.txt", "b?c", "a%20b"].map(|page| format!("/{folder}{page}"))
        })
        .collect();
    let file = server.get("/robots.txt", "x").text();
    let file = RobotsTxt::parse(file.as_bytes(), Dialect::default());
    let training = file.policy(&PolicyToken::ALL[0]).unwrap();
    let trainers = ["GPTBot/1.2", "ClaudeBot/1.0", "MistralAI-Training/1.0"];
    let line = |user_agent: &&str, path: &String| {
        format!(
            "192.0.2.1 - - [01/Dec/2026:00:00:00 +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"{user_agent}\"\n"
        )
    };
    let log: String = trainers
        .iter()
        .flat_map(|robot| paths.iter().map(move |path| line(robot, path)))
        .collect();
    fs::write(house.directory.path().join("access.log"), log).unwrap();
    let told = succeed(
        house.directory.path(),
        &["explain", "--from-log", "access.log", "--json"],
    );
    let explained: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(explained.len(), trainers.len() * paths.len());
    let mut explained = explained.iter();
    for robot in trainers {
        for path in &paths {
            let is_refused = explained.next().unwrap()["decision"] == "refuse";
            assert_eq!(
                is_refused,
                !training.check(path).allowed(),
                "{robot} {path}"
            );
            let status = if is_refused { 403 } else { 200 };
            assert_eq!(get(&server, path, robot).0, status, "{robot} {path}");
        }
    }
    let text = get(&server, "/a", "GPTBot/1.2").1;
    assert!(
        text.contains("disallows this for AI training: Disallow: /"),
        "{text}"
    );
    // Robots with other purposes too, and human visitors.
    for visitor in PASSING {
        for path in &paths {
            assert_eq!(get(&server, path, visitor).0, 200, "{visitor} {path}");
        }
    }
}

#[test]
fn doctor_warns_about_lines_of_the_served_file_and_a_missing_upstream() {
    let slip = "User-agent: *\nDisallow: /checkout/\n\nUser-agent: GPTBot\nDisallow: /blog/\n";
    for serve in ["merge", "pass"] {
        let house = House::over(slip, &format!("serve = '{serve}'\ndisallow = ['/*&diff=']"));
        let told = run(house.directory.path(), &["doctor", "--offline"]);
        let told = String::from_utf8(told.stdout).unwrap();
        let warns = |text: &str| {
            told.lines()
                .any(|line| line.starts_with("warn  robots.txt") && line.contains(text))
        };
        // Merging adds our rules to each group, not the rules of their group for all robots.
        assert!(warns("\"GPTBot\" may fetch paths"), "{told}");
        assert_eq!(warns("both lines are needed"), serve == "merge", "{told}");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("robot-detection.toml"),
        "web_robots_db = ''\n",
    )
    .unwrap();
    let told = run(directory.path(), &["doctor", "--offline"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(
        told.contains("warn  upstream: serve cannot start"),
        "{told}"
    );
}

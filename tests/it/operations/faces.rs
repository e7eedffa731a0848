//! A command's `--json` output equals the API's response.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::support::program::{Server, admin_json, eventually, succeed};

/// Commands, each with the API address of the same data.
const SAME: &[(&[&str], &str)] = &[
    (&["admin", "sessions", "--json"], "sessions"),
    (&["admin", "tokens", "--json"], "tokens"),
    (&["alerts", "list", "--json"], "alerts"),
    (&["bans", "--json"], "bans"),
    (&["instances", "--json"], "instances"),
    (&["rules", "list", "--json"], "rules"),
    (&["registry", "list", "acme", "--json"], "robots?q=acme"),
    (
        &["registry", "show", "acmebot", "--json"],
        "robots?id=acmebot",
    ),
    (
        &["report", "--json", "--by", "robot,cause"],
        "traffic?by=robot,cause",
    ),
    (
        &[
            "explain",
            "--json",
            "--host",
            "a.example",
            "--path",
            "/x?y",
            "--user-agent",
            "AcmeBot/1.0",
        ],
        "identify?host=a.example&path=/x?y&user_agent=AcmeBot/1.0",
    ),
];

/// Operations that make a change, each with the equivalent command.
const CHANGES: &[(&str, &str)] = &[
    ("POST /pause", "rules pause"),
    ("DELETE /pause", "rules resume"),
    ("POST /rules", "rules add"),
    ("PUT /rules/{rule}", "rules apply"),
    ("DELETE /rules/{rule}", "rules remove"),
    ("POST /rules/{rule_id}/restore", "rules restore"),
    ("DELETE /bans/{network}", "bans remove"),
    ("POST /robots", "registry add"),
    (
        "DELETE /robots/{robot_source}/{robot_id}",
        "registry remove",
    ),
    ("POST /tokens", "admin token"),
    ("DELETE /tokens/{token_name}", "admin token --remove"),
    ("DELETE /sessions/{session_key}", "admin sessions --end"),
    ("POST /sessions/end-others", "admin sessions --end-all"),
];

/// Operations of only one interface, or that cannot be compared, with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("GET /openapi.json", "it is about the API"),
    (
        "GET /status",
        "it is about a process; `health` and `doctor` are the commands",
    ),
    (
        "GET /settings",
        "it is about a process; `validate` reads the file",
    ),
    (
        "GET /sites",
        "it is about a process: counts and upstreams in memory",
    ),
    (
        "POST /reload",
        "`reload` sends the same request to a server",
    ),
    ("GET /changes", "no command reads the log of changes"),
    ("GET /evidence", "no command reads evidence"),
    (
        "GET /suspects",
        "a process has more than it tells the database, which `report` prints",
    ),
    ("GET /pause", "it is a part of GET /rules"),
    ("GET /traffic/series", "charts only"),
    ("GET /traffic/names", "suggestions of a form"),
    (
        "GET /traffic/paths",
        "`report --by path` groups in other ways",
    ),
    (
        "GET /robots/{robot_source}/{robot_id}",
        "it is one row of GET /robots",
    ),
    (
        "PUT /robots/{robot_source}/{robot_id}",
        "for configuration management",
    ),
    ("PUT /tokens/{token_name}", "for configuration management"),
    ("GET /refreshes", "no command reads past refreshes"),
    (
        "GET /refreshes/{refresh_id}",
        "no command reads past refreshes",
    ),
    (
        "GET /refresh",
        "it is about a process: the refresh under way",
    ),
    ("POST /refresh", "`registry refresh` waits for the result"),
    (
        "POST /refresh/accept",
        "`registry refresh --accept` waits for the result",
    ),
    (
        "GET /verification",
        "it is about a process: verdicts in memory",
    ),
    (
        "GET /verification/ranges/refresh",
        "it is about a process: the fetch under way",
    ),
    (
        "POST /verification/ranges/refresh",
        "`verify --ranges --refresh` waits for the result",
    ),
    (
        "GET /robots-txt",
        "it is about a process: the file in force",
    ),
    (
        "GET /robots-txt/check",
        "`robots-txt check` reads a file, not what a process serves",
    ),
    (
        "GET /site-robot",
        "`site-robot status` tells of the run that another process has",
    ),
    (
        "GET /site-robot/runs",
        "`site-robot status` tells of the last run",
    ),
    (
        "POST /site-robot/run",
        "`site-robot run` is the robot itself",
    ),
    (
        "POST /site-robot/pause",
        "`site-robot pause` answers with what the other process says",
    ),
    ("POST /site-robot/resume", "as pause"),
    ("POST /site-robot/stop", "as pause"),
    ("POST /site-robot/accept", "as pause"),
    ("POST /site-robot/changed", "for content management systems"),
    ("POST /site-robot/clear", "`site-robot clear` asks first"),
    (
        "GET /site-robot/descriptions",
        "`site-robot export` prints all of them",
    ),
    (
        "GET /site-robot/description",
        "`site-robot show` prints SOIF",
    ),
    (
        "GET /site-robot/explain",
        "`site-robot explain` may fetch the page",
    ),
];

#[test]
fn commands_and_api_return_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let config = "web_robots_db = ''\n[server]\nupstream = 'http://127.0.0.1:9'\n\
                  [admin]\nlisten = '127.0.0.1:0'\n[[ban]]\nrefusals = 3\nper_seconds = 60\nfor_seconds = 3600\n\
                  [[rule]]\npath = '/x'\nrobots = ['acmebot']\naction = 'refuse'\n\
                  [[alert]]\nname = 'all'\non = 'impostor'\nurl = 'http://127.0.0.1:9/'\n";
    fs::write(path.join("robot-detection.toml"), config).unwrap();
    let server = Server::start(path, &["serve"]);
    let admin = server.admin.unwrap();
    let token = succeed(path, &["admin", "token", "monitoring", "--ends", "30d"]);
    let add = ["registry", "add", "acmebot", "--useragent", "AcmeBot/1.0"];
    succeed(path, &add);
    let add = ["rules", "add", "slow", "--name", "shop", "--purpose", "seo"];
    succeed(path, &add);
    let told = |address: &str| -> Value {
        let answer = admin_json(admin, token.trim(), ("GET", address), "");
        assert_eq!(answer.status, 200, "{address}: {}", answer.text());
        serde_json::from_str(&answer.text()).unwrap()
    };
    eventually("the instance is listed", || {
        told("instances")["instances"][0]["leads"][0] == "alerts"
    });
    for (command, address) in SAME {
        let mut both = (Value::Null, Value::Null);
        // Some seconds pass between both queries, and a server notices changes a moment later.
        let last = (1..=20).find(|_| {
            let printed = succeed(path, command);
            both = (serde_json::from_str(&printed).unwrap(), told(address));
            both.0 == both.1
        });
        assert!(last.is_some(), "{address}:\n{}\n{}", both.0, both.1);
    }
    assert_eq!(told("tokens")["tokens"][0]["name"], "monitoring");
    assert_eq!(told("rules")["live_rules"][0]["name"], "shop");
    assert_eq!(told("robots?id=acmebot")["total"], 1);
    let document = told("openapi.json");
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let same = SAME.iter().map(|(_, address)| {
        let path = address.split('?').next().unwrap();
        format!("GET /{path}")
    });
    let others = CHANGES.iter().chain(OTHERS);
    let covered: BTreeSet<_> = same
        .chain(others.map(|(operation, _)| (*operation).to_owned()))
        .collect();
    assert_eq!(operations.collect::<BTreeSet<_>>(), covered);
}

#[test]
fn a_repeated_put_changes_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let config = "web_robots_db = ''\n[server]\nupstream = 'http://127.0.0.1:9'\n\
                  [admin]\nlisten = '127.0.0.1:0'\n";
    fs::write(path.join("robot-detection.toml"), config).unwrap();
    let server = Server::start(path, &["serve"]);
    let admin = server.admin.unwrap();
    let arguments = ["admin", "token", "deploy", "--scope", "write"];
    let token = succeed(path, &arguments);
    let put = |address: &str, body: &str| {
        let answer = admin_json(admin, token.trim(), ("PUT", address), body);
        let value: Value = serde_json::from_str(&answer.text()).unwrap();
        (answer.status, value)
    };
    for (address, body, other) in [
        (
            "rules/shop",
            r#"{"action":"slow","purpose":"seo"}"#,
            r#"{"action":"refuse","purpose":"seo"}"#,
        ),
        (
            "robots/manual/acmebot",
            r#"{"useragent":"AcmeBot/1.0"}"#,
            r#"{"useragent":"AcmeBot/1.0","purpose":"seo"}"#,
        ),
        (
            "tokens/grafana",
            r#"{"scope":"read"}"#,
            r#"{"scope":"write"}"#,
        ),
    ] {
        let (status, first) = put(address, body);
        assert_eq!(status, 201, "{address}: {first}");
        let (status, second) = put(address, body);
        assert_eq!(status, 200, "{address}: {second}");
        assert_eq!(first["secret"].is_string(), address.starts_with("tokens"));
        assert_eq!(second["secret"], Value::Null, "{address}");
        let (status, third) = put(address, other);
        assert_eq!(status, 200, "{address}: {third}");
        assert_ne!(second, third, "{address}");
    }
    let changes = admin_json(admin, token.trim(), ("GET", "changes"), "").text();
    let changes: Value = serde_json::from_str(&changes).unwrap();
    let events = changes["changes"].as_array().unwrap().iter();
    let events: Vec<_> = events
        .map(|change| change["event"].as_str().unwrap())
        .filter(|event| *event != "token-made")
        .collect();
    assert_eq!(
        events,
        [
            "token-changed",
            "robot-replaced",
            "robot-added",
            "rule-replaced",
            "rule-added"
        ]
    );
}

#[test]
fn rules_from_a_file_are_applied_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("robot-detection.toml"), "web_robots_db = ''\n").unwrap();
    let write = |text: &str| fs::write(path.join("rules.toml"), text).unwrap();
    write(
        "[[rule]]\nname = 'shop'\naction = 'slow'\npurpose = 'seo'\n\
         [[rule]]\nname = 'blog'\naction = 'refuse'\nrobot = 'gptbot'\n",
    );
    let apply = |more: &[&str]| {
        let arguments = [&["rules", "apply", "rules.toml", "--json"], more].concat();
        serde_json::from_str::<Value>(&succeed(path, &arguments)).unwrap()
    };
    let outcomes = |applied: &Value| {
        let rules = applied["rules"].as_array().unwrap().iter();
        rules
            .map(|rule| rule["outcome"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&apply(&["--dry-run"])), ["dry_run", "dry_run"]);
    assert_eq!(outcomes(&apply(&[])), ["added", "added"]);
    assert_eq!(outcomes(&apply(&[])), ["unchanged", "unchanged"]);
    write("[[rule]]\nname = 'shop'\naction = 'refuse'\npurpose = 'seo'\n");
    let applied = apply(&["--prune"]);
    assert_eq!(outcomes(&applied), ["replaced"]);
    assert_eq!(applied["removed"], serde_json::json!(["blog"]));
    write("[[rule]]\nname = 'shop'\naction = 'refuse'\npurpose = 'seo'\nends = '7d'\n");
    let wrong = crate::support::program::run(path, &["rules", "apply", "rules.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(told.contains("shop") && told.contains("ends"), "{told}");
}

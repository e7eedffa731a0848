//! `robot-detection rules`.

use serde_json::Value;

use super::house::House;
use crate::support::program::{FIREFOX, GOOGLEBOT, eventually, run, succeed};

fn explained(house: &House, path: &str, agent: &str) -> Value {
    let told = succeed(
        house.path(),
        &["explain", "--json", "--path", path, "--user-agent", agent],
    );
    serde_json::from_str(&told).unwrap()
}

#[test]
fn a_command_adds_a_rule_on_a_running_server() {
    let house = House::with_file("");
    let instance = house.start();
    let added = succeed(
        house.path(),
        &[
            "rules",
            "add",
            "refuse",
            "--robot",
            "googlebot",
            "--ends",
            "never",
        ],
    );
    assert_eq!(
        added,
        "live rule 1: refuse robot googlebot with 403; ends: never\n"
    );
    eventually("the rule applies", || instance.robot().status == 403);
    let told = explained(&house, "/page", GOOGLEBOT);
    assert_eq!(told["rule"], "live rule 1");
    let listed = succeed(house.path(), &["rules", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["live_rules"][0]["by"], "command line");
    succeed(house.path(), &["rules", "pause", "--for", "30m"]);
    eventually("enforcement is paused", || instance.robot().status == 200);
    let told = explained(&house, "/page", GOOGLEBOT);
    assert_eq!(
        (&told["decision"], &told["would"]),
        (&"pass".into(), &"refuse 403".into())
    );
    assert!(told["steps"].to_string().contains("Enforcement is paused"));
    succeed(house.path(), &["rules", "resume"]);
    eventually("enforcement is resumed", || instance.robot().status == 403);
    succeed(house.path(), &["rules", "remove", "1"]);
    eventually("the rule is gone", || instance.robot().status == 200);
    succeed(house.path(), &["rules", "restore", "1"]);
    eventually("the rule is back", || instance.robot().status == 403);
    let (_, changes) = instance.json("GET", "changes", "");
    // The token of this test was created by a command too.
    let of_command =
        |change: &&Value| change["by"] == "command line" && change["event"] != "token-made";
    let changes = changes["changes"].as_array().unwrap();
    assert_eq!(changes.iter().filter(of_command).count(), 5);
}

#[test]
fn wrong_usage_exits_with_two_and_a_failure_with_one() {
    let house = House::with_file("");
    for (arguments, code, told) in [
        (&["rules", "add", "slow"][..], 2, "select visitors by robot"),
        (
            &["rules", "add", "block", "--robot", "a"],
            2,
            "invalid value",
        ),
        (
            &["rules", "add", "pass", "--purpose", "serch"],
            2,
            "did you mean search?",
        ),
        (
            &["rules", "add", "pass", "--robot", "a", "--ends", "soon"],
            2,
            "is not an end time",
        ),
        (
            &["rules", "add", "pass", "--robot", "a", "--site", "x"],
            2,
            "unknown site",
        ),
        (&["rules", "pause", "--for", "long"], 2, "is not a duration"),
        (
            &["rules", "add", "pass", "--robot", "gogglebot", "--dry-run"],
            0,
            "No registry lists the robot gogglebot; did you mean \"googlebot\"?",
        ),
        (&["rules", "remove", "7"], 1, "No live rule 7 is in force"),
        (
            &["rules", "restore", "7"],
            1,
            "Live rule 7 cannot be restored",
        ),
    ] {
        let output = run(house.path(), arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(told), "{arguments:?}: {text}");
    }
    let told = succeed(
        house.path(),
        &["rules", "add", "slow", "--robot", "a", "--dry-run"],
    );
    assert!(
        told.starts_with("not in force: slow robot a to 10 requests in 60 s"),
        "{told}"
    );
    assert_eq!(succeed(house.path(), &["rules", "export"]), "");
}

#[test]
fn an_exported_configuration_decides_the_same() {
    let house = House::with_file("");
    for arguments in [
        &[
            "refuse",
            "--robot",
            "googlebot",
            "--path",
            "/a/*",
            "--status",
            "410",
        ][..],
        &["redirect", "--purpose", "seo"],
        &["pass", "--operator", "Google \"\\ Inc", "--ends", "never"],
        &[
            "slow",
            "--visitors",
            "unlisted",
            "--requests",
            "3",
            "--per-seconds",
            "7",
        ],
        &["refuse", "--visitors", "nameless", "--path", "/b"],
    ] {
        let arguments = [&["rules", "add"][..], arguments].concat();
        succeed(house.path(), &arguments);
    }
    let questions = [
        ("/a/x", GOOGLEBOT),
        ("/c", GOOGLEBOT),
        (
            "/c",
            "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        ),
        ("/c", "SomethingBot/1.0 (+http://bot.example/)"),
        ("/b", ""),
        ("/b", FIREFOX),
    ];
    let decide = || {
        questions.map(|(path, agent)| {
            let told = explained(&house, path, agent);
            (
                told["decision"].clone(),
                told["status"].clone(),
                told["slowed"].clone(),
                told["rule"].is_null(),
            )
        })
    };
    let before = decide();
    assert_eq!(before[0].0, "refuse");
    assert_eq!(before[4].0, "refuse");
    let exported = succeed(house.path(), &["rules", "export"]);
    assert_eq!(exported.matches("[[rule]]").count(), 5, "{exported}");
    for id in ["1", "2", "3", "4", "5"] {
        succeed(house.path(), &["rules", "remove", id]);
    }
    assert_ne!(decide(), before);
    house.configure(&exported);
    assert_eq!(decide(), before, "{exported}");
    assert_eq!(
        explained(&house, "/a/x", GOOGLEBOT)["rule"],
        "rule \"live rule 1\""
    );
}

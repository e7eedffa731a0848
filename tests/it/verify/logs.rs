//! `identify --verify`: the claims of a log.

use std::fs;

use serde_json::Value;

use super::site::{ELSEWHERE, HOME, Site};

async fn site_with_log() -> Site {
    let site = Site::new("").await;
    site.dns.host(HOME, "a.robots.example");
    let line = |client: &str, robot: &str| {
        format!("{client} - - [t] \"GET / HTTP/1.1\" 200 10 \"-\" \"{robot}\"\n")
    };
    let log = [
        line(HOME, "listbot/1"),
        line(ELSEWHERE, "listbot/1"),
        line(HOME, "hostbot/1"),
        line(HOME, "hostbot/2"),
        line("host.example", "listbot/1"),
        line(
            HOME,
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        ),
        "not a line of a log\n".to_owned(),
    ];
    fs::write(site.path().join("access.log"), log.concat()).unwrap();
    site
}

const VERIFY: [&str; 6] = [
    "identify",
    "--format",
    "combined",
    "--input",
    "access.log",
    "--verify",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_line_gets_a_verdict_and_each_address_is_verified_once() {
    let site = site_with_log().await;
    let output = site.run(&VERIFY);
    assert!(output.status.success(), "{output:?}");
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        answers.lines().collect::<Vec<_>>(),
        [
            "listbot verified",
            "listbot spoofed",
            "hostbot verified",
            "hostbot verified",
            "listbot unverifiable",
            "- -",
            "? -",
        ]
    );
    assert_eq!(site.dns.count(), 2, "{:?}", site.dns.asked());
    assert_eq!(site.lists.seen().len(), 1);
    let output = site.run(&[&VERIFY[..], &["--json"]].concat());
    let answers = String::from_utf8(output.stdout).unwrap();
    let verdicts = answers.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["verdict"].as_str().unwrap_or("none").to_owned()
    });
    let verdicts: Vec<_> = verdicts.collect();
    assert_eq!(verdicts[..2], ["verified", "spoofed"]);
    assert_eq!(verdicts[5], "none");
    assert_eq!(site.lists.seen().len(), 1, "the database has the list");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_counts_by_robot_and_verdict() {
    let site = site_with_log().await;
    let output = site.run(&[&VERIFY[..], &["--summary=csv"]].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<_> = table
        .lines()
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "robot verdict hits",
            "hostbot verified 2",
            "listbot spoofed 1",
            "listbot unverifiable 1",
            "listbot verified 1",
        ]
    );
    let table = site.run(&[&VERIFY[..], &["--summary"]].concat());
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("\nROBOT    VERDICT "), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn input_without_addresses_cannot_be_verified() {
    let site = Site::new("").await;
    let output = site.run(&["identify", "--verify"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--format combined"), "{error}");
    let arguments = ["identify", "--format", "combined", "--summary"];
    let output = site.run(&[&arguments[..], &["--by", "verdict"]].concat());
    assert_eq!(output.status.code(), Some(2));
}

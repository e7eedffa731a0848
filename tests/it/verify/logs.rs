//! `report --verify`: the claims of a log.

use std::fs;

use serde_json::Value;

use super::site::{ELSEWHERE, HOME, Site};

async fn site_with_log() -> Site {
    let site = Site::new("").await;
    site.dns.host(HOME, "a.robots.example");
    let line = |client: &str, robot: &str| {
        format!(
            "{client} - - [03/Mar/2026:06:00:00 +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"{robot}\"\n"
        )
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

#[tokio::test(flavor = "multi_thread")]
async fn impostors_are_a_class_and_each_address_is_verified_once() {
    let site = site_with_log().await;
    let arguments = ["report", "access.log", "--verify"];
    let output = site.run(&[&arguments[..], &["--csv", "--by", "verdict"]].concat());
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
            "listbot none 1",
            "listbot spoofed 1",
            "listbot verified 1",
        ]
    );
    assert_eq!(site.dns.count(), 2, "{:?}", site.dns.asked());
    assert_eq!(site.lists.seen().len(), 1);
    let output = site.run(&[&arguments[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let classes = report["visitors"].as_array().unwrap();
    assert_eq!(
        (&classes[0]["class"], &classes[0]["requests"]),
        (&"Impostors".into(), &1.into())
    );
    let impostor = &report["impostors"][0];
    assert_eq!(impostor["claimed_robot"], "listbot");
    assert!(
        impostor["network"].as_str().unwrap().ends_with("/24"),
        "{impostor}"
    );
    assert_eq!(site.lists.seen().len(), 1, "the database has the list");
}

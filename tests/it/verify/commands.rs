//! `verify`, `explain --ip`, `doctor`.

use hickory_server::proto::{op::ResponseCode, rr::Name};
use serde_json::Value;

use super::site::{ELSEWHERE, HOME, Site};
use crate::{
    dns_server::{Fault, WELL_KNOWN, reverse},
    support::postgres::database_url,
};

fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_verified_with_its_evidence() {
    let site = Site::new("").await;
    let verify = |robot: &str, address: &str, more: &[&str]| {
        let arguments = ["verify", "--user-agent", robot, "--ip", address];
        site.run(&[&arguments, more].concat())
    };
    let genuine = verify("listbot/1", HOME, &["--json"]);
    assert_eq!(genuine.status.code(), Some(0));
    let told = json(&genuine);
    assert_eq!(told["verdict"], "verified");
    assert_eq!(told["by"], "ranges");
    assert_eq!(told["claim"]["robot"], "listbot");
    assert_eq!(told["evidence"][0]["method"], "ranges");
    assert_eq!(site.lists.seen().len(), 1);

    let impostor = verify("listbot/1", ELSEWHERE, &[]);
    assert_eq!(impostor.status.code(), Some(1));
    let told = text(&impostor);
    assert!(
        told.contains("\nverdict       spoofed by ranges\n"),
        "{told}"
    );
    assert_eq!(site.lists.seen().len(), 1, "the database has the list now");

    site.dns.host(HOME, "a.robots.example");
    let genuine = verify("hostbot/1", HOME, &[]);
    assert_eq!(genuine.status.code(), Some(0), "{genuine:?}");
    assert!(text(&genuine).contains("a.robots.example"));
    let offline = verify("hostbot/1", HOME, &["--offline", "--json"]);
    assert_eq!(offline.status.code(), Some(1));
    assert_eq!(json(&offline)["verdict"], "unverifiable");

    let person = verify(
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        HOME,
        &["--json"],
    );
    assert_eq!(person.status.code(), Some(1));
    assert_eq!(json(&person)["verdict"], Value::Null);
    let nobody = site.run(&["verify", "--ip", HOME]);
    assert_eq!(nobody.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_added_by_hand_is_verified_like_any_other_in_both_databases() {
    let site = Site::new("").await;
    let list = site.lists.url("/by-hand.json");
    site.dns.host(ELSEWHERE, "a.crawl.hand.example");
    for database in ["sqlite://by-hand.db".to_owned(), database_url().await] {
        let run = |arguments: &[&str]| {
            let database = ["--database", &*database];
            site.run(&[&database[..], arguments].concat())
        };
        let add = ["registry", "add", "handbot", "--useragent", "HandBot/1.0"];
        let facts = [
            "--purpose",
            "seo",
            "--operator",
            "Hand & Co",
            "--host-suffix",
            "*.crawl.hand.example",
            "--host-suffix",
            "bots.hand.example",
            "--ranges-url",
            &list,
            "--signature-agent",
            "https://keys.hand.example/",
        ];
        let added = run(&[&add[..], &facts].concat());
        assert_eq!(added.status.code(), Some(0), "{added:?}");
        let shown = json(&run(&["registry", "show", "handbot", "--json"]));
        let hosts = ["crawl.hand.example", "bots.hand.example"];
        assert_eq!(
            shown["robots"][0]["host_suffixes"],
            serde_json::json!(hosts)
        );
        assert_eq!(shown["robots"][0]["ranges_url"], list);
        assert_eq!(
            shown["robots"][0]["signature_agents"][0],
            "keys.hand.example"
        );
        assert_eq!(shown["robots"][0]["operator"], "Hand & Co");
        assert_eq!(shown["robots"][0]["purpose"], "seo");
        for (address, verdict) in [
            (HOME, "verified"),
            (ELSEWHERE, "verified"),
            ("198.51.100.99", "spoofed"),
        ] {
            let ask = ["verify", "--user-agent", "HandBot/7", "--json", "--ip"];
            let told = json(&run(&[&ask[..], &[address]].concat()));
            assert_eq!(told["verdict"], verdict, "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_fact_about_a_robot_is_reported_with_its_option() {
    let site = Site::new("").await;
    let wrong = site.run(&[
        "registry",
        "add",
        "x",
        "--useragent",
        "XBot/1",
        "--ranges-url",
        "ftp://x.example/",
        "--host-suffix",
        "localhost",
        "--signature-agent",
        "http://x.example",
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8(wrong.stderr).unwrap();
    for words in [
        "ranges_url: use the URL of a single document",
        "host_suffixes: \"localhost\" is not the suffix of a host name",
        "signature_agents: \"http://x.example\" is not a host",
    ] {
        assert!(told.contains(words), "{words:?} is not in {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_suffix_is_rejected_as_a_host_suffix() {
    let site = Site::new("").await;
    for suffix in ["github.io", "co.uk", "*.s3.amazonaws.com", "GitHub.IO."] {
        let added = site.run(&[
            "registry",
            "add",
            "x",
            "--useragent",
            "XBot/1",
            "--host-suffix",
            suffix,
        ]);
        assert_eq!(added.status.code(), Some(2), "{suffix}");
        let told = String::from_utf8(added.stderr).unwrap();
        assert!(told.contains("host_suffixes: "), "{told}");
        assert!(
            told.contains("anyone can register a name below this suffix"),
            "{told}"
        );
    }
    for suffix in ["crawl.github.io", "robots.example.co.uk", "bots.internal"] {
        let added = site.run(&[
            "registry",
            "add",
            "x",
            "--useragent",
            "XBot/1",
            "--host-suffix",
            suffix,
        ]);
        assert_eq!(added.status.code(), Some(0), "{suffix}: {added:?}");
        assert!(site.run(&["registry", "remove", "x"]).status.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_was_never_fetched_is_not_called_stale() {
    let site = Site::new("").await;
    site.lists.set(crate::support::http::Reply::status(500));
    site.run(&["verify", "--ranges", "--refresh"]);
    let table = text(&site.run(&["verify", "--ranges"]));
    assert!(table.contains("never downloaded: "), "{table}");
    assert!(!table.contains("stale"), "{table}");
    let list = json(&site.run(&["verify", "--ranges", "--json"]));
    assert_eq!(list[0]["stale"], false, "{list}");
    assert_eq!(list[0]["state"], "missing", "{list}");
    let doctor = text(&site.run(&["doctor", "--offline"]));
    assert!(doctor.contains("has never been downloaded: "), "{doctor}");
    assert!(
        doctor.contains("; 0 of 1 lists with 0 address ranges"),
        "{doctor}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_about_a_too_large_list_names_no_missing_setting() {
    let site = Site::new("").await;
    let large = "192.0.2.1\n".repeat(500_000);
    site.lists.set(crate::support::http::Reply::text(large));
    let failed = site.run(&["verify", "--ranges", "--refresh", "--json"]);
    let told = json(&failed);
    let error = told[0]["error"].as_str().unwrap();
    assert!(error.contains("4194304 bytes"), "{error}");
    assert!(error.contains("check the URL"), "{error}");
    assert!(!error.contains("raise"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_a_resolver_without_reverse_names() {
    let site = Site::new("").await;
    site.dns.forget(&reverse(WELL_KNOWN));
    for (named, is_doubted) in [("host.provider.example", true), ("dns9.quad9.net", false)] {
        site.dns.host("9.9.9.9", named);
        let told = text(&site.run(&["doctor"]));
        let doubt = "but does not return the names of well-known addresses";
        assert_eq!(told.contains(doubt), is_doubted, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_shown_and_fetched() {
    let site = Site::new("").await;
    let before = json(&site.run(&["verify", "--ranges", "--json"]));
    assert_eq!(before[0]["robots"][0], "listbot");
    assert_eq!(before[0]["prefixes"], Value::Null);
    assert!(site.lists.seen().is_empty());
    let after = site.run(&["verify", "--ranges", "--refresh", "--json"]);
    assert!(after.status.success());
    let after = json(&after);
    assert_eq!(after[0]["prefixes"], 1);
    assert_eq!(after[0]["created"], "2026-11-20");
    assert_eq!(after[0]["stale"], false);
    let table = text(&site.run(&["verify", "--ranges"]));
    let [header, row] = table.lines().collect::<Vec<_>>().try_into().unwrap();
    assert!(header.starts_with("PREFIXES  CREATED"), "{header}");
    assert!(row.starts_with("1         2026-11-20"), "{row}");
    assert!(row.contains("  ok"), "{row}");
    assert!(row.contains("listbot"), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_list_fails_the_command_and_keeps_the_last_copy() {
    let site = Site::new("").await;
    assert!(
        site.run(&["verify", "--ranges", "--refresh"])
            .status
            .success()
    );
    site.lists.set(crate::support::http::Reply::status(500));
    let failed = site.run(&["verify", "--ranges", "--refresh", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let told = json(&failed);
    assert_eq!(told[0]["prefixes"], 1);
    assert!(told[0]["error"].as_str().unwrap().contains("500"), "{told}");
    let arguments = ["verify", "--user-agent", "listbot", "--ip", HOME];
    assert!(site.run(&arguments).status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_starts_with_the_verdict_and_its_evidence() {
    let site = Site::new("verify.spoofed = 'refuse'").await;
    let explain = |address: &str| {
        let asked = [
            "explain",
            "--json",
            "--path",
            "/",
            "--user-agent",
            "listbot",
        ];
        json(&site.run(&[&asked[..], &["--ip", address]].concat()))
    };
    let genuine = explain(HOME);
    assert_eq!(genuine["verdict"], "verified");
    assert_eq!(genuine["steps"][0]["name"], "verdict");
    assert_eq!(genuine["steps"][1]["name"], "evidence");
    let evidence = genuine["steps"][1]["text"].as_str().unwrap();
    assert!(evidence.starts_with("ranges: "), "{evidence}");
    let impostor = explain(ELSEWHERE);
    assert_eq!(impostor["verdict"], "spoofed");
    assert_eq!(impostor["decision"], "refuse");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_failing_lists_and_unresponsive_resolvers() {
    let site = Site::new("").await;
    let checks = |output: &std::process::Output| -> Vec<String> {
        let checks = json(output);
        let checks = checks["checks"].as_array().unwrap().iter();
        let ours = checks
            .filter(|check| matches!(check["check"].as_str(), Some("verification" | "resolver")));
        ours.map(|check| format!("{} {}", check["ok"], check["text"].as_str().unwrap()))
            .collect()
    };
    let [verification, resolver] = checks(&site.run(&["doctor", "--json"])).try_into().unwrap();
    let expected = "true by ranges, reverse-dns, web-bot-auth; 0 lists with 0 address ranges; \
                    spoofed robots: report";
    assert_eq!(verification, expected);
    let answers = format!("true {} answers in ", site.dns.address());
    assert!(resolver.starts_with(&answers), "{resolver}");
    assert!(site.dns.count() > 0, "the resolver must get a query");

    let refused = Fault::Code(ResponseCode::Refused);
    site.dns.fault(&Name::root(), refused);
    let [_, resolver] = checks(&site.run(&["doctor", "--json"])).try_into().unwrap();
    assert!(resolver.starts_with("false "), "{resolver}");
    for words in [" ms: DNS returned REFUSED;", "verify.dns_servers"] {
        assert!(resolver.contains(words), "{resolver}");
    }

    site.run(&["verify", "--ranges", "--refresh"]);
    let [fresh] = checks(&site.run(&["doctor", "--json", "--offline"]))
        .try_into()
        .unwrap();
    let words = "; 1 lists with 1 address ranges, all checked in the last hour;";
    assert!(fresh.contains(words), "{fresh}");

    site.lists.set(crate::support::http::Reply::status(404));
    site.run(&["verify", "--ranges", "--refresh"]);
    let [_, failing] = checks(&site.run(&["doctor", "--json", "--offline"]))
        .try_into()
        .unwrap();
    assert!(failing.contains("cannot be refreshed"), "{failing}");

    site.configure("verify.enabled = false");
    let [off] = checks(&site.run(&["doctor", "--json", "--offline"]))
        .try_into()
        .unwrap();
    assert!(off.starts_with("true off: "), "{off}");
}

use super::house::{EVERYBODY, House};
use crate::support::program::{GOOGLEBOT, run};

fn errors(more: &str) -> String {
    format!("{EVERYBODY}errors = 3\n{more}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_too_many_errors_must_wait() {
    let house = House::new(&errors("per = 'address'")).await;
    let from = |path, address| house.from(path, &[address])[0];
    for path in ["/", "/400", "/401", "/500", "/302", "/404", "/403"] {
        let expected = path[1..].parse().unwrap_or(200);
        assert_eq!(from(path, "192.0.2.1"), expected);
    }
    assert_eq!(from("/", "192.0.2.1"), 200);
    assert_eq!(from("/410", "::ffff:192.0.2.1"), 410);
    let refused = house.ask("/", GOOGLEBOT, "192.0.2.1");
    assert_eq!((refused.status, from("/404", "192.0.2.1")), (429, 429));
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((1..=28_800).contains(&wait), "{wait}");
    let told = "Too many requests have failed. Rate limit: at most 3 responses with 403, 404 or 410 \
        in 86400 s, 3 at once, per address (IPv6: per /64).\n";
    assert_eq!(refused.text(), told);
    assert_eq!(from("/404", "192.0.2.2"), 404);
    assert_eq!(from("/robots.txt", "192.0.2.1"), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_refusals_do_not_count_as_errors() {
    let closed = "[[rule]]\npath = '/closed'\naction = 'refuse'\n";
    let house = House::new(&(errors("") + closed)).await;
    for _ in 0..5 {
        assert_eq!(house.ask("/closed", GOOGLEBOT, "192.0.2.1").status, 403);
    }
    for status in [404, 404, 404, 429] {
        assert_eq!(house.ask("/404", GOOGLEBOT, "192.0.2.1").status, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_about_requests_applies_in_addition_to_one_about_errors() {
    let requests = EVERYBODY.replace("'pace'", "'requests'") + "requests = 4\n";
    let house = House::new(&(errors("per = 'address'") + &requests)).await;
    let paths = ["/", "/", "/", "/404", "/"];
    let asked = paths.map(|path| house.ask(path, GOOGLEBOT, "192.0.2.1").status);
    assert_eq!(asked, [200, 200, 200, 404, 429]);
    let told = house.explain(&["--path", "/", "--user-agent", GOOGLEBOT]);
    for sentence in [
        "Rate limit: at most 3 responses with 403, 404 or 410 in 86400 s, 3 at once, per address",
        "; further requests get 429.",
        "Rate limit: at most 4 requests in 86400 s, 4 at once; further requests get 429.",
    ] {
        assert!(told.contains(sentence), "{told}");
    }
    let output = run(house.directory.path(), &["doctor", "--offline"]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!report.contains("never"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfirmed_rule_about_peoples_errors_is_only_logged() {
    let rule = errors("per = 'address'").replace("people = true\n", "");
    let house = House::new(&rule).await;
    assert_eq!(house.from("/404", &["192.0.2.1"; 5]), [404; 5]);
    let metrics = house.server.metrics();
    let noted = "visitor=\"person\",decision=\"would-slow\"} 2";
    assert!(metrics.contains(noted), "{metrics}");
}

#[test]
fn doctor_names_error_rules_that_no_response_reaches() {
    let directory = tempfile::tempdir().unwrap();
    for (server, is_named) in [("", true), ("upstream = 'http://127.0.0.1:9'\n", false)] {
        let config = format!(
            "web_robots_db = ''\n[server]\nlisten = '127.0.0.1:0'\n{server}[check]\nlisten = 'unix:check.sock'\n{}",
            errors("")
        );
        std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let output = run(directory.path(), &["doctor", "--offline"]);
        let report = String::from_utf8(output.stdout).unwrap();
        let warning =
            "warn  rules: rule \"pace\" never matches errors, because the decision endpoint";
        assert_eq!(report.contains(warning), is_named, "{report}");
    }
}

//! Whom the endpoint believes, and what.

use std::os::unix::fs::PermissionsExt as _;

use super::house::{House, TOKEN, question, told_status};
use crate::support::program::{FIREFOX, GOOGLEBOT, request, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_a_visitor_could_have_sent_too_is_no_description() {
    let house = House::new().await;
    let ask = |more: &[(&str, &str)]| {
        let mut headers = vec![("User-Agent", GOOGLEBOT)];
        headers.extend(more);
        house.ask(&question("nginx", "GET", "/members-only-stuff/a", &headers))
    };
    let answer = ask(&[("X-Robot-Detection-Request", "192.0.2.8 http GET - /")]);
    assert_eq!(answer.status, 500);
    assert!(answer.text().contains("comes twice"), "{}", answer.text());
    for name in ["Client", "Scheme"] {
        let name = format!("X-Robot-Detection-{name}: x");
        let envoy = question("envoy", "GET", "/members-only-stuff/a", &[]);
        let twice = envoy.replacen("Host: example.org", &format!("Host: a\r\n{name}"), 1);
        let answer = house.ask(&twice);
        assert_eq!(answer.status, 500, "{name}");
        assert!(answer.text().contains("comes twice"), "{}", answer.text());
    }
    // None of these is a description of this dialect.
    for (name, value) in [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-Host", "other.example"),
        ("X-Forwarded-Method", "DELETE"),
        ("X-Forwarded-Uri", "/"),
        ("X-Original-URI", "/"),
        ("X-Robot-Detection", "none"),
        ("X-Robot-Detection-Verdict", "verified"),
        ("X-Robot-Detection-Decision", "pass"),
        ("X-Robot-Detection-Client", "203.0.113.9"),
        ("X-Robot-Detection-Answer", "200"),
        ("Forwarded", "for=203.0.113.9"),
    ] {
        let answer = ask(&[(name, value)]);
        assert_eq!(answer.status, 403, "{name}");
        assert_eq!(told_status(&answer), 302, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_describes_no_request_is_no_decision() {
    let house = House::new().await;
    let right = question("nginx", "GET", "/", &[("User-Agent", FIREFOX)]);
    assert_eq!(house.ask(&right).status, 200);
    for (from, to, status) in [
        (
            "X-Robot-Detection-Request: 192.0.2.7 http GET - /\r\n",
            "",
            500,
        ),
        ("192.0.2.7 http GET - /", "192.0.2.7 http GET -", 500),
        ("192.0.2.7 http GET - /", "192.0.2.7", 500),
        ("192.0.2.7 http GET - /", "", 500),
        ("192.0.2.7", "192.0.2.7, 192.0.2.8", 500),
        ("192.0.2.7", "192.0.2.7:80", 500),
        ("192.0.2.7", "unknown", 500),
        ("192.0.2.7", "", 500),
        ("http GET", "http G(T", 500),
        // A target that our own listener does not take either.
        ("- /", "- a b", 403),
        ("/check/nginx", "/check/apache", 404),
        ("/check/nginx", "/check/nginx/x", 404),
        ("/check/nginx", "/", 404),
        ("/check/nginx", "/check/page", 500),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right, "{from}");
        assert_eq!(house.ask(&wrong).status, status, "{to} in place of {from}");
    }
    for right in ["2001:db8::7", "[2001:db8::7]", "::ffff:192.0.2.7"] {
        let text = question("nginx", "GET", "/", &[("User-Agent", FIREFOX)]);
        assert_eq!(
            house.ask(&text.replace("192.0.2.7", right)).status,
            200,
            "{right}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp_nobody_asks_without_the_token() {
    let more = format!("[check]\nlisten = '127.0.0.1:0'\ntoken = '{TOKEN}'\n");
    let house = House::with(&more).await;
    let ask = |token: &[&str]| {
        let mut headers = vec![("User-Agent", FIREFOX)];
        headers.extend(
            token
                .iter()
                .map(|token| ("X-Robot-Detection-Token", *token)),
        );
        house.ask(&question("nginx", "GET", "/", &headers)).status
    };
    assert_eq!(ask(&[TOKEN]), 200);
    for wrong in [
        &[][..],
        &[""],
        &["0123456789abcdef0124"],
        &[TOKEN, TOKEN],
        &["x", TOKEN],
    ] {
        assert_eq!(ask(wrong), 500, "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_for_visitors_has_no_such_door() {
    let house = House::new().await;
    let headers = [
        ("User-Agent", FIREFOX),
        ("X-Robot-Detection-Request", "192.0.2.7 http GET - /"),
    ];
    let answer = request(house.server.addr, "GET", "/check/nginx", &headers);
    assert_eq!((answer.status, answer.text().as_str()), (200, "site"));
    assert!(
        !house
            .site
            .last_request()
            .to_lowercase()
            .contains("x-robot-detection-decision")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_is_for_its_user_and_group() {
    let house = House::new().await;
    let socket = std::fs::metadata(house.directory.path().join("check.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o660);
}

#[test]
fn an_address_without_a_good_token_is_refused_at_the_start() {
    for (token, told) in [
        ("", "set check.token"),
        ("token = 'short'", "check.token"),
        ("token = '0123456789 abcdef\"'", "check.token"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("[check]\nlisten = '127.0.0.1:0'\n{token}\n");
        std::fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = run(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(told), "{error}");
        assert!(!error.contains("0123456789"), "{error}");
    }
}

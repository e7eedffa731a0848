//! Clients and headers that the decision endpoint trusts.

use std::os::unix::fs::PermissionsExt as _;

use super::house::{House, TOKEN, question, told_status};
use crate::support::program::{FIREFOX, GOOGLEBOT, request, run};

const DECISION: &str = "x-robot-detection-decision";

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_a_visitor_could_send_does_not_describe_the_request() {
    let house = House::new().await;
    let ask = |more: &[(&str, &str)]| {
        let mut headers = vec![("User-Agent", GOOGLEBOT)];
        headers.extend(more);
        house.ask(&question("nginx", "GET", "/members-only-stuff/a", &headers))
    };
    let answer = ask(&[("X-Robot-Detection-Request", "192.0.2.8 http GET - /")]);
    assert_eq!((answer.status, told_status(&answer)), (403, 400));
    for name in ["Client", "Scheme"] {
        let name = format!("X-Robot-Detection-{name}: x");
        let envoy = question("envoy", "GET", "/members-only-stuff/a", &[]);
        let twice = envoy.replacen("Host: example.org", &format!("Host: a\r\n{name}"), 1);
        let answer = house.ask(&twice);
        assert_eq!(answer.status, 400, "{name}");
        assert_eq!(answer.header(DECISION), "refuse", "{name}");
    }
    // Headers that do not describe the request in this dialect.
    for (name, value) in [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-Host", "other.example"),
        ("X-Forwarded-Method", "DELETE"),
        ("X-Forwarded-Uri", "/"),
        ("X-Original-URI", "/"),
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
async fn a_visitors_forwarding_headers_do_not_change_the_queried_address() {
    let rule = "[[rule]]\npath = '/page'\naction = 'refuse'\naddresses = '192.0.2.7'\n";
    let house = House::with(&format!("{rule}[check]\nlisten = 'unix:check.sock'\n")).await;
    for dialect in ["nginx", "caddy", "haproxy", "envoy", "traefik"] {
        let mut headers = vec![("User-Agent", GOOGLEBOT), ("Forwarded", "for=198.51.100.1")];
        if dialect != "traefik" {
            headers.push(("X-Forwarded-For", "198.51.100.1"));
        }
        let answer = house.ask(&question(dialect, "GET", "/page", &headers));
        assert_eq!(answer.header(DECISION), "refuse", "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_describes_no_request_is_refused() {
    let house = House::new().await;
    let right = question("nginx", "GET", "/", &[("User-Agent", FIREFOX)]);
    assert_eq!(house.ask(&right).status, 200);
    for (from, to, status) in [
        (
            "X-Robot-Detection-Request: 192.0.2.7 http GET - /\r\n",
            "",
            403,
        ),
        ("192.0.2.7 http GET - /", "192.0.2.7 http GET -", 403),
        ("192.0.2.7 http GET - /", "192.0.2.7", 403),
        ("192.0.2.7 http GET - /", "", 403),
        ("192.0.2.7", "192.0.2.7, 192.0.2.8", 403),
        ("192.0.2.7", "192.0.2.7:80", 403),
        ("192.0.2.7", "unknown", 403),
        ("192.0.2.7", "", 403),
        ("http GET", "http G(T", 403),
        // A target that our own listener rejects too.
        ("- /", "- a b", 403),
        ("/check/nginx", "/check/unknown", 404),
        ("/check/nginx", "/check/nginx/x", 404),
        ("/check/nginx", "/", 404),
        ("/check/nginx", "/check/page", 400),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right, "{from}");
        let answer = house.ask(&wrong);
        assert_eq!(answer.status, status, "{to} instead of {from}");
        assert_eq!(answer.header(DECISION), "refuse", "{to}");
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
async fn a_visitor_that_sends_identity_headers_is_refused_everywhere() {
    let house = House::new().await;
    for (name, is_refused) in [
        ("X-Robot-Detection", true),
        ("X-Robot-Detection-Verdict", true),
        // Only `doctor` can create a valid value.
        ("X-Robot-Detection-Probe", true),
        ("X_Robot_Detection", true),
        ("x.robot-detection", true),
        ("X-Robot_Detection-Own", true),
        ("X_Forwarded_For", true),
        ("X.Forwarded~Prefix", true),
        ("X_Original_URL", true),
        ("X-Real_IP", true),
        ("X-Forwarded-For", false),
        ("X-Original-URL", false),
        ("X_Api_Key", false),
        ("X-Robots", false),
    ] {
        let headers = [("User-Agent", FIREFOX), (name, "googlebot")];
        let own = request(house.server.addr, "GET", "/", &headers);
        let expected = if is_refused { 400 } else { 200 };
        assert_eq!(own.status, expected, "{name}");
        for dialect in ["nginx", "caddy", "haproxy", "envoy", "traefik"] {
            if dialect == "traefik" && name == "X-Forwarded-For" {
                continue;
            }
            let asked = house.ask(&question(dialect, "GET", "/", &headers));
            let status = if asked.status == 403 {
                told_status(&asked)
            } else {
                asked.status
            };
            assert_eq!(status, expected, "{dialect} {name}");
        }
    }
    let reaches = |line: &str| line.contains("googlebot") && line.contains("detection");
    let sent = house.site.requests().concat().to_lowercase();
    assert!(!sent.lines().any(reaches));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitors_internal_headers_do_not_reach_the_site() {
    let house = House::new().await;
    for name in ["Answer", "Own", "Token", "Tag", "Request"] {
        let name = format!("X-Robot-Detection-{name}");
        let headers = [("User-Agent", FIREFOX), (name.as_str(), "forged")];
        let answer = request(house.server.addr, "GET", "/page", &headers);
        assert_eq!(answer.status, 200, "{name}");
        let sent = house.site.last_request().to_lowercase();
        assert!(!sent.contains("forged"), "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_or_malformed_query_is_refused_with_a_response() {
    let house = House::new().await;
    let long = "a".repeat(60 * 1024);
    let asked = house.ask(&question(
        "nginx",
        "GET",
        "/",
        &[("User-Agent", FIREFOX), ("X-A", &long)],
    ));
    assert_eq!(asked.status, 200);
    let head = "GET /check/nginx HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n";
    for (rest, status) in [
        (format!("X-A: {}\r\n\r\n", "a".repeat(70 * 1024)), 431),
        // Much more than the server reads before responding: the response still arrives.
        (format!("{}\r\n", "X-A: b\r\n".repeat(100_000)), 431),
        ("Header without a colon\r\n\r\n".to_owned(), 400),
    ] {
        let answer = house.ask(&format!("{head}{rest}"));
        assert_eq!(answer.status, status);
        assert_eq!(answer.header(DECISION), "refuse");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp_a_query_needs_the_token() {
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
        assert_eq!(ask(wrong), 403, "{wrong:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_for_visitors_has_no_decision_endpoint() {
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
async fn the_socket_is_accessible_to_its_user_and_group() {
    let house = House::new().await;
    let socket = std::fs::metadata(house.directory.path().join("check.sock")).unwrap();
    assert_eq!(socket.permissions().mode() & 0o777, 0o660);
}

#[test]
fn an_address_without_a_secure_token_is_rejected_at_startup() {
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

//! A webhook's URL and key appear only in the configuration file.

use std::{fs, path::Path};

use super::receiver::{KEY, Manner, PATH, Receiver};
use crate::support::program::{Server, eventually, request, run, succeed};

fn configure(directory: &Path, receiver: &Receiver) {
    let url = &receiver.url;
    let text = format!(
        "web_robots_db = 'http://127.0.0.1:1/all.txt'\n[[alert]]\nname = 'refreshes'\n\
         on = 'refresh'\nurl = '{url}'\nsecret = '{KEY}'\nprivate = true\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

fn assert_no_secret(what: &str, text: &str) {
    for secret in [PATH, "T0SECRET", "xyzzy", KEY] {
        assert!(!text.contains(secret), "{what} tells {secret}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_log_error_or_json_reveals_them() {
    let receiver = Receiver::start(Manner::Refuses).await;
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), &receiver);
    let server = Server::start(directory.path(), &["serve"]);
    let token = succeed(
        directory.path(),
        &["admin", "token", "reader", "--scope", "read"],
    );
    let bearer = format!("Bearer {}", token.trim());
    let ask = |path: &str| {
        let headers = [("Host", "127.0.0.1"), ("Authorization", &*bearer)];
        let path = format!("/robot-detection/admin/{path}");
        request(server.addr, "GET", &path, &headers).text()
    };
    // The refresh at the start fails and raises an alert, which the receiver refuses.
    eventually("the message is received", || !receiver.told().is_empty());
    eventually("the attempt is recorded", || {
        ask("api/v1/alerts").contains("status 500")
    });
    for path in ["api/v1/alerts", "api/v1/settings", "api/v1/status"] {
        assert_no_secret(path, &ask(path));
    }
    let alerts = ask("api/v1/alerts");
    assert!(alerts.contains("\"state\":\"firing\""), "{alerts}");
    assert!(alerts.contains("http://127.0.0.1:"), "{alerts}");
    for arguments in [
        &["alerts", "test"][..],
        &["alerts", "test", "refreshes", "--json"],
        &["alerts", "list"],
        &["alerts", "list", "--json"],
        &["doctor", "--offline"],
        &["doctor", "--offline", "--json"],
        &["alerts", "test", "nobody"],
    ] {
        let output = run(directory.path(), arguments);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert!(!told.is_empty(), "{arguments:?}");
        assert_no_secret(&arguments.join(" "), &told);
    }
    let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    assert!(
        log.contains(" to http://127.0.0.1:") && log.contains("failed to deliver alert"),
        "{log}"
    );
    assert_no_secret("the log", &log);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_message_reports_the_response() {
    let receiver = Receiver::start(Manner::Takes).await;
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), &receiver);
    let told = succeed(directory.path(), &["alerts", "test", "refreshes"]);
    assert!(
        told.starts_with("ok    refreshes: http://127.0.0.1:"),
        "{told}"
    );
    assert!(told.trim_end().ends_with("returned 200: ok"), "{told}");
    assert_eq!(receiver.events(), ["test"]);
    receiver.set(Manner::Refuses);
    let output = run(directory.path(), &["alerts", "test"]);
    assert_eq!(output.status.code(), Some(1));
    let none = run(directory.path(), &["alerts", "test", "nobody"]);
    assert_eq!(none.status.code(), Some(2));
    let names = String::from_utf8(none.stderr).unwrap();
    assert!(names.contains("configured alerts: refreshes"), "{names}");
}

#[test]
fn an_invalid_alert_is_reported_with_its_line_and_without_its_url() {
    let directory = tempfile::tempdir().unwrap();
    for (alert, words) in [
        (
            "name = 'a'\non = 'imposter'\nurl = 'http://h/xyzzy'",
            "did you mean \"impostor\"?",
        ),
        (
            "name = 'a'\nurl = 'http://h/xyzzy'",
            "needs a name, a url, and on = ",
        ),
        ("on = 'refresh'\nurl = 'http://h/xyzzy'", "needs a name"),
        ("name = 'a'\non = 'refresh'\nurl = 'h/xyzzy'", "invalid URL"),
        (
            "name = 'a'\non = 'refresh'\nurl = 'ftp://h/xyzzy'",
            "a webhook URL such as",
        ),
        (
            "name = 'a'\non = 'refresh'\nurl = 'http://h/xyzzy'\nabove = 3",
            "applies only to alerts on impostor",
        ),
        (
            "name = 'a'\non = 'refresh'\nurl = 'http://h/xyzzy'\ntemplate = '{\"a\": \"{b}\"}'",
            "unknown placeholder {b}",
        ),
        (
            "name = 'a'\non = 'refresh'\nurl = 'http://h/xyzzy'\n[[alert]]\nname = 'a'\n\
             on = 'heaven'\nurl = 'http://h/xyzzy'",
            "two alerts are named",
        ),
        (
            "name = 'a'\non = 'refresh'\nurl = 'http://h/xyzzy'\nsecrt = 'xyzzy'",
            "secret",
        ),
    ] {
        let text = format!("web_robots_db = ''\n[[alert]]\n{alert}\n");
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output = run(directory.path(), &["alerts", "test"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{words:?}: {told}");
        assert!(told.contains("robot-detection.toml:"), "{told}");
        assert!(!told.contains("xyzzy"), "{told}");
    }
}

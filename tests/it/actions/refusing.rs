//! Refused robots.

use std::fs;

use robot_detection::{
    clock::Clock,
    policy::{Action, Policy, Rule},
};

use super::app;
use crate::support::program::{FIREFOX, GOOGLEBOT, Server, request};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

const SETTINGS: &str = "web_robots_db = ''
[[rule]]
name = 'they may read the licence'
path = '/licence/*'
action = 'pass'
[[rule]]
path = '/*'
purposes = ['ai-training']
action = 'refuse'
status = 402
text = 'Please ask for a licence.'
[[rule]]
path = '/*'
hosts = ['api.example.org']
methods = ['get', 'DELETE']
action = 'refuse'
status = 429
[[rule]]
path = '/login'
robots = ['googlebot']
action = 'refuse'
status = 401
";

#[test]
fn a_refusal_has_its_status_and_text_and_is_not_cacheable() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robot-detection.toml"), SETTINGS).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    let refused = server.get("/about.html", GPTBOT);
    assert_eq!(
        (refused.status, &*refused.text()),
        (402, "Please ask for a licence.\n")
    );
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("cache-control", "no-store"),
        ("vary", "User-Agent"),
        ("content-length", "26"),
        ("retry-after", ""),
    ] {
        assert_eq!(refused.header(name), value, "{name}");
    }
    let gptbot = [("User-Agent", GPTBOT)];
    let head = request(server.addr, "HEAD", "/about.html", &gptbot);
    assert_eq!((head.status, head.body.len()), (402, 0));
    assert_eq!(
        request(server.addr, "POST", "/about.html", &gptbot).status,
        402
    );
    for path in [
        "/robots.txt",
        "/robot-heaven/",
        "/licence/a",
        "/.well-known/x",
    ] {
        assert_ne!(server.get(path, GPTBOT).status, 402, "{path}");
    }
    let person = server.get("/about.html", FIREFOX);
    assert_eq!(
        (person.status, &*person.header("vary")),
        (200, "User-Agent")
    );
    let login = server.get("/login", GOOGLEBOT);
    assert_eq!(login.status, 401);
    assert!(login.header("www-authenticate").starts_with("Basic "));
}

#[test]
fn rules_are_distinguished_by_host_and_method() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robot-detection.toml"), SETTINGS).unwrap();
    let server = Server::start(directory.path(), &["serve"]);
    let ask = |method, host| {
        let headers = [("User-Agent", GOOGLEBOT), ("Host", host)];
        request(server.addr, method, "/about.html", &headers)
    };
    let refused = ask("GET", "api.example.org:8080");
    assert_eq!(
        (refused.status, &*refused.header("retry-after")),
        (429, "86400")
    );
    assert_eq!(refused.text(), "Robots are not allowed here.\n");
    assert_eq!(ask("DELETE", "API.example.org.").status, 429);
    assert_eq!(ask("HEAD", "api.example.org").status, 200);
    assert_eq!(ask("GET", "www.example.org").status, 200);
    assert_eq!(ask("GET", "api.example.org.evil").status, 200);
}

#[tokio::test]
async fn a_refused_request_does_not_reach_the_application() {
    let rule = Rule::builder(Action::Refuse)
        .paths(["/private/*"])
        .status(410);
    let policy = Policy::builder().rule(rule.text("Gone."));
    let layer = app::layer(policy, &Clock::manual(0));
    let addr = app::serve(&layer).await;
    let answer = app::visit(addr, "GET", "/private/a", GOOGLEBOT).await;
    assert_eq!((answer.status, &*answer.text()), (410, "Gone.\n"));
    let answer = app::visit(addr, "GET", "/private/a", FIREFOX).await;
    assert_eq!((answer.status, &*answer.text()), (200, "page /private/a"));
    let answer = app::visit(addr, "GET", "/members-only-stuff/", GOOGLEBOT).await;
    assert_eq!(answer.status, 302);
}

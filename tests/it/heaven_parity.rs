//! After each run some heaven pages are compared with their originals.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{
    http::{ReceivedRequest, Reply, TestServer},
    program::{self, Server, admin_json, run, succeed},
};

/// Responds as a server that reports every page as unmodified, even after changes.
fn reply(seen: &ReceivedRequest, words: impl Fn(usize) -> String, pages: usize) -> Reply {
    if seen.path == "/robots.txt" {
        return Reply::status(404);
    }
    if seen.header("if-none-match").is_some() {
        return Reply::status(304);
    }
    let links = (0..pages).map(|number| format!("<a href=/{number}>{number}</a>"));
    let links = links.collect::<Vec<_>>().join(" ");
    let html = match seen.path.trim_start_matches('/').parse::<usize>() {
        Ok(number) => format!("<title>Page {number}</title><p>{}", words(number)),
        Err(_) => format!("<title>Start</title><p>A start for all. {links}"),
    };
    Reply::typed("text/html", html).with("ETag", "\"1\"")
}

fn write(directory: &Path, server: &TestServer, heaven: &str) {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\n\
         [heaven]\nsource = 'database'\nurl = '{}'\n{heaven}\n\
         [site_robot]\nstarting_points = '{}'\n",
        server.url(""),
        server.url("/")
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Runs the site robot; returns the result of the comparison.
fn compared(directory: &Path) -> Value {
    let ran = succeed(directory, &["site-robot", "run", "--json"]);
    serde_json::from_str::<Value>(&ran).unwrap()["parity"].take()
}

fn described(directory: &Path) -> String {
    succeed(directory, &["site-robot", "export", "--format", "jsonl"])
}

/// Checks that the console lists a withdrawn page, and that the page is not served.
fn assert_told_by_the_console(directory: &Path, url: &str) {
    let token = succeed(directory, &["admin", "token", "console"]);
    let serve = Server::start(directory, &["serve"]);
    let admin = serve.admin.unwrap_or(serve.addr);
    let ask = |path: &str| {
        let answer = admin_json(admin, token.trim(), ("GET", path), "");
        serde_json::from_str::<Value>(&answer.text()).unwrap()
    };
    let page = &ask("site-robot")["parity"]["pages"][0];
    assert_eq!(page["url"], url);
    assert_eq!(
        (&page["sentence"], &page["withdrawn"]),
        (&"Words of page 2.".into(), &true.into())
    );
    let needs = ask("status")["needs"].to_string();
    assert!(
        needs.contains("1 page of robot heaven contains text"),
        "{needs}"
    );
    let place = program::request(
        serve.addr,
        "GET",
        "/robot-heaven/2.htm",
        &[("User-Agent", program::GOOGLEBOT)],
    );
    assert_eq!(place.status, 404);
}

#[test]
fn a_page_with_extra_text_is_reported_and_optionally_withdrawn_until_it_agrees() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let at_first = |number: usize| format!("Words of page {number}.");
    let server = TestServer::with(move |seen| reply(seen, at_first, 4));
    write(directory, &server, "");
    let told = compared(directory);
    assert_eq!(
        told["compared"], 0,
        "completely fetched pages agree with their originals"
    );
    let told = compared(directory);
    assert_eq!(
        (&told["compared"], &told["differing"]),
        (&5.into(), &0.into())
    );
    assert!(told["first"].is_null(), "{told}");

    server.answer(move |seen| {
        let now = |number| match number {
            2 => "Something else.".to_owned(),
            number => at_first(number),
        };
        reply(seen, now, 4)
    });
    let told = compared(directory);
    assert_eq!(
        (&told["differing"], &told["withdrawn"]),
        (&1.into(), &0.into())
    );
    let first = json!({ "url": server.url("/2"), "sentence": "Words of page 2." });
    assert_eq!(told["first"], first);
    assert!(described(directory).contains("Words of page 2."));
    let doctor = || String::from_utf8(run(directory, &["doctor", "--offline"]).stdout).unwrap();
    let doubt =
        "1 of 5 compared pages contain text that is missing from the original pages (withdrawn: 0)";
    assert!(doctor().contains(doubt), "{}", doctor());

    write(directory, &server, "parity = 'withdraw'");
    let output = run(directory, &["site-robot", "run"]);
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("(withdrawn: 1), such as"), "{note}");
    assert!(!described(directory).contains("page 2"));
    assert!(described(directory).contains("Words of page 3."));
    // The page stays withdrawn and reported while it has extra text.
    assert_eq!(compared(directory)["withdrawn"], 0);
    assert!(!described(directory).contains("page 2"));

    assert_told_by_the_console(directory, &server.url("/2"));

    server.answer(move |seen| reply(seen, at_first, 4));
    let told = compared(directory);
    assert_eq!(
        (&told["differing"], &told["returned"]),
        (&0.into(), &1.into())
    );
    assert!(described(directory).contains("Words of page 2."));
    assert!(
        !doctor().contains("missing from the original"),
        "{}",
        doctor()
    );
}

#[test]
fn no_page_is_withdrawn_if_many_have_extra_text() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let server = TestServer::with(|seen| reply(seen, |it| format!("Words of {it}."), 14));
    write(directory, &server, "parity = 'withdraw'\nparity_pages = 15");
    compared(directory);
    // As with an expired login that the site does not report.
    server.answer(|seen| reply(seen, |_| "You are not logged in.".to_owned(), 14));
    let told = compared(directory);
    assert_eq!(
        (&told["differing"], &told["withdrawn"]),
        (&14.into(), &0.into())
    );
    let held = told["held"].as_str().unwrap();
    assert!(held.contains("14 of 15 compared pages"), "{held}");
    assert!(described(directory).contains("Words of 7."));
}

#[test]
fn a_page_with_a_password_form_or_without_a_response_is_not_compared() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let server = TestServer::with(|seen| reply(seen, |it| format!("Words of {it}."), 3));
    write(directory, &server, "parity = 'withdraw'");
    compared(directory);
    server.answer(|seen| match (&*seen.path, seen.header("if-none-match")) {
        ("/1", None) => Reply::status(503),
        _ => reply(seen, |_| "<form><input type=password></form>".to_owned(), 3),
    });
    let told = compared(directory);
    assert_eq!(
        (&told["differing"], &told["withdrawn"]),
        (&0.into(), &0.into())
    );
    assert_eq!(
        told["compared"], 1,
        "only the start page is compared: {told}"
    );
    write(directory, &server, "parity_pages = 0");
    assert!(compared(directory).is_null());
}

#[test]
fn a_page_requested_for_a_new_visit_is_compared_immediately() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let server = TestServer::with(|seen| reply(seen, |it| format!("Words of {it}."), 3));
    write(directory, &server, "parity = 'withdraw'");
    compared(directory);
    server.answer(|seen| reply(seen, |_| "Other words.".to_owned(), 3));
    let ran = succeed(
        directory,
        &["site-robot", "refresh", &server.url("/2"), "--json"],
    );
    let told: Value = serde_json::from_str(&ran).unwrap();
    assert_eq!(told["parity"]["compared"], 1, "{told}");
    let text = described(directory);
    assert!(!text.contains("Words of 2."), "{text}");
    assert!(text.contains("Words of 1."), "no other page was compared");
}

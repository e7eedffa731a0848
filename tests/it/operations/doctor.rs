//! `doctor`: what it finds before `serve` would.

use std::{fs, net::TcpListener, path::Path};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{Server, run},
};

use super::site::configure;

/// Result and text of the checks of a name.
fn checks(directory: &Path, name: &str) -> Vec<(bool, String)> {
    let output = run(directory, &["doctor", "--offline", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = report["checks"].as_array().unwrap();
    all.iter()
        .filter(|check| check["check"] == name)
        .map(|check| {
            let text = check["text"].as_str().unwrap().to_owned();
            (check["ok"] == true, text)
        })
        .collect()
}

/// The one check of a name.
fn check(directory: &Path, name: &str) -> (bool, String) {
    let mut checks = checks(directory, name);
    assert_eq!(checks.len(), 1, "{name}: {checks:?}");
    checks.remove(0)
}

#[test]
fn each_listener_is_tried_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let settings = format!("server.listen = '127.0.0.1:0'\nadmin.listen = '{addr}'");
    configure(directory.path(), &settings);
    let (is_free, text) = check(directory.path(), "listen");
    assert!(is_free && text.ends_with("is free"), "{text}");
    let (is_free, text) = check(directory.path(), "admin listen");
    assert!(!is_free && text.contains("choose another port"), "{text}");
}

#[test]
fn a_listener_of_a_server_that_runs_is_well() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "");
    let server = Server::start(directory.path(), &["serve"]);
    configure(
        directory.path(),
        &format!("server.listen = '{}'", server.addr),
    );
    let (is_well, text) = check(directory.path(), "listen");
    assert!(is_well && text.contains("serves on"), "{text}");
}

#[test]
fn the_upstream_of_each_site_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::status(404));
    let url = upstream.url("/");
    let settings = format!(
        "server.listen = '127.0.0.1:0'\n\
         [[site]]\nname = 'up'\nhosts = ['a.example']\nupstream = '{url}'\n\
         [[site]]\nname = 'down'\nhosts = ['b.example']\nupstream = 'http://127.0.0.1:1'"
    );
    configure(directory.path(), &settings);
    let (is_well, text) = check(directory.path(), "upstream of up");
    assert!(is_well && text.contains(&url), "{text}");
    let (is_well, text) = check(directory.path(), "upstream of down");
    assert!(!is_well, "{text}");
}

#[test]
fn each_server_of_a_site_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = TestServer::new(Reply::status(404));
    let url = upstream.url("");
    let settings = format!(
        "server.listen = '127.0.0.1:0'\n\
         server.upstream = ['http://127.0.0.1:1', '{url}', 'http://127.0.0.1:2']"
    );
    configure(directory.path(), &settings);
    let found = checks(directory.path(), "upstream");
    let is_well: Vec<_> = found.iter().map(|(is_well, _)| *is_well).collect();
    assert_eq!(is_well, [false, true, false], "{found:?}");
    for ((_, text), url) in found.iter().zip(["127.0.0.1:1", &*url, "127.0.0.1:2"]) {
        assert!(text.contains(url), "{text}");
    }
}

#[test]
fn the_directory_of_a_heaven_is_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "server.listen = '127.0.0.1:0'\nheaven.directory = 'heaven'";
    configure(directory.path(), settings);
    let (is_there, text) = check(directory.path(), "heaven");
    assert!(!is_there && text.contains("no directory heaven"), "{text}");
    fs::create_dir(directory.path().join("heaven")).unwrap();
    let (is_there, text) = check(directory.path(), "heaven");
    assert!(is_there, "{text}");
}

#[test]
fn the_access_log_is_looked_at_and_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let asked = |path: &str| {
        let settings = format!("server.listen = '127.0.0.1:0'\naccess_log.path = '{path}'");
        configure(directory.path(), &settings);
        checks(directory.path(), "access log").pop()
    };
    assert_eq!(asked(""), None);
    assert!(asked("-").unwrap().0);
    let (is_well, text) = asked("access.log").unwrap();
    assert!(is_well && text.contains("not there yet"), "{text}");
    assert!(!directory.path().join("access.log").exists());
    let (is_well, text) = asked("missing/access.log").unwrap();
    assert!(!is_well && text.contains("no directory missing"), "{text}");
    fs::create_dir(directory.path().join("folder")).unwrap();
    let (is_well, text) = asked("folder").unwrap();
    assert!(!is_well && text.contains("cannot write folder"), "{text}");
    fs::write(directory.path().join("access.log"), "").unwrap();
    let (is_well, text) = asked("access.log").unwrap();
    assert!(is_well && text.contains("can be written"), "{text}");
}

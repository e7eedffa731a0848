//! `doctor`, which finds problems before `serve` does.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{Server, command, run, succeed},
};

use super::site::configure;

/// Returns result and text of all checks with a name.
fn checks(directory: &Path, name: &str) -> Vec<(bool, String)> {
    let of_name = examine(directory, &["--offline"], name).into_iter();
    of_name.map(|(mark, text)| (mark != "FAIL", text)).collect()
}

/// Returns mark and text of all checks with a name.
fn examine(directory: &Path, flags: &[&str], name: &str) -> Vec<(&'static str, String)> {
    let arguments = [&["doctor", "--json"], flags].concat();
    let output = run(directory, &arguments);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let all = report["checks"].as_array().unwrap();
    all.iter()
        .filter(|check| check["check"] == name)
        .map(|check| {
            let text = check["text"].as_str().unwrap().to_owned();
            let mark = match (check["ok"] == true, check["warning"] == true) {
                (false, _) => "FAIL",
                (true, true) => "warn",
                (true, false) => "ok",
            };
            (mark, text)
        })
        .collect()
}

/// Returns the only check with a name.
fn check(directory: &Path, name: &str) -> (bool, String) {
    let mut checks = checks(directory, name);
    assert_eq!(checks.len(), 1, "{name}: {checks:?}");
    checks.remove(0)
}

#[test]
fn doctor_reports_the_certificate_authorities() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "server.listen = '127.0.0.1:0'");
    let system = "/etc/ssl/certs/ca-certificates.crt";
    for (file, words) in [(system, "the system's"), ("/dev/null", "Mozilla's")] {
        let mut doctor = command(directory.path());
        doctor.env("SSL_CERT_FILE", file).env_remove("SSL_CERT_DIR");
        let report = doctor.args(["doctor", "--offline"]).output().unwrap();
        let report = String::from_utf8(report.stdout).unwrap();
        let line = report.lines().find(|line| line.contains("authorities"));
        assert!(line.is_some_and(|it| it.contains(words)), "{report}");
    }
}

#[test]
fn each_listener_is_tested_separately() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TestServer::new(Reply::status(404));
    let settings = format!(
        "server.listen = '127.0.0.1:0'\nadmin.listen = '{}'",
        taken.addr()
    );
    configure(directory.path(), &settings);
    let (is_free, text) = check(directory.path(), "listen");
    assert!(is_free && text.ends_with("is free"), "{text}");
    let (is_free, text) = check(directory.path(), "admin listen");
    assert!(!is_free && text.contains("choose another port"), "{text}");
}

#[test]
fn a_running_server_passes_with_all_its_listeners() {
    let directory = tempfile::tempdir().unwrap();
    let site = TestServer::new(Reply::status(404));
    let configured = |[visitors, admin, check]: [SocketAddr; 3]| {
        let text = format!(
            "server.upstream = '{}'\nserver.listen = '{visitors}'\nadmin.listen = '{admin}'\n\
             check.listen = '{check}'\ncheck.token = 'a-token-of-the-test'",
            site.url("")
        );
        configure(directory.path(), &text);
    };
    configured([([127, 0, 0, 1], 0).into(); 3]);
    let server = Server::start(directory.path(), &["serve"]);
    let doctor = || {
        let output = server.run(directory.path(), &["doctor", "--offline"]);
        let report = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), report)
    };
    let (admin, check) = (server.admin.unwrap(), server.check.unwrap());
    configured([server.addr, admin, check]);
    let (code, report) = doctor();
    assert_eq!(code, Some(0), "{report}");
    for name in ["listen", "admin listen", "operation listen", "check listen"] {
        let served = format!("ok    {name}: robot-detection already serves on 127.0.0.1:");
        assert!(report.contains(&served), "{served}: {report}");
    }
    // Another program's port is not mistaken for one of the server's.
    configured([server.addr, admin, site.addr()]);
    let (code, report) = doctor();
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("FAIL  check listen: cannot"), "{report}");
}

#[test]
fn the_upstream_of_each_site_is_requested() {
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
fn each_server_of_a_site_is_requested() {
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
fn the_directory_of_a_heaven_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let settings = "server.listen = '127.0.0.1:0'\nheaven.directory = 'heaven'";
    configure(directory.path(), settings);
    let (is_there, text) = check(directory.path(), "heaven");
    let missing = "the directory heaven does not exist: create the directory";
    assert!(!is_there && text.contains(missing), "{text}");
    fs::create_dir(directory.path().join("heaven")).unwrap();
    let (is_there, text) = check(directory.path(), "heaven");
    assert!(is_there, "{text}");
}

#[test]
fn the_access_log_is_checked_but_not_created() {
    let directory = tempfile::tempdir().unwrap();
    let asked = |path: &str| {
        let settings = format!("server.listen = '127.0.0.1:0'\naccess_log.path = '{path}'");
        configure(directory.path(), &settings);
        checks(directory.path(), "access log").pop()
    };
    assert_eq!(asked(""), None);
    assert!(asked("-").unwrap().0);
    let (is_well, text) = asked("access.log").unwrap();
    assert!(is_well && text.contains("does not exist yet"), "{text}");
    assert!(!directory.path().join("access.log").exists());
    let (is_well, text) = asked("missing/access.log").unwrap();
    assert!(
        !is_well && text.contains("the directory missing does not exist"),
        "{text}"
    );
    fs::create_dir(directory.path().join("folder")).unwrap();
    let (is_well, text) = asked("folder").unwrap();
    assert!(!is_well && text.contains("cannot write folder"), "{text}");
    fs::write(directory.path().join("access.log"), "").unwrap();
    let (is_well, text) = asked("access.log").unwrap();
    assert!(is_well && text.contains("is writable"), "{text}");
}

#[test]
fn listen_and_upstream_flags_are_accepted_as_by_serve() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "server.listen = '192.0.2.1:80'");
    let upstream = TestServer::new(Reply::status(404));
    let (url, taken) = (upstream.url(""), TcpListener::bind("127.0.0.1:0").unwrap());
    let addr = taken.local_addr().unwrap().to_string();
    let flags = [
        "--offline",
        "--listen",
        &addr,
        "--upstream",
        &url,
        "--upstream",
        "http://127.0.0.1:1",
    ];
    let found = examine(directory.path(), &flags, "upstream");
    let marks: Vec<_> = found.iter().map(|(mark, _)| *mark).collect();
    assert_eq!(marks, ["ok", "FAIL"], "{found:?}");
    assert!(found[0].1.contains(&url), "{found:?}");
    let found = examine(directory.path(), &flags, "listen");
    assert!(
        matches!(&*found, [("FAIL", text)] if text.contains(&addr)),
        "{found:?}"
    );
    let free = ["--offline", "--listen", "127.0.0.1:0"];
    let found = examine(directory.path(), &free, "listen");
    assert!(matches!(&*found, [("ok", _)]), "{found:?}");
}

/// Starts a site with a start page and another page.
fn site_of_two_pages() -> TestServer {
    TestServer::with(|seen| match &*seen.path {
        "/" => Reply::typed(
            "text/html",
            "<title>Start</title><p>The start of it.<a href='/a'>a</a>",
        ),
        "/a" => Reply::typed("text/html", "<title>Apples</title><p>All about apples."),
        _ => Reply::status(404),
    })
}

/// Returns the only check with a name, with its mark.
fn told(directory: &Path, name: &str) -> (&'static str, String) {
    let mut found = examine(directory, &[], name);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

fn assert_told(directory: &Path, name: &str, mark: &str, words: &[&str]) {
    let (found, text) = told(directory, name);
    assert_eq!(found, mark, "{name}: {text}");
    for words in words {
        assert!(text.contains(words), "{name}: {words:?} is not in {text}");
    }
}

#[test]
fn without_a_site_robot_heaven_is_the_bundled_page() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "server.listen = '127.0.0.1:0'");
    assert_told(
        directory.path(),
        "heaven",
        "ok",
        &["/robot-heaven/", "is the bundled page"],
    );
    assert_told(
        directory.path(),
        "site robot",
        "ok",
        &["not configured", "site_robot.starting_points"],
    );
    configure(
        directory.path(),
        "server.listen = '127.0.0.1:0'\nheaven.serve = false",
    );
    assert_told(
        directory.path(),
        "heaven",
        "ok",
        &["heaven.serve = false", "upstream"],
    );
}

#[test]
fn a_heaven_in_the_database_and_its_site_robot_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let site = site_of_two_pages();
    let settings = |more: &str| {
        format!(
            "server.listen = '127.0.0.1:0'\nheaven.source = 'database'\nheaven.url = '{}'\n\
             site_robot.starting_points = '{}'\n{more}",
            site.url(""),
            site.url("/")
        )
    };
    configure(directory.path(), &settings(""));
    assert_told(
        directory.path(),
        "heaven",
        "warn",
        &["database", "no pages yet", "site-robot run"],
    );
    let words = [
        &*site.url("/"),
        "no login",
        "has never run",
        "only on request",
    ];
    assert_told(directory.path(), "site robot", "ok", &words);
    assert_told(
        directory.path(),
        "starting point",
        "ok",
        &[&site.url("/"), "200"],
    );

    succeed(directory.path(), &["site-robot", "run", "--delay", "0"]);
    let more = "site_robot.schedule = '30 3 * * *'\nsite_robot.login = 'bearer geheim'\nheaven.own_pages = false\nheaven.open_to = 'all'";
    configure(directory.path(), &settings(more));
    assert_told(
        directory.path(),
        "heaven",
        "ok",
        &["2 pages", "heaven.own_pages = false"],
    );
    let words = [
        "logs in with a bearer token",
        "run 1",
        "finished",
        "2 described resources",
        "the next run according to the schedule 30 3 * * *",
        "T03:30:00Z",
    ];
    assert_told(directory.path(), "site robot", "ok", &words);
    let report = succeed(directory.path(), &["doctor"]);
    assert!(!report.contains("geheim"), "{report}");
}

#[test]
fn a_starting_point_without_a_response_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let site = site_of_two_pages();
    let settings = format!(
        "server.listen = '127.0.0.1:0'\nsite_robot.starting_points = '{}'",
        site.url("/")
    );
    configure(directory.path(), &settings);
    site.set(Reply::status(503));
    assert_told(directory.path(), "starting point", "warn", &["503"]);
    site.set(Reply::redirect("https://login.example/"));
    assert_told(
        directory.path(),
        "starting point",
        "warn",
        &["https://login.example/"],
    );
    site.set(Reply::status(401));
    assert_told(
        directory.path(),
        "starting point",
        "warn",
        &["401", "site_robot.login"],
    );
    assert!(examine(directory.path(), &["--offline"], "starting point").is_empty());
    drop(site);
    let (mark, text) = told(directory.path(), "starting point");
    assert_eq!(mark, "FAIL", "{text}");
}

#[test]
fn pages_of_a_published_heaven_are_counted_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let site = site_of_two_pages();
    let settings = format!(
        "server.listen = '127.0.0.1:0'\nheaven.directory = 'heaven'\nheaven.url = '{}'\n\
         site_robot.starting_points = '{}'\nsite_robot.publish = 'heaven'",
        site.url(""),
        site.url("/")
    );
    configure(directory.path(), &settings);
    let heaven = directory.path().join("heaven");
    fs::create_dir(&heaven).unwrap();
    assert_told(
        directory.path(),
        "heaven",
        "warn",
        &[
            "served from heaven",
            "with no published pages yet",
            "site-robot run",
        ],
    );
    succeed(directory.path(), &["site-robot", "run", "--delay", "0"]);
    let words = [
        "served from heaven",
        "2 pages",
        "directly, because no filter_pattern matches this URL",
    ];
    assert_told(directory.path(), "heaven", "ok", &words);
    configure(
        directory.path(),
        &settings.replace(
            "site_robot.publish = 'heaven'",
            "site_robot.publish = 'elsewhere'",
        ),
    );
    assert_told(directory.path(), "heaven", "warn", &["elsewhere"]);
    configure(
        directory.path(),
        &settings.replace("heaven.directory = 'heaven'\n", ""),
    );
    assert_told(
        directory.path(),
        "heaven",
        "warn",
        &["is the bundled page", "heaven.directory"],
    );
}

#[test]
fn an_unreadable_heaven_fails() {
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        "server.listen = '127.0.0.1:0'\nheaven.directory = 'heaven'",
    );
    fs::write(directory.path().join("heaven"), "a file").unwrap();
    let (is_well, text) = check(directory.path(), "heaven");
    assert!(!is_well && text.contains("is not a directory"), "{text}");
    fs::remove_file(directory.path().join("heaven")).unwrap();
    let heaven = directory.path().join("heaven");
    fs::create_dir(&heaven).unwrap();
    fs::set_permissions(&heaven, fs::Permissions::from_mode(0o000)).unwrap();
    let found = check(directory.path(), "heaven");
    let is_root = fs::read_dir(&heaven).is_ok();
    fs::set_permissions(&heaven, fs::Permissions::from_mode(0o755)).unwrap();
    // Root can read every file.
    assert!(
        is_root || (!found.0 && found.1.contains("cannot read heaven")),
        "{found:?}"
    );
}

#[test]
fn each_site_has_its_own_heaven_and_site_robot() {
    let directory = tempfile::tempdir().unwrap();
    let site = site_of_two_pages();
    let settings = format!(
        "server.listen = '127.0.0.1:0'\n\
         [[site]]\nname = 'shop'\nhosts = ['shop.example']\nupstream = '{0}'\n\
         site_robot.starting_points = 'http://shop.example/'\n\
         [[site]]\nname = 'news'\nhosts = ['news.example']\nupstream = '{0}'\nheaven.serve = false",
        site.url("")
    );
    configure(directory.path(), &settings);
    assert_told(
        directory.path(),
        "heaven of shop",
        "warn",
        &["is the bundled page"],
    );
    assert_told(
        directory.path(),
        "heaven of news",
        "ok",
        &["heaven.serve = false"],
    );
    assert_told(
        directory.path(),
        "site robot of shop",
        "ok",
        &["http://shop.example/", "has never run"],
    );
    // The request goes to the upstream instead of the site's public host.
    assert_told(directory.path(), "starting point of shop", "ok", &["200"]);
    assert!(examine(directory.path(), &[], "site robot of news").is_empty());
    assert!(examine(directory.path(), &[], "site robot").is_empty());
}

//! Pages built by scripts are rendered by a browser that has access to nothing else.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::support::{
    http::{ReceivedRequest, Reply, TestServer},
    program,
};

/// User of the program if the tests run as root, since Chromium has no sandbox as root.
const NOBODY: u32 = 65_534;

/// A page without text, whose script creates the text from requested data.
const APP: &str = "<!doctype html><title>App</title><meta name=description content=App>\
    <noscript>You need scripts.</noscript><div id=root></div><script src=/app.js></script>";

const SCRIPT: &str = "
    fetch('/data.json').then(it => it.json()).then(data => setTimeout(() => {
        document.title = 'Made ' + data.name;
        document.getElementById('root').innerHTML =
            '<h1>Made</h1><p>Words of ' + data.name + '.</p><a href=/made>made</a>';
    }, 50));";

fn html(text: impl Into<Vec<u8>>) -> Reply {
    Reply::typed("text/html", text)
}

/// Serves a page built by scripts, a page with text, and their resources.
fn reply(seen: &ReceivedRequest) -> Reply {
    match seen.path.as_str() {
        "/" => html(APP),
        "/app.js" => Reply::typed("text/javascript", SCRIPT),
        "/data.json" => Reply::typed("application/json", "{\"name\": \"salt\"}"),
        "/made" => html(
            "<title>Plain</title><p id=a>Plain words.</p><script>a.textContent='Changed.'</script>",
        ),
        _ => Reply::status(404),
    }
}

/// Pages that never end or use too many resources, and one ordinary page.
const GREEDY: [(&str, &str); 9] = [
    ("/spin", "while (true) {}"),
    (
        "/grow",
        "const all = []; while (true) { all.push(new Array(1e6).fill(all.length)); }",
    ),
    (
        "/tick",
        "setInterval(() => document.body.append(new Date().toString()), 20)",
    ),
    (
        "/open",
        "for (let i = 0; i < 50; i++) { window.open('/window' + i); }",
    ),
    (
        "/load",
        "const a = document.createElement('a'); a.download = 'x'; a.href = 'data:,x';
             for (let i = 0; i < 50; i++) { a.click(); }",
    ),
    (
        "/ask",
        "alert('hello'); document.body.textContent = 'Asked ' + confirm('a')",
    ),
    (
        "/hosts",
        "for (let i = 0; i < 10000; i++) { fetch('http://h' + i + '.example/').catch(() => {}); }",
    ),
    (
        "/leave",
        "location = 'http://www.example.com/'; document.body.textContent = 'Stayed'",
    ),
    ("/good", "document.body.textContent = 'Good words'"),
];

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Returns the program's command as a user that may render, with its own temporary directory.
pub(crate) fn command(directory: &Path) -> Command {
    let temporary = directory.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let own = program::command(directory);
    let mut command = Command::new(own.get_program());
    if is_root() {
        for path in [directory, &temporary] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let id = NOBODY.to_string();
        command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]);
        command.arg(own.get_program());
    }
    for (name, _) in own.get_envs() {
        command.env_remove(name);
    }
    command
        .current_dir(directory)
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null());
    command
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    command(directory).args(arguments).output().unwrap()
}

fn settings(directory: &Path, start: &str, more: &str) {
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\n[site_robot]\n\
         starting_points = '{start}'\n{more}\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Result of a run.
struct RunResult {
    directory: tempfile::TempDir,
    err: String,
    summary: Value,
}

impl RunResult {
    fn of(server: &TestServer, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        settings(directory.path(), &server.url("/"), more);
        let output = run(directory.path(), &["site-robot", "run", "--json"]);
        let err = String::from_utf8(output.stderr).unwrap();
        Self {
            summary: serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}")),
            directory,
            err,
        }
    }

    fn soif(&self) -> String {
        let output = run(self.directory.path(), &["site-robot", "export"]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the reason why a page has no text.
    fn why(&self, path: &str) -> &str {
        let mut without = self.summary["without_words"].as_array().unwrap().iter();
        let found = without.find(|it| it["url"].as_str().unwrap().ends_with(path));
        found.map_or("", |it| it["reason"].as_str().unwrap())
    }

    /// Returns `true` if nothing is left of the browser.
    fn is_clean(&self) -> bool {
        let left = fs::read_dir(self.directory.path().join("tmp")).unwrap();
        left.count() == 0
    }
}

#[test]
fn a_page_without_text_is_rendered_with_its_scripts() {
    let server = TestServer::with(reply);
    let ran = RunResult::of(&server, "render = 'empty'");
    let soif = ran.soif();
    for text in ["Made salt", "Words of salt.", "/made\n", "Plain words."] {
        assert!(soif.contains(text), "{text}: {soif}{}", ran.err);
    }
    for text in ["You need scripts", "Changed."] {
        assert!(!soif.contains(text), "{soif}");
    }
    assert!(ran.is_clean());
    let asked = server.seen().iter().filter(|it| it.path == "/").count();
    assert_eq!(asked, 1, "the page itself is requested once");
}

#[test]
fn all_pages_can_be_rendered_and_none_are_by_default() {
    let server = TestServer::with(reply);
    let all = RunResult::of(&server, "render = 'always'").soif();
    assert!(
        all.contains("Words of salt.") && all.contains("Changed."),
        "{all}"
    );
    let server = TestServer::with(|seen| match seen.path.as_str() {
        "/" => html("<title>App</title><div id=root></div><script src=/app.js></script>"),
        _ => reply(seen),
    });
    let none = RunResult::of(&server, "");
    assert!(none.soif().is_empty() && none.why("/").contains("site_robot.render"));
    assert!(server.seen().iter().all(|it| it.path != "/app.js"));
}

#[test]
fn a_rendered_page_is_rendered_again_in_the_next_run() {
    let server = TestServer::with(reply);
    let ran = RunResult::of(&server, "render = 'empty'");
    server.answer(|seen| match seen.path.as_str() {
        "/data.json" => Reply::typed("application/json", "{\"name\": \"pepper\"}"),
        _ => reply(seen).with("ETag", "\"a\""),
    });
    run(ran.directory.path(), &["site-robot", "run"]);
    assert!(ran.soif().contains("Words of pepper."), "{}", ran.soif());
}

#[test]
fn a_rendered_page_reaches_only_what_its_scripts_read_on_the_site() {
    let other = TestServer::with(|_| html("other"));
    let away = other.url("/away");
    let socket = away.replace("http:", "ws:");
    let script = format!(
        "<div id=root></div><script>
        const quiet = it => it.catch(() => {{}});
        quiet(fetch('/post', {{ method: 'POST', body: 'a' }}));
        quiet(fetch('/put', {{ method: 'PUT' }}));
        quiet(fetch('/posts/7/delete'));
        quiet(fetch('{away}', {{ mode: 'no-cors' }}));
        navigator.sendBeacon('/beacon', 'a');
        new Image().src = '{away}';
        try {{ new WebSocket('{socket}'); }} catch (e) {{}}
        try {{ new Worker(URL.createObjectURL(new Blob([\"fetch('{away}?w')\"]))); }} catch (e) {{}}
        const frame = document.createElement('iframe');
        frame.src = '{away}';
        document.body.append(frame);
        const form = document.createElement('form');
        form.method = 'POST'; form.action = '/form'; document.body.append(form); form.submit();
        quiet(fetch('/read.json').then(it => it.text()).then(it => root.textContent = it));
        </script>"
    );
    let server = TestServer::with(move |seen| match seen.path.as_str() {
        "/" => html(script.clone()),
        "/read.json" => Reply::typed("application/json", "words that were read"),
        _ => Reply::status(404),
    });
    let ran = RunResult::of(&server, "render = 'empty'");
    assert!(ran.soif().contains("words that were read"), "{}", ran.err);
    assert!(other.seen().is_empty(), "{:?}", other.seen());
    let mut asked: Vec<_> = server.seen().into_iter().map(|seen| seen.path).collect();
    asked.sort();
    assert_eq!(asked, ["/", "/read.json", "/robots.txt"]);
}

#[test]
fn an_endless_or_greedy_page_is_aborted_and_the_others_are_read() {
    let server = TestServer::with(|seen| {
        if seen.path == "/" {
            let links = GREEDY.map(|(path, _)| format!("<a href={path}>x</a>"));
            return html(format!("<title>Start</title>Words {}", links.concat()));
        }
        let script = GREEDY.iter().find(|(path, _)| *path == seen.path);
        script.map_or(Reply::status(404), |(_, script)| {
            html(format!("<title>A</title><body><script>{script}</script>"))
        })
    });
    let ran = RunResult::of(&server, "render = 'empty'");
    let soif = ran.soif();
    for text in ["/tick\n", "Asked false", "Good words", "Stayed"] {
        assert!(soif.contains(text), "{text}: {soif}{}", ran.err);
    }
    assert!(ran.why("/spin").contains("was aborted"), "{}", ran.summary);
    assert!(
        ran.why("/grow").contains("was not rendered"),
        "{}",
        ran.summary
    );
    assert!(ran.why("/hosts").contains("500 files"), "{}", ran.summary);
    assert!(
        server
            .seen()
            .iter()
            .all(|it| !it.path.starts_with("/window"))
    );
    assert!(ran.is_clean());
}

#[test]
fn a_page_has_no_access_to_the_state_of_the_one_before() {
    // More than the browser renders concurrently, so that tabs are reused.
    const PAGES: usize = 24;
    let script = "<title>A</title><body><script>
        const path = location.pathname;
        const found = [localStorage.a, sessionStorage.a, document.cookie, window.name, history.length];
        localStorage.a = sessionStorage.a = document.cookie = window.name = 'kept';
        history.pushState(null, '', '?pushed');
        setInterval(() => fetch('/late' + path).catch(() => {}), 5000);
        const opened = indexedDB.open('a');
        opened.onupgradeneeded = () => found.push('new');
        opened.onsuccess = () => document.body.append(path + ' found ' + found.join() + '.');
        addEventListener('unload', () => { location = '/elsewhere'; });
        </script>";
    let server = TestServer::with(move |seen| {
        if seen.path != "/" {
            return html(script);
        }
        let links = (0..PAGES).map(|number| format!("<a href=/p{number}>x</a>"));
        let links = links.collect::<Vec<_>>().concat();
        html(format!("<title>Start</title>Words {links}"))
    });
    let ran = RunResult::of(&server, "render = 'empty'");
    let soif = ran.soif();
    let found: Vec<_> = soif
        .lines()
        .filter(|line| line.starts_with("full-text{") && line.contains(" found "))
        .collect();
    assert_eq!(found.len(), PAGES, "{soif}");
    assert!(
        found.iter().all(|one| one.ends_with(" found ,,,,2,new.")),
        "{found:#?}"
    );
    assert!(server.seen().iter().all(|it| it.path != "/elsewhere"));
    assert!(ran.is_clean());
}

#[test]
fn a_browser_gets_nothing_of_ours_and_keeps_its_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let fake = path.join("browser");
    let script = format!(
        "#!/bin/sh\n{{ env; echo \"$@\"; }} > {}/seen\n",
        path.display()
    );
    fs::write(&fake, script).unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let server = TestServer::with(reply);
    let more = format!(
        "render = 'empty'\nbrowser = '{}'\nlogin = 'bearer s3cret'",
        fake.display()
    );
    settings(path, &server.url("/"), &more);
    let output = run(path, &["site-robot", "run"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("the browser did not start"), "{told}");
    let seen = fs::read_to_string(path.join("seen")).unwrap();
    assert!(
        !seen.contains("s3cret") && !seen.contains("no-sandbox"),
        "{seen}"
    );
    let home = seen
        .lines()
        .find_map(|line| line.strip_prefix("HOME="))
        .unwrap();
    assert!(home.contains("robot-detection-browser-") && !Path::new(home).exists());
    let names: Vec<_> = seen
        .lines()
        .filter_map(|it| Some(it.split_once('=')?.0))
        .collect();
    assert!(
        !names.contains(&"USER") && !names.contains(&"CARGO_MANIFEST_DIR"),
        "{names:?}"
    );
}

#[test]
fn where_pages_cannot_be_rendered_the_reason_and_a_remedy_are_reported() {
    let server = TestServer::with(reply);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    settings(
        path,
        &server.url("/"),
        "render = 'empty'\nbrowser = '/nowhere/chromium'",
    );
    let told = |arguments: &[&str]| {
        let output = program::run(path, arguments);
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    for arguments in [&["doctor", "--offline"][..], &["site-robot", "run"]] {
        let told = told(arguments);
        assert!(
            told.contains("browser /nowhere/chromium does not exist"),
            "{told}"
        );
    }
    settings(path, &server.url("/"), "render = 'empty'");
    if is_root() {
        let told = told(&["site-robot", "run"]);
        assert!(
            told.contains("run robot-detection as a separate user"),
            "{told}"
        );
    }
    let output = run(path, &["doctor", "--offline"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("the rendering browser can be started with its sandbox"),
        "{told}"
    );
}

#[test]
fn doctor_warns_of_a_service_sandbox_that_blocks_the_browser() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let systemctl = path.join("systemctl");
    for (render, closed, is_told) in [
        ("empty", "yes", true),
        ("empty", "no", false),
        ("never", "yes", false),
    ] {
        settings(path, "http://127.0.0.1:1/", &format!("render = '{render}'"));
        let script = "#!/bin/sh\n[ \"$4\" = robot-detection.service ] && echo";
        fs::write(&systemctl, format!("{script} {closed}\n")).unwrap();
        fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
        let mut doctor = program::command(path);
        doctor.env("PATH", format!("{}:/usr/bin:/bin", path.display()));
        let told = doctor
            .args(["doctor", "--offline"])
            .output()
            .unwrap()
            .stdout;
        let told = String::from_utf8(told).unwrap();
        let drop_in = "/etc/systemd/system/robot-detection.service.d/render.conf";
        assert_eq!(told.contains(drop_in), is_told, "{render} {closed}: {told}");
    }
}

//! The examples, started as a reader starts them.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Once,
    time::Duration,
};

use robot_detection::{clock::Clock, store::Store};

use crate::{
    book::DocumentedRequest,
    support::program::{eventually, request},
};

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A running example; stops when dropped.
struct Example {
    child: Child,
    /// Kept open, because a program that cannot print exits.
    _output: Box<dyn BufRead>,
    address: String,
}

impl Example {
    /// Starts an example on a free port and waits until it prints its address.
    fn start(name: &str) -> Self {
        let mut child = Command::new(program(name))
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        Self {
            address: address.unwrap_or_else(|| panic!("{line:?}")).to_owned(),
            _output: Box::new(stdout),
            child,
        }
    }

    /// Sends a request; returns the response, head and body.
    fn send(&self, request: &str, user_agent: &str, rest: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\n\
             user-agent: {user_agent}\r\n{rest}"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn get(&self, path: &str, user_agent: &str) -> String {
        self.send(&format!("GET {path}"), user_agent, "\r\n")
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of an example's program; builds the examples if only this test is run.
fn program(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    BUILT.call_once(|| {
        let is_release = profile.ends_with("release");
        let mut cargo = Command::new(env!("CARGO"));
        // Cargo's variables for a test of the package would make build scripts run again.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                cargo.env_remove(&*name);
            }
        }
        let built = cargo
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--examples"])
            .args(is_release.then_some("--release"))
            // The same options as in `tests/run`, to avoid another full build.
            .arg("--workspace")
            .args(cfg!(feature = "acme").then_some("--features=acme"))
            .arg("--target-dir")
            .arg(profile.parent().unwrap())
            .status();
        assert!(built.unwrap().success());
    });
    program
}

fn has_line(response: &str, line: &str) -> bool {
    response
        .lines()
        .any(|found| found.eq_ignore_ascii_case(line))
}

#[test]
fn the_example_is_the_readmes_application() {
    let example = include_str!("../../examples/axum_app.rs");
    let (_, code) = example.split_once("\n\n").unwrap();
    let its_own = "    let address = std::env::args().nth(1).ok_or(\"missing address\")?;\n";
    assert!(code.contains(its_own));
    let code = code.replace(its_own, "");
    let code = code.replace("bind(address)", "bind(\"127.0.0.1:3000\")");
    for page in ["README.md", "docs/src/layer.md"] {
        let text = fs::read_to_string(format!("{}/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(text.contains(&code), "{page}: {code}");
    }
}

/// Starts README's application; returns it and the path of its password file.
fn start_application(directory: &Path) -> (Example, String) {
    let mut command = Command::new(program("axum_app"));
    let command = command.arg("127.0.0.1:0").current_dir(directory);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut printed = |name: &str, end| {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let text = line
            .strip_prefix(name)
            .and_then(|rest| rest.split(end).next());
        text.unwrap_or_else(|| panic!("{line:?}")).to_owned()
    };
    let address = printed("console: http://", '/');
    let file = printed("password: in ", ';');
    let example = Example {
        child,
        _output: Box::new(output),
        address,
    };
    (example, file)
}

/// Logs in to the console; returns the overview.
fn overview(example: &Example, password: &str) -> String {
    let form = format!("password={password}");
    let lines = "origin: http://site.example\r\ncontent-type: application/x-www-form-urlencoded";
    let rest = format!("{lines}\r\ncontent-length: {}\r\n\r\n{form}", form.len());
    let entered = example.send("POST /robot-detection/admin/login", FIREFOX, &rest);
    let lines = entered.lines();
    let cookies = lines.filter_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
    let cookies = cookies.collect::<Vec<_>>().join("; ");
    let rest = format!("cookie: {cookies}\r\n\r\n");
    example.send("GET /robot-detection/admin/overview", FIREFOX, &rest)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_application_counts_serves_its_console_and_stops_cleanly() {
    let directory = tempfile::tempdir().unwrap();
    let (mut example, file) = start_application(directory.path());
    let address = example.address.parse().unwrap();
    let test = "the_readmes_application_counts_serves_its_console_and_stops_cleanly";
    for shown in DocumentedRequest::of_readme("127.0.0.1:3000", test) {
        let user_agent = [("User-Agent", &*shown.user_agent)];
        shown.compare(&request(address, "GET", &shown.path, &user_agent));
    }
    for _ in 0..7 {
        let person = example.get("/members-only-stuff/a", FIREFOX);
        assert!(person.ends_with("for members"), "{person}");
    }
    let password = fs::read_to_string(file).unwrap();
    let overview = overview(&example, password.trim());
    assert!(overview.starts_with("HTTP/1.1 200 "), "{overview}");

    let process = example.child.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &process]).status();
    assert!(interrupted.unwrap().success());
    let mut status = None;
    eventually("the application stops", || {
        status = example.child.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success(), "{status:?}");
    let database = directory.path().join("robot-detection.db");
    let database = format!("sqlite://{}", database.display());
    let store = Store::connect(&database).await.unwrap();
    let now_ms = Clock::system().now_ms();
    let minutes = now_ms / 60_000 - 5..now_ms / 60_000 + 1;
    let sums = store.traffic().read(minutes, now_ms).await.unwrap();
    let requests: u64 = sums.iter().map(|sum| sum.count.requests).sum();
    assert_eq!(requests, 8);
}

#[test]
fn the_layer_example_redirects_and_names_robots() {
    let example = Example::start("axum_layer");
    let robot = example.get("/members-only-stuff/", GOOGLEBOT);
    assert!(robot.starts_with("HTTP/1.1 302 "), "{robot}");
    assert!(has_line(&robot, "location: /robot-heaven/"), "{robot}");
    let heaven = example.get("/robot-heaven/", GOOGLEBOT);
    assert!(heaven.ends_with("Welcome, googlebot.\n"), "{heaven}");
    let member = example.get("/members-only-stuff/", FIREFOX);
    assert!(member.ends_with("For members.\n"), "{member}");
    let person = example.get("/robot-heaven/", FIREFOX);
    assert!(
        person.ends_with("Summaries of the members' pages, for robots.\n"),
        "{person}"
    );
}

#[test]
fn axum_application_excludes_robots_and_admits_members() {
    let example = Example::start("axum_members");
    for path in ["/members-only-stuff", "/members-only-stuff/lighthouses"] {
        let robot = example.get(path, GOOGLEBOT);
        assert!(robot.starts_with("HTTP/1.1 302 "), "{robot}");
        assert!(has_line(&robot, "location: /robot-heaven/"), "{robot}");
        assert!(has_line(&robot, "vary: User-Agent"), "{robot}");
        assert!(has_line(&robot, "cache-control: no-store"), "{robot}");
    }
    let stranger = example.get("/members-only-stuff/lighthouses", FIREFOX);
    assert!(stranger.starts_with("HTTP/1.1 303 "), "{stranger}");
    assert!(has_line(&stranger, "location: /login"), "{stranger}");

    let form = "content-length: 27\r\n\r\nname=member&password=secret";
    let wrong = form.replace("secret", "secreT");
    let refused = example.send("POST /login", FIREFOX, &wrong);
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let welcome = example.send("POST /login", FIREFOX, form);
    let cookie = welcome
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next())
        .unwrap_or_else(|| panic!("{welcome}"));
    let cookie = format!("cookie: {cookie}\r\n\r\n");
    let page = "GET /members-only-stuff/lighthouses";
    let member = example.send(page, FIREFOX, &cookie);
    assert!(member.starts_with("HTTP/1.1 200 "), "{member}");
    assert!(
        member.contains("Lighthouses &amp; their keepers"),
        "{member}"
    );
    assert!(has_line(&member, "vary: User-Agent"), "{member}");
}

#[test]
fn axum_application_shows_the_admin_page_only_to_its_owner() {
    let example = Example::start("axum_members");
    let admin = "/robot-detection/admin/overview";
    let stranger = example.get(admin, FIREFOX);
    assert!(stranger.starts_with("HTTP/1.1 303 "), "{stranger}");
    assert!(has_line(&stranger, "location: /login"), "{stranger}");
    for (name, length, status) in [("member", 27, 403), ("owner", 26, 200)] {
        let form = format!("content-length: {length}\r\n\r\nname={name}&password=secret");
        let welcome = example.send("POST /login", FIREFOX, &form);
        let cookie = welcome
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
        let cookie = format!("cookie: {}\r\n\r\n", cookie.unwrap());
        let page = example.send(&format!("GET {admin}"), FIREFOX, &cookie);
        assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{page}");
    }
}

#[test]
fn axum_application_fills_heaven_from_its_data() {
    let example = Example::start("axum_members");
    let heaven = example.get("/robot-heaven/", GOOGLEBOT);
    assert!(heaven.starts_with("HTTP/1.1 200 "), "{heaven}");
    assert!(heaven.contains("Welcome, "), "{heaven}");
    assert!(heaven.contains("/robot-heaven/bridges"), "{heaven}");
    let page = example.get("/robot-heaven/bridges", GOOGLEBOT);
    assert!(page.contains("with photographs"), "{page}");
    assert!(!page.contains("wrong river"), "{page}");
    let home = example.get("/", GOOGLEBOT);
    assert!(home.starts_with("HTTP/1.1 200 "), "{home}");
}

#[test]
fn plain_service_redirects_robots() {
    let example = Example::start("tower_hyper");
    let robot = example.get("/members-only-stuff/a", GOOGLEBOT);
    assert!(robot.starts_with("HTTP/1.1 302 "), "{robot}");
    assert!(has_line(&robot, "location: /robot-heaven/"), "{robot}");
    let person = example.get("/members-only-stuff/a", FIREFOX);
    assert!(person.starts_with("HTTP/1.1 200 "), "{person}");
    assert!(person.ends_with("A page for somebody.\n"), "{person}");
    let heaven = example.get("/robot-heaven/", GOOGLEBOT);
    assert!(heaven.starts_with("HTTP/1.1 200 "), "{heaven}");
    let post = example.send("POST /members-only-stuff/a", GOOGLEBOT, "\r\n");
    assert!(post.starts_with("HTTP/1.1 200 "), "{post}");
}

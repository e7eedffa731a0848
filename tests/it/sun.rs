//! Sun's robot, key by key: what each of the 31 keys of robot.conf does here.

use std::{
    collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration,
};

use robot_detection::site_robot::{OnCompletion, ROBOT_KEYS, RobotConf};

use crate::support::{
    http::{Reply, Seen, TestServer},
    program,
};

/// What came of a run with some keys.
struct Ran {
    directory: tempfile::TempDir,
    server: TestServer,
    err: String,
}

impl Ran {
    fn seen(&self, path: &str) -> Option<Seen> {
        self.server.seen().into_iter().find(|it| it.path == path)
    }

    fn sent(&self, header: &str) -> Option<String> {
        self.seen("/")?.header(header).map(str::to_owned)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the descriptions as SOIF.
    fn soif(&self) -> String {
        let arguments = ["--database", "sqlite://robot.db", "site-robot", "export"];
        program::succeed(self.path(), &arguments)
    }
}

/// Pages at three depths, a document, a large page, and one that robots.txt closes.
fn reply(seen: &Seen) -> Reply {
    let page = |title: &str, rest: &str| {
        Reply::typed(
            "text/html",
            format!("<title>{title}</title><p>Words of {title}.</p>{rest}"),
        )
    };
    match seen.path.as_str() {
        "/" => page(
            "Start",
            "<a href=/one>1</a><a href=/doc>d</a><a href=/large>l</a><a href=/shut>s</a>",
        ),
        "/one" => page("One", "<a href=/two>2</a>"),
        "/two" => page("Two", ""),
        "/shut" => page("Shut", ""),
        "/large" => page("Large", &"<p>more words</p>".repeat(5_000)),
        "/doc" => Reply::typed("application/pdf", "a document"),
        "/robots.txt" => Reply::text("User-agent: *\nDisallow: /shut\n"),
        _ => Reply::status(404),
    }
}

/// The same of a site that is asked for by its whole URL.
fn as_proxy(seen: &Seen) -> Reply {
    let mut seen = seen.clone();
    seen.path = seen.path.replace("http://site.example", "");
    reply(&seen)
}

/// Visits a site with these keys, and more settings of `[site_robot]`.
fn visit_at(start: Option<&str>, server: TestServer, keys: &[&str], more: &str) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("robot.conf"), keys.join("\n")).unwrap();
    // What is not told where a program is.
    for (name, script) in [
        (
            "mine",
            "echo \"<title>By $0 in $TMPDIR</title><p>Words.</p>\"",
        ),
        ("slow", "sleep 1000"),
    ] {
        let file = path.join(name);
        fs::write(&file, format!("#!/bin/sh\ncat > /dev/null\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let start = start.map_or_else(|| server.url("/"), str::to_owned);
    let text = format!(
        "web_robots_db = ''\n[site_robot]\nstarting_points = '{start}'\nrobot_conf = 'robot.conf'\n{more}\n"
    );
    fs::write(path.join("robot-detection.toml"), text).unwrap();
    let arguments = ["--database", "sqlite://robot.db", "site-robot", "run"];
    let output = program::run(path, &arguments);
    let err = String::from_utf8(output.stderr).unwrap();
    Ran {
        directory,
        server,
        err,
    }
}

fn visit(keys: &[&str]) -> Ran {
    visit_at(None, TestServer::with(reply), keys, "")
}

fn convert(program: &str, keys: &[&str]) -> Ran {
    let more = format!("converters = ['application/pdf={program}']");
    let mut all = keys.to_vec();
    all.push("bindir=.");
    visit_at(None, TestServer::with(reply), &all, &more)
}

fn conf(line: &str) -> RobotConf {
    RobotConf::parse("robot.conf", line).unwrap()
}

/// Returns exit code and output of `site-robot check` for a line.
fn check(line: &str) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robot.conf"), line).unwrap();
    let output = program::run(directory.path(), &["site-robot", "check", "robot.conf"]);
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

/// A row: the key, and whether it does what it says.
type Row = (&'static str, fn() -> bool);

const ROWS: &[Row] = &[
    ("auto-proxy", || {
        let (proxy, site) = (TestServer::with(as_proxy), "http://site.example/");
        let line = format!("auto-proxy={}", proxy.url(""));
        let ran = visit_at(Some(site), proxy, &[&line], "");
        ran.server
            .seen()
            .iter()
            .any(|it| it.path == "http://site.example/one")
    }),
    ("bindir", || convert("mine", &[]).soif().contains("mine in")),
    ("cmd-hook", || {
        visit(&["cmd-hook=touch hooked"])
            .path()
            .join("hooked")
            .exists()
    }),
    ("command-port", || is_refused("command-port=21445")),
    ("connect-timeout", || {
        conf("command-timeout=7").connect_timeout == Duration::from_secs(7)
    }),
    ("convert-timeout", || {
        !convert("slow", &["convert-timeout=1"])
            .soif()
            .contains("/doc\n")
    }),
    ("depth", || {
        let ran = visit_at(None, TestServer::with(reply), &["depth=1"], "");
        ran.seen("/one").is_some() && ran.seen("/two").is_none()
    }),
    ("email", || {
        visit(&["email=me@h.example"]).sent("from").as_deref() == Some("me@h.example")
    }),
    ("enable-ip", || {
        let told = |line| visit(&[line]).soif().contains("127.0.0.1\n");
        told("enable-ip=true") && !told("enable-ip=false")
    }),
    ("enable-rdm-probe", || {
        let server = TestServer::with(|seen| match seen.path.as_str() {
            "/rd.soif" => {
                let host = seen.header("host").unwrap();
                let (mine, others) = (format!("http://{host}/far"), "http://other.example/");
                let object = |url: &str| format!("@DOCUMENT {{ {url}\ntitle{{6}}:\tTold A\n}}\n");
                Reply::text(object(&mine) + &object(others))
            }
            _ => reply(seen),
        });
        let ran = visit_at(None, server, &["enable-rdm-probe=true"], "");
        let soif = ran.soif();
        soif.contains("/far") && !soif.contains("other.example") && ran.seen("/one").is_none()
    }),
    ("enable-robots-txt", || {
        let ran = visit(&["enable-robots-txt=false"]);
        ran.seen("/shut").is_some() && ran.seen("/robots.txt").is_none()
    }),
    ("engine-concurrent", || {
        conf("engine-concurrent=3").engine_concurrent == 3
    }),
    ("enumeration-filter", || {
        visit_by("enumeration").seen("/one").is_none()
    }),
    ("generation-filter", || {
        let soif = visit_by("generation").soif();
        soif.contains("Two") && !soif.contains("Start")
    }),
    ("index-after-ngenerated", || {
        conf("index-after-ngenerated=3").index_after == Duration::from_mins(3)
    }),
    ("loglevel", || {
        let told = |line| visit(&[line]).err;
        let (one, three) = (told("loglevel=1"), told("loglevel=3"));
        one.contains("described") && !one.contains("/shut") && three.contains("/shut")
    }),
    ("max-connections", || {
        conf("max-connections=5").max_connections == 5
    }),
    ("max-filesize-kb", || {
        !visit(&["max-filesize-kb=1"]).soif().contains("/large\n")
    }),
    ("max-memory-per-url", || {
        // No page fits, and all of them wait where nothing can be written: they are read all the same.
        let ran = visit(&["max-memory=1", "tmpdir=/nowhere", "loglevel=1"]);
        ran.soif().contains("/large")
            && ran.err.contains("a page waits in memory")
            && !visit(&["max-memory=1", "loglevel=1"])
                .err
                .contains("waits in memory")
    }),
    ("max-working", || conf("max-working=9").max_working == 9),
    ("onCompletion", || {
        conf("oncompletion=quit").on_completion == OnCompletion::Quit
    }),
    ("password", || {
        visit(&["password=open"]).sent("authorization").as_deref()
            == Some("Basic YW5vbnltb3VzOm9wZW4=")
    }),
    ("referer", || {
        visit(&["referer=http://h.example/"])
            .sent("referer")
            .as_deref()
            == Some("http://h.example/")
    }),
    ("remote-access", || {
        is_refused("remote-access=true") && check("remote-access=false").0 == 0
    }),
    ("robot-state-dir", || {
        let directory = tempfile::tempdir().unwrap();
        let (path, server) = (directory.path(), TestServer::with(reply));
        fs::write(path.join("robot.conf"), "robot-state-dir=\"state\"").unwrap();
        fs::create_dir(path.join("state")).unwrap();
        let text = "web_robots_db = ''\nsite_robot.robot_conf = 'robot.conf'";
        fs::write(path.join("robot-detection.toml"), text).unwrap();
        program::succeed(path, &["site-robot", "run", &server.url("/")]);
        path.join("state/robot-detection.db").exists() && !path.join("robot-detection.db").exists()
    }),
    ("server-delay", || {
        conf("server-delay=0.5").server_delay == Some(Duration::from_millis(500))
    }),
    ("site-max-connections", || {
        conf("site-max-connections=4").site_max_connections == 4
    }),
    ("smart-host-heuristics", || {
        conf("smart-host-heuristics=true").smart_host_heuristics
    }),
    ("tmpdir", || {
        convert("mine", &["tmpdir=/var/tmp"])
            .soif()
            .contains("in /var/tmp")
    }),
    ("user-agent", || {
        visit(&["user-agent=ours/1"])
            .sent("user-agent")
            .is_some_and(|it| it.starts_with("ours/1"))
    }),
    ("username", || {
        let sent = visit(&["username=me", "password=open"]).sent("authorization");
        sent.as_deref() == Some("Basic bWU6b3Blbg==")
    }),
];

/// Runs with a filter of our own: the first takes no links, the second describes one page.
fn visit_by(stage: &str) -> Ran {
    let filters = "<Filter name=\"enumeration\">\nMetaData fn=filter-by-exact src=path deny=/\n</Filter>\n\
        <Filter name=\"generation\">\nMetaData fn=filter-by-prefix src=path allow=/two\n\
        Generate fn=extract-html-text\n</Filter>\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("filter.conf");
    fs::write(&path, filters).unwrap();
    let more = format!("filter_conf = '{}'", path.display());
    let key = format!("{stage}-filter={stage}");
    visit_at(None, TestServer::with(reply), &[&key], &more)
}

fn is_refused(line: &str) -> bool {
    let (code, told) = check(line);
    code == 1 && told.contains("use the API")
}

#[test]
fn each_key_of_robot_conf_does_what_it_says() {
    let rows: BTreeSet<&str> = ROWS.iter().map(|(key, _)| *key).collect();
    let all: BTreeSet<&str> = ROBOT_KEYS.iter().map(|key| key.name).collect();
    assert_eq!(rows, all);
    let failed: Vec<_> = ROWS
        .iter()
        .filter(|(_, does)| !does())
        .map(|(key, _)| key)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    let soif = visit(&[]).soif();
    assert!(
        soif.contains("/one\n") && soif.contains("/large\n"),
        "{soif}"
    );
}

#[test]
fn one_host_s_robots_txt_is_obeyed_always_or_never() {
    let ran = |line: &str, more: &str| visit_at(None, TestServer::with(reply), &[line], more);
    let shut = |line, more| ran(line, more).seen("/shut").is_some();
    let (never, always) = (
        "robots_txt_of = '127.0.0.1=never'",
        "robots_txt_of = '127.0.0.1=always'",
    );
    assert!(shut("enable-robots-txt=true", never));
    assert!(!shut("enable-robots-txt=false", always));
    assert!(!shut(
        "enable-robots-txt=true",
        "robots_txt_of = '127.0.0.1=inherit'"
    ));
}

#[test]
fn sitemaps_as_text_stand_in_an_index_and_pages_do_not() {
    let server = TestServer::with(|seen| {
        let at = |path: &str| format!("http://{}{path}", seen.header("host").unwrap());
        match seen.path.as_str() {
            "/robots.txt" => Reply::text(format!("Sitemap: {}\n", at("/maps/index.xml"))),
            "/maps/index.xml" => Reply::typed(
                "application/xml",
                format!(
                    "<sitemapindex><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap>\
                     </sitemapindex>",
                    at("/maps/pages.txt"),
                    at("/shut"),
                ),
            ),
            "/maps/pages.txt" => Reply::text(at("/docs/hidden")),
            "/docs/" | "/docs/hidden" | "/shut" => {
                Reply::typed("text/html", format!("<title>{}</title>Words.", seen.path))
            }
            _ => Reply::status(404),
        }
    });
    let start = server.url("/docs/");
    let below = "only_below = '/docs/'";
    let soif = visit_at(Some(&start), TestServer::with(reply), &[], below).soif();
    assert!(soif.contains("/docs/hidden"), "{soif}");
    assert!(!soif.contains("/shut"), "{soif}");
}

#[test]
fn links_of_another_type_than_is_asked_for_are_not_fetched() {
    let server = TestServer::with(|seen| match seen.path.as_str() {
        "/" => Reply::typed(
            "text/html",
            "<title>A</title><a href=/b.html>b</a><a href=/c.pdf>c</a><a href=/d>d</a>",
        ),
        "/robots.txt" => Reply::status(404),
        _ => Reply::typed("text/html", "<title>B</title>Words"),
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("filter.conf");
    let filter = "<Filter name=\"enumeration-default\">\nEnumerate fn=enumerate-urls type=text/html\n</Filter>\n";
    fs::write(&path, filter).unwrap();
    let more = format!("filter_conf = '{}'", path.display());
    let ran = visit_at(None, server, &[], &more);
    assert!(ran.seen("/b.html").is_some() && ran.seen("/d").is_some());
    assert!(ran.seen("/c.pdf").is_none());
}

#[test]
fn explain_names_the_step_that_leaves_a_log_out_link_alone() {
    let ran = visit(&[]);
    let url = ran.server.url("/logout");
    let output = program::run(
        ran.path(),
        &[
            "--database",
            "sqlite://robot.db",
            "site-robot",
            "explain",
            &url,
        ],
    );
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("no  trap: "), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

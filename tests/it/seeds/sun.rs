//! Runs of Sun's robot with some keys and filters, as `parity` needs them.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::support::{
    http::{ReceivedRequest, Reply, TestServer},
    program,
};

/// Result of a run with some keys.
pub(crate) struct ProgramRun {
    directory: tempfile::TempDir,
    pub(crate) server: TestServer,
    pub(crate) err: String,
}

impl ProgramRun {
    pub(crate) fn seen(&self, path: &str) -> Option<ReceivedRequest> {
        self.server.seen().into_iter().find(|it| it.path == path)
    }

    pub(crate) fn sent(&self, header: &str) -> Option<String> {
        self.seen("/")?.header(header).map(str::to_owned)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the explanation for a page.
    pub(crate) fn explain(&self, path: &str) -> String {
        let url = self.server.url(path);
        let arguments = [
            "--database",
            "sqlite://robot.db",
            "site-robot",
            "explain",
            &url,
        ];
        String::from_utf8(program::run(self.path(), &arguments).stdout).unwrap()
    }

    /// Returns the descriptions as SOIF.
    pub(crate) fn soif(&self) -> String {
        let arguments = ["--database", "sqlite://robot.db", "site-robot", "export"];
        program::succeed(self.path(), &arguments)
    }
}

/// Serves pages at three depths, a document, a large page, and one that robots.txt disallows.
pub(crate) fn reply(seen: &ReceivedRequest) -> Reply {
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

/// Serves the same site to requests with the whole URL.
pub(crate) fn reply_to_absolute_url(seen: &ReceivedRequest) -> Reply {
    let mut seen = seen.clone();
    seen.path = seen.path.replace("http://site.example", "");
    reply(&seen)
}

/// Writes an executable script.
pub(crate) fn write(directory: &Path, name: &str, script: &str) {
    let file = directory.join(name);
    fs::write(&file, format!("#!/bin/sh\ncat > /dev/null\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes the site robot's files with these keys, and more settings of `[site_robot]`.
pub(crate) fn settings(directory: &Path, start: &str, keys: &[&str], more: &str) {
    fs::write(directory.join("robot.conf"), keys.join("\n")).unwrap();
    // Script used when a converter's name has no directory.
    let own = "echo \"<title>By $0 in $TMPDIR</title><p>Words.</p>\"";
    write(directory, "mine", own);
    write(directory, "slow", "sleep 1000");
    let text = format!(
        "web_robots_db = ''\n[site_robot]\nstarting_points = '{start}'\nrobot_conf = 'robot.conf'\n{more}\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Visits a site with these keys in a directory; returns standard error.
pub(crate) fn visit_in(
    directory: &Path,
    start: Option<&str>,
    server: &TestServer,
    keys: &[&str],
    more: &str,
) -> String {
    let start = start.map_or_else(|| server.url("/"), str::to_owned);
    settings(directory, &start, keys, more);
    let arguments = ["--database", "sqlite://robot.db", "site-robot", "run"];
    String::from_utf8(program::run(directory, &arguments).stderr).unwrap()
}

/// Visits a site with these keys, and more settings of `[site_robot]`.
pub(crate) fn visit_at(
    start: Option<&str>,
    server: TestServer,
    keys: &[&str],
    more: &str,
) -> ProgramRun {
    let directory = tempfile::tempdir().unwrap();
    let err = visit_in(directory.path(), start, &server, keys, more);
    ProgramRun {
        directory,
        server,
        err,
    }
}

pub(crate) fn visit(keys: &[&str]) -> ProgramRun {
    visit_at(None, TestServer::with(reply), keys, "")
}

pub(crate) fn convert(program: &str, keys: &[&str]) -> ProgramRun {
    let more = format!("converters = ['application/pdf={program}']");
    let mut all = keys.to_vec();
    all.push("bindir=.");
    visit_at(None, TestServer::with(reply), &all, &more)
}

/// Returns exit code and output of `site-robot check` for a line.
pub(crate) fn check(line: &str) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("robot.conf"), line).unwrap();
    let output = program::run(directory.path(), &["site-robot", "check", "robot.conf"]);
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text)
}

/// Runs with a custom filter: its first part drops links, its second describes only one page.
pub(crate) fn visit_by(stage: &str) -> ProgramRun {
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

pub(crate) fn is_refused(line: &str) -> bool {
    let (code, told) = check(line);
    code == 1 && told.contains("use the API")
}

#[test]
fn robots_txt_of_one_host_is_always_or_never_obeyed() {
    let ran = |line: &str, more: &str| visit_at(None, TestServer::with(reply), &[line], more);
    let shut = |line, more| ran(line, more).seen("/shut").is_some();
    let (never, always) = (
        "robots_txt_by_host = '127.0.0.1=never'",
        "robots_txt_by_host = '127.0.0.1=always'",
    );
    assert!(shut("enable-robots-txt=true", never));
    assert!(!shut("enable-robots-txt=false", always));
    assert!(!shut(
        "enable-robots-txt=true",
        "robots_txt_by_host = '127.0.0.1=inherit'"
    ));
}

#[test]
fn text_sitemaps_may_be_in_an_index_and_pages_may_not() {
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
fn links_of_an_unwanted_type_are_not_fetched() {
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
fn explain_names_the_failed_step_without_changing_log_and_links() {
    let ran = visit(&[]);
    for (path, why) in [
        ("/logout", "the link would log the site robot out"),
        ("/posts/7/delete", "the link would modify data: delete"),
        (
            "/list?action=delete&id=7",
            "the link would modify data: delete",
        ),
    ] {
        let told = ran.explain(path);
        assert!(told.contains(&format!("no  trap: {why}")), "{told}");
        assert!(told.contains("ok  scope: "), "{told}");
    }
}

/// Returns two hosts of one site; the first one's robots.txt names the second as main host.
fn mirror(main: &str) -> (TestServer, TestServer) {
    let main = TestServer::with({
        let main = main.to_owned();
        move |seen| match seen.path.as_str() {
            "/robots.txt" => Reply::text(format!("User-agent: *\nDisallow: /shut\n{main}")),
            _ => reply(seen),
        }
    });
    let line = format!(
        "Host: {}\n",
        main.url("").replace("http://127.0.0.1", "localhost")
    );
    let mirror = TestServer::with(move |seen| match seen.path.as_str() {
        "/robots.txt" => Reply::text(line.clone()),
        _ => reply(seen),
    });
    (mirror, main)
}

#[test]
fn the_main_host_named_by_robots_txt_is_visited_instead_of_its_mirror() {
    let (mirror, main) = mirror("");
    let named = main.url("/").replace("127.0.0.1", "localhost");
    let more = format!("starting_points = ['{}', '{named}']", mirror.url("/one"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    settings(path, "", &[], "");
    let text = format!("web_robots_db = ''\n[site_robot]\nrobot_conf = 'robot.conf'\n{more}\n");
    fs::write(path.join("robot-detection.toml"), text).unwrap();
    let robot = ["--database", "sqlite://robot.db", "site-robot"];
    program::succeed(path, &[&robot[..], &["run"]].concat());
    let asked: Vec<_> = mirror.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked, ["/robots.txt"]);
    let soif = program::succeed(path, &[&robot[..], &["export"]].concat());
    assert!(soif.contains(&format!("{named}one")), "{soif}");
    assert!(!soif.contains(&mirror.url("/one")), "{soif}");
    let explained = program::succeed(
        path,
        &[&robot[..], &["explain", &mirror.url("/one")]].concat(),
    );
    let told = format!("visited at {named}one, as a Host line specifies");
    assert!(explained.contains(&told), "{explained}");
}

#[test]
fn a_circular_or_unrequested_host_line_is_not_obeyed() {
    let (mirror, main) = mirror("Host: www.example.com\n");
    let named = main.url("/").replace("127.0.0.1", "localhost");
    let elsewhere = visit_at(Some(&mirror.url("/one")), mirror, &[], "");
    assert!(elsewhere.seen("/one").is_some());
    let told = elsewhere.explain("/one");
    assert!(told.contains("is not among the starting points"), "{told}");
    let here = visit_at(Some(&named), main, &[], "");
    assert!(here.seen("/one").is_some(), "{}", here.err);
}

#[test]
fn file_starting_points_are_read_only_below_their_root() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    for (name, text) in [
        ("a.html", "<title>File A</title>Words<a href=b.html>b</a>"),
        ("b.html", "<title>File B</title>Words"),
        (".hidden.html", "<title>Hidden</title>Words"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("b.html", root.join("link.html")).unwrap();
    let file = |name: &str| format!("file://{}", root.join(name).display());
    let linking = file("b.html");
    let server = TestServer::with(move |seen| match seen.path.as_str() {
        "/" => Reply::typed(
            "text/html",
            format!("<title>Web</title>Words<a href='{linking}'>b</a>"),
        ),
        _ => Reply::status(404),
    });
    let (web, list) = (server.url("/"), |more: &str| {
        let names = ["a.html", ".hidden.html", "link.html"].map(file);
        format!(
            "file_root = '{}'\nrobot = ['seed={}', 'seed={}', 'seed={}'{more}]",
            root.display(),
            names[0],
            names[1],
            names[2]
        )
    });
    let ran = visit_at(Some(&web), server, &[], &list(""));
    let soif = ran.soif();
    assert!(
        soif.contains("File A") && soif.contains("Web"),
        "{soif}{}",
        ran.err
    );
    for absent in ["File B", "Hidden"] {
        assert!(!soif.contains(absent), "{soif}");
    }
    for (more, told) in [
        (
            list(", 'seed=file:///etc/passwd'"),
            "file:///etc/passwd is not below",
        ),
        (
            "robot = 'seed=file:///etc/passwd'".to_owned(),
            "set the directory from which files may be read",
        ),
    ] {
        let ran = visit_at(Some(&web), TestServer::with(reply), &[], &more);
        assert!(ran.err.contains(told), "{}", ran.err);
        assert!(ran.err.contains("site_robot.file_root"), "{}", ran.err);
    }
}

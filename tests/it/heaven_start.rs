//! `heaven start`: from a proxied site to robots that read its heaven.

use std::{fs, net::SocketAddr, path::Path, process::Output};

use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::site_robot_handover::wait_until_accepting;
use crate::support::{
    http::{Reply, TestServer},
    postgres,
    program::{self, GOOGLEBOT, Server, request, run},
};

const HOST: &str = "www.example.com";
const SQLITE: &str = "sqlite://robot.db";

/// Exit code, standard output and standard error of a command.
type Ended = (i32, String, String);

/// Starts a site with a members' area of three pages, one of which requires a password.
fn site() -> TestServer {
    TestServer::with(|seen| match &*seen.path {
        "/members/" => Reply::typed(
            "text/html",
            "<title>For members</title><p>Salt and pepper. <a href=salt>s</a> <a href=door>d</a>",
        ),
        "/members/salt" => Reply::typed("text/html", "<title>Salt</title><p>All about salt."),
        "/members/door" => Reply::status(403),
        _ => Reply::status(404),
    })
}

/// Writes a minimal configuration of an administrator who only proxies the site.
fn write(directory: &Path, upstream: &TestServer, more: &str) -> String {
    let text = format!(
        "# Ours.\nweb_robots_db = ''\nfilter_pattern = ['/members/*'] # for members\n{more}\n\
         [server]\nupstream = '{}'\nhosts = ['{HOST}'] # its name\n",
        upstream.url("")
    );
    fs::write(file(directory), &text).unwrap();
    text
}

fn file(directory: &Path) -> std::path::PathBuf {
    directory.join("robot-detection.toml")
}

fn start(directory: &Path, arguments: &[&str]) -> Ended {
    let arguments = [&["heaven", "start"], arguments].concat();
    ended(run(directory, &arguments))
}

/// Runs the command in a terminal with answers to its questions.
fn start_and_answer(directory: &Path, arguments: &[&str], answers: &str) -> Ended {
    let arguments = [&["heaven", "start"], arguments].concat();
    ended(program::run_at_terminal(directory, &arguments, answers))
}

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

/// Asserts that a command wrote nothing and printed advice.
fn assert_refused(directory: &Path, arguments: &[&str], (code, advice): (i32, &str)) {
    let before = fs::read(file(directory)).ok();
    let (found, out, err) = start(directory, arguments);
    assert!(err.contains(advice), "{advice}: {out}{err}");
    assert_eq!(found, code, "{out}{err}");
    assert_eq!(fs::read(file(directory)).ok(), before);
    assert!(!directory.join("robot-detection.db").exists());
}

/// Sends a request as a robot; returns the status and redirect target.
fn sent(addr: SocketAddr, path: &str) -> (u16, String) {
    let headers = [("User-Agent", GOOGLEBOT), ("Host", HOST)];
    let answer = request(addr, "GET", path, &headers);
    (answer.status, answer.header("location"))
}

#[test]
fn one_command_adds_missing_settings_and_keeps_existing_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    let before = write(path, &upstream, "");
    let (code, out, err) = start(path, &["--dry-run"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(fs::read_to_string(file(path)).unwrap(), before);
    assert!(!path.join("robot-detection.db").exists());
    assert_refused(path, &[], (2, "--yes"));

    let (code, out, err) = start(path, &["--yes"]);
    assert_eq!(code, 0, "{out}{err}");
    let added = format!(
        "\n[site_robot]\nstarting_points = [\"http://{HOST}/members/\"]\nschedule = \"30 3 * * *\"\n\
         \n[heaven]\nsource = \"database\"\nurl = \"http://{HOST}\"\n"
    );
    let written = fs::read_to_string(file(path)).unwrap();
    assert_eq!(written, before + &added);
    for line in added.lines().filter(|line| !line.is_empty()) {
        assert!(out.contains(&format!(" + {line}\n")), "{line}: {out}");
    }
    let door =
        format!("not described: 1, for example http://{HOST}/members/door: answer: status 403");
    for told in [
        door.as_str(),
        "site_robot.login",
        "will be redirected to /robot-heaven/members/: «For members»",
        "`robot-detection serve`",
    ] {
        assert!(out.contains(told), "{told}: {out}");
    }
    // A second run has nothing to write, and asks no questions.
    let (code, out, err) = start(path, &["--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&told["written"], &told["lines"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(told["run"]["added"], 0);
    assert_eq!(told["proof"]["is_led"], true);
    assert_eq!(fs::read_to_string(file(path)).unwrap(), written);
    let server = Server::start(path, &["serve"]);
    program::eventually("robots are redirected to their page", || {
        sent(server.addr, "/members/salt") == (302, "/robot-heaven/members/salt.htm".to_owned())
    });
}

async fn beside_a_server(database: String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let upstream = site();
    write(&path, &upstream, &format!("database.url = '{database}'"));
    let serve = path.clone();
    let server = spawn_blocking(move || Server::start(&serve, &["serve"]));
    let server = server.await.unwrap();
    wait_until_accepting(&path, &database).await.close().await;
    spawn_blocking(move || {
        let listen = server.addr.to_string();
        assert_eq!(
            sent(server.addr, "/members/salt"),
            (302, "/robot-heaven/".to_owned())
        );
        let (code, out, err) = start(&path, &["--yes", "--json", "--listen", &listen]);
        assert_eq!(code, 0, "{out}{err}");
        assert!(err.contains("a running server"), "{err}");
        let told: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (&told["written"], &told["run"]["added"]),
            (&true.into(), &2.into())
        );
        assert_eq!(told["proof"]["server"], listen.as_str());
        assert_eq!(told["proof"]["title"], "For members");
        // Immediately: the server has loaded the configuration and the pages.
        let page = "/robot-heaven/members/salt.htm";
        assert_eq!(sent(server.addr, "/members/salt"), (302, page.to_owned()));
        assert_eq!(sent(server.addr, page).0, 200);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_server_reloads_the_configuration() {
    beside_a_server(SQLITE.to_owned()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_server_reloads_the_configuration_from_postgres() {
    beside_a_server(postgres::database_url().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_reload_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let upstream = site();
    write(&path, &upstream, &format!("database.url = '{SQLITE}'"));
    let serve = path.clone();
    // The server uses another file, which stays unchanged.
    fs::copy(file(&path), path.join("other.toml")).unwrap();
    let serve = spawn_blocking(move || Server::start(&serve, &["--config", "other.toml", "serve"]));
    let server = serve.await.unwrap();
    wait_until_accepting(&path, SQLITE).await.close().await;
    spawn_blocking(move || {
        let listen = server.addr.to_string();
        let arguments = ["heaven", "start", "--yes", "--listen", &listen];
        let (code, out, err) = ended(server.run(&path, &arguments));
        assert_eq!(code, 1, "{out}{err}");
        for told in [
            "its configuration file has other settings for this site",
            "has not loaded this configuration",
        ] {
            assert!(err.contains(told), "{told}: {out}{err}");
        }
    })
    .await
    .unwrap();
}

#[test]
fn a_named_area_is_filtered_where_no_filter_exists() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    let commented = program::succeed(path, &["init", "--stdout"]);
    fs::write(file(path), &commented).unwrap();
    let serves = upstream.url("");
    assert_refused(path, &[], (2, "server.upstream"));
    assert_refused(
        path,
        &["--upstream", &serves],
        (1, "specify the URL of the area"),
    );
    assert_refused(
        path,
        &["--upstream", &serves, "/"],
        (2, "specify it, as in"),
    );
    let arguments = ["--upstream", &serves, "/members", "--filter", "--yes"];
    let (code, out, err) = start(path, &arguments);
    // Without its slash, the area does not exist.
    assert_eq!(code, 1, "{out}{err}");
    let arguments = ["--upstream", &serves, "/members/", "--filter", "--yes"];
    let (code, out, err) = start(path, &arguments);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("set server.hosts and heaven.url"), "{err}");
    let written = fs::read_to_string(file(path)).unwrap();
    let added = written
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    assert_eq!(
        added.collect::<Vec<_>>(),
        [
            "filter_pattern = [\"/members/*\"]",
            "source = \"database\"",
            &format!("url = \"{serves}\""),
            &format!("starting_points = [\"{serves}/members/\"]"),
            "schedule = \"30 3 * * *\"",
        ]
    );
    let others = written
        .lines()
        .filter(|line| line.is_empty() || line.starts_with(['#', '[']));
    assert_eq!(
        others.collect::<Vec<_>>(),
        commented.lines().collect::<Vec<_>>()
    );
}

#[test]
fn an_administrators_other_settings_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    assert_refused(
        path,
        &["http://h/members/"],
        (2, "robot-detection init --interactive"),
    );
    for (more, arguments, advice) in [
        ("heaven.serve = false", &[][..], "heaven.serve is false"),
        (
            "heaven.directory = 'own'",
            &[],
            "site_robot.publish = \"own\"",
        ),
        (
            "redirect_url = ''",
            &[],
            "set redirect_url = \"/robot-heaven/\"",
        ),
        (
            "site_robot.starting_points = 'http://www.example.com/'",
            &["/members/"],
            "add the URL there",
        ),
        (
            "",
            &["http://www.exmaple.com/members/"],
            "not in server.hosts",
        ),
        ("", &["--site", "shop"], "the site does not exist"),
        ("heaven.souce = 'files'", &[], "did you mean"),
    ] {
        write(path, &upstream, more);
        assert_refused(path, &[arguments, &["--yes"]].concat(), (2, advice));
    }
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_site_without_readable_pages_leaves_the_file_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    write(path, &upstream, "");
    for (reply, advice) in [
        (Reply::status(401), "site_robot.login"),
        (Reply::redirect("/login"), "redirects to /login"),
        (Reply::status(404), "specify the URL of the area"),
        (Reply::Reset, "does not respond"),
    ] {
        let members = reply.clone();
        upstream.answer(move |seen| match &*seen.path {
            "/robots.txt" => Reply::status(404),
            _ => members.clone(),
        });
        assert_refused(path, &["--yes"], (1, advice));
    }
    upstream.answer(|_| Reply::text("User-agent: *\nDisallow: /\n"));
    assert_refused(path, &["--yes"], (1, "site_robot.robots_txt_by_host"));
    drop(upstream);
    let nobody = ["--yes", "--upstream", "http://127.0.0.1:1"];
    assert_refused(path, &nobody, (1, "the upstream does not respond"));
}

#[test]
fn one_of_several_sites_must_be_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    let serves = upstream.url("");
    let text = format!(
        "web_robots_db = ''\n[[site]]\nname = 'shop'\nhosts = 'shop.example.com'\nupstream = '{serves}'\n\
         filter_pattern = '/members/*'\n\n[[site]]\nname = 'other'\nhosts = 'other.example.com'\n\
         upstream = '{serves}'\n"
    );
    fs::write(file(path), &text).unwrap();
    assert_refused(
        path,
        &["--yes"],
        (
            2,
            "select a site with --site; configured sites: shop, other",
        ),
    );
    let (code, out, err) = start(path, &["--yes", "--site", "shop"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        out.contains("Googlebot at http://shop.example.com/members/ will be redirected to"),
        "{out}"
    );
    let own = "filter_pattern = '/members/*'\n\
        site_robot.starting_points = [\"http://shop.example.com/members/\"]\n\
        site_robot.schedule = \"30 3 * * *\"\nheaven.source = \"database\"\n\
        heaven.url = \"http://shop.example.com\"\n\n[[site]]";
    let expected = text.replace("filter_pattern = '/members/*'\n\n[[site]]", own);
    assert_eq!(fs::read_to_string(file(path)).unwrap(), expected);
}

#[test]
fn the_reason_why_robots_are_not_redirected_is_printed() {
    for (more, advice) in [
        ("mode = 'report'", "set mode to on"),
        ("allow_robots = ['googlebot']", "always pass"),
        ("redirect_url = '/sorry'", "check redirect_url"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let upstream = site();
        write(directory.path(), &upstream, more);
        let (code, out, err) = start(directory.path(), &["--yes"]);
        assert!(
            err.contains("is not redirected to robot heaven: "),
            "{out}{err}"
        );
        assert!(err.contains(advice), "{advice}: {out}{err}");
        assert_eq!(code, 1);
    }
}

#[test]
fn a_heaven_published_as_files_stays_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let upstream = site();
    fs::create_dir(path.join("pages")).unwrap();
    write(
        path,
        &upstream,
        "heaven.directory = 'pages'\nsite_robot.publish = 'pages'",
    );
    let (code, out, err) = start(path, &["--yes"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!out.contains("source = "), "{out}");
    assert!(out.contains("heaven: 2 pages"), "{out}");
    assert!(
        out.contains("will be redirected to /robot-heaven/members/"),
        "{out}"
    );
}

#[test]
fn robots_are_redirected_from_public_pages_only_on_request() {
    let pattern = "filter_pattern = [\"/members/*\"]";
    for (answer, is_led) in [
        (None, false),
        (Some("y\ny\n"), true),
        (Some("n\ny\n"), false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let upstream = site();
        let text = format!(
            "web_robots_db = ''\nserver.upstream = '{}'\n",
            upstream.url("")
        );
        fs::write(file(path), text).unwrap();
        let (code, out, err) = match answer {
            None => start(path, &["/members/", "--yes"]),
            Some(answers) => start_and_answer(path, &["/members/"], answers),
        };
        assert_eq!(code, 0, "{out}{err}");
        assert_eq!(err.contains("note: filter_pattern"), !is_led, "{err}");
        let written = fs::read_to_string(file(path)).unwrap();
        assert_eq!(written.contains(pattern), is_led, "{written}");
        let told = if is_led {
            "will be redirected to"
        } else {
            "reads the page directly"
        };
        assert!(out.contains(told), "{out}{err}");
    }
}

/// Starts a site that shows its pages to clients with a token.
fn members() -> TestServer {
    TestServer::with(|seen| match (&*seen.path, seen.header("authorization")) {
        ("/robots.txt", _) => Reply::status(404),
        (_, Some("Bearer t")) => Reply::typed(
            "text/html",
            format!(
                "<title>Minutes</title><p>The board met for {}. <a href=/members/a>a</a>",
                seen.path
            ),
        ),
        _ => Reply::status(401),
    })
}

#[test]
fn the_readers_of_pages_behind_a_login_are_asked_for() {
    let (directory, upstream) = (tempfile::tempdir().unwrap(), members());
    let path = directory.path();
    let before = write(path, &upstream, "site_robot.login = 'bearer t'");
    assert_refused(path, &["--yes"], (2, "heaven.open_to"));
    assert_refused(path, &["--yes"], (2, "--open-to"));
    assert!(upstream.seen().is_empty());
    let (code, out, err) = start(path, &["--yes", "--open-to", "verified"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains(" + open_to = \"verified\"\n"), "{out}");

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(file(path), before).unwrap();
    let (code, out, err) = start_and_answer(path, &[], "y\neveryone\nrobots\n");
    assert_eq!(code, 0, "{out}{err}");
    let asked = format!(
        "2 new or changed pages with 12 words are pending, such as http://{HOST}/members/ (Minutes)"
    );
    assert!(err.contains(&asked), "{err}");
    let written = fs::read_to_string(file(path)).unwrap();
    assert!(written.contains("open_to = \"robots\"\n"), "{written}");
    assert!(
        out.contains("will be redirected to /robot-heaven/members/"),
        "{out}{err}"
    );
}

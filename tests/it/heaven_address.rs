//! When a site's address changes, its heaven pages move along.

use std::{fs, path::Path};

use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
};

const PAGE: &str = "/robot-heaven/members/salt.htm";

/// Starts a site with three pages behind a form.
fn site() -> TestServer {
    TestServer::with(|seen| {
        let is_in = seen
            .header("cookie")
            .is_some_and(|it| it.contains("session=1"));
        let is_sent = seen.header("content-type").is_some();
        match &*seen.path {
            "/robots.txt" => Reply::status(404),
            "/login" if is_sent => {
                Reply::redirect("/members/").with("Set-Cookie", "session=1; Path=/")
            }
            "/login" => Reply::typed(
                "text/html",
                "<title>Log in</title><form method=post action=/login><input name=user>\
                 <input type=password name=password></form>",
            ),
            path if is_in => Reply::typed(
                "text/html",
                format!(
                    "<title>{path}</title><p>Words of {path}. <a href=/members/salt>s</a> \
                     <a href=/members/pepper>p</a>"
                ),
            ),
            _ => Reply::redirect("/login"),
        }
    })
}

fn write(directory: &Path, upstream: &TestServer, (hosts, url, login): (&str, &str, &str)) {
    let origin = upstream.url("");
    let text = format!(
        "web_robots_db = ''\ndatabase.url = 'sqlite://robot.db'\nfilter_pattern = '/members/*'\n\
         [server]\nlisten = '127.0.0.1:0'\nupstream = '{origin}'\nhosts = [{hosts}]\n\
         [heaven]\nsource = 'database'\nurl = '{url}'\nopen_to = 'all'\n\
         [site_robot]\nstarting_points = '{origin}/members/'\nlogin_form = '{login}/login'\n\
         login_fields = 'user=robot'\nlogin_password_field = 'password'\nlogin_password = 'secret'\n"
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

fn doctor(directory: &Path) -> String {
    let output = run(directory, &["doctor", "--offline"]);
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the redirect target of a robot that requests a page of a host.
fn sent(server: &Server, host: &str) -> String {
    let headers = [("host", host), ("user-agent", GOOGLEBOT)];
    request(server.addr, "GET", "/members/salt", &headers).header("location")
}

#[test]
fn pages_move_to_the_new_host_and_the_site_robot_logs_in_there() {
    let (directory, upstream) = (tempfile::tempdir().unwrap(), site());
    let (path, origin) = (directory.path(), upstream.url(""));
    write(path, &upstream, ("", &origin, &origin));
    succeed(path, &["site-robot", "run", "--delay", "0"]);
    let mut before = format!("{origin}/members/");
    for (hosts, url) in [
        ("'www.example.com'", "https://www.example.com"),
        ("'www.example.org'", "http://www.example.org"),
    ] {
        write(path, &upstream, (hosts, url, &origin));
        let host = url.split("//").last().unwrap();
        let told = doctor(path);
        assert!(
            told.contains(&format!("because the page is stored as {before}")),
            "{told}"
        );
        let server = Server::start(path, &["serve"]);
        eventually("robots are redirected to the page", || {
            sent(&server, host) == PAGE
        });
        let page = request(
            server.addr,
            "GET",
            PAGE,
            &[("host", host), ("user-agent", FIREFOX)],
        );
        let page = page.text();
        assert!(page.contains("/robot-heaven/members/pepper.htm"), "{page}");
        assert!(
            page.contains(&format!("\"{url}/")) && !page.contains(&origin),
            "{page}"
        );
        let told = doctor(path);
        let as_asked = format!("from {url}/members/ to /robot-heaven/members/");
        assert!(told.contains(&as_asked), "{told}");
        drop(server);
        let run = succeed(path, &["site-robot", "run", "--delay", "0"]);
        assert!(
            run.contains("0 new") && run.contains("0 withdrawn"),
            "{run}"
        );
        before = format!("{url}/members/");
    }
    let exported = succeed(path, &["site-robot", "export", "--format", "jsonl"]);
    assert_eq!(exported.lines().count(), 3, "{exported}");
}

#[test]
fn a_login_at_another_address_is_not_reported_as_expired() {
    let (directory, upstream) = (tempfile::tempdir().unwrap(), site());
    let (path, origin) = (directory.path(), upstream.url(""));
    let elsewhere = origin.replace("127.0.0.1", "localhost");
    write(path, &upstream, ("", &origin, &elsewhere));
    let output = run(path, &["site-robot", "run", "--delay", "0"]);
    let told = String::from_utf8(output.stderr).unwrap();
    let cause =
        format!("site_robot.login_form is at {elsewhere}, whose cookies are not sent to {origin}");
    assert!(told.contains(&cause) && !told.contains("expired"), "{told}");
}

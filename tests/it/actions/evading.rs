//! Robots that try to evade rules by another URL spelling, another name or no name, over HTTP; and
//! paths that are always open to robots.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, request, succeed},
};

const UNLISTED: &str = "Mozilla/5.0 (compatible; OtherCrawler/1.0; +http://a.example/)";

fn serve(directory: &Path, text: &str) -> Server {
    let text = format!("web_robots_db = ''\n{text}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    Server::start(directory, &["serve"])
}

/// Sends a request without a User-Agent.
fn nameless(server: &Server, path: &str) -> Answer {
    request(server.addr, "GET", path, &[])
}

/// Starts an upstream that answers every request and serves /robots.txt with the given text.
fn upstream(robots_txt: impl Into<String>) -> TestServer {
    let robots_txt = robots_txt.into();
    TestServer::with(move |seen| match seen.path.as_str() {
        "/robots.txt" => Reply::text(robots_txt.clone()),
        path => Reply::text(format!(
            "{path} for {}",
            seen.header("x-robot-detection").unwrap_or("nobody")
        )),
    })
}

#[test]
fn another_spelling_of_a_disallowed_path_is_disallowed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("robots.txt"),
        "User-agent: *\nDisallow: /p\nDisallow: /q/r\nDisallow: //doubled\nAllow: /p/open\n",
    )
    .unwrap();
    let upstream = upstream("");
    let server = serve(
        directory.path(),
        &format!(
            "filter_pattern = '/nowhere/*'\nserver.upstream = '{}'\n[robots_txt]\nserve = 'file'\nfile = 'robots.txt'\nenforce = 'on'\n",
            upstream.url("")
        ),
    );
    for path in [
        "/p",
        "//p",
        "///p",
        "/./p",
        "/x/../p",
        "/x/..//p",
        "/%2e/p",
        "/%2E/p",
        "/x/%2e%2e/p",
        "/x/.%2E/p",
        "/%70",
        "/x%2f..%2Fp",
        "/q%2fr",
        "/q//r",
        "/q/./r?a=b",
        "/p;a=b",
        "//doubled",
        "/p/../robots.txt",
        "/p/x/../../sitemap.xml",
    ] {
        let refused = server.get(path, GOOGLEBOT);
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
        assert_eq!(server.get(path, FIREFOX).status, 200, "{path}");
    }
    for path in [
        "/",
        "/x/p",
        "/x/../y",
        "//y",
        "/doubled",
        "/p/open",
        "/q",
        "/robots.txt",
    ] {
        assert_eq!(server.get(path, GOOGLEBOT).status, 200, "{path}");
    }
    let arguments = ["explain", "--path", "/x/../p", "--user-agent", GOOGLEBOT];
    let told = succeed(directory.path(), &arguments);
    assert!(
        told.contains("disallows the path, read as \"/p\","),
        "{told}"
    );
    assert!(told.contains("decision  refuse 403"), "{told}");
}

#[test]
fn a_client_without_user_agent_is_nameless_and_passes() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("robots.txt"),
        "User-agent: *\nDisallow: /\n",
    )
    .unwrap();
    let upstream = upstream("");
    let server = serve(
        directory.path(),
        &format!(
            "[server]\nupstream = '{}'\n[access_log]\npath = 'access.log'\nformat = 'json'\n\
             [robots_txt]\nserve = 'file'\nfile = 'robots.txt'\nenforce = 'on'\n[[rule]]\npath = '/search/*'\naction = 'refuse'\n",
            upstream.url("")
        ),
    );
    for path in ["/a", "/members-only-stuff/a", "/search/a"] {
        assert_eq!(
            server.get(path, UNLISTED).status,
            if path.starts_with("/m") { 302 } else { 403 }
        );
        for answer in [
            nameless(&server, path),
            server.get(path, ""),
            server.get(path, "  "),
        ] {
            assert_eq!(
                (answer.status, answer.text()),
                (200, format!("{path} for nameless"))
            );
        }
    }
    let metrics = server.metrics();
    let counted = "visitor=\"nameless\",decision=\"pass\"} 9";
    assert!(metrics.contains(counted), "{metrics}");
    let log = directory.path().join("access.log");
    let mut lines = Vec::new();
    eventually("the access log", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        lines = text.lines().map(str::to_owned).collect();
        lines
            .iter()
            .filter(|line| line.contains("nameless"))
            .count()
            == 9
    });
}

/// Rules for nameless visitors, preceded by a rule for other robots.
const NAMING: &str = "deny_robots = 'nameless'
[[rule]]
path = '/open/*'
action = 'pass'
[[rule]]
path = ['/open/*', '/a*']
visitors = 'nameless'
action = 'refuse'
text = 'Say who you are.'
[[rule]]
path = '/about.html'
visitors = ['unlisted', 'nameless']
action = 'redirect'
[[rule]]
path = '/index.html'
robots = 'nameless'
action = 'slow'
requests = 1
per_seconds = 86400
burst = 1
[[x_robots_tag]]
value = 'noindex'
[[x_robots_tag]]
value = 'nosnippet'
visitors = 'nameless'
";

#[test]
fn only_a_rule_for_nameless_visitors_applies_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), NAMING);
    for path in ["/open/x", "/about.html"] {
        let refused = nameless(&server, path);
        assert_eq!(
            (refused.status, &*refused.text()),
            (403, "Say who you are.\n"),
            "{path}"
        );
        assert_eq!(refused.header("vary"), "User-Agent");
    }
    assert_eq!(server.get("/about.html", UNLISTED).status, 302);
    assert_eq!(server.get("/about.html", GOOGLEBOT).status, 200);
    assert_eq!(nameless(&server, "/members-only-stuff/").status, 302);
    assert_eq!(nameless(&server, "/robots.txt").status, 200);
    let page = nameless(&server, "/index.html");
    assert_ne!(page.status, 429);
    assert_eq!(nameless(&server, "/index.html").status, 429);
    let start = nameless(&server, "/");
    let tags = start
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("x-robots-tag"));
    assert_eq!(tags.count(), 2);
    assert_eq!(server.get("/", FIREFOX).header("x-robots-tag"), "noindex");

    let explain = |path: &str| {
        let arguments = ["explain", "--json", "--path", path, "--user-agent", ""];
        let told = succeed(directory.path(), &arguments);
        serde_json::from_str::<Value>(&told).unwrap()
    };
    let told = explain("/open/x");
    assert_eq!(told["decision"], "refuse", "{told}");
    assert_eq!(told["claim"]["id"], "nameless");
    assert_eq!(told["verdict"], Value::Null);
    assert_eq!(explain("/elsewhere")["pass_reason"], "path-not-filtered");
}

/// Configures a pace of two requests a day, with a burst of two.
fn slowly(directory: &Path, whom: &str) -> Server {
    serve(
        directory,
        &format!(
            "filter_pattern = '/nowhere/*'\nserver.trusted_proxies = '127.0.0.1'
[[rule]]\npath = '/*'\n{whom}\naction = 'slow'
requests = 2\nper_seconds = 86400\nburst = 2\n"
        ),
    )
}

fn from(server: &Server, client: &str, user_agent: &str) -> u16 {
    let headers = [("User-Agent", user_agent), ("X-Forwarded-For", client)];
    request(server.addr, "GET", "/about.html", &headers).status
}

#[test]
fn a_changing_number_in_the_name_does_not_reset_the_pace() {
    let directory = tempfile::tempdir().unwrap();
    let server = slowly(directory.path(), "visitors = 'unlisted'");
    let client = |number: u8| format!("192.0.{number}.1");
    let in_time = |name: &dyn Fn(u8) -> String| {
        let statuses = (1..=20).map(|number| from(&server, &client(number), &name(number)));
        statuses.filter(|status| *status == 200).count()
    };
    assert_eq!(in_time(&|number| format!("OtherCrawler/{number}")), 2);
    assert_eq!(in_time(&|number| format!("OtherCrawler{number}/1.0")), 0);
    assert_eq!(
        in_time(&|number| format!("AnotherCrawler{number}/1.0 (v{number})")),
        2
    );
}

#[test]
fn changing_names_share_one_pace_within_a_network() {
    let directory = tempfile::tempdir().unwrap();
    let server = slowly(directory.path(), "visitors = ['unlisted', 'nameless']");
    let names = [
        "alphacrawler",
        "betacrawler/1",
        "gammabot",
        "",
        "deltaspider/2",
    ];
    for (near, far) in [
        ("198.51.100", "198.51.101.1"),
        ("2001:db8:1:2:", "2001:db8:2::1"),
    ] {
        let separator = if near.contains(':') { ":" } else { "." };
        let statuses: Vec<_> = (1..)
            .zip(names)
            .map(|(number, name)| from(&server, &format!("{near}{separator}{number}"), name))
            .collect();
        let in_time = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(in_time, 2, "{near}: {statuses:?}");
        assert_eq!(from(&server, far, "epsilonbot"), 200);
        assert_eq!(from(&server, far, ""), 200);
        assert_eq!(from(&server, far, ""), 429);
    }
}

#[test]
fn a_crawl_delay_applies_to_name_and_network_too() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("robots.txt"),
        "User-agent: *\nCrawl-delay: 86400\n",
    )
    .unwrap();
    let server = serve(
        directory.path(),
        "filter_pattern = '/nowhere/*'\nserver.trusted_proxies = '127.0.0.1'\n[robots_txt]\nserve = 'file'\n\
         file = 'robots.txt'\nenforce_crawl_delay = 'on'\n",
    );
    let statuses = [1, 2, 3].map(|number| {
        from(
            &server,
            &format!("192.0.{number}.1"),
            &format!("OtherCrawler/{number}"),
        )
    });
    assert_eq!(statuses, [200, 200, 429]);
    let statuses =
        ["zorquabot", "vintolabot", "quelmabot"].map(|name| from(&server, "203.0.113.9", name));
    assert_eq!(statuses, [200, 200, 429]);
}

/// Paths for robots, some because robots.txt names them.
const THEIRS: &[&str] = &[
    "/members-only-stuff/map.xml",
    "/members-only-stuff/license.xml",
    "/members-only-stuff/0.xml",
    "/index.php?map=1",
    "/ai.txt",
    "/ads.txt",
    "/app-ads.txt",
    "/security.txt",
    "/.well-known/security.txt",
    "/robots.txt",
    "/sitemap.xml",
];

const NOT_THEIRS: &[&str] = &[
    "/members-only-stuff/",
    "/members-only-stuff/map.xml/a",
    "/members-only-stuff/map.xml?a",
    "/members-only-stuff/other.xml",
    "/members-only-stuff/150.xml",
    "/members-only-stuff/x/../map.xml",
    "/index.php",
    "/humans.txt",
    "/a/ads.txt",
];

#[test]
fn paths_that_robots_txt_names_are_open_to_robots() {
    let directory = tempfile::tempdir().unwrap();
    let many = (0..200).map(|number| format!("Sitemap: /members-only-stuff/{number}.xml\n"));
    let named = format!(
        "User-agent: *\nDisallow: /\nLicense: /members-only-stuff/license.xml\n\
         Sitemap: http://example.org/members-only-stuff/map.xml\nSitemap: /index.php?map=1\n\
         Sitemap: http://other.example/members-only-stuff/other.xml\n{}",
        many.collect::<String>()
    );
    let upstream = upstream(named);
    let server = serve(
        directory.path(),
        &format!(
            "server.upstream = '{}'\nserver.hosts = 'example.org'\n[robots_txt]\nenforce = 'on'\n[[rule]]\npath = '/*'\nrobots = ['googlebot', 'unlisted', 'nameless']\naction = 'refuse'\nstatus = 410\n",
            upstream.url("")
        ),
    );
    eventually("the upstream's robots.txt", || {
        server.get("/members-only-stuff/map.xml", GOOGLEBOT).status == 200
    });
    for path in THEIRS {
        for user_agent in [GOOGLEBOT, UNLISTED, "", "bingbot/2.0"] {
            let answer = server.get(path, user_agent);
            assert_eq!(answer.status, 200, "{path} {user_agent}");
        }
    }
    for path in NOT_THEIRS {
        assert_eq!(server.get(path, GOOGLEBOT).status, 410, "{path}");
        assert!(
            [302, 403].contains(&server.get(path, "bingbot/2.0").status),
            "{path}"
        );
    }
    let elsewhere = [("User-Agent", GOOGLEBOT), ("Host", "elsewhere.example")];
    let map = request(
        server.addr,
        "GET",
        "/members-only-stuff/map.xml",
        &elsewhere,
    );
    assert_eq!(map.status, 410);
    let path = "/members-only-stuff/map.xml";
    let arguments = [
        "explain",
        "--path",
        path,
        "--user-agent",
        GOOGLEBOT,
        "--host",
        "example.org",
    ];
    let told = succeed(directory.path(), &arguments);
    assert!(
        told.contains("/robots.txt lists the page for robots"),
        "{told}"
    );
    assert!(told.contains("decision  pass"), "{told}");
}

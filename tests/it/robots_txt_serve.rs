//! `/robots.txt` served by a running server in front of a real upstream.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
};

const THEIRS: &str = "User-agent: PrivateBot\nDisallow: /theirs\n\nUser-agent: *\nDisallow: /all\nSitemap: https://www.example.com/s.xml\n";

/// A program in front of an upstream.
struct House {
    directory: TempDir,
    upstream: TestServer,
}

impl House {
    fn new(upstream: TestServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            directory,
            upstream,
        }
    }

    /// Starts an upstream with this response to /robots.txt, and "site" elsewhere.
    fn robots(reply: Reply) -> Self {
        Self::new(TestServer::with(move |seen| {
            match seen.path.split('?').next() {
                Some("/robots.txt") => reply.clone(),
                _ => Reply::text("site"),
            }
        }))
    }

    fn configure(&self, more: &str) {
        let upstream = self.upstream.url("");
        let text = format!(
            "web_robots_db = ''\n[server]\nupstream = '{upstream}'\nlisten = '127.0.0.1:0'\n{more}"
        );
        fs::write(self.path().join("robot-detection.toml"), text).unwrap();
    }

    fn serve(&self, more: &str) -> Server {
        self.configure(more);
        Server::start(self.path(), &["serve"])
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path().join("stderr.log")).unwrap()
    }
}

fn robots_of(server: &Server, host: &str) -> Answer {
    request(server.addr, "GET", "/robots.txt", &[("Host", host)])
}

fn robots(server: &Server) -> Answer {
    robots_of(server, "www.example.com")
}

/// Waits until the upstream's part is fetched; until then the response is 503.
fn known(server: &Server, host: &str) -> Answer {
    eventually("the upstream has answered", || {
        robots_of(server, host).header("cache-control") == "max-age=300"
    });
    robots_of(server, host)
}

#[test]
fn by_default_the_upstream_responds() {
    let house = House::robots(Reply::text(THEIRS).with("X-Mark", "theirs"));
    let server = house.serve("");
    let answer = robots(&server);
    assert_eq!((answer.status, answer.text().as_str()), (200, THEIRS));
    assert_eq!(answer.header("x-mark"), "theirs");
}

#[test]
fn a_file_is_served_byte_for_byte() {
    let house = House::robots(Reply::text(THEIRS));
    let file = b"# \xff\r\nUser-agent: *\r\nDisallow: /file\r\n";
    fs::write(house.path().join("own.txt"), file).unwrap();
    let server = house.serve("[robots_txt]\nserve = 'file'\nfile = 'own.txt'");
    let answer = robots(&server);
    assert_eq!((answer.status, answer.body.as_slice()), (200, &file[..]));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(answer.header("content-length"), file.len().to_string());
    assert_eq!(answer.header("cache-control"), "max-age=300");
    assert!(answer.header("last-modified").ends_with(" GMT"));
    assert!(!answer.header("vary").contains("User-Agent"));
}

#[test]
fn settings_select_robots_by_purpose_and_id() {
    let house = House::robots(Reply::text(THEIRS));
    let server = house.serve(
        "[robots_txt]\nserve = 'settings'\nrefuse_purposes = 'ai-training'\nrefuse_robots = 'ahrefsbot'\n\
         disallow = ['/search']\nallow = ['/search/about']\ncrawl_delay_seconds = 2\n\
         sitemaps = 'https://www.example.com/sitemap.xml'\ncontent_signal = 'search=yes, ai-train=no'\n\
         content_usage = 'train-ai=n'\nlicense = 'https://www.example.com/license.xml'",
    );
    let text = robots(&server).text();
    for line in ["User-agent: GPTBot", "User-agent: AhrefsBot"] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("User-agent: Googlebot\n"), "{text}");
    let everybody = "\nUser-agent: *\nContent-Signal: search=yes, ai-train=no\n\
        Content-Usage: train-ai=n\nAllow: /search/about\nDisallow: /search\nCrawl-delay: 2\n\n\
        Sitemap: https://www.example.com/sitemap.xml\n";
    assert!(text.ends_with(everybody), "{text}");
    assert!(text.starts_with("License: https://www.example.com/license.xml\n"));
}

#[test]
fn an_added_robot_is_refused_soon() {
    let house = House::robots(Reply::text(""));
    let server = house.serve("[robots_txt]\nserve = 'settings'\nrefuse_robots = 'house'");
    assert_eq!(robots(&server).text(), "User-agent: *\nDisallow:\n");
    let record = "robot-id: house\nrobot-name: House\nrobot-exclusion-useragent: HouseRobot\nrobot-useragent: HouseRobot\n";
    fs::write(house.path().join("house.txt"), record).unwrap();
    let file = house.path().join("house.txt");
    let file = file.to_string_lossy();
    succeed(
        house.path(),
        &["registry", "refresh", "--from", &file, "--force"],
    );
    eventually("the robot is refused", || {
        robots(&server)
            .text()
            .contains("User-agent: HouseRobot\nDisallow: /\n")
    });
}

#[test]
fn our_rules_are_merged_over_the_sites() {
    let house = House::robots(Reply::text(THEIRS));
    let server = house
        .serve("[robots_txt]\nserve = 'merge'\ndisallow = ['/ours']\nrefuse_robots = ['gptbot']");
    assert_eq!(
        known(&server, "www.example.com").text(),
        "User-agent: PrivateBot\nDisallow: /ours\nDisallow: /theirs\n\n\
         User-agent: GPTBot\nDisallow: /\n\n\
         User-agent: *\nDisallow: /ours\nDisallow: /all\n\n\
         Sitemap: https://www.example.com/s.xml\n"
    );
    let seen = house.upstream.seen();
    let asked = seen.iter().find(|seen| seen.path == "/robots.txt").unwrap();
    assert!(
        asked
            .header("user-agent")
            .unwrap()
            .starts_with("robot-detection/")
    );
}

#[test]
fn a_merge_keeps_the_sites_reserved_paths() {
    let theirs = "License: https://www.example.com/theirs.xml\n\
        User-agent: *\nContent-Signal: search=yes, ai-train=no\n\
        Content-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\n\
        Content-Usage: /reports/ search=n\nDisallow: /theirs\n";
    let house = House::robots(Reply::text(theirs));
    let server = house.serve(
        "[robots_txt]\nserve = 'merge'\ncontent_signal = 'search=yes, ai-input=no, ai-train=yes'\n\
         content_usage = ['search=y', '/paid/ train-ai=y']\n\
         license = ['https://www.example.com/ours.xml', 'https://www.example.com/paid,all.xml']\n\
         refuse_robots = 'gptbot'",
    );
    let text = known(&server, "www.example.com").text();
    let (before, everybody) = text.split_once("User-agent: *\n").unwrap();
    for line in ["theirs", "ours", "paid,all"] {
        let line = format!("License: https://www.example.com/{line}.xml\n");
        assert!(before.contains(&line), "{line}\n{text}");
    }
    assert_eq!(
        everybody,
        "Content-Signal: search=yes, ai-train=no, ai-input=no\n\
         Content-Usage: train-ai=n, search=y\nContent-Usage: /open/ train-ai=y, search=y\n\
         Content-Usage: /reports/ search=n\n\
         Content-Usage: /paid/ train-ai=n\nDisallow: /theirs\n"
    );
    // A robot with a group in our rules keeps the site's rules for all robots.
    assert!(before.contains("User-agent: GPTBot\n"), "{text}");
    assert!(before.contains("Content-Usage: train-ai=n\n"), "{text}");
}

#[test]
fn the_file_generated_by_purpose_passes_our_own_lint() {
    let house = House::robots(Reply::text(THEIRS));
    let server = house.serve(
        "[robots_txt]\nserve = 'settings'\nrefuse_purposes = 'search, ai-training, ai-search, ai-user, seo, monitoring, preview, feed, archive, \
         academic, advertising, scanner, library, automation, unknown'\ncontent_signal = 'use=reference'\ncontent_usage = 'train-ai=n'",
    );
    let text = robots(&server).text();
    for token in ["Kangaroo Bot", "panscient.com"] {
        assert!(
            text.contains(&format!("User-agent: {token}\n")),
            "{token}\n{text}"
        );
    }
    fs::write(house.path().join("served.txt"), &text).unwrap();
    let lint = run(house.path(), &["robots-txt", "lint", "served.txt"]);
    let said = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert_eq!((lint.status.code(), said.as_str()), (Some(0), ""));
    let strange = text.replace("Kangaroo Bot", "Wombat Bot");
    fs::write(house.path().join("strange.txt"), strange).unwrap();
    let lint = run(house.path(), &["robots-txt", "lint", "strange.txt"]);
    let said = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(said.contains("bad-agent: \"Wombat Bot\""), "{said}");
}

#[test]
fn preferences_in_the_settings_are_checked_like_those_linted() {
    let house = House::robots(Reply::text(THEIRS));
    for (setting, said) in [
        ("content_signal = 'serch=yes'", "write search"),
        ("content_signal = 'ai-train=maybe'", "write yes or no"),
        ("content_usage = 'trian-ai=n'", "write train-ai"),
        ("content_usage = 'train-ai=no'", "write y or n"),
        ("content_usage = 'Train-AI=n'", "write train-ai"),
        (
            "content_usage = ['train-ai=n', '/a train-ai=maybe']",
            "write y or n",
        ),
        (
            "content_usage = ['/a train-ai=n', '/a search=y']",
            "another line has the same path",
        ),
    ] {
        house.configure(&format!("[robots_txt]\nserve = 'settings'\n{setting}"));
        let output = run(house.path(), &["serve"]);
        assert_eq!(output.status.code(), Some(2), "{setting}: {output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        let key = setting.split(' ').next().unwrap();
        assert!(
            told.contains(key) && told.contains(said),
            "{setting}: {told}"
        );
    }
}

#[test]
fn conditional_head_and_other_requests_are_supported() {
    let house = House::robots(Reply::text(THEIRS));
    let server = house.serve("[robots_txt]\nserve = 'settings'\ndisallow = '/x'");
    let ask = |method: &str, headers: &[(&str, &str)]| {
        request(server.addr, method, "/robots.txt", headers)
    };
    let full = ask("GET", &[]);
    let (etag, date) = (full.header("etag"), full.header("last-modified"));
    assert!(etag.starts_with('"') && etag.len() > 20, "{etag}");
    for header in [
        ("If-None-Match", etag.as_str()),
        ("If-Modified-Since", &date),
    ] {
        let answer = ask("GET", &[header]);
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{header:?}");
        assert_eq!(answer.header("etag"), etag);
        assert_eq!(answer.header("content-length"), "");
    }
    let other = ask(
        "GET",
        &[("If-None-Match", "\"other\""), ("If-Modified-Since", &date)],
    );
    assert_eq!(other.status, 200);
    let head = ask("HEAD", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for header in [
        "etag",
        "last-modified",
        "content-length",
        "content-type",
        "cache-control",
    ] {
        assert_eq!(head.header(header), full.header(header), "{header}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let answer = ask(method, &[]);
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, "GET, HEAD".to_owned())
        );
    }
    assert!(
        house
            .upstream
            .seen()
            .iter()
            .all(|seen| seen.path != "/robots.txt"),
        "the upstream must not be requested for our own file"
    );
}

#[test]
fn it_is_never_redirected_and_only_served_at_the_root() {
    let house = House::robots(Reply::text(THEIRS));
    house.configure("[robots_txt]\nserve = 'settings'\ndisallow = '/'");
    let config = house.path().join("robot-detection.toml");
    let text = format!(
        "filter_pattern = '/*'\n{}",
        fs::read_to_string(&config).unwrap()
    );
    fs::write(&config, text).unwrap();
    let server = Server::start(house.path(), &["serve"]);
    for path in [
        "/robots.txt",
        "/robots.txt?a=/robots.txt",
        "http://x.example/robots.txt",
    ] {
        let answer = server.get(path, GOOGLEBOT);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text().contains("Disallow: /\n"), "{path}");
    }
    for path in [
        "/a/robots.txt",
        "/ROBOTS.TXT",
        "/robots.txt/",
        "//robots.txt",
        "/robots.txta",
    ] {
        let answer = server.get(path, FIREFOX);
        assert!(!answer.text().contains("Disallow: /\n"), "{path}");
    }
    assert_eq!(server.get("/a", GOOGLEBOT).status, 302);
}

const MIRRORS: &str = "[robots_txt]\nserve = 'settings'\ndisallow = '/site'\n\
    [[robots_txt.host]]\nhosts = ['www.host1.com', 'www.myhost.ru', 'www.myhost.ru:8081']\n\
    main_mirror = 'www.myhost.ru'\ndisallow = ['/forum', '/cgi-bin']\n\
    [[robots_txt.host]]\nhosts = 'other.example'\ndisallow = '/other'\n";

/// The example of A. Melkov's proposal (www-talk, 2003).
#[test]
fn each_host_has_its_own_file_and_mirrors_name_the_main_host() {
    let house = House::robots(Reply::text(THEIRS));
    let server = house.serve(MIRRORS);
    let closed = "User-agent: *\nDisallow: /\nHost: www.myhost.ru\n";
    let main = "User-agent: *\nDisallow: /forum\nDisallow: /cgi-bin\nHost: www.myhost.ru\n";
    let site = "User-agent: *\nDisallow: /site\n";
    for (host, text) in [
        ("www.myhost.ru", main),
        ("WWW.MyHost.RU.", main),
        ("www.myhost.ru:80", main),
        ("www.myhost.ru:8081", closed),
        ("www.host1.com", closed),
        ("www.host1.com:443", closed),
        ("other.example", "User-agent: *\nDisallow: /other\n"),
        ("unknown.example", site),
        ("127.0.0.1", site),
        ("../../etc/passwd", site),
        ("", site),
    ] {
        let answer = robots_of(&server, host);
        if answer.status == 400 {
            assert!(host.contains('/') || host.is_empty(), "{host}");
            continue;
        }
        assert_eq!(answer.text(), text, "{host}");
    }
    let tags = ["www.myhost.ru", "www.host1.com", "other.example"];
    let mut tags = tags.map(|host| robots_of(&server, host).header("etag"));
    tags.sort();
    assert!(tags.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_main_mirror_on_another_port_is_written_with_the_port() {
    let house = House::robots(Reply::text(THEIRS));
    fs::write(
        house.path().join("own.txt"),
        "User-agent: *\nDisallow: /a\n",
    )
    .unwrap();
    let server = house.serve(
        "[[robots_txt.host]]\nhosts = ['a.example', 'a.example:8080']\n\
         main_mirror = 'A.example:8080'\nfile = 'own.txt'",
    );
    let text = |host| robots_of(&server, host).text();
    assert_eq!(
        text("a.example"),
        "User-agent: *\nDisallow: /\nHost: a.example:8080\n"
    );
    assert_eq!(
        text("a.example:8080"),
        "User-agent: *\nDisallow: /a\nHost: a.example:8080\n"
    );
    assert_eq!(
        text("b.example"),
        THEIRS,
        "the upstream responds for other hosts"
    );
}

#[test]
fn the_upstream_is_requested_by_the_name_of_each_host() {
    let house = House::new(TestServer::with(|seen| {
        let host = seen.header("host").unwrap_or_default();
        Reply::text(format!("User-agent: *\nDisallow: /of-{host}\n"))
    }));
    let server = house.serve(
        "hosts = ['www.example.com']\n[robots_txt]\nserve = 'merge'\ndisallow = '/ours'\n\
         [[robots_txt.host]]\nhosts = ['a.example', 'b.example']\n",
    );
    for (host, theirs) in [
        ("a.example", "a.example"),
        ("b.example", "b.example"),
        ("c.example", "www.example.com"),
    ] {
        let text = known(&server, host).text();
        let expected = format!("User-agent: *\nDisallow: /ours\nDisallow: /of-{theirs}\n");
        assert_eq!(text, expected, "{host}");
    }
}

/// Returns a host name, the upstream's response for that host, and the logged reason.
fn sayings() -> [(&'static str, Reply, &'static str); 9] {
    let html = Reply::typed(
        "text/html",
        "\n<!doctype html><p>User-agent: *\nDisallow: /html\n",
    );
    [
        ("gone", Reply::status(404), ""),
        ("secret", Reply::status(403), ""),
        ("page", html, "is a web page, not a robots.txt"),
        ("broken", Reply::status(500), "returned 500"),
        ("busy", Reply::status(429), "returned 429"),
        (
            "mad",
            Reply::Raw(b"nonsense".to_vec()),
            "its rules are unknown",
        ),
        ("reset", Reply::Reset, "its rules are unknown"),
        (
            "away",
            Reply::redirect("http://evil.example/robots.txt"),
            "to another server, \"evil.example\"",
        ),
        (
            "round",
            Reply::redirect("/robots.txt"),
            "redirects more than",
        ),
    ]
}

#[test]
fn our_rules_are_served_once_the_upstream_reports_that_it_has_no_file() {
    let cases = sayings();
    let hosts: Vec<_> = cases
        .iter()
        .map(|case| format!("'{}.example'", case.0))
        .collect();
    let replies = cases.clone();
    let house = House::new(TestServer::with(move |seen| {
        let host = seen.header("host").unwrap_or_default();
        let name = host.strip_suffix(".example");
        let case = replies.iter().find(|case| Some(case.0) == name);
        case.map_or_else(|| Reply::text(THEIRS), |case| case.1.clone())
    }));
    let hosts = hosts.join(", ");
    let server = house.serve(&format!(
        "[[robots_txt.host]]\nhosts = [{hosts}]\nserve = 'merge'\ndisallow = '/ours'"
    ));
    for (name, _, told) in cases {
        let host = format!("{name}.example");
        let is_answer = matches!(name, "gone" | "secret" | "page");
        let answer = if is_answer {
            known(&server, &host)
        } else {
            robots_of(&server, &host)
        };
        if is_answer {
            let ours = (200, "User-agent: *\nDisallow: /ours\n".to_owned());
            assert_eq!((answer.status, answer.text()), ours, "{name}");
        } else {
            let asked = (answer.status, answer.header("retry-after"));
            assert_eq!(asked, (503, "60".to_owned()), "{name}");
            assert!(!answer.text().contains("Disallow"), "{name}");
        }
        eventually(told, || house.log().contains(told));
    }
    assert_eq!(
        house.log().matches("returned 500").count(),
        1,
        "the failure is logged once"
    );
}

#[test]
fn robots_are_kept_out_until_the_upstream_has_responded() {
    let house = House::robots(Reply::text(THEIRS));
    house.configure("[robots_txt]\nserve = 'merge'\ndisallow = '/ours'\nenforce = 'on'");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let server = Server::start(house.path(), &["serve", "--upstream", &url]);
    let answer = robots(&server);
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), "60");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert!(answer.text().starts_with("503 "), "{}", answer.text());
    let head = request(server.addr, "HEAD", "/robots.txt", &[]);
    assert_eq!((head.status, head.body.len()), (503, 0));
    assert_eq!(request(server.addr, "POST", "/robots.txt", &[]).status, 405);
    assert_eq!(
        server.get("/ours", GOOGLEBOT).status,
        403,
        "our rules apply"
    );
    assert_eq!(server.get("/ours", FIREFOX).status, 502);
    assert!(house.log().contains("cannot connect to"), "{}", house.log());
}

#[test]
fn explain_shows_the_result_of_a_merge() {
    let explain = |house: &House| {
        house.configure("[robots_txt]\nserve = 'merge'\ndisallow = '/abc$'\nallow = '/y'");
        let arguments = [
            "explain",
            "--path",
            "/robots.txt",
            "--user-agent",
            GOOGLEBOT,
        ];
        succeed(house.path(), &arguments)
    };
    let inexact = "User-agent: *\nAllow: /*a*b*c\n";
    for (reply, told) in [
        (
            Reply::status(500),
            "; responds with 503 until the upstream's file is known",
        ),
        (Reply::text(inexact), "; the files cannot be merged exactly"),
    ] {
        let text = explain(&House::robots(reply));
        assert!(text.contains(told), "{told}: {text}");
    }
}

#[test]
fn a_huge_file_is_cut_at_a_line_end() {
    let line = "Disallow: /theirs\n";
    let huge = format!("User-agent: *\n{}", line.repeat(100_000));
    let house = House::robots(Reply::text(huge));
    let server = house.serve("[robots_txt]\nserve = 'merge'\ndisallow = '/theirs/too'");
    let text = known(&server, "www.example.com").text();
    assert!(text.len() <= 1 << 20, "{}", text.len());
    assert!(text.len() > 500 << 10, "{}", text.len());
    assert!(
        text.lines().skip(1).all(|line| line == "Disallow: /theirs"),
        "the file ends with a complete line"
    );
    assert!(
        house.log().contains("is larger than 1 MiB"),
        "{}",
        house.log()
    );
}

#[test]
fn redirects_within_the_upstream_are_followed() {
    let house = House::new(TestServer::with(|seen| match seen.path.as_str() {
        "/robots.txt" => Reply::redirect("http://www.example.com/a"),
        "/a" => Reply::redirect("b?c"),
        "/b?c" => Reply::text(THEIRS),
        _ => Reply::status(404),
    }));
    let server =
        house.serve("hosts = 'www.example.com'\n[robots_txt]\nserve = 'merge'\ndisallow = '/ours'");
    let text = known(&server, "www.example.com").text();
    assert!(text.contains("Disallow: /theirs\n"), "{text}");
}

#[test]
fn a_hangup_reloads_and_keeps_the_last_good_copy() {
    let house = House::robots(Reply::text(THEIRS).with("ETag", "\"t1\""));
    let server = house.serve("[robots_txt]\nserve = 'merge'\ndisallow = '/ours'");
    let first = known(&server, "www.example.com");
    assert!(first.text().contains("/theirs"));

    house.upstream.set(Reply::status(503));
    house.configure("[robots_txt]\nserve = 'merge'\ndisallow = '/new'");
    server.signal("HUP");
    eventually("our new rule is served", || {
        robots(&server).text().contains("/new")
    });
    eventually("the upstream has failed", || {
        house.log().contains("using the last good copy")
    });
    let text = robots(&server).text();
    assert!(
        text.contains("/theirs") && !text.contains("/ours"),
        "{text}"
    );
    let asked: Vec<_> = house.upstream.seen();
    let asked = asked
        .iter()
        .rfind(|seen| seen.path == "/robots.txt")
        .unwrap();
    assert_eq!(asked.header("if-none-match"), Some("\"t1\""));

    house
        .upstream
        .set(Reply::text("User-agent: *\nDisallow: /back\n"));
    server.signal("HUP");
    eventually("the upstream is back", || {
        robots(&server).text().contains("/back")
    });
    assert!(!robots(&server).text().contains("/theirs"));

    house.configure("[robots_txt]\nserve = 'nothing'");
    server.signal("HUP");
    eventually("the log reports the error", || {
        house
            .log()
            .contains("robots_txt.serve: \"nothing\" is not a valid source of robots.txt")
    });
    assert!(
        robots(&server).text().contains("/new"),
        "an invalid file changes nothing"
    );

    house.configure("[robots_txt]\nserve = 'pass'");
    server.signal("HUP");
    eventually("the upstream's own file is served", || {
        robots(&server).text() == "User-agent: *\nDisallow: /back\n"
    });
}

#[test]
fn a_reload_without_changes_keeps_etag_and_date() {
    let house = House::robots(Reply::text(THEIRS));
    let settings = "[robots_txt]\nserve = 'settings'\ndisallow = '/x'";
    let server = house.serve(settings);
    let first = robots(&server);
    server.signal("HUP");
    eventually("it is reloaded", || house.log().contains("reloaded sites"));
    let second = robots(&server);
    for header in ["etag", "last-modified"] {
        assert_eq!(first.header(header), second.header(header));
    }
}

#[test]
fn the_demonstration_site_serves_a_file_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = crate::support::program::command(directory.path());
    command.args(["explain", "--path", "/robots.txt", "--user-agent", "x"]);
    command.env("ROBOT_DETECTION_ROBOTS_TXT_SERVE", "settings");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.ends_with("answered  by this program, from its settings\n"),
        "{text}"
    );
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    let answer = robots(&server);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert!(
        answer.text().contains("Disallow: /login\n"),
        "{}",
        answer.text()
    );
}

#[test]
fn explain_names_the_origin_of_the_file() {
    let house = House::robots(Reply::text(THEIRS));
    house.configure(MIRRORS);
    let explain = |host: &str| {
        let arguments = [
            "explain",
            "--path",
            "/robots.txt",
            "--user-agent",
            GOOGLEBOT,
        ];
        succeed(house.path(), &[&arguments[..], &["--host", host]].concat())
    };
    for (host, who) in [
        (
            "www.host1.com",
            "this program, because the host is a mirror of www.myhost.ru",
        ),
        ("www.myhost.ru", "this program, from its settings"),
    ] {
        let text = explain(host);
        assert!(
            text.ends_with(&format!("decision  pass\nanswered  by {who}\n")),
            "{text}"
        );
    }
    house.configure("");
    assert!(explain("x").contains(&format!("answered  by {}\n", house.upstream.url(""))));
}

#[test]
fn doctor_checks_files_mirrors_and_the_upstream() {
    let house = House::robots(Reply::status(500));
    house.configure(
        "[robots_txt]\nserve = 'pass'\ndisallow = '/x'\nrefuse_robots = ['gptbott']\n\
         [[robots_txt.host]]\nhosts = 'a.example'\nmain_mirror = 'www.a.example'\n",
    );
    let report = succeed(house.path(), &["doctor", "--offline"]);
    for line in [
        "robots_txt.disallow has no effect because robots_txt.serve is pass",
        "robots_txt.refuse_robots contains the unknown robot \"gptbott\"; did you mean \"gptbot\"?",
        "[[robots_txt.host]] (robot-detection.toml:9): main_mirror \"www.a.example\" is not in hosts; add the name to hosts, unless another server serves it",
    ] {
        assert!(
            report.contains(&format!("warn  robots.txt: {line}\n")),
            "{line}\n{report}"
        );
    }
    assert!(report.contains("/robots.txt returned 500"), "{report}");
    let answered = format!("ok    robots.txt: served by {}", house.upstream.url(""));
    assert!(report.contains(&answered), "{report}");

    house.configure("[robots_txt]\nserve = 'file'\nfile = 'missing.txt'");
    let output = run(house.path(), &["doctor", "--offline"]);
    assert_eq!(output.status.code(), Some(2));
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        report.contains("robots_txt.file: cannot read missing.txt"),
        "{report}"
    );
}

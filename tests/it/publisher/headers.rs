//! Headers set by rules: on passed responses, replacing the site's or added, and on our own.

use std::path::Path;

use robot_detection::{
    layer::RobotDetectionLayer,
    policy::{Action, Rule},
};

use super::configure;
use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, request, run, succeed},
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

const RULES: &str = r#"
filter_pattern = ""
redirect_url = ""
[[rule]]
name = "search"
path = "/*"
purposes = "search"
action = "pass"
headers = { "Content-Usage" = "train-ai=n,search=y", "Link" = ["</license.xml>; rel=license", "</terms>; rel=terms-of-service"], "X-Robots-Tag" = "NOARCHIVE" }
[[rule]]
name = "training pays"
path = "/articles/*"
purposes = "ai-training"
action = "refuse"
status = 402
text = "Please ask for a licence."
headers = { "WWW-Authenticate" = "License error=\"insufficient_scope\"", "Link" = ["</license.xml>; rel=license", "</terms>; rel=terms-of-service"] }
[[rule]]
name = "training elsewhere"
path = "/old/*"
purposes = "ai-training"
action = "redirect"
redirect_url = "/licensing/"
headers = { "Content-Usage" = "train-ai=n" }
[[rule]]
name = "training signs in"
path = "/closed/*"
purposes = "ai-training"
action = "refuse"
status = 401
headers = { "WWW-Authenticate" = "License" }
[[rule]]
name = "training slowly"
path = "/slow/*"
purposes = "ai-training"
action = "slow"
requests = 1
per_seconds = 3600
headers = { "Content-Usage" = "train-ai=n" }
"#;

fn site() -> TestServer {
    TestServer::new(
        Reply::text("page")
            .with("Link", "</a.css>; rel=preload")
            .with("Content-Usage", "train-ai=y")
            .with("X-Robots-Tag", "notranslate"),
    )
}

fn serve(directory: &Path, site: &TestServer, rules: &str) -> Server {
    configure(directory, rules);
    Server::start(directory, &["serve", "--upstream", &site.url("")])
}

fn said(answer: &Answer) -> [String; 3] {
    ["content-usage", "link", "x-robots-tag"].map(|name| answer.header(name))
}

#[test]
fn passed_responses_get_the_headers_of_the_deciding_rule() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let server = serve(directory.path(), &site, RULES);
    let search = server.get("/", GOOGLEBOT);
    assert_eq!(search.status, 200);
    assert_eq!(
        said(&search),
        [
            "train-ai=n, search=y",
            "</a.css>; rel=preload, </license.xml>; rel=license, </terms>; rel=terms-of-service",
            "notranslate, noarchive",
        ]
    );
    assert_eq!(search.header("vary"), "User-Agent");
    // Other visitors get the site's response, and `Vary` warns caches about the difference.
    for user_agent in [FIREFOX, GPTBOT] {
        let other = server.get("/", user_agent);
        assert_eq!(
            said(&other),
            ["train-ai=y", "</a.css>; rel=preload", "notranslate"]
        );
        assert_eq!(other.header("vary"), "User-Agent");
    }
    let posted = request(server.addr, "POST", "/", &[("User-Agent", GOOGLEBOT)]);
    assert_eq!(posted.header("content-usage"), "train-ai=n, search=y");
    // Files for robots get no headers.
    assert_eq!(
        server.get("/robots.txt", GOOGLEBOT).header("content-usage"),
        "train-ai=y"
    );
}

#[test]
fn our_responses_have_the_headers_of_their_rule() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let server = serve(directory.path(), &site, RULES);
    let links = "</license.xml>; rel=license, </terms>; rel=terms-of-service";
    for method in ["GET", "HEAD", "POST"] {
        let refused = request(
            server.addr,
            method,
            "/articles/1",
            &[("User-Agent", GPTBOT)],
        );
        assert_eq!(refused.status, 402);
        assert_eq!(
            refused.header("www-authenticate"),
            "License error=\"insufficient_scope\""
        );
        assert_eq!(refused.header("link"), links);
        assert_eq!(refused.header("cache-control"), "no-store");
        assert_eq!(refused.header("vary"), "User-Agent");
    }
    let redirected = server.get("/old/1", GPTBOT);
    assert_eq!(
        (redirected.status, &*redirected.header("location")),
        (302, "/licensing/")
    );
    assert_eq!(redirected.header("content-usage"), "train-ai=n");
    // Only the rule's challenge is sent.
    let unauthorized = server.get("/closed/1", GPTBOT);
    assert_eq!(unauthorized.status, 401);
    assert_eq!(unauthorized.header("www-authenticate"), "License");
    assert_eq!(
        server.get("/slow/1", GPTBOT).header("content-usage"),
        "train-ai=y"
    );
    let slowed = server.get("/slow/1", GPTBOT);
    assert_eq!(slowed.status, 429);
    assert_eq!(slowed.header("content-usage"), "train-ai=n");
    assert_ne!(slowed.header("retry-after"), "");
}

#[test]
fn a_directly_served_page_has_them_too() {
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        "[[rule]]\nrobots = 'googlebot'\naction = 'serve'\nheaders = { 'Content-Usage' = 'search=y' }",
    );
    let server = Server::start(directory.path(), &["serve"]);
    let served = server.get("/members-only-stuff/", GOOGLEBOT);
    assert!(served.text().contains("Robot heaven"));
    assert_eq!(served.header("content-usage"), "search=y");
    assert_eq!(served.header("cache-control"), "no-store");
}

#[test]
fn headers_for_all_visitors_need_no_vary() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let rule = "filter_pattern = ''\nredirect_url = ''\n[[rule]]\npath = '/*'\nvisitors = 'all'\n\
        action = 'pass'\nheaders = { 'Content-Usage' = 'train-ai=n' }\n";
    let server = serve(directory.path(), &site, rule);
    for user_agent in [FIREFOX, GOOGLEBOT, GPTBOT, "AcmeCorpSpider/1.0", ""] {
        let answer = server.get("/a", user_agent);
        assert_eq!(answer.header("content-usage"), "train-ai=n", "{user_agent}");
        assert_eq!(answer.header("vary"), "", "{user_agent}");
    }
    // A reload removes the headers again.
    configure(directory.path(), "filter_pattern = ''\nredirect_url = ''\n");
    server.reload(directory.path());
    crate::support::program::eventually("the new file", || {
        server.get("/a", FIREFOX).header("content-usage") == "train-ai=y"
    });
}

#[test]
fn rules_can_apply_to_people_alone_without_confirmation() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let rule = "filter_pattern = ''\nredirect_url = ''\n[[rule]]\npath = '/*'\nvisitors = 'people'\n\
        action = 'pass'\nheaders = { 'X-Note' = 'hello' }\n";
    let server = serve(directory.path(), &site, rule);
    assert_eq!(server.get("/", FIREFOX).header("x-note"), "hello");
    let robot = server.get("/", GOOGLEBOT);
    assert_eq!(
        (&*robot.header("x-note"), &*robot.header("vary")),
        ("", "User-Agent")
    );
}

#[test]
fn a_dry_run_sets_no_headers() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let server = serve(
        directory.path(),
        &site,
        &format!("mode = 'report'\n{RULES}"),
    );
    for path in ["/", "/articles/1"] {
        for user_agent in [GOOGLEBOT, GPTBOT] {
            let answer = server.get(path, user_agent);
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("content-usage"), "train-ai=y");
            assert_eq!(answer.header("www-authenticate"), "");
        }
    }
    let explained = succeed(
        directory.path(),
        &["explain", "--path", "/", "--user-agent", GOOGLEBOT],
    );
    assert!(!explained.contains("Content-Usage"), "{explained}");
}

#[test]
fn explain_shows_each_header() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), RULES);
    let explain = |path: &str, user_agent: &str| {
        succeed(
            directory.path(),
            &["explain", "--path", path, "--user-agent", user_agent],
        )
    };
    let text = explain("/a", GOOGLEBOT);
    for line in [
        "rules     On this path, rule \"search\" (robot-detection.toml:5) may add headers to passing responses.",
        "header    The response gets Content-Usage: train-ai=n, search=y, added by rule \"search\" (robot-detection.toml:5).",
        "header    The response gets X-Robots-Tag: noarchive, added by rule \"search\" (robot-detection.toml:5).",
        "decision  pass",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let text = explain("/articles/1", GPTBOT);
    let told = "header    The response has WWW-Authenticate: License error=\"insufficient_scope\", added by rule \"training pays\"";
    assert!(text.contains(told), "{text}");
    let text = explain("/slow/1", GPTBOT);
    assert!(
        text.contains("header    The 429 response has Content-Usage"),
        "{text}"
    );
    assert!(!explain("/", FIREFOX).contains("header  "));
}

#[test]
fn invalid_headers_are_rejected_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    for (headers, expected) in [
        (
            "{ 'Set-Cookie' = 'a=b' }",
            ":4: rule.headers: \"Set-Cookie\": the header is specific to one visitor",
        ),
        (
            "{ 'Content-Length' = '3' }",
            ":4: rule.headers: \"Content-Length\": the header controls how messages are transferred",
        ),
        (
            "{ 'Content-Usage' = 'train-ai=no' }",
            "\"no\" is not a value of train-ai; write y or n",
        ),
        (
            "{ \"X-A\" = \"a\\r\\nSet-Cookie: b\" }",
            ":4: rule.headers: \"X-A\": the value contains a character",
        ),
        (
            "{ 'X-A' = ['1', '2'] }",
            ":4: rule.headers: \"X-A\": only Link, WWW-Authenticate, X-Robots-Tag may have several values",
        ),
        (
            "{ 'X-A' = 3 }",
            ":4: rule.headers: \"X-A\" is neither a string in quotes nor a list of strings",
        ),
        (
            "'X-A: 3'",
            ":4: rule.headers: \"X-A: 3\" is not a table of names and strings",
        ),
    ] {
        configure(
            directory.path(),
            &format!("[[rule]]\naction = 'pass'\nheaders = {headers}"),
        );
        let output = run(
            directory.path(),
            &["explain", "--path", "/", "--user-agent", "a"],
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn values_unknown_to_robots_cause_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        "[[rule]]\npath = '/*'\naction = 'pass'\n[rule.headers]\nX-Robots-Tag = ['noidex', 'googlebot: noarchive']",
    );
    let output = run(directory.path(), &["doctor", "--offline"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let warning =
        "rule 1 contains \"noidex\", which robots do not recognise; did you mean \"noindex\"?";
    assert!(text.contains(warning), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_with_only_the_layer_sets_them() {
    let rule = Rule::builder(Action::Pass)
        .paths(["/*"])
        .response_header("Link", "</license.xml>; rel=license");
    let layer = RobotDetectionLayer::builder()
        .filter_patterns([""; 0])
        .rule(rule)
        .build()
        .unwrap();
    let app = axum::Router::new()
        .route("/{page}", axum::routing::get(async || "page"))
        .layer(layer);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio_util::task::TaskTracker::new().spawn(axum::serve(listener, app).into_future());
    let ask = |user_agent| {
        tokio::task::block_in_place(|| request(addr, "GET", "/a", &[("User-Agent", user_agent)]))
    };
    assert_eq!(ask(GOOGLEBOT).header("link"), "</license.xml>; rel=license");
    assert_eq!(ask(FIREFOX).header("link"), "");
}

#[tokio::test]
async fn the_admin_page_lists_the_headers_of_a_rule() {
    use axum::{body::Body, http::Request};
    use http_body_util::BodyExt as _;
    use robot_detection::app::RobotDetection;
    use tower::ServiceExt as _;

    let rule = Rule::builder(Action::Pass)
        .paths(["/*"])
        .response_header("X-Note", "<script>alert(1)</script>");
    let robots = RobotDetection::builder()
        .rule(rule)
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .build_idle()
        .await
        .unwrap();
    let fetch = async |path: &str| {
        let request = Request::get(path).header("host", "localhost");
        let router = robots.admin_router_without_login();
        let answer = router.oneshot(request.body(Body::empty()).unwrap()).await;
        let body = answer.unwrap().into_body().collect().await.unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    };
    let page = fetch("/settings").await;
    assert!(page.contains("X-Note: &#60;script&#62;"), "{page}");
    let answer: serde_json::Value = serde_json::from_str(&fetch("/api/v1/settings").await).unwrap();
    assert_eq!(
        answer["rules"][0]["headers"][0],
        "X-Note: <script>alert(1)</script>"
    );
    robots.shutdown().await;
}

#[test]
fn reserved_training_has_exceptions_by_path_in_all_formats() {
    let (site, directory) = (site(), tempfile::tempdir().unwrap());
    let settings = r#"
filter_pattern = ""
redirect_url = ""
[robots_txt]
serve = "settings"
content_usage = "/open/ train-ai=y"
[licensing]
training = "reserved"
[[rule]]
path = "/sold/*"
visitors = "all"
action = "pass"
headers = { "Content-Usage" = "search=n", "TDM-Reservation" = "0" }
"#;
    let server = serve(directory.path(), &site, settings);
    let headers = |path: &str| {
        let answer = server.get(path, FIREFOX);
        ["content-usage", "tdm-reservation", "x-robots-tag"].map(|name| answer.header(name))
    };
    let reserved = ["train-ai=n", "1", "notranslate, noai, noimageai"];
    assert_eq!(headers("/"), reserved);
    assert_eq!(headers("/%6fpen"), reserved);
    for path in ["/open/", "/open/a", "/%6fpen/a"] {
        assert_eq!(
            headers(path),
            ["train-ai=y", "0", "notranslate, all"],
            "{path}"
        );
    }
    // The headers of a rule replace those of the setting.
    assert_eq!(headers("/sold/a")[..2], ["search=n", "0"]);
    let tdmrep = server.get("/.well-known/tdmrep.json", FIREFOX).body;
    let tdmrep = String::from_utf8(tdmrep).unwrap();
    let rules: Vec<serde_json::Value> = serde_json::from_str(&tdmrep).unwrap();
    let rules: Vec<_> = rules
        .iter()
        .map(|rule| (&rule["location"], &rule["tdm-reservation"]))
        .collect();
    assert_eq!(
        format!("{rules:?}"),
        "[(String(\"/open/\"), Number(0)), (String(\"/\"), Number(1))]"
    );
    let file = String::from_utf8(server.get("/robots.txt", FIREFOX).body).unwrap();
    assert!(!file.contains("Content-Signal"), "{file}");
    assert!(
        file.contains("Content-Usage: train-ai=n")
            && file.contains("Content-Usage: /open/ train-ai=y"),
        "{file}"
    );

    let everywhere = settings.replace("/open/ train-ai=y", "train-ai=y");
    let everywhere = format!("{everywhere}[server]\nupstream = \"{}\"\n", site.url(""));
    configure(directory.path(), &everywhere);
    let refused = run(directory.path(), &["validate"]);
    assert_ne!(refused.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("\"reserved\" contradicts"),
        "{refused:?}"
    );
}

//! `X-Robots-Tag` headers by rule: from settings to headers, and where they are shown.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{fs, net::SocketAddr, path::Path};

use axum::{Router, body::Body, http::Request, routing::get};
use http_body_util::BodyExt as _;
use robot_detection::{
    app::{self, RobotDetection},
    config::Loader,
    layer::RobotDetectionLayer,
    policy::{self, Policy, PolicyBuilder, TagRule},
    registry::Purpose,
};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, request, run, succeed},
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

const TAGS: &str = "
[[x_robots_tag]]
path = '*.pdf'
value = 'NOINDEX, nofollow'

[[x_robots_tag]]
purposes = ['ai-training']
value = 'noarchive'

[[x_robots_tag]]
path = ['/news/*', '/members-only-stuff/*']
robots = 'googlebot'
value = 'max-snippet:50'
";

fn configure(directory: &Path, more: &str) {
    let text = format!("web_robots_db = ''\n{more}");
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
}

/// Returns `X-Robots-Tag` and `Vary` of a response.
fn said(answer: &Answer) -> (String, String) {
    (answer.header("x-robots-tag"), answer.header("vary"))
}

#[test]
fn an_unknown_directive_is_sent_with_a_warning() {
    let upstream = TestServer::new(Reply::text("page"));
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        &format!(
            "[server]\nupstream = '{}'\nlisten = '127.0.0.1:0'\n[[x_robots_tag]]\n\
             value = 'noai, noimageai, noindex'\n[[x_robots_tag]]\nvalue = 'googlebot: noidex'\n",
            upstream.url("")
        ),
    );
    let server = Server::start(directory.path(), &["serve"]);
    let answer = server.get("/", FIREFOX);
    assert_eq!(
        answer.header("x-robots-tag"),
        "noindex, noai, noimageai, googlebot: noidex"
    );
    let log = fs::read_to_string(directory.path().join("stderr.log")).unwrap();
    let warning = "x_robots_tag 2 contains \"noidex\", which robots do not recognise; did you mean \"noindex\"?";
    assert!(log.contains(warning), "{log}");
    assert!(!log.contains("noimageai"), "{log}");
    let doctor = run(directory.path(), &["doctor", "--offline"]);
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(told.contains(warning), "{told}");
}

#[test]
fn an_upstreams_responses_get_the_matching_headers() {
    let upstream = TestServer::new(
        Reply::text("page")
            .with("X-Robots-Tag", "notranslate")
            .with("Vary", "Accept"),
    );
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), TAGS);
    let url = upstream.url("");
    let server = Server::start(directory.path(), &["serve", "--upstream", &url]);
    for (path, user_agent, expected, varies) in [
        ("/a.pdf", FIREFOX, "notranslate, noindex, nofollow", true),
        (
            "/%61.%70df?b",
            FIREFOX,
            "notranslate, noindex, nofollow",
            true,
        ),
        ("/a.pdf.html", FIREFOX, "notranslate", true),
        ("/a", GPTBOT, "notranslate, noarchive", true),
        ("/news/a", GOOGLEBOT, "notranslate, max-snippet:50", true),
        (
            "/news/a.pdf",
            GPTBOT,
            "notranslate, noindex, nofollow, noarchive",
            true,
        ),
        ("/newspaper", GOOGLEBOT, "notranslate", true),
        // A redirect gets no header, because it is not a page.
        ("/members-only-stuff/a.pdf", GOOGLEBOT, "", true),
    ] {
        let answer = server.get(path, user_agent);
        let (tags, vary) = said(&answer);
        assert_eq!(tags, expected, "{path} {user_agent}");
        assert_eq!(vary.contains("User-Agent"), varies, "{path} {vary}");
    }
    let head = request(server.addr, "HEAD", "/a.pdf", &[("User-Agent", FIREFOX)]);
    assert_eq!(said(&head).0, "notranslate, noindex, nofollow");
    configure(directory.path(), "[[x_robots_tag]]\nvalue = 'none'");
    server.signal("HUP");
    eventually("the new file", || {
        said(&server.get("/a", FIREFOX))
            == ("notranslate, noindex, nofollow".into(), "Accept".into())
    });
}

#[test]
fn explain_shows_each_header() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), TAGS);
    let explain = |path: &str, user_agent: &str| {
        succeed(
            directory.path(),
            &["explain", "--path", path, "--user-agent", user_agent],
        )
    };
    for (path, user_agent, lines) in [
        (
            "/a.pdf",
            FIREFOX,
            &[
                "tag       The response gets X-Robots-Tag: noindex, nofollow from x_robots_tag 1 (robot-detection.toml:3).",
                "tag       The response gets no X-Robots-Tag from x_robots_tag 2 (robot-detection.toml:7): the User-Agent does not belong to a known robot.",
                "tag       The response gets no X-Robots-Tag from x_robots_tag 3 (robot-detection.toml:11): the rule's paths do not match.",
            ][..],
        ),
        (
            "/news/a",
            GPTBOT,
            &[
                "tag       The response gets X-Robots-Tag: noarchive from x_robots_tag 2 (robot-detection.toml:7).",
                "tag       The response gets no X-Robots-Tag from x_robots_tag 3 (robot-detection.toml:11): the robot is \"gptbot\".",
            ],
        ),
    ] {
        let text = explain(path, user_agent);
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "{line}\n{text}");
        }
    }
    let text = explain("/members-only-stuff/", GOOGLEBOT);
    assert!(!text.contains("X-Robots-Tag"), "{text}");
}

#[test]
fn invalid_tables_are_rejected_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    for (table, expected) in [
        (
            "",
            ":2: an [[x_robots_tag]] needs a value, such as value = \"noindex\"",
        ),
        (
            "value = 'max-snippet: few'",
            ":3: x_robots_tag.value: \"max-snippet: few\": \"max-snippet: few\" is not a rule; write a number",
        ),
        (
            "value = \"noindex\\r\\nSet-Cookie: a=b\"",
            ":3: x_robots_tag.value: \"noindex\\r\\nSet-Cookie: a=b\": the value contains a character that",
        ),
        (
            "path = '*.pdf'\nvalue = 'googlebot:'",
            ":4: x_robots_tag.value: \"googlebot:\": no rule",
        ),
        (
            "value = 'all'\npath = 'a'",
            ":4: x_robots_tag.path: \"a\": the pattern starts with neither",
        ),
        (
            "value = 'all'\npath = ''",
            ":4: x_robots_tag.path: the list is empty",
        ),
        (
            "value = 'all'\nrobots = []",
            ":4: x_robots_tag.robots: the list is empty",
        ),
        (
            "value = 'all'\npurposes = 'a'",
            ":4: x_robots_tag.purposes: ",
        ),
        ("valeu = 'all'", "did you mean \"value\"?"),
    ] {
        configure(directory.path(), &format!("[[x_robots_tag]]\n{table}"));
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
fn too_many_tables_are_rejected() {
    let rules = std::iter::repeat_n(TagRule::builder("noindex"), 257);
    let policy = rules.fold(Policy::builder(), PolicyBuilder::x_robots_tag);
    let error = policy.build().unwrap_err().to_string();
    assert!(error.starts_with("x_robots_tag 257: "), "{error}");
}

#[test]
fn doctor_questions_unknown_robots() {
    let directory = tempfile::tempdir().unwrap();
    configure(
        directory.path(),
        "[[x_robots_tag]]\nvalue = 'none'\nrobots = 'gogglebot'",
    );
    let output = run(directory.path(), &["doctor", "--offline"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let doubt = "x_robots_tag 1 contains the unknown robot \"gogglebot\"";
    assert!(text.contains(doubt), "{text}");
}

#[tokio::test]
async fn the_admin_page_lists_the_headers() {
    const HOSTILE: &str = "<script>alert(1)</script>";
    let policy = Policy::builder()
        .x_robots_tag(
            TagRule::builder("a: noindex")
                .robots([HOSTILE])
                .origin("f.toml:7"),
        )
        .x_robots_tag(TagRule::builder("none"));
    let robots = RobotDetection::builder()
        .policy(|_| policy)
        .database_url("sqlite::memory:")
        .web_robots_db("")
        .build_idle()
        .await
        .unwrap();
    let fetch = async |path: &str| {
        let request = Request::get(path).header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        let answer = robots
            .admin_router_without_login()
            .oneshot(request)
            .await
            .unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let page = fetch("/settings").await;
    assert!(!page.contains(HOSTILE), "{page}");
    for text in ["a: noindex", "f.toml:7", "every response", "built in"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let answer: Value = serde_json::from_str(&fetch("/api/v1/settings").await).unwrap();
    assert_eq!(answer["x_robots_tags"][0]["origin"], "f.toml:7");
    assert_eq!(answer["x_robots_tags"][1]["value"], "noindex, nofollow");
    robots.shutdown().await;
}

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    TaskTracker::new().spawn(axum::serve(listener, app).into_future());
    addr
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_with_only_the_layer_sets_them_too() {
    let layer = RobotDetectionLayer::builder()
        .filter_patterns([""; 0])
        .policy(|policy| policy.x_robots_tag(TagRule::builder("noindex").paths(["*.pdf"])))
        .policy(|policy| {
            let noarchive = TagRule::builder("noarchive").paths(["/a*"]);
            policy.x_robots_tag(noarchive.purposes([Purpose::AiTraining]))
        })
        .build()
        .unwrap();
    let policy = layer.policy().load();
    assert_eq!(policy.tag_rules().count(), 2);
    let request = policy::Request {
        method: "POST",
        host: None,
        path: "*",
        query: None,
    };
    assert!(policy.tags(&request, None).rules.is_empty());
    drop(policy);
    let app = Router::new()
        .route("/{page}", get(async || "page"))
        .layer(layer);
    let addr = serve(app).await;
    for (path, user_agent, expected) in [
        ("/b.pdf", FIREFOX, ("noindex", "")),
        ("/a.pdf", FIREFOX, ("noindex", "User-Agent")),
        ("/a.pdf", GPTBOT, ("noindex, noarchive", "User-Agent")),
        ("/b", GPTBOT, ("", "")),
    ] {
        let answer = tokio::task::block_in_place(|| {
            crate::support::program::request(addr, "GET", path, &[("User-Agent", user_agent)])
        });
        let (tags, vary) = said(&answer);
        assert_eq!(
            (tags.as_str(), vary.as_str()),
            expected,
            "{path} {user_agent}"
        );
    }
}

#[test]
fn the_configured_tables_reach_the_policy() {
    let text = "web_robots_db = ''\n[[x_robots_tag]]\npath = ['/a', '/b']\nvalue = 'robots: none'";
    let loaded = Loader::new().file("f.toml", text).load().unwrap();
    let policy = app::policy(&loaded).unwrap();
    let rule = policy.tag_rules().next().unwrap();
    assert_eq!(rule.value(), "noindex, nofollow");
    assert_eq!(rule.origin(), "f.toml:2");
    assert_eq!(rule.label(), "x_robots_tag 1");
    assert_eq!(rule.conditions().collect::<Vec<_>>(), ["path /a, /b"]);
}

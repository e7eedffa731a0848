//! Terms for content as RSL and `TDMRep`, served to all visitors.

use robot_detection::licensing::{Licensing, Terms, Usage};
use serde_json::{Value, json};

use super::configure;
use crate::support::{
    http::{Reply, TestServer},
    program::{FIREFOX, Server, eventually, request, run, succeed},
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

const TERMS: &str = r#"
[server]
hosts = "www.example.com"
[robots_txt]
serve = "settings"
refuse_purposes = "ai-training"
enforce = "on"
license = "https://licences.example/all.xml"
[licensing]
rsl = "/terms/license.xml"
tdmrep = true
[[license]]
permits = "search"
prohibits = "ai-train"
terms = "https://www.example.com/terms"
[[license]]
path = "/archive/"
permits = "ai-train"
payment = "crawl"
amount = "0.015"
tdm_policy = "https://www.example.com/tdm.json"
[[rule]]
path = "/*"
robots = "gptbot"
action = "refuse"
status = 402
"#;

#[test]
fn refused_robots_can_still_read_the_terms() {
    let (site, directory) = (
        TestServer::new(Reply::text("page")),
        tempfile::tempdir().unwrap(),
    );
    configure(directory.path(), TERMS);
    let server = Server::start(directory.path(), &["serve", "--upstream", &site.url("")]);
    assert_eq!(server.get("/a", GPTBOT).status, 402);
    for user_agent in [GPTBOT, FIREFOX, ""] {
        let rsl = server.get("/terms/license.xml", user_agent);
        assert_eq!(rsl.status, 200, "{user_agent}");
        assert_eq!(rsl.header("content-type"), "application/rsl+xml");
        let text = rsl.text();
        assert!(text.contains("<prohibits type=\"usage\">ai-train</prohibits>"));
        assert!(text.contains("<content url=\"/archive/\">"), "{text}");
        assert!(text.contains("<amount currency=\"USD\">0.015</amount>"));
        let tdmrep = server.get("/.well-known/tdmrep.json", user_agent);
        assert_eq!(tdmrep.header("content-type"), "application/json");
        let entries: Value = serde_json::from_str(&tdmrep.text()).unwrap();
        assert_eq!(
            entries,
            json!([
                {"location": "/archive/", "tdm-reservation": 1,
                 "tdm-policy": "https://www.example.com/tdm.json"},
                {"location": "/", "tdm-reservation": 1},
            ])
        );
        let robots = server.get("/robots.txt", user_agent).text();
        let licenses = "License: https://licences.example/all.xml\n\
            License: http://www.example.com/terms/license.xml\n";
        assert!(robots.starts_with(licenses), "{robots}");
    }
    // Neighbouring paths stay closed, and the site is not requested.
    assert_eq!(server.get("/terms/license.xml.bak", GPTBOT).status, 402);
    assert_eq!(server.get("/terms/", GPTBOT).status, 402);
    assert!(
        site.seen()
            .iter()
            .all(|seen| !seen.path.contains("license"))
    );
}

#[test]
fn the_documents_follow_http() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), TERMS);
    let server = Server::start(directory.path(), &["serve"]);
    let path = "/.well-known/tdmrep.json";
    let first = server.get(path, FIREFOX);
    let tag = first.header("etag");
    let again = request(server.addr, "GET", path, &[("If-None-Match", tag.as_str())]);
    assert_eq!((again.status, &*again.text()), (304, ""));
    let head = request(server.addr, "HEAD", path, &[]);
    assert_eq!(
        head.header("content-length"),
        first.text().len().to_string()
    );
    assert_eq!(request(server.addr, "POST", path, &[]).status, 405);
    // A reload changes and removes the documents.
    configure(
        directory.path(),
        &TERMS.replace("ai-train\"\nterms", "ai-all\"\nterms"),
    );
    server.signal("HUP");
    eventually("the new terms", || {
        server
            .get("/terms/license.xml", FIREFOX)
            .text()
            .contains("ai-all")
    });
    configure(directory.path(), "");
    server.reload(directory.path());
    eventually("no terms", || server.get(path, FIREFOX).status == 404);
}

#[test]
fn explain_and_other_proxies_report_the_answering_component() {
    let directory = tempfile::tempdir().unwrap();
    let check = "[check]\nlisten = 'unix:/run/check.sock'\n";
    let text = TERMS.replace(
        "hosts = \"www.example.com\"",
        "hosts = \"www.example.com\"\nupstream = \"http://127.0.0.1:3000\"",
    );
    configure(directory.path(), &format!("{text}{check}"));
    let explained = succeed(
        directory.path(),
        &[
            "explain",
            "--path",
            "/terms/license.xml",
            "--user-agent",
            GPTBOT,
        ],
    );
    assert!(explained.contains("never redirected"), "{explained}");
    assert!(
        explained.contains("with its content licensing terms"),
        "{explained}"
    );
    let file = succeed(
        directory.path(),
        &["proxy-config", "nginx", "--part", "server"],
    );
    assert!(file.contains("location = /terms/license.xml {"), "{file}");
    assert!(
        file.contains("location = /.well-known/tdmrep.json {"),
        "{file}"
    );
}

#[test]
fn invalid_terms_are_rejected_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (
            "[licensing]\nrsl = '/l.xml'",
            ":3: licensing.rsl: there are no terms",
        ),
        (
            "[licensing]\ntdmrep = true",
            ":3: licensing.tdmrep: there are no terms",
        ),
        (
            "[licensing]\nrsl = 'l.xml'\n[[license]]\npermits = 'search'",
            ":3: licensing.rsl: \"l.xml\" is not the path of a page",
        ),
        (
            "[[license]]\npath = '/a'",
            ":2: license.permits: the terms are empty",
        ),
        (
            "[[license]]\npermits = 'search'\nprohibits = ['ai-train', 'search']",
            ":4: license.prohibits: search is also permitted",
        ),
        (
            "[[license]]\npermits = 'train-ai'",
            ":3: license.permits: \"train-ai\" is not a valid use",
        ),
        (
            "[[license]]\npayment = 'crawl'\namount = '1,5'",
            ":4: license.amount: \"1,5\" is not an amount such as 0.015",
        ),
        (
            "[[license]]\npermits = 'search'\nterms = 'terms.html'",
            ":4: license.terms: \"terms.html\" is not a URL",
        ),
        (
            "[[license]]\npremits = 'search'",
            "did you mean \"permits\"?",
        ),
    ] {
        configure(directory.path(), text);
        let output = run(directory.path(), &["doctor", "--offline"]);
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {told}");
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}

#[test]
fn a_site_has_its_own_terms() {
    let site = TestServer::new(Reply::text("page"));
    let directory = tempfile::tempdir().unwrap();
    let url = site.url("");
    configure(
        directory.path(),
        &format!(
            "[server]\nupstream = '{url}'\n[licensing]\nrsl = '/license.xml'\n[[license]]\nprohibits = 'ai-train'\n\
             [[site]]\nhosts = 'open.example'\nupstream = '{url}'\n\
             [[site.license]]\npermits = 'all'\npayment = 'attribution'\n"
        ),
    );
    let server = Server::start(directory.path(), &["serve"]);
    let of = |host| request(server.addr, "GET", "/license.xml", &[("Host", host)]).text();
    assert!(of("open.example").contains("attribution"));
    assert!(!of("open.example").contains("prohibits"));
    assert!(of("www.example.com").contains("prohibits"));
}

#[tokio::test]
async fn an_application_serves_them_by_a_router() {
    use tower::ServiceExt as _;

    let terms = Terms::new().prohibits([Usage::AiTrain]);
    let licensing = Licensing::new([terms]).unwrap();
    let licensing = licensing.rsl("/license.xml").unwrap().tdmrep(true);
    let app = axum::Router::new().merge(licensing.router());
    for path in ["/license.xml", "/.well-known/tdmrep.json"] {
        let request = http::Request::get(path).body(axum::body::Body::empty());
        let answer = app.clone().oneshot(request.unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
}

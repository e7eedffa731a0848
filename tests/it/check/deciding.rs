use super::house::{House, field, question, told_status};
use crate::support::{
    program::{Answer, CHROME, FIREFOX, GOOGLEBOT},
    raw::header,
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
/// Compared headers that nginx uses to build its response.
const FOLDED: [&str; 2] = ["cache-control", "retry-after"];
const DIALECTS: [&str; 5] = ["nginx", "caddy", "traefik", "haproxy", "envoy"];

/// Returns status, redirect target and body, as a visitor gets them.
fn told(answer: &Answer) -> (u16, String, String) {
    (
        answer.status,
        answer.header("location"),
        answer.text().trim().to_owned(),
    )
}

/// Returns the same from the headers that nginx uses to build its response.
fn told_to_nginx(answer: &Answer) -> (u16, String, String) {
    (
        told_status(answer),
        field(answer, "location"),
        field(answer, "text"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_dialect_decides_as_our_own_proxy_does() {
    let house = House::new().await;
    for user_agent in [GOOGLEBOT, GPTBOT, FIREFOX, CHROME, "AcmeCorpSpider/1.0", ""] {
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/members-only-stuff/a?b=c"),
            ("HEAD", "/members-only-stuff/a"),
            ("POST", "/members-only-stuff/a"),
            ("GET", "//members-only-stuff/%61"),
            ("GET", "/x/../members-only-stuff/"),
            ("GET", "/paid/1"),
            ("HEAD", "/paid/1"),
            ("GET", "/closed/1"),
            ("GET", "/tagged/1"),
            ("GET", "/robots.txt"),
            ("GET", "/robot-heaven/"),
        ] {
            let own = house.own(method, path, user_agent);
            let has_passed = own.status == 200;
            let before = house.site.requests().len();
            for dialect in DIALECTS {
                let asked = house.check(dialect, method, path, user_agent);
                let what = format!("{dialect} {method} {path} {user_agent}: {own:?} {asked:?}");
                if has_passed {
                    assert_eq!(asked.status, 200, "{what}");
                    assert_eq!(asked.text(), "", "{what}");
                } else if dialect == "nginx" {
                    assert_eq!(asked.status, 403, "{what}");
                    assert_eq!(told_to_nginx(&asked), told(&own), "{what}");
                } else {
                    assert_eq!(told(&asked), told(&own), "{what}");
                }
                for name in ["x-robots-tag", "vary", "cache-control", "retry-after"] {
                    let is_site_s = has_passed && path.starts_with("/robot");
                    let is_folded = asked.status == 403 && FOLDED.contains(&name);
                    let told = if dialect == "nginx" && is_folded {
                        field(&asked, name)
                    } else {
                        asked.header(name)
                    };
                    assert!(is_site_s || told == own.header(name), "{name}: {what}");
                }
            }
            assert_eq!(
                house.site.requests().len(),
                before,
                "the endpoint sent a request to the site"
            );
        }
    }
}

/// Spellings of the path `/refused/x` that begin at a page of this program or of the site.
const DETOURS: [&str; 13] = [
    "/robot-detection/admin/../../refused/x",
    "/robot-detection/admin/%2e%2e/%2e%2e/refused/x",
    "/robot-detection/admin/..%2f..%2frefused/x",
    "/robot-detection/admin/x/../../../refused/x",
    "/robot-detection/admin/assets/../../../refused/x",
    "/robot-detection/admin/api/../../../refused/x",
    "/robot-detection/admin/./../..//refused/x",
    "/robot-heaven/../refused/x",
    "/robot-heaven/%2E%2E/refused/x",
    "/robots.txt/../refused/x",
    "/healthz/../refused/x",
    "/x/%2e%2e/refused/x",
    "//refused//x",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_detour_through_a_page_of_the_program_passes() {
    let house = House::with(
        "[[rule]]\nname = 'refused'\npath = '/refused/*'\naction = 'refuse'\nstatus = 451\n\
         [check]\nlisten = \"unix:check.sock\"\n",
    )
    .await;
    for path in DETOURS {
        let own = house.own("GET", path, GPTBOT);
        assert_eq!(own.status, 451, "{path}");
        for dialect in DIALECTS {
            let asked = house.check(dialect, "GET", path, GPTBOT);
            let status = if dialect == "nginx" {
                told_status(&asked)
            } else {
                asked.status
            };
            assert_eq!(status, 451, "{dialect} {path}");
        }
    }
    // Every proxy's file routes this page directly to the program: the site never gets it.
    for dialect in DIALECTS {
        let asked = house.check(dialect, "GET", "/robot-detection/admin/login", FIREFOX);
        assert!(matches!(asked.status, 401 | 403 | 404), "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_proxy_never_forwards_is_refused() {
    let house = House::new().await;
    for dialect in DIALECTS {
        for (method, path, status) in [
            ("TRACE", "/", 501),
            ("CONNECT", "/", 501),
            ("GET", "*", 400),
        ] {
            let asked = house.check(dialect, method, path, FIREFOX);
            match dialect {
                "nginx" => assert_eq!(told_status(&asked), status, "{method}"),
                // Envoy treats 501 as a failure, and appends the path to the endpoint's path.
                "envoy" => assert!(matches!(asked.status, 403 | 404), "{method}"),
                _ => assert_eq!(asked.status, status, "{dialect} {method}"),
            }
        }
        for host in ["example.org/open", "u@example.org", "exa mple"] {
            let odd = question(dialect, "GET", "/", &[("User-Agent", FIREFOX)]);
            let odd = odd.replace("Host: example.org", &format!("Host: {host}"));
            assert!(
                matches!(house.ask(&odd).status, 400 | 403),
                "{dialect} {host}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passed_request_carries_the_robot_headers_for_the_site() {
    let house = House::new().await;
    for user_agent in [GOOGLEBOT, FIREFOX, "AcmeCorpSpider/1.0"] {
        house.own("GET", "/", user_agent);
        let sent = house.site.last_request();
        for dialect in DIALECTS {
            let asked = house.check(dialect, "GET", "/", user_agent);
            for name in ["x-robot-detection", "x-robot-detection-verdict"] {
                assert_eq!(
                    asked.header(name),
                    header(&sent, name).join(", "),
                    "{dialect} {name}"
                );
            }
            let told = |name: &str| {
                if dialect == "nginx" {
                    field(&asked, name)
                } else {
                    asked.header(&format!("x-robot-detection-{name}"))
                }
            };
            assert_eq!(told("decision"), "pass");
            assert!(!told("cause").is_empty());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_fetches_a_directly_served_page_and_others_redirect() {
    let house = House::new().await;
    let own = house.own("GET", "/pages/1", GOOGLEBOT);
    assert_eq!(own.status, 200);
    for dialect in DIALECTS {
        let asked = house.check(dialect, "GET", "/pages/1", GOOGLEBOT);
        if dialect != "nginx" {
            assert_eq!(
                (asked.status, asked.header("location").as_str()),
                (302, "/robot-heaven/")
            );
            assert_eq!(asked.header("cache-control"), "no-store");
            continue;
        }
        assert_eq!(asked.status, 403);
        let page = field(&asked, "page");
        let more = [("User-Agent", GOOGLEBOT), ("X-Robot-Detection-Page", &page)];
        let fetched = house.ask(&question("page", "GET", "/pages/1", &more));
        assert_eq!(told(&fetched), told(&own));
        for name in ["content-type", "vary", "cache-control"] {
            assert_eq!(fetched.header(name), own.header(name), "{name}");
        }
    }
    assert!(house.site.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_above_its_pace_gets_a_retry_after() {
    let house = House::new().await;
    assert_eq!(house.check("caddy", "GET", "/slow/1", GPTBOT).status, 200);
    let asked = house.check("nginx", "GET", "/slow/1", GPTBOT);
    assert_eq!((asked.status, told_to_nginx(&asked).0), (403, 429));
    let wait: u64 = field(&asked, "retry-after").parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
    // Both the endpoint and the proxy share one pace.
    assert_eq!(house.own("GET", "/slow/1", GPTBOT).status, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_forwarded_address_has_its_own_count() {
    let more = "[[rule]]\nname = 'count'\npath = '/counted/*'\nvisitors = 'all'\npeople = true\n\
        action = 'slow'\nper = 'address'\nrequests = 2\nper_seconds = 86400\n\
        [check]\nlisten = 'unix:check.sock'\n";
    let house = House::with(more).await;
    let asked = |address: &str| {
        let visitor = [("User-Agent", FIREFOX)];
        let question = question("nginx", "GET", "/counted/1", &visitor);
        house.ask(&question.replace("192.0.2.7", address))
    };
    for address in ["192.0.2.7", "192.0.2.8", "2001:db8::1"] {
        assert_eq!([asked(address).status, asked(address).status], [200; 2]);
        let third = asked(address);
        assert_eq!((third.status, told_to_nginx(&third).0), (403, 429));
        let wait: u64 = field(&third, "retry-after").parse().unwrap();
        assert!((1..=43_200).contains(&wait), "{wait}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_decided_by_its_own_site() {
    let more = "[check]\nlisten = 'unix:check.sock'\n[[site]]\nname = 'shop'\nhosts = 'shop.example.org'\n\
        upstream = 'http://127.0.0.1:1'\nfilter_pattern = '/cart/*'\nredirect_url = '/robot-heaven/'\n";
    let house = House::with(more).await;
    let ask = |host: &str, target: &str| {
        let text = question("nginx", "GET", target, &[("User-Agent", GPTBOT)]);
        house
            .ask(&text.replace("Host: example.org", &format!("Host: {host}")))
            .status
    };
    assert_eq!(
        (
            ask("example.org", "/cart/1"),
            ask("shop.example.org", "/cart/1")
        ),
        (200, 403)
    );
    assert_eq!(ask("SHOP.example.org:8080", "/cart/1"), 403);
    // The host in the request line takes precedence over Host, for us as for nginx.
    assert_eq!(ask("example.org", "http://shop.example.org/cart/1"), 403);
    let routed = |header: &str, host: &str| {
        let text = question("nginx", "GET", "/cart/1", &[("User-Agent", GPTBOT)]);
        let text = text.replacen("GET - /cart", &format!("GET {host} /cart"), 1);
        house
            .ask(&text.replacen("Host: example.org", &format!("Host: {header}"), 1))
            .status
    };
    assert_eq!(routed("example.org", "shop.example.org"), 403);
    assert_eq!(routed("shop.example.org", "example.org"), 200);
}

const HEADERS: &str = r#"
[[rule]]
name = "search"
path = "/news/*"
robots = "googlebot"
action = "pass"
headers = { "Content-Usage" = "search=y", "Link" = ["</license.xml>; rel=license", "</terms>; rel=terms-of-service"] }
[[rule]]
name = "training"
path = "/news/*"
robots = "gptbot"
action = "refuse"
status = 402
headers = { "WWW-Authenticate" = "License", "Content-Usage" = "train-ai=n" }
[check]
listen = "unix:check.sock"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_rules_are_sent_to_every_proxy() {
    let house = House::with(HEADERS).await;
    for dialect in DIALECTS {
        let passed = house.check(dialect, "GET", "/news/1", GOOGLEBOT);
        assert_eq!(passed.status, 200, "{dialect}");
        assert_eq!(passed.header("content-usage"), "search=y", "{dialect}");
        assert_eq!(passed.header("vary"), "User-Agent", "{dialect}");
        assert_eq!(
            passed.header("link"),
            "</license.xml>; rel=license, </terms>; rel=terms-of-service"
        );
        let refused = house.check(dialect, "GET", "/news/1", GPTBOT);
        assert_eq!(refused.header("content-usage"), "train-ai=n", "{dialect}");
        let license = if dialect == "nginx" {
            field(&refused, "www-authenticate")
        } else {
            refused.header("www-authenticate")
        };
        assert_eq!(license, "License", "{dialect}");
        let person = house.check(dialect, "GET", "/news/1", FIREFOX);
        assert_eq!(person.header("content-usage"), "", "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn suspects_are_found_by_the_forwarded_headers() {
    let house =
        House::with("[check]\nlisten = \"unix:check.sock\"\n[suspects]\naction = \"refuse\"\n")
            .await;
    let person = [
        ("User-Agent", FIREFOX),
        ("Accept", "text/css,*/*;q=0.1"),
        ("Accept-Language", "de"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Referer", "http://example.org/"),
    ];
    let liar = [("User-Agent", FIREFOX), ("Accept", "*/*")];
    let ask = |headers: &[(&str, &str)]| {
        house
            .ask(&question("caddy", "GET", "/a.css", headers))
            .status
    };
    assert_eq!(ask(&person), 200);
    assert_eq!(ask(&liar), 403);
    assert_eq!(ask(&person), 200);
}

/// Writes a query as ingress-nginx does, with the visitor's own headers.
fn ingress_question(method: &str, url: &str, user_agent: &str) -> String {
    format!(
        "GET /check/ingress-nginx HTTP/1.1\r\nHost: check.default.svc\r\nConnection: close\r\n\
         X-Original-URL: {url}\r\nX-Original-Method: {method}\r\nX-Real-IP: 192.0.2.7\r\n\
         X-Forwarded-For: 192.0.2.7\r\nX-Sent-From: nginx-ingress-controller\r\n\
         X-Auth-Request-Redirect: /\r\nX-Request-ID: 1\r\nUser-Agent: {user_agent}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_nginx_gets_only_statuses_that_it_supports() {
    let house = House::new().await;
    for (method, path, user_agent, status) in [
        ("GET", "/", FIREFOX, 200),
        ("GET", "/", GOOGLEBOT, 200),
        ("GET", "/members-only-stuff/a?b", GPTBOT, 401),
        ("GET", "/x/%2e%2e/members-only-stuff/a", GPTBOT, 401),
        ("GET", "/pages/1", GOOGLEBOT, 401),
        ("GET", "/paid/1", GPTBOT, 403),
        ("POST", "/closed/1", GPTBOT, 403),
    ] {
        let url = format!("https://example.org{path}");
        let asked = house.ask(&ingress_question(method, &url, user_agent));
        assert_eq!(asked.status, status, "{method} {path}: {asked:?}");
        let id = if user_agent == GOOGLEBOT && status == 200 {
            "googlebot"
        } else {
            ""
        };
        assert_eq!(asked.header("x-robot-detection"), id, "{path}");
        assert_eq!(asked.header("location"), "", "{path}");
    }
    for url in ["https://example.org", "/a", ""] {
        assert_ne!(
            house.ask(&ingress_question("GET", url, FIREFOX)).status,
            200,
            "{url}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_redirected_by_ingress_nginx_follows_the_decision() {
    let house = House::new().await;
    let host = "example.org";
    let sent = |page: &str, user_agent: &str| {
        house.own(
            "GET",
            &format!("/robot-detection/redirect?rd={page}"),
            user_agent,
        )
    };
    let own = house.own("GET", "/members-only-stuff/a", GPTBOT);
    let page = format!("http://{host}/members-only-stuff/a");
    assert_eq!(told(&sent(&page, GPTBOT)), told(&own));
    let back = sent(&page, FIREFOX);
    assert_eq!(
        (back.status, back.header("location").as_str()),
        (302, page.as_str())
    );
    assert_eq!(sent(&format!("http://{host}/paid/1"), GPTBOT).status, 402);
    assert!(
        house.site.requests().is_empty(),
        "the page was served from the site"
    );
    // A path that looks like a link to another host is not redirected, but sent to the site.
    let odd = format!("http://{host}//members-only-stuff/a");
    assert_eq!(told(&sent(&odd, GPTBOT)), told(&own));
    assert_eq!(sent(&odd, FIREFOX).header("location"), odd);
    let other = sent("http://evil.example/a", FIREFOX);
    assert_eq!((other.status, other.header("location").as_str()), (200, ""));
}

//! The site that receives a request, and the site's settings.

use std::fs;

use super::house::{House, site, upstream};
use crate::support::{
    program::{FIREFOX, GOOGLEBOT, succeed},
    raw::{self, body, header, status},
};

#[tokio::test(flavor = "multi_thread")]
async fn two_sites_have_their_own_upstreams_rules_and_heavens_and_a_third_is_added_by_reload() {
    let (shop, news, third) = (
        upstream("shop").await,
        upstream("news").await,
        upstream("third").await,
    );
    let heaven = tempfile::tempdir().unwrap();
    fs::write(heaven.path().join("index.html"), "clouds of the shop").unwrap();
    let both = format!(
        "[[rule]]\npath = '/common/*'\naction = 'redirect'\n{}{}",
        site(
            "shop",
            "shop.example.org",
            &shop,
            &format!(
                "filter_pattern = '/cart/*'\nredirect_url = '/clouds/'\n\
                 heaven.path = '/clouds/'\nheaven.directory = '{}'\n\
                 robots_txt.serve = 'settings'\nrobots_txt.disallow = ['/cart/']\n\
                 [[site.rule]]\npath = '/common/*'\nrobots = ['googlebot']\naction = 'pass'",
                heaven.path().display()
            )
        ),
        site(
            "news",
            "*.news.example",
            &news,
            "filter_pattern = '/archive/*'\nheaven.serve = false"
        ),
    );
    let house = House::new(&both);
    let at = async |host: &str, path: &str, user_agent| {
        let answer = house.ask(host, path, user_agent).await;
        match status(&answer) {
            200 => body(&answer).to_owned(),
            302 => format!("-> {}", header(&answer, "location").join("")),
            status => status.to_string(),
        }
    };
    let shop_host = "shop.example.org";
    for (host, path, user_agent, expected) in [
        (shop_host, "/", FIREFOX, "shop"),
        ("SHOP.Example.org.:8080", "/", FIREFOX, "shop"),
        (shop_host, "/cart/a", GOOGLEBOT, "-> /clouds/"),
        (shop_host, "/cart/a", FIREFOX, "shop"),
        (shop_host, "/archive/a", GOOGLEBOT, "shop"),
        (shop_host, "/common/a", GOOGLEBOT, "shop"),
        (shop_host, "/clouds/", GOOGLEBOT, "clouds of the shop"),
        ("a.news.example", "/", FIREFOX, "news"),
        (
            "a.news.example",
            "/archive/a",
            GOOGLEBOT,
            "-> /robot-heaven/",
        ),
        ("a.news.example", "/cart/a", GOOGLEBOT, "news"),
        (
            "a.news.example",
            "/common/a",
            GOOGLEBOT,
            "-> /robot-heaven/",
        ),
        ("a.news.example", "/clouds/", GOOGLEBOT, "news"),
        ("a.news.example", "/robots.txt", GOOGLEBOT, "news"),
        ("news.example", "/", FIREFOX, "421"),
        ("third.example", "/", FIREFOX, "421"),
    ] {
        assert_eq!(
            at(host, path, user_agent).await,
            expected,
            "{host} {path} {user_agent}"
        );
    }
    let robots_txt = at(shop_host, "/robots.txt", GOOGLEBOT).await;
    assert!(robots_txt.contains("Disallow: /cart/"), "{robots_txt}");

    house.reload(&format!(
        "{both}{}",
        site("third", "third.example", &third, "")
    ));
    assert_eq!(at("third.example", "/", FIREFOX).await, "third");
    assert_eq!(at(shop_host, "/", FIREFOX).await, "shop");
    house.reload(&both);
    assert_eq!(at("third.example", "/", FIREFOX).await, "421");
    // Apart from visitors, only our robots.txt fetch reached the news site.
    assert!(shop.requests().iter().all(|seen| !seen.contains("clouds")));
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_are_interpreted_as_by_the_sites_server() {
    let (tomcat, iis, plain) = (
        upstream("tomcat").await,
        upstream("iis").await,
        upstream("plain").await,
    );
    let rules = "filter_pattern = '/Members/*'\nrobots_txt.serve = 'settings'\n\
                 robots_txt.disallow = ['/Closed/']\nrobots_txt.enforce = 'on'\n\
                 [[site.rule]]\npath = '/Admin/[A-F]*'\naction = 'refuse'\nstatus = 451";
    let house = House::new(&format!(
        "{}{}{}{}",
        site(
            "tomcat",
            "tomcat.example",
            &tomcat,
            &format!("path_parameters = true\n{rules}")
        ),
        site(
            "iis",
            "iis.example",
            &iis,
            &format!("ignore_case = true\n{rules}")
        ),
        site("plain", "plain.example", &plain, rules),
        site(
            "shop",
            "iis.example",
            &plain,
            "path = '/Shop'\nignore_case = true"
        ),
    ));
    for (path, expected) in [
        ("/Admin/A", [451, 451, 451]),
        ("/Admin;v=1/A", [451, 200, 200]),
        ("/open/..;/Admin/A", [451, 200, 200]),
        ("/open/..;x=y/Members/a", [302, 200, 200]),
        ("/open/..;/Closed/a", [403, 200, 200]),
        ("/ADMIN/a", [200, 451, 200]),
        ("/members/a", [200, 302, 200]),
        ("/cLosed/a?B=c", [200, 403, 200]),
        ("/open/..%5cAdmin%5cA", [451, 451, 200]),
    ] {
        for (host, expected) in ["tomcat", "iis", "plain"].iter().zip(expected) {
            let answer = house.ask(&format!("{host}.example"), path, GOOGLEBOT).await;
            assert_eq!(status(&answer), expected, "{host} {path}");
        }
    }
    let answer = house.ask("iis.example", "/sHOP/a", FIREFOX).await;
    assert_eq!(body(&answer), "plain");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_authority_selects_the_site() {
    let (one, two, other) = (
        upstream("one").await,
        upstream("two").await,
        upstream("other").await,
    );
    let house = House::new(&format!(
        "[server]\nupstream = 'http://{}'\n{}{}",
        other.addr,
        site("one", "one.example", &one, ""),
        site("two", "one.example", &two, "path = '/two/'"),
    ));
    let addr = house.server.addr;
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: one.example\r\n\r\n", "one"),
        ("GET /two HTTP/1.1\r\nHost: one.example\r\n\r\n", "two"),
        ("GET /%74wo/x HTTP/1.1\r\nHost: one.example\r\n\r\n", "two"),
        (
            "GET /x/../two/ HTTP/1.1\r\nHost: one.example\r\n\r\n",
            "two",
        ),
        ("GET /twofold HTTP/1.1\r\nHost: one.example\r\n\r\n", "one"),
        (
            "GET http://one.example/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
            "one",
        ),
        (
            "GET http://elsewhere.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n",
            "other",
        ),
        (
            "GET / HTTP/1.1\r\nHost: x.example\r\nX-Forwarded-Host: one.example\r\nForwarded: host=one.example\r\nX-Host: one.example\r\nX-Original-URL: http://one.example/\r\n\r\n",
            "other",
        ),
        ("GET / HTTP/1.0\r\n\r\n", "other"),
    ] {
        let answer = raw::exchange(addr, request).await;
        assert_eq!(body(&answer), expected, "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http2_the_authority_selects_the_site() {
    let (one, two) = (upstream("one").await, upstream("two").await);
    let sites = site("one", "one.example", &one, "") + &site("two", "two.example", &two, "");
    let house = House::new(&sites);
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .resolve("one.example", house.server.addr)
        .resolve("two.example", house.server.addr)
        .resolve("three.example", house.server.addr)
        .build()
        .unwrap();
    let port = house.server.addr.port();
    for (host, status, text) in [
        ("one.example", 200, "one"),
        ("two.example", 200, "two"),
        ("three.example", 421, "421 Misdirected Request\n"),
    ] {
        let url = format!("http://{host}:{port}/");
        let answer = client.get(url).send().await.unwrap();
        assert_eq!(answer.status(), status, "{host}");
        assert_eq!(answer.text().await.unwrap(), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn process_wide_endpoints_respond_on_every_host() {
    let one = upstream("one").await;
    let house = House::new(&site("one", "one.example", &one, "path = '/only'"));
    for host in ["one.example", "unknown.example", "localhost"] {
        let answer = house
            .ask(host, "/robot-detection/admin/login", FIREFOX)
            .await;
        assert!(body(&answer).contains("password"), "{host}: {answer}");
    }
    assert_eq!(status(&house.ask("one.example", "/", FIREFOX).await), 404);
    assert_eq!(
        status(&house.ask("unknown.example", "/", FIREFOX).await),
        421
    );
}

#[test]
fn two_sites_at_one_place_are_rejected_with_the_line_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (
            "[[site]]\nname = 'a'\nhosts = 'x.example'\nupstream = 'http://127.0.0.1:1'\n\
             [[site]]\nname = 'b'\nhosts = ['y.example', 'X.example.']\npath = '//'\nupstream = 'http://127.0.0.1:2'",
            "robot-detection.toml:7: site.hosts: a site at X.example.// already exists",
        ),
        (
            "[[site]]\nhosts = 'x.example:80'\nupstream = 'http://127.0.0.1:1'",
            "robot-detection.toml:2: site.hosts: \"x.example:80\": sites are selected by host name only; remove the port",
        ),
        (
            "[[site]]\nhosts = 'x.example'",
            "robot-detection.toml:1: site.upstream: the site has no upstream; set an upstream",
        ),
        (
            "[[site]]\nhosts = 'x.example'\nupstream = 'ftp://x'",
            "robot-detection.toml:3: site.upstream: ",
        ),
        (
            "[[site]]\nname = 'a'\nhosts = 'x.example'\nupstream = 'http://127.0.0.1:1'\n\
             [[site]]\nname = 'a'\nhosts = 'y.example'\nupstream = 'http://127.0.0.1:1'",
            "robot-detection.toml:6: site.name: a site named \"a\" already exists",
        ),
        (
            "[[site]]\nhosts = 'x.example'\nupstream = 'http://127.0.0.1:1'\n[[site.rule]]\naction = 'fly'",
            "robot-detection.toml:5: rule.action: ",
        ),
    ] {
        fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
        let output =
            crate::support::program::run(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn explain_uses_the_site_of_the_host_and_path() {
    let directory = tempfile::tempdir().unwrap();
    let text = "filter_pattern = '/all/*'\n[[site]]\nhosts = '*.example.org'\npath = '/shop'\n\
        upstream = 'http://127.0.0.1:1'\nfilter_pattern = '/shop/cart/*'";
    fs::write(directory.path().join("robot-detection.toml"), text).unwrap();
    let explain = |host: &str, path: &str| {
        let arguments = [
            "explain",
            "--host",
            host,
            "--path",
            path,
            "--user-agent",
            GOOGLEBOT,
        ];
        succeed(directory.path(), &arguments)
    };
    let redirected = "decision  redirect 302 /robot-heaven/";
    assert!(explain("a.example.org", "/shop/cart/1").contains(redirected));
    assert!(!explain("b.example.com", "/shop/cart/1").contains(redirected));
    assert!(explain("b.example.com", "/all/1").contains(redirected));
}

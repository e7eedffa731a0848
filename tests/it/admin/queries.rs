//! Invalid queries of the JSON API, and requests that are answered in JSON.

use reqwest::{Method, StatusCode, header};

use super::site::{Answer, Client, Plan, Site, flat_file};
use crate::support::http::Reply;

/// Site without a login, with enough robots for several pages.
async fn open() -> (Site, Client) {
    let site = Plan::open().start().await;
    site.source.set(Reply::text(flat_file(150)));
    site.refresh().await;
    let client = site.client();
    (site, client)
}

async fn accepting(client: &Client, method: Method, path: &str, accept: &str) -> Answer {
    let request = client.request(method, path).header(header::ACCEPT, accept);
    client
        .send(request.header(header::ORIGIN, client.origin()))
        .await
}

fn assert_problem(answer: &Answer, status: u16, code: &str, words: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/problem+json");
    let problem = answer.json();
    assert_eq!(problem["code"], code, "{}", answer.body);
    assert_eq!(problem["status"], status, "{}", answer.body);
    let message = problem["detail"].as_str().unwrap();
    assert!(message.contains(words), "{words:?} is not in {message:?}");
}

#[tokio::test]
async fn an_unknown_parameter_is_rejected_with_the_nearest_name() {
    let (_site, client) = open().await;
    for (path, words) in [
        ("api/v1/status?sit=a", "did you mean site?"),
        ("api/v1/settings?hosts=a", "did you mean host?"),
        ("api/v1/robots?serch=acme", "q, id, source, status, purpose"),
        ("api/v1/robots?limt=2", "did you mean limit?"),
        ("api/v1/robots?q=acme&Limit=2", "did you mean limit?"),
        ("api/v1/robots?%3Cscript%3E=1", "<script>"),
        (
            "api/v1/robots/web-robots-db/acme0001?q=1",
            "accepts no parameters",
        ),
        ("api/v1/refreshes?page=2", "accepts no parameters"),
        ("api/v1/refreshes/1?page=2", "accepts no parameters"),
        ("api/v1/refresh?source=a", "accepts no parameters"),
        ("api/v1/identify?useragent=a", "did you mean user_agent?"),
        ("api/v1/sites?site=a", "accepts no parameters"),
        ("api/v1/site-robot?sites=a", "did you mean site?"),
        ("api/v1/site-robot/runs?limit=3", "site"),
        (
            "api/v1/site-robot/descriptions?cursors=3",
            "did you mean cursor?",
        ),
        ("api/v1/site-robot/description?uri=a", "did you mean url?"),
        ("api/v1/site-robot/explain?uri=a", "did you mean url?"),
        ("api/v1/verification?robots=a", "did you mean robot?"),
        (
            "api/v1/verification/ranges/refresh?x=a",
            "accepts no parameters",
        ),
        ("api/v1/robots-txt?hosts=a", "did you mean host?"),
        (
            "api/v1/robots-txt/check?user_agent=a",
            "robot, url, host, site",
        ),
    ] {
        let answer = client.get(path).await;
        assert_problem(&answer, 400, "unknown_parameter", words);
    }
    for path in [
        "api/v1/robots?id=x",
        "api/v1/refresh?force=true",
        "api/v1/reload?x",
        "api/v1/site-robot/run?sit=a",
    ] {
        let answer = client.send(client.json(Method::POST, path, "{}")).await;
        assert_problem(&answer, 400, "unknown_parameter", "");
    }
    let answer = client
        .send(client.request(Method::DELETE, "api/v1/robots/manual/a?force=1"))
        .await;
    assert_problem(&answer, 400, "unknown_parameter", "accepts no parameters");
}

#[tokio::test]
async fn every_known_parameter_is_accepted() {
    let (_site, client) = open().await;
    for path in [
        "api/v1/status?site=&host=a.example",
        "api/v1/settings?site=&host=a.example",
        "api/v1/robots?q=a&source=web-robots-db&status=active&sort=id&dir=desc&limit=1&cursor=&duplicates=false",
        "api/v1/robots?",
        "api/v1/robots?q=a&",
        "api/v1/identify?user_agent=a&path=/&method=GET&host=a.example&site=",
        "api/v1/verification?robot=a&sort=spoofed&dir=desc",
        "api/v1/robots-txt?site=&host=a.example",
        "api/v1/robots-txt/check?robot=a&url=/a&host=a.example&site=",
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    }
    for path in [
        "api/v1/site-robot?site=a",
        "api/v1/site-robot/runs?site=a",
        "api/v1/site-robot/descriptions?site=a&q=b&limit=5&cursor=WyJhIiwiYiJd",
        "api/v1/site-robot/description?site=a&url=b",
        "api/v1/site-robot/explain?site=a&url=b",
    ] {
        let answer = client.get(path).await;
        // No site robot is configured here.
        assert_eq!(
            answer.status,
            StatusCode::NOT_FOUND,
            "{path}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_page_number_out_of_range_is_rejected() {
    let (_site, client) = open().await;
    for (query, words) in [
        ("limit=0", "limit: must be a number from 1 to 1000"),
        ("limit=1001", "limit: must be a number from 1 to 1000"),
        ("limit=-1", "invalid digit"),
        ("limit=first", "invalid digit"),
        ("limit=99999999999999999999999", "number too large"),
        ("cursor=3", "cursor: use the value of `next`"),
        ("cursor=WzFd", "cursor: use the value of `next`"),
    ] {
        let answer = client.get(&format!("api/v1/robots?{query}")).await;
        assert_problem(&answer, 422, "invalid", words);
    }
    let none = client.get("api/v1/robots?q=nobody-has-this-name").await;
    assert_eq!(none.json()["total"], 0);
    // A page for people shows the nearest page number instead.
    for page in ["0", "3", "18446744073709551615"] {
        let answer = client.get(&format!("registry?page={page}&pge=1")).await;
        assert_eq!(answer.status, StatusCode::OK, "{page}");
        assert!(answer.body.contains("Acme Robot"), "{page}");
    }
}

#[tokio::test]
async fn clients_that_accept_json_get_errors_in_json() {
    let (_site, client) = open().await;
    let json = "application/json";
    for (method, path, status, code, words) in [
        (
            Method::GET,
            "robots/export?format=csv",
            422,
            "invalid",
            "nginx",
        ),
        (Method::GET, "nothing-here", 404, "not_found", ""),
        (
            Method::GET,
            "robots/web-robots-db/nobody",
            404,
            "not_found",
            "nobody",
        ),
        (Method::POST, "overview", 405, "method_not_allowed", ""),
        (
            Method::POST,
            "robots/new",
            415,
            "unsupported_media_type",
            "",
        ),
        (Method::GET, "api/v1/robots/%FF/a", 400, "bad_request", ""),
        (Method::GET, "robots/%FF/a", 400, "bad_request", ""),
        (Method::GET, "registry?q=a&q=b", 422, "invalid", "q"),
    ] {
        let answer = accepting(&client, method, path, json).await;
        assert_problem(&answer, status, code, words);
    }
    for accept in [
        "application/json, text/plain, */*",
        "application/problem+json",
        "text/html;q=0.5, application/json",
        "APPLICATION/JSON; charset=utf-8",
    ] {
        let answer = accepting(&client, Method::GET, "nothing-here", accept).await;
        assert_problem(&answer, 404, "not_found", "");
    }
    for accept in [
        "*/*",
        "text/html",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html, application/json",
        "text/html, application/json;q=0.9",
        "application/json;q=0",
        "\u{ff}",
    ] {
        let answer = accepting(&client, Method::GET, "nothing-here", accept).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{accept}");
        assert!(
            answer.header("content-type").starts_with("text/html"),
            "{accept}"
        );
    }
    // Below `api/` errors are always JSON, never a page.
    let answer = accepting(&client, Method::GET, "api/v1/nothing", "text/html").await;
    assert_problem(&answer, 404, "not_found", "");
}

#[tokio::test]
async fn clients_that_accept_json_without_a_login_are_not_redirected() {
    let site = Plan::default().start().await;
    let client = site.client();
    for path in [
        "overview",
        "robots/export?format=nginx",
        "nothing-here",
        "api/v1/status",
    ] {
        let answer = accepting(&client, Method::GET, path, "application/json").await;
        assert_problem(&answer, 401, "unauthorized", "Log in");
    }
    let form = client.form("login", &[("password", "wrong")]);
    let answer = client
        .send(form.header(header::ACCEPT, "application/json"))
        .await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
    assert!(answer.json()["detail"].is_string(), "{}", answer.body);
    let page = accepting(&client, Method::GET, "overview", "text/html").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
}

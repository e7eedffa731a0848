//! The OpenAPI document describes the JSON of the server that serves the document.

use reqwest::{Method, StatusCode, header};
use serde_json::Value;

use super::site::{Client, Plan, Site};

/// Operation of the document.
struct Operation {
    method: Method,
    path: String,
    described: Value,
}

async fn described(client: &Client) -> (Value, Vec<Operation>) {
    let answer = client.get("api/v1/openapi.json").await;
    assert_eq!(answer.status, StatusCode::OK);
    let document = answer.json();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                described: described.clone(),
            });
        }
    }
    (document, operations)
}

/// Returns an operation's address below the pages, with placeholders for its parameters.
fn address(operation: &Operation) -> String {
    let segments = operation.path.split('/').map(|segment| {
        if segment.starts_with('{') {
            "1"
        } else {
            segment
        }
    });
    format!("api/v1{}", segments.collect::<Vec<_>>().join("/"))
}

async fn site() -> (Site, Client) {
    let site = Plan::default().start().await;
    let browser = site.logged_in().await;
    (site, browser)
}

#[tokio::test]
async fn every_operation_responds_as_documented() {
    let (site, browser) = site().await;
    site.refresh().await;
    let (document, operations) = described(&browser).await;
    assert_eq!(document["openapi"], "3.1.0");
    // A dry run creates nothing.
    let added = &document["paths"]["/rules"]["post"]["responses"];
    assert!(
        added["200"].is_object() && added["201"].is_object(),
        "{added}"
    );
    assert!(operations.len() > 30, "{}", operations.len());
    let mut ids = std::collections::BTreeSet::new();
    for operation in &operations {
        let id = operation.described["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{id} is used twice");
        if operation.method != Method::GET {
            continue;
        }
        let path = address(operation);
        let answer = browser.get(&path).await;
        let responses = operation.described["responses"].as_object().unwrap();
        let is_described = responses.contains_key(answer.status.as_str());
        let is_error = answer.json()["code"].is_string();
        assert!(
            is_described || is_error,
            "{path}: {} {}",
            answer.status,
            answer.body
        );
        // Operations without parameters or a site robot must succeed.
        let needs = ["/{", "/site-robot", "/check", "/identify"];
        if !needs.iter().any(|part| operation.path.contains(part)) {
            assert!(is_described, "{path}: {} {}", answer.status, answer.body);
        }
    }
}

#[tokio::test]
async fn every_operation_accepts_exactly_its_own_parameters() {
    let (_site, browser) = site().await;
    for operation in described(&browser).await.1 {
        let path = address(&operation);
        let token = browser.get("account").await.csrf();
        let ask = |query: String| {
            let request = browser.json(operation.method.clone(), &format!("{path}?{query}"), "[]");
            browser.send(request.header("x-csrf-token", &token))
        };
        let refused = ask("no-such-parameter=1".to_owned()).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path}");
        assert_eq!(refused.json()["code"], "unknown_parameter", "{path}");
        let parameters = operation.described["parameters"].as_array().unwrap();
        let of_query = parameters.iter().filter(|one| one["in"] == "query");
        let names: Vec<_> = of_query.map(|one| one["name"].as_str().unwrap()).collect();
        if operation.method == Method::GET && !names.is_empty() {
            let all: Vec<_> = names.iter().map(|name| format!("{name}=")).collect();
            let answer = ask(all.join("&")).await;
            let code = answer.json()["code"].clone();
            assert_ne!(code, "unknown_parameter", "{path}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn parameters_have_exactly_the_documented_words_and_types() {
    let (_site, browser) = site().await;
    let mut words = 0;
    for operation in described(&browser).await.1 {
        let path = address(&operation);
        if operation.method != Method::GET {
            continue;
        }
        for parameter in operation.described["parameters"].as_array().unwrap() {
            let schema = &parameter["schema"];
            let right = schema["enum"].as_array().cloned().unwrap_or_default();
            if right.is_empty() && schema["type"] != "boolean" && schema["type"] != "integer" {
                continue;
            }
            let name = parameter["name"].as_str().unwrap();
            for word in &right {
                let word = word.as_str().unwrap();
                let answer = browser.get(&format!("{path}?{name}={word}")).await;
                assert_eq!(answer.status, StatusCode::OK, "{path}: {name}={word}");
                words += 1;
            }
            if parameter["in"] == "query" {
                let answer = browser.get(&format!("{path}?{name}=AAA")).await;
                let wrong = StatusCode::UNPROCESSABLE_ENTITY;
                assert_eq!(answer.status, wrong, "{path}: {name}: {}", answer.body);
            }
        }
    }
    assert!(words > 50, "{words}");
}

#[tokio::test]
async fn writing_needs_a_token_with_write_scope() {
    let (site, browser) = site().await;
    let (name, scope) = (("name", "reader"), ("scope", "read"));
    let made = browser.post("access/tokens", &[name, scope]).await;
    let (_, after) = made.body.split_once("id=\"secret\">").unwrap();
    let bearer = format!("Bearer {}", after.split('<').next().unwrap());
    let stranger = site.client();
    for operation in described(&browser).await.1 {
        let path = address(&operation);
        let request = || stranger.json(operation.method.clone(), &path, "{}");
        let answer = stranger.send(request()).await;
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status);
        assert!(is_refused, "{path}: {}", answer.status);
        let authorized = request().header(header::AUTHORIZATION, &bearer);
        let answer = stranger.send(authorized).await;
        let is_write = operation.method != Method::GET;
        let scope = if is_write { "write" } else { "read" };
        assert_eq!(operation.described["x-scope"], scope, "{path}");
        assert_eq!(
            answer.status == StatusCode::FORBIDDEN,
            is_write,
            "{path}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn all_fields_of_request_bodies_are_described() {
    let (_site, browser) = site().await;
    let token = browser.get("account").await.csrf();
    let known = regex::Regex::new("`([a-z_]+)`").unwrap();
    for operation in described(&browser).await.1 {
        let content = &operation.described["requestBody"]["content"];
        let Some(schema) = content["application/json"]["schema"]["properties"].as_object() else {
            continue;
        };
        let path = address(&operation);
        let send = |body: String| {
            let request = browser.json(operation.method.clone(), &path, &body);
            browser.send(request.header("x-csrf-token", &token))
        };
        let refused = send(r#"{"no_such_field": 1}"#.to_owned()).await;
        assert!(
            refused.body.contains("no_such_field"),
            "{path}: {}",
            refused.body
        );
        // The error lists the existing fields.
        let mut told: Vec<_> = known
            .captures_iter(&refused.body)
            .map(|field| field[1].to_owned())
            .filter(|field| field != "no_such_field")
            .collect();
        told.sort();
        let mut described: Vec<_> = schema.keys().cloned().collect();
        described.sort();
        assert_eq!(told, described, "{path}: {}", refused.body);
    }
}

#[tokio::test]
async fn the_page_shows_every_operation_and_needs_a_login() {
    let (site, browser) = site().await;
    let page = browser.get("openapi").await;
    assert_eq!(page.status, StatusCode::OK);
    for operation in described(&browser).await.1 {
        let line = format!("{} api/v1{}", operation.method, operation.path);
        assert!(page.body.contains(&line), "{line}");
    }
    let stranger = site.client();
    assert_eq!(stranger.get("openapi").await.status, StatusCode::SEE_OTHER);
    let document = stranger.get("api/v1/openapi.json").await;
    assert_eq!(document.status, StatusCode::UNAUTHORIZED);
}

//! Live rules are created, counted first, enforced and undone on the pages and by JSON.

use reqwest::{Method, StatusCode};
use robot_detection::store::{
    LiveRuleChange, MinuteCounts, NewLiveRule, TrafficBatch, TrafficCount, TrafficKey,
};
use serde_json::json;

use super::site::{Client, NOW_MS, Plan, Site};

const SLOW: &[(&str, &str)] = &[
    ("action", "slow"),
    ("robot", "examplebot"),
    ("requests", "5"),
    ("per_seconds", "60"),
    ("status", "404"),
];

async fn json(client: &Client, method: Method, path: &str, body: &str) -> (StatusCode, String) {
    let csrf = client.get("account").await.csrf();
    let request = client.json(method, path, body).header("x-csrf-token", csrf);
    let answer = client.send(request).await;
    (answer.status, answer.body)
}

async fn live(client: &Client) -> Vec<serde_json::Value> {
    let told = client.get("api/v1/rules").await.json();
    told["live_rules"].as_array().unwrap().clone()
}

fn counted(robot: &str, kind: &str, cause: &str, requests: u64) -> MinuteCounts {
    MinuteCounts {
        minute: NOW_MS / 60_000 - 100,
        key: TrafficKey {
            site: "default".to_owned(),
            kind: kind.to_owned(),
            robot: robot.to_owned(),
            verdict: "unverifiable".to_owned(),
            decision: "pass".to_owned(),
            cause: cause.to_owned(),
            status: 2,
        },
        count: TrafficCount {
            requests,
            bytes: 1,
            micros: 1,
        },
    }
}

async fn with_traffic() -> Site {
    let site = Plan::default().start().await;
    let counted = [
        counted("acme0003", "listed", "no-rule", 400),
        counted("acme0003", "listed", "path-not-filtered", 12),
        counted("acme0003", "listed", "never-filtered", 1_000),
        counted("acme0004", "listed", "no-rule", 77),
        counted("", "person", "not-a-robot", 5_000),
        counted("unlisted", "unlisted", "no-rule", 3),
    ];
    let batch = TrafficBatch {
        writer: "a",
        number: 1,
        counted: &counted,
        live: &[],
        paths: &[],
    };
    site.store.traffic().add(&batch, NOW_MS).await.unwrap();
    site.refresh().await;
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_counted_then_enforced_then_undone() {
    let site = with_traffic().await;
    let client = site.logged_in().await;
    let confirm = client
        .get("rules/confirm?action=refuse&robot=acme0003&status=410")
        .await;
    let text = confirm.text();
    for words in [
        "refuse robot acme0003 with 410",
        "the rule would have affected 412 requests from 1 robot and none from people",
        "/robots.txt",
        "until 2026-03-08 12:00 UTC",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(live(&client).await.len(), 0, "no rule is enforced yet");
    let fields = [
        ("action", "refuse"),
        ("robot", "acme0003"),
        ("status", "410"),
    ];
    let added = client.post("rules", &fields).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.body);
    let next = added.header("location").trim_start_matches("./").to_owned();
    let page = client.get(&next).await;
    let text = page.text();
    assert!(text.contains("is active on every instance."), "{text}");
    assert!(page.body.contains(r#"id="undo""#));
    let rules = live(&client).await;
    assert_eq!(rules[0]["summary"], "refuse robot acme0003 with 410");
    assert_eq!(rules[0]["by"], "admin");
    assert_eq!(rules[0]["ends"], "2026-03-08T12:00:00Z");
    let id = rules[0]["id"].to_string();
    // The robot's page shows the rule.
    let robot = client.get("robots/web-robots-db/acme0003").await.text();
    assert!(robot.contains("refuse robot acme0003 with 410"), "{robot}");
    let undone = client.post("rules/remove", &[("id", &id)]).await;
    assert_eq!(undone.status, StatusCode::SEE_OTHER);
    assert_eq!(live(&client).await.len(), 0);
    let restored = client.post("rules/restore", &[("id", &id)]).await;
    assert_eq!(restored.status, StatusCode::SEE_OTHER);
    assert_eq!(live(&client).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_requests_that_the_rule_matches_are_counted() {
    let site = with_traffic().await;
    let client = site.logged_in().await;
    for (fields, requests, robots) in [
        (json!({ "robot": "acme0004" }), 77, 1),
        (json!({ "purpose": "unknown" }), 489, 2),
        (json!({ "visitors": "unlisted" }), 3, 1),
        (json!({ "visitors": "nameless" }), 0, 0),
        (json!({ "robot": "acme0003", "path": "/a/*" }), 412, 1),
        (
            json!({ "robot": "acme0003", "addresses": "192.0.2.1" }),
            412,
            1,
        ),
    ] {
        let mut body = fields.clone();
        body["action"] = "refuse".into();
        let body = body.to_string();
        let (status, told) = json(&client, Method::POST, "api/v1/rules?dry_run=true", &body).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["matched"]["requests"], requests, "{fields}");
        assert_eq!(told["matched"]["robots"], robots, "{fields}");
        assert_eq!(told["matched"]["people"], 0);
        assert_eq!(told["id"], json!(null));
        let notes = told["matched"]["notes"].to_string();
        assert_eq!(
            notes.contains("stored without paths and queries"),
            fields["path"] == "/a/*"
        );
    }
    assert_eq!(live(&client).await.len(), 0, "a dry run changes nothing");
}

#[expect(clippy::too_many_lines, reason = "a table of invalid rules")]
#[tokio::test(flavor = "multi_thread")]
async fn invalid_rules_are_reported_by_field() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    for (body, told) in [
        (r#"{"action":"slow"}"#, "robot: select visitors by robot"),
        (r#"{"action":"slwo","robot":"a"}"#, "did you mean slow?"),
        (
            r#"{"action":"serve","robot":"a"}"#,
            "action: must be one of pass, redirect",
        ),
        (
            r#"{"action":"pass","robot":"a","status":403}"#,
            "status: not supported by the action pass",
        ),
        (
            r#"{"action":"refuse","robot":"a","status":200}"#,
            "status: 200 is not allowed for a refusal",
        ),
        (
            r#"{"action":"slow","robot":"a","requests":0}"#,
            "requests: must be a number from 1",
        ),
        (
            r#"{"action":"slow","robot":"a","operator":"b"}"#,
            "set only one of robot",
        ),
        (
            r#"{"action":"slow","visitors":"persons"}"#,
            "visitors: \"persons\": must be one of unlisted, nameless, people, all",
        ),
        (
            r#"{"action":"slow","visitors":"peple"}"#,
            "did you mean people?",
        ),
        (
            r#"{"action":"slow","addresses":"192.0.2.0/24, here"}"#,
            "addresses: \"here\" is neither an address nor a network",
        ),
        (
            r#"{"action":"slow","robot":"a","people":true}"#,
            "people: the rule does not apply to people",
        ),
        (
            r#"{"action":"slow","addresses":" , "}"#,
            "addresses: \"\" is neither an address nor a network",
        ),
        (
            r#"{"action":"slow","purpose":"serch"}"#,
            "did you mean search?",
        ),
        (r#"{"action":"slow","purpose":"shared"}"#, "unknown purpose"),
        (r#"{"action":"slow","robot":"a","path":"x"}"#, "path: "),
        (
            r#"{"action":"slow","robot":"a","path":"/robots.txt"}"#,
            "path: all its paths are exempt from redirects",
        ),
        (
            r#"{"action":"slow","robot":"a","site":"shop"}"#,
            "site: unknown site",
        ),
        (
            r#"{"action":"slow","robot":"a","ends":"yesterday"}"#,
            "ends: \"yesterday\" is not an end time",
        ),
        (
            r#"{"action":"slow","robot":"a","ends":"2020-01-01T00:00Z"}"#,
            "is in the past",
        ),
        (
            r#"{"action":"slow","robot":"a\u0007"}"#,
            "robot: contains a control character",
        ),
        (
            r#"{"action":"slow","robot":"a","redirect_url":"//evil.example"}"#,
            "redirect_url",
        ),
    ] {
        let (status, answer) = json(&client, Method::POST, "api/v1/rules", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let message = answer["detail"].as_str().unwrap();
        assert!(message.contains(told), "{body}: {message}");
    }
    let page = client
        .get("rules/confirm?action=slow&robot=a&ends=soon")
        .await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.body.contains(r#"id="ends-wrong""#), "{}", page.body);
    assert_eq!(live(&client).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_rule_requires_verification_where_claims_are_verifiable() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    for (id, more) in [
        ("proven", r#","host_suffixes":"crawl.example.com""#),
        ("unproven", ""),
    ] {
        let body = format!(r#"{{"id":"{id}","useragent":"{id}bot/1.0"{more}}}"#);
        let (status, told) = json(&client, Method::POST, "api/v1/robots", &body).await;
        assert_eq!(status, StatusCode::CREATED, "{told}");
    }
    for (id, does) in [
        ("proven", "pass robot proven, if verified"),
        ("unproven", "pass robot unproven"),
    ] {
        let body = format!(r#"{{"action":"pass","robot":"{id}","ends":"never"}}"#);
        let (status, told) = json(&client, Method::POST, "api/v1/rules", &body).await;
        assert_eq!(status, StatusCode::CREATED, "{told}");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["summary"], does);
        assert_eq!(told["ends"], json!(null));
    }
    // When a robot leaves the registry, its rule stays and reports the missing robot.
    let (status, _) = json(&client, Method::DELETE, "api/v1/robots/manual/proven", "").await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let rules = live(&client).await;
    assert_eq!(rules.len(), 2);
    let note = rules[0]["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("The selected robots are no longer"),
        "{note}"
    );
    assert_eq!(rules[1]["notes"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_cannot_be_created_without_a_login_or_from_another_site() {
    let site = Plan::default().start().await;
    let stranger = site.client();
    for path in [
        "rules",
        "rules/new",
        "rules/confirm?action=slow&robot=a",
        "changes",
    ] {
        let answer = stranger.get(path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
    }
    for path in ["api/v1/rules", "api/v1/pause", "api/v1/changes"] {
        let answer = stranger.get(path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let client = site.logged_in().await;
    for path in [
        "rules",
        "rules/remove",
        "rules/restore",
        "rules/pause",
        "rules/resume",
    ] {
        let forged = client.post_as_is(path, SLOW).await;
        assert!(forged.status.is_client_error(), "{path}: {}", forged.status);
        let answer = stranger.post_as_is(path, SLOW).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path}");
    }
    let forged = client.json(
        Method::POST,
        "api/v1/rules",
        r#"{"action":"slow","robot":"a"}"#,
    );
    assert_eq!(client.send(forged).await.status, StatusCode::FORBIDDEN);
    let pause = client.json(Method::POST, "api/v1/pause", "{}");
    assert_eq!(client.send(pause).await.status, StatusCode::FORBIDDEN);
    let unknown = client.get("api/v1/rules?dryrun=1").await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    assert_eq!(live(&client).await.len(), 0);
    let pause = client.get("api/v1/pause").await.json();
    assert_eq!(pause["pause"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_above_the_limit_is_refused() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let change = LiveRuleChange {
        actor: "admin",
        detail: "",
        now_ms: NOW_MS,
    };
    for number in 0..500 {
        let rule = format!(r#"{{"action":"refuse","robot":"bot{number}"}}"#);
        let rule = NewLiveRule {
            definition: &rule,
            name: None,
            ends_ms: None,
            replaces: false,
        };
        site.store
            .live_rules()
            .add(rule, 500, change)
            .await
            .unwrap();
    }
    let body = r#"{"action":"slow","robot":"a"}"#;
    let (status, told) = json(&client, Method::POST, "api/v1/rules", body).await;
    assert_eq!(status, StatusCode::CONFLICT, "{told}");
    assert!(told.contains("There are already 500 live rules"), "{told}");
    let answer = client.post("rules", SLOW).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_features_have_no_form() {
    let site = Plan {
        live_rules: false,
        ..Plan::default()
    };
    let site = site.start().await;
    let client = site.logged_in().await;
    let page = client.get("rules").await;
    assert!(page.text().contains("Live rules are turned off"));
    assert!(
        !page
            .body
            .contains("<form method=\"post\" action=\"./rules/pause\"")
    );
    assert_eq!(client.get("rules/new").await.status, StatusCode::CONFLICT);
    assert_eq!(
        client.post("rules", SLOW).await.status,
        StatusCode::CONFLICT
    );
    assert_eq!(
        client.post("rules/pause", &[]).await.status,
        StatusCode::CONFLICT
    );
    let (status, told) = json(&client, Method::POST, "api/v1/pause", "{}").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(told.contains("admin.rules is false"), "{told}");
    assert_eq!(client.get("api/v1/rules").await.json()["enabled"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_are_escaped() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let name = "<script>alert(1)</script>\"'&";
    let fields = [("action", "refuse"), ("operator", name)];
    let added = client.post("rules", &fields).await;
    assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.body);
    let query = "action=refuse&operator=%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%26";
    for path in [
        "rules".to_owned(),
        "changes".to_owned(),
        format!("rules/confirm?{query}"),
        format!("rules/new?{query}"),
    ] {
        let page = client.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(!page.body.contains("<script>alert"), "{path}");
        assert!(page.body.contains("alert(1)"), "{path}: {}", page.body);
    }
    let file = client.get("changes/export").await;
    assert!(file.body.contains("alert(1)"));
    assert!(file.header("content-disposition").starts_with("attachment"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_shown_on_every_page_and_can_be_ended_there() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let answer = client.post("rules/pause", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    for path in ["overview", "robots", "rules", "changes"] {
        let text = client.get(path).await.text();
        let told = "All enforcement is paused by admin until 2026-03-01 13:00 UTC";
        assert!(text.contains(told), "{path}: {text}");
    }
    let login = site.client().get("login").await.text();
    assert!(
        !login.contains("paused"),
        "the login page shows the pause to strangers"
    );
    let answer = client.post("rules/resume", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(!client.get("robots").await.text().contains("is paused"));
    let (status, told) = json(&client, Method::POST, "api/v1/pause", r#"{"for":"30m"}"#).await;
    assert_eq!(status, StatusCode::OK);
    assert!(told.contains("2026-03-01T12:30:00Z"), "{told}");
    let (status, told) = json(&client, Method::POST, "api/v1/pause", r#"{"for":"soon"}"#).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
    let (status, _) = json(&client, Method::DELETE, "api/v1/pause", "").await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(
        client.get("api/v1/pause").await.json()["pause"],
        json!(null)
    );
}

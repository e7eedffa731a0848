//! Logging in, staying logged in, and logging out.

use std::time::Duration;

use reqwest::StatusCode;
use robot_detection::{admin::Access, operations};

use super::site::{NOW_MS, PASSWORD, PREFIX, Plan};

#[tokio::test]
async fn pages_redirect_to_the_login_and_back() {
    let site = Plan::default().start().await;
    let client = site.client();
    let turned_away = client.get("robots?q=acme&page=2").await;
    assert_eq!(turned_away.status, StatusCode::SEE_OTHER);
    let location = turned_away.header("location");
    assert_eq!(location, "./login?next=robots%3Fq%3Dacme%26page%3D2");
    let form = client.get("login?next=robots%3Fq%3Dacme").await;
    assert_eq!(form.status, StatusCode::OK);
    assert!(form.body.contains(r#"value="robots?q=acme""#));
    let fields = [("password", PASSWORD), ("next", "robots?q=acme")];
    let entered = client.post_as_is("login", &fields).await;
    assert_eq!(entered.header("location"), "./robots?q=acme");
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_session_cookie_is_strict_and_limited_to_the_pages() {
    let site = Plan::default().start().await;
    let entered = site.client().log_in(PASSWORD).await;
    let cookie = entered.session_cookie();
    for attribute in [
        "HttpOnly",
        "SameSite=Strict",
        &format!("Path={PREFIX}"),
        "Max-Age=43200",
    ] {
        assert!(cookie.contains(attribute), "{attribute} in {cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
}

#[tokio::test]
async fn the_cookie_is_secure_where_configured() {
    let plan = Plan {
        access: Access::Login {
            secure_cookies: true,
        },
        ..Plan::default()
    };
    let site = plan.start().await;
    let entered = site.client().log_in(PASSWORD).await;
    for cookie in entered.headers.get_all("set-cookie") {
        assert!(cookie.to_str().unwrap().contains("Secure"), "{cookie:?}");
    }
}

#[tokio::test]
async fn a_wrong_password_starts_no_session() {
    let site = Plan::default().start().await;
    let client = site.client();
    let refused = client.log_in("wrong").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body.contains("Wrong password."));
    assert_eq!(refused.header("set-cookie"), "");
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn many_wrong_passwords_make_a_client_wait_a_minute() {
    let site = Plan::default().start().await;
    let client = site.client();
    for _ in 0..5 {
        assert_eq!(client.log_in("wrong").await.status, StatusCode::FORBIDDEN);
    }
    let refused = client.log_in(PASSWORD).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let seconds: u32 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(refused.body.contains(&format!("Try again in {seconds} s.")));
    site.a_minute_passes().await;
    assert_eq!(client.log_in("wrong").await.status, StatusCode::FORBIDDEN);
    let refused = client.log_in("wrong").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    site.a_minute_passes().await;
    let entered = client.log_in(PASSWORD).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn without_a_password_the_page_explains_how_to_set_one() {
    let plan = Plan {
        has_password: false,
        ..Plan::default()
    };
    let site = plan.start().await;
    let client = site.client();
    let form = client.get("login").await;
    assert!(form.text().contains("No password has been set yet."));
    assert!(form.text().contains("robot-detection serve"));
    assert!(!form.body.contains(r#"type="password""#));
    assert_eq!(client.log_in("").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn each_login_gets_a_new_session_id() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let first = client.cookie.lock().unwrap().clone();
    client.log_in(PASSWORD).await;
    let second = client.cookie.lock().unwrap().clone();
    assert_ne!(first, second);
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
    *client.cookie.lock().unwrap() = first;
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_planted_session_id_is_not_accepted() {
    let site = Plan::default().start().await;
    let client = site.client();
    let planted = "robot-detection-admin=AAAAAAAAAAAAAAAAAAAAAA";
    *client.cookie.lock().unwrap() = Some(planted.to_owned());
    client.log_in(PASSWORD).await;
    assert_ne!(client.cookie.lock().unwrap().as_deref(), Some(planted));
    *client.cookie.lock().unwrap() = Some(planted.to_owned());
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_session_ends_after_twelve_hours() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    site.clock.advance(Duration::from_secs(12 * 3_600 - 1));
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
    site.clock.advance(Duration::from_secs(2));
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn logging_out_ends_the_session_permanently() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let cookie = client.cookie.lock().unwrap().clone();
    let left = client.post("logout", &[]).await;
    assert_eq!(left.status, StatusCode::SEE_OTHER);
    assert_eq!(left.header("location"), "./login");
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
    *client.cookie.lock().unwrap() = cookie;
    assert_eq!(client.get("overview").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_new_password_ends_all_other_sessions() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let elsewhere = site.logged_in().await;
    let new = "a password of my own";
    let fields = [("old", PASSWORD), ("new", new), ("again", new)];
    let changed = client.post("account", &fields).await;
    assert_eq!(changed.status, StatusCode::SEE_OTHER, "{}", changed.body);
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
    assert_eq!(
        elsewhere.get("overview").await.status,
        StatusCode::SEE_OTHER
    );
    let by_old = elsewhere.log_in(PASSWORD).await;
    assert_eq!(by_old.status, StatusCode::FORBIDDEN);
    let by_new = elsewhere.log_in(new).await;
    assert_eq!(by_new.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_password_change_needs_the_current_password() {
    let site = Plan::default().start().await;
    let client = site.logged_in().await;
    let new = "a password of my own";
    let fields = [("old", "wrong"), ("new", new), ("again", new)];
    let refused = client.post("account", &fields).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let fields = [("old", PASSWORD), ("new", "short"), ("again", "short")];
    let refused = client.post("account", &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let entered = site.client().log_in(PASSWORD).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_generated_password_opens_the_pages() {
    let site = Plan::default().start().await;
    let password = operations::generate_password();
    let hash = operations::hash_password(&password).unwrap();
    let store = &site.store;
    store
        .access()
        .set_password_hash(&hash, NOW_MS)
        .await
        .unwrap();
    let entered = site.client().log_in(&password).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn there_is_no_login_page_where_the_application_has_its_own_login() {
    let site = Plan::open().start().await;
    let client = site.client();
    assert_eq!(client.get("overview").await.status, StatusCode::OK);
    for path in ["login", "account"] {
        assert_eq!(client.get(path).await.status, StatusCode::NOT_FOUND);
    }
    assert!(!client.get("overview").await.body.contains("Log out"));
}

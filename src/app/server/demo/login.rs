//! The demonstration site's login: a form that displays its password, and a cookie.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::{HeaderValue, Request, Response, StatusCode, header},
};
use tokio::time;

use super::{
    super::pages::{self, HTML},
    site::{DemoPage, MEMBERS, members_page},
};

/// The path to which the demonstration site's login form is submitted.
pub(super) const ENTER: &str = "/login";
/// The path to which the demonstration site's logout form is submitted.
pub(super) const LEAVE: &str = "/logout";

/// The password shown on the login form, which protects nothing.
const PASSWORD: &str = "lantern";
const COOKIE: &str = "harbour";
static FORM: LazyLock<String> = LazyLock::new(|| DemoPage::html(include_str!("login.html")));

const MAX_FORM_BYTES: usize = 4_096;
const FORM_TIMEOUT: Duration = Duration::from_secs(30);

/// The value of a logged-in member's cookie, which is valid only in this process.
static TOKEN: LazyLock<String> = LazyLock::new(|| {
    // The token protects no secrets, as the form shows the password. It only invalidates cookies
    // from earlier starts.
    let random = |number: u8| RandomState::new().hash_one(number);
    format!("{:016x}{:016x}", random(1), random(2))
});

/// A request extension that identifies a member without a cookie: our own site robot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member;

/// Returns `true` if a request is from a logged-in member of the demonstration site.
pub(super) fn is_member<B>(request: &Request<B>) -> bool {
    if request.extensions().get::<Member>().is_some() {
        return true;
    }
    let lines = request.headers().get_all(header::COOKIE).iter();
    let cookies = lines.filter_map(|line| line.to_str().ok());
    let mut cookies = cookies.flat_map(|line| line.split(';')).map(str::trim);
    cookies.any(|cookie| cookie.split_once('=') == Some((COOKIE, TOKEN.as_str())))
}

/// Returns the login form; after the login, the visitor is redirected to the page `to`.
pub(super) fn form(to: &'static str, said: &str) -> Response<Body> {
    let text = FORM
        .replace("{to}", to)
        .replace("{password}", PASSWORD)
        .replace("{said}", said);
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(HTML));
    let no_store = HeaderValue::from_static("private, no-store");
    headers.insert(header::CACHE_CONTROL, no_store);
    response
}

/// Logs a visitor in if the submitted password is correct.
pub(super) async fn enter(request: Request<Body>) -> Response<Body> {
    let body = time::timeout(FORM_TIMEOUT, to_bytes(request.into_body(), MAX_FORM_BYTES));
    let Ok(Ok(body)) = body.await else {
        return pages::status(StatusCode::BAD_REQUEST);
    };
    let (mut to, mut is_right) = (MEMBERS, false);
    for (name, value) in url::form_urlencoded::parse(&body) {
        match &*name {
            // Only known pages are accepted, so that a link cannot redirect visitors to another
            // site.
            "to" => to = members_page(&value).unwrap_or(MEMBERS),
            "password" => is_right = value.trim().eq_ignore_ascii_case(PASSWORD),
            _ => {}
        }
    }
    if is_right {
        return go(to, &TOKEN, "");
    }
    form(
        to,
        "<p class=\"wrong\" role=\"alert\">Wrong password. The password is shown below the field.</p>",
    )
}

/// Logs a visitor of the demonstration site out.
pub(super) fn leave() -> Response<Body> {
    go("/", "", "; Max-Age=0")
}

fn go(to: &'static str, token: &str, more: &str) -> Response<Body> {
    let mut response = pages::status(StatusCode::SEE_OTHER);
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static(to));
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax{more}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn post(form: &str) -> Response<Body> {
        enter(
            Request::post(ENTER)
                .body(Body::from(form.to_owned()))
                .unwrap(),
        )
        .await
    }

    #[tokio::test]
    async fn the_password_logs_a_visitor_in() {
        let answer = post("to=%2Fmembers-only-stuff%2Fcat.html&password=Lantern").await;
        assert_eq!(answer.status(), 303);
        assert_eq!(answer.headers()["location"], "/members-only-stuff/cat.html");
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let of = |cookie: &str| Request::get("/").header("cookie", cookie).body(()).unwrap();
        assert!(is_member(&of(&format!("a=b; {cookie}"))));
        assert!(!is_member(&of("harbour=")));
        assert!(!is_member(&of("a=b")));
    }

    #[tokio::test]
    async fn a_wrong_password_or_foreign_target_is_rejected() {
        for form in [
            "",
            "password=x",
            "to=https%3A%2F%2Fevil.example%2F&password=",
        ] {
            let answer = post(form).await;
            assert_eq!(answer.status(), 200, "{form}");
            assert!(!answer.headers().contains_key("set-cookie"), "{form}");
        }
        let answer = post("to=%2F%2Fevil.example%2F&password=lantern").await;
        assert_eq!(answer.headers()["location"], MEMBERS);
        let long = format!("password={}", "x".repeat(MAX_FORM_BYTES));
        assert_eq!(post(&long).await.status(), 400);
    }
}

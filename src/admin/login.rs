//! Logging in and out.

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Deserialize;
use tower_sessions::Session;
use tracing::{info, warn};

use super::{
    access::Visitor,
    fields::{Fields, OpenFields, Params},
    page::{Page, html, html_with},
    password,
    problem::Problem,
    session,
    state::AdminState,
};

/// Pages that one may be sent to after logging in.
const PAGES: &[&str] = &[
    "overview",
    "robots",
    "identify",
    "robots-txt",
    "sites",
    "refresh",
    "refreshes",
    "account",
];

#[derive(Template)]
#[template(path = "admin/login.html")]
struct LoginPage<'p> {
    page: Page,
    next: &'p str,
    has_password: bool,
    error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct LoginForm {
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

/// What came of a try.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tried {
    Right,
    Wrong,
    /// Too many wrong ones before.
    Wait {
        seconds: i64,
    },
    /// No password has been set yet.
    NotSet,
}

/// Shows the form.
pub(super) async fn form(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    Params(form): Params<LoginForm>,
    page: Page,
) -> Result<Response, Problem> {
    if matches!(visitor, Visitor::Session { .. }) {
        return Ok(page.place.see_other("overview"));
    }
    Ok(html(&LoginPage {
        page,
        next: &form.next,
        has_password: state.admin().store.admin_password_hash().await?.is_some(),
        error: None,
    }))
}

/// Begins a session for the right password.
pub(super) async fn submit(
    State(state): State<AdminState>,
    session: Session,
    page: Page,
    OpenFields(form): OpenFields<LoginForm>,
) -> Result<Response, Problem> {
    let tried = try_password(&state, form.password).await?;
    if tried == Tried::Right {
        let now_ms = state.now_ms();
        state.admin().store.prune_sessions(now_ms).await?;
        session::begin(&session, now_ms).await?;
        info!("an administrator logged in");
        return Ok(page.place.see_other(destination(&form.next)));
    }
    let (status, text) = refusal(tried);
    let answer = LoginPage {
        page,
        next: &form.next,
        has_password: tried != Tried::NotSet,
        error: Some(text),
    };
    let mut response = html_with(status, &answer);
    if let Tried::Wait { seconds } = tried {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(response)
}

/// Ends the session.
pub(super) async fn leave(
    session: Session,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    session::end(&session).await?;
    Ok(page.place.see_other("login"))
}

/// Form without fields of its own.
#[derive(Debug, Deserialize)]
pub(super) struct Empty {}

/// Compares a password with the one that was set; few at a time, and not too often.
pub(super) async fn try_password(state: &AdminState, given: String) -> Result<Tried, Problem> {
    let Ok(_permit) = state.verifications().acquire().await else {
        return Err(Problem::internal(
            "the semaphore of verifications is closed",
        ));
    };
    let wait_ms = state.throttle().wait_ms(state.now_ms());
    if wait_ms > 0 {
        let seconds = wait_ms.saturating_add(999) / 1_000;
        return Ok(Tried::Wait { seconds });
    }
    let Some(hash) = state.admin().store.admin_password_hash().await? else {
        return Ok(Tried::NotSet);
    };
    let is_right = tokio::task::spawn_blocking(move || password::verify_password(&given, &hash))
        .await
        .map_err(|error| Problem::internal(&error.to_string()))?;
    if is_right {
        state.throttle().succeeded();
        return Ok(Tried::Right);
    }
    state.throttle().failed(state.now_ms());
    warn!("a wrong administrator's password was refused");
    Ok(Tried::Wrong)
}

/// Returns status and words for a try that failed.
pub(super) fn refusal(tried: Tried) -> (StatusCode, String) {
    match tried {
        Tried::Right | Tried::Wrong => (
            StatusCode::FORBIDDEN,
            "That is not the password.".to_owned(),
        ),
        Tried::Wait { seconds } => (
            StatusCode::TOO_MANY_REQUESTS,
            format!("There were too many wrong passwords. Wait {seconds} s, then try again."),
        ),
        Tried::NotSet => (
            StatusCode::FORBIDDEN,
            "No password has been set yet.".to_owned(),
        ),
    }
}

/// Returns where to go after logging in: one of our pages, never elsewhere.
fn destination(next: &str) -> &str {
    let first = next.split(['/', '?']).next().unwrap_or_default();
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !next.contains("..")
        && !next.contains("//");
    if PAGES.contains(&first) && is_plain {
        next
    } else {
        "overview"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_sent_to_the_page_that_was_asked_for() {
        for next in [
            "robots",
            "robots?q=a%20b",
            "robots/web-robots-db/x",
            "refreshes/3",
            "sites",
        ] {
            assert_eq!(destination(next), next);
        }
    }

    #[test]
    fn one_is_never_sent_elsewhere() {
        for next in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "robots/../../..//evil.example",
            "robots\r\nSet-Cookie: a=b",
            "logout",
            "login?next=login",
        ] {
            assert_eq!(destination(next), "overview", "{next}");
        }
    }
}

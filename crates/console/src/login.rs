//! Login and logout.

use std::time::Duration;

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
    NAVIGATION,
    access::Visitor,
    fields::{Fields, LoginFields, Params},
    login_client::{BrowserCookie, LoginOrigin},
    login_limiter::LoginDecision,
    page::{Page, html, html_with},
    problem::Problem,
    session,
    state::AdminState,
    verify_password,
};

/// Value of `Retry-After`, in seconds, when too many other clients are trying to log in.
// Equals the longest delay, after which the places in the queue are free again.
const CROWDED_SECONDS: u64 = 5;

/// The pages to which a login may redirect, in addition to the pages in the navigation.
const OTHER_PAGES: [&str; 7] = [
    "access",
    "account",
    "openapi",
    "refresh",
    "refreshes",
    "registry",
    "traffic",
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

/// The outcome of a login attempt.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum LoginOutcome {
    /// The password was correct and matches this hash.
    Right {
        hash: String,
    },
    Wrong,
    /// Too many wrong passwords have been tried.
    Wait {
        seconds: u64,
    },
    /// Too many other attempts are in progress.
    Busy,
    /// No password has been set yet.
    NotSet,
}

/// Shows the login form.
pub(super) async fn form(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    Params(form): Params<LoginForm>,
    page: Page,
) -> Result<Response, Problem> {
    if matches!(visitor, Visitor::Session { .. }) {
        return Ok(page.location.see_other("overview"));
    }
    Ok(html(&LoginPage {
        page,
        next: &form.next,
        has_password: state
            .operations()
            .store
            .access()
            .password_hash()
            .await?
            .is_some(),
        error: None,
    }))
}

/// Starts a session if the password is correct.
pub(super) async fn submit(
    State(state): State<AdminState>,
    session: Session,
    page: Page,
    caller: LoginOrigin,
    browser: BrowserCookie,
    LoginFields(form): LoginFields<LoginForm>,
) -> Result<Response, Problem> {
    let outcome = check_password(&state, &caller, form.password).await?;
    let LoginOutcome::Right { hash } = outcome else {
        return Ok(refusal(&outcome, |text| LoginPage {
            page,
            next: &form.next,
            has_password: outcome != LoginOutcome::NotSet,
            error: Some(text),
        }));
    };
    let now_ms = state.now_ms();
    // Deleted at each login, so that abandoned sessions do not accumulate.
    state
        .operations()
        .store
        .access()
        .prune_sessions(now_ms)
        .await?;
    session::begin_session(&session, &caller, now_ms).await?;
    info!(client = %caller, "an administrator logged in from {caller}");
    record_login(&state, &caller).await;
    let mut response = page.location.see_other(destination(&form.next));
    browser.add_to(response.headers_mut(), &hash);
    Ok(response)
}

/// Records a login, and any failed attempts before it, in the audit log.
async fn record_login(state: &AdminState, caller: &LoginOrigin) {
    let failures = state.login_failures().record_success(state.now_ms());
    if failures > 0 {
        record_failures(state, caller, failures).await;
    }
    let from = format!("from {caller}");
    state.caller().record("login", &from, "").await;
}

async fn record_failures(state: &AdminState, caller: &LoginOrigin, failures: u64) {
    let detail = match failures {
        1 => "1 wrong password".to_owned(),
        several => format!("{several} wrong passwords since the last entry"),
    };
    let from = format!("from {caller}");
    state.caller().record("login-failed", &from, &detail).await;
}

/// Logs out by ending the session.
pub(super) async fn log_out(
    session: Session,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    session::end(&session).await?;
    Ok(page.location.see_other("login"))
}

/// A form whose only field is the CSRF token.
#[derive(Debug, Deserialize)]
pub(super) struct Empty {}

/// Compares a password to the stored hash, at a limited rate.
///
/// argon2id is costly: without a queue, guesses could exhaust memory and processors.
pub(super) async fn check_password(
    state: &AdminState,
    caller: &LoginOrigin,
    given: String,
) -> Result<LoginOutcome, Problem> {
    let (logins, store) = (state.logins(), &state.operations().store);
    let Some(hash) = store.access().password_hash().await? else {
        return Ok(LoginOutcome::NotSet);
    };
    // The hash must be loaded before the client can be determined, because it signs the browser's
    // cookie.
    let client = caller.client(&hash);
    // Held until the function returns; dropping the slot frees the place, even if the client
    // disconnects.
    let Some(slot) = logins.join_queue(&client) else {
        return Ok(LoginOutcome::Busy);
    };
    let turn = async {
        match logins.decide(&client).await {
            LoginDecision::After(delay) => tokio::time::sleep(delay).await,
            LoginDecision::Refused { wait } => return Err(LoginOutcome::wait(wait)),
        }
        // The delay comes first, so that waiting strangers do not occupy one of the few permits.
        Ok(logins.check().await)
    };
    let turn = tokio::select! {
        turn = turn => turn,
        () = slot.wait_until_evicted() => Err(LoginOutcome::Busy),
    };
    let permit = match turn {
        Ok(permit) => permit,
        Err(outcome) => return Ok(outcome),
    };
    let Some(_permit) = permit else {
        return Err(Problem::internal("the semaphore of logins is closed"));
    };
    // During the wait, other attempts may have failed, and the password may have changed.
    if let LoginDecision::Refused { wait } = logins.decide(&client).await {
        return Ok(LoginOutcome::wait(wait));
    }
    let Some(hash) = store.access().password_hash().await? else {
        return Ok(LoginOutcome::NotSet);
    };
    let checked =
        tokio::task::spawn_blocking(move || verify_password(&given, &hash).then_some(hash));
    let checked = checked
        .await
        .map_err(|error| Problem::internal(&error.to_string()))?;
    if let Some(hash) = checked {
        logins.record_success(&client).await;
        return Ok(LoginOutcome::Right { hash });
    }
    logins.fail(&client).await;
    if let Some(failures) = state.login_failures().fail(state.now_ms()) {
        record_failures(state, caller, failures).await;
    }
    // fail2ban's filter matches this line: do not change its words, and include nothing from the
    // request.
    warn!(client = %caller, "failed admin login from {caller}");
    Ok(LoginOutcome::Wrong)
}

/// Returns the response to a failed attempt: the page that `page` renders, with the reason.
pub(super) fn refusal<T: Template>(
    outcome: &LoginOutcome,
    page: impl FnOnce(String) -> T,
) -> Response {
    let (status, text) = match outcome {
        LoginOutcome::Right { .. } | LoginOutcome::Wrong => {
            (StatusCode::FORBIDDEN, "Wrong password.".to_owned())
        }
        LoginOutcome::Wait { seconds } => (
            StatusCode::TOO_MANY_REQUESTS,
            format!("Too many wrong passwords. Try again in {seconds} s."),
        ),
        LoginOutcome::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("Too many login attempts are in progress. Try again in {CROWDED_SECONDS} s."),
        ),
        LoginOutcome::NotSet => (
            StatusCode::FORBIDDEN,
            "No password has been set yet.".to_owned(),
        ),
    };
    let mut response = html_with(status, &page(text));
    let seconds = match outcome {
        LoginOutcome::Wait { seconds } => *seconds,
        LoginOutcome::Busy => CROWDED_SECONDS,
        LoginOutcome::Right { .. } | LoginOutcome::Wrong | LoginOutcome::NotSet => return response,
    };
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

impl LoginOutcome {
    fn wait(wait: Duration) -> Self {
        let seconds = wait.as_millis().div_ceil(1_000);
        Self::Wait {
            seconds: u64::try_from(seconds).unwrap_or(u64::MAX),
        }
    }
}

/// Returns the page to which a login redirects: one of the console's pages, never another site.
///
/// `next` comes from a link that anyone may have written (open redirects, CWE-601).
fn destination(next: &str) -> &str {
    let first = next.split(['/', '?']).next().unwrap_or_default();
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !next.contains("..")
        && !next.contains("//");
    let mut entries = NAVIGATION.iter();
    let is_page = OTHER_PAGES.contains(&first) || entries.any(|entry| entry.path == first);
    if is_page && is_plain {
        next
    } else {
        "overview"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_redirects_to_the_requested_page() {
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
    fn login_redirects_to_each_page_of_the_navigation() {
        for entry in NAVIGATION {
            assert_eq!(destination(entry.path), entry.path);
        }
    }

    #[test]
    fn login_never_redirects_to_other_sites() {
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

//! The page on which the administrator's password is changed.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use tower_sessions::Session;
use tracing::info;

use super::{
    MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS,
    fields::{Fields, Params},
    hash_password,
    login::{LoginOutcome, check_password, refusal},
    login_client::{BrowserCookie, LoginOrigin},
    page::{Page, html, html_with},
    problem::Problem,
    session,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/account.html")]
struct AccountPage {
    page: Page,
    is_changed: bool,
    error: Option<String>,
    min_chars: usize,
}

#[derive(Debug, Deserialize)]
pub(super) struct NoteParams {
    #[serde(default)]
    note: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct PasswordForm {
    #[serde(default)]
    old: String,
    #[serde(default)]
    new: String,
    #[serde(default)]
    again: String,
}

/// Shows the form for changing the administrator's password.
pub(super) async fn form(page: Page, Params(params): Params<NoteParams>) -> Response {
    html(&account(page, params.note == "changed", None))
}

/// Sets a new password and ends all other sessions.
pub(super) async fn submit(
    State(state): State<AdminState>,
    session: Session,
    page: Page,
    caller: LoginOrigin,
    browser: BrowserCookie,
    Fields(form): Fields<PasswordForm>,
) -> Result<Response, Problem> {
    if let Err(reason) = is_fit(&form) {
        let answer = account(page, false, Some(reason));
        return Ok(html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer));
    }
    // An open session does not replace the old password; wrong passwords are counted as at the
    // login.
    let outcome = check_password(&state, &caller, form.old).await?;
    if !matches!(outcome, LoginOutcome::Right { .. }) {
        return Ok(refusal(&outcome, |text| account(page, false, Some(text))));
    }
    // argon2id is slow by design, and would block other requests if it ran on a worker thread.
    let hash = tokio::task::spawn_blocking(move || hash_password(&form.new))
        .await
        .map_err(|error| Problem::internal(&error.to_string()))?
        .map_err(|error| Problem::internal(&error.to_string()))?;
    let now_ms = state.now_ms();
    let store = &state.operations().store;
    store.access().set_password_hash(&hash, now_ms).await?;
    // The store has deleted the sessions, so their cached copies must be deleted too.
    state.cached_sessions().clear();
    // The change has ended every session; the administrator's own session continues under a new ID.
    session::begin_session(&session, &caller, now_ms).await?;
    let caller = state.caller();
    caller.record("password-changed", "administrator", "").await;
    info!("the administrator password was changed; all other sessions were ended");
    let mut response = page.location.see_other("account?note=changed");
    // This browser's cookie was signed with the hash of the old password.
    browser.add_to(response.headers_mut(), &hash);
    Ok(response)
}

fn account(page: Page, is_changed: bool, error: Option<String>) -> AccountPage {
    AccountPage {
        page,
        is_changed,
        error,
        min_chars: MIN_PASSWORD_CHARS,
    }
}

fn is_fit(form: &PasswordForm) -> Result<(), String> {
    if form.new != form.again {
        Err("The new passwords do not match.".to_owned())
    // Counted in characters, as a user counts them; the upper limit is in bytes, as they are
    // hashed.
    } else if form.new.chars().count() < MIN_PASSWORD_CHARS {
        Err(format!(
            "The new password must have at least {MIN_PASSWORD_CHARS} characters."
        ))
    } else if form.new.len() > MAX_PASSWORD_BYTES {
        Err(format!(
            "The new password must have at most {MAX_PASSWORD_BYTES} bytes."
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(new: &str, again: &str) -> bool {
        is_fit(&PasswordForm {
            old: String::new(),
            new: new.to_owned(),
            again: again.to_owned(),
        })
        .is_ok()
    }

    #[test]
    fn new_password_must_be_long_and_typed_twice() {
        assert!(fit("long enough now", "long enough now"));
        assert!(!fit("long enough now", "long enough not"));
        assert!(!fit("short", "short"));
        assert!(!fit(&"a".repeat(2_000), &"a".repeat(2_000)));
    }
}

//! The page that lists API tokens and login sessions.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use robot_detection_operations::{
    Invalid, Refusal,
    sessions::{self, Session as AdminSession},
    tokens::{self, NewToken, Token},
};
use serde::Deserialize;
use tower_sessions::Session;

use crate::{
    access::Visitor,
    fields::{Fields, Params},
    page::{Page, html, html_with},
    problem::Problem,
    session,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/access.html")]
struct AccessPage {
    page: Page,
    tokens: Vec<Token>,
    sessions: Vec<AdminSession>,
    form: NewToken,
    /// Errors in the fields of the form for a new token.
    errors: Vec<Invalid>,
    /// Name and secret of the token that was just created.
    made: Option<(String, String)>,
    note: Option<&'static str>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct NoteParams {
    #[serde(default)]
    note: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NameForm {
    name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct KeyForm {
    key: String,
}

/// A form whose only field is the CSRF token.
#[derive(Debug, Deserialize)]
pub(crate) struct NoFields {}

/// Shows the page that lists API tokens and login sessions.
pub(crate) async fn show(
    State(state): State<AdminState>,
    session: Session,
    page: Page,
    Params(params): Params<NoteParams>,
) -> Result<Response, Problem> {
    let note = match &*params.note {
        "token-ended" => Some("Token revoked."),
        "session-ended" => Some("Session ended."),
        "sessions-ended" => Some("All other sessions ended."),
        _ => None,
    };
    let mut answer = AccessPage::new(&state, &session, page).await?;
    answer.note = note;
    Ok(html(&answer))
}

/// Creates a token, and shows the token's secret once.
///
/// The response is the page itself, because a redirect would contain the secret in its URL.
pub(crate) async fn make_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    session: Session,
    page: Page,
    Fields(form): Fields<NewToken>,
) -> Result<Response, Problem> {
    let made = tokens::create(&state.caller_as(&visitor), &form).await;
    let mut answer = AccessPage::new(&state, &session, page).await?;
    Ok(match made {
        Ok(made) => {
            answer.made = made.secret.map(|secret| (made.token.name, secret));
            html_with(StatusCode::CREATED, &answer)
        }
        Err(Refusal::Invalid(wrong)) => {
            (answer.form, answer.errors) = (form, wrong);
            html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer)
        }
        Err(refusal) => return Err(refusal.into()),
    })
}

pub(crate) async fn end_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<NameForm>,
) -> Result<Response, Problem> {
    tokens::end(&state.caller_as(&visitor), &form.name).await?;
    Ok(page.location.see_other("access?note=token-ended"))
}

pub(crate) async fn end_session(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<KeyForm>,
) -> Result<Response, Problem> {
    session::end_by_key(&state, &visitor, &form.key).await?;
    Ok(page.location.see_other("access?note=session-ended"))
}

pub(crate) async fn end_sessions(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    session: Session,
    page: Page,
    Fields(NoFields {}): Fields<NoFields>,
) -> Result<Response, Problem> {
    session::end_other_sessions(&state, &visitor, Some(&session)).await?;
    Ok(page.location.see_other("access?note=sessions-ended"))
}

impl AccessPage {
    async fn new(state: &AdminState, session: &Session, page: Page) -> Result<Self, Problem> {
        let (caller, current) = (state.caller(), session::session_key(session));
        let sessions = sessions::list(&caller, current.as_deref()).await?;
        Ok(Self {
            page,
            tokens: tokens::list(&caller).await?.tokens,
            sessions: sessions.sessions,
            form: NewToken::default(),
            errors: Vec::new(),
            made: None,
            note: None,
        })
    }

    /// Returns the error message for a field.
    fn error(&self, field: &str) -> &str {
        Invalid::message_for(field, &self.errors)
    }

    fn has_others(&self) -> bool {
        self.sessions.iter().any(|session| !session.is_current)
    }
}

//! The page of tokens and sessions.

use askama::Template;
use axum::{Extension, extract::State, http::StatusCode, response::Response};
use serde::Deserialize;
use tower_sessions::Session;

use super::{
    sessions::{self, SessionView},
    tokens::{self, TokenForm, TokenRefusal, TokenView},
};
use crate::admin::{
    access::Visitor,
    fields::{Fields, Params},
    page::{Page, html, html_with},
    problem::Problem,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/access.html")]
struct AccessPage {
    page: Page,
    tokens: Vec<TokenView>,
    sessions: Vec<SessionView>,
    form: TokenForm,
    refusal: Option<TokenRefusal>,
    /// Name of a token that was just made, and its secret.
    made: Option<(String, String)>,
    note: Option<&'static str>,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::admin) struct NoteParams {
    #[serde(default)]
    note: String,
}

#[derive(Debug, Deserialize)]
pub(in crate::admin) struct NameForm {
    name: String,
}

#[derive(Debug, Deserialize)]
pub(in crate::admin) struct KeyForm {
    key: String,
}

/// Form without fields of its own.
#[derive(Debug, Deserialize)]
pub(in crate::admin) struct NoFields {}

/// Shows tokens and sessions.
pub(in crate::admin) async fn show(
    State(state): State<AdminState>,
    session: Session,
    page: Page,
    Params(params): Params<NoteParams>,
) -> Result<Response, Problem> {
    let note = match &*params.note {
        "token-ended" => Some("The token has ended."),
        "session-ended" => Some("The session has ended."),
        "sessions-ended" => Some("All other sessions have ended."),
        _ => None,
    };
    let mut answer = AccessPage::new(&state, &session, page).await?;
    answer.note = note;
    Ok(html(&answer))
}

/// Makes a token, and shows it this once.
///
/// The response is the page itself: a redirect would have to carry the secret in its address.
pub(in crate::admin) async fn make_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    session: Session,
    page: Page,
    Fields(form): Fields<TokenForm>,
) -> Result<Response, Problem> {
    let made = tokens::make(&state, &visitor, &form).await?;
    let mut answer = AccessPage::new(&state, &session, page).await?;
    Ok(match made {
        Ok(made) => {
            answer.made = Some((made.token.name, made.secret));
            html_with(StatusCode::CREATED, &answer)
        }
        Err(refusal) => {
            (answer.form, answer.refusal) = (form, Some(refusal));
            html_with(StatusCode::UNPROCESSABLE_ENTITY, &answer)
        }
    })
}

pub(in crate::admin) async fn end_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<NameForm>,
) -> Result<Response, Problem> {
    tokens::end(&state, &visitor, &form.name).await?;
    Ok(page.location.see_other("access?note=token-ended"))
}

pub(in crate::admin) async fn end_session(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<KeyForm>,
) -> Result<Response, Problem> {
    sessions::end(&state, &visitor, &form.key).await?;
    Ok(page.location.see_other("access?note=session-ended"))
}

pub(in crate::admin) async fn end_sessions(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    session: Session,
    page: Page,
    Fields(NoFields {}): Fields<NoFields>,
) -> Result<Response, Problem> {
    sessions::end_others(&state, &visitor, Some(&session)).await?;
    Ok(page.location.see_other("access?note=sessions-ended"))
}

impl AccessPage {
    async fn new(state: &AdminState, session: &Session, page: Page) -> Result<Self, Problem> {
        Ok(Self {
            page,
            tokens: TokenView::all(state).await?,
            sessions: SessionView::all(state, Some(session)).await?,
            form: TokenForm::default(),
            refusal: None,
            made: None,
            note: None,
        })
    }

    /// Returns what is wrong with a field.
    fn error(&self, field: &str) -> &str {
        let refusal = self.refusal.as_ref();
        let refusal = refusal.filter(|refusal| refusal.field == field);
        refusal.map_or("", |refusal| &refusal.message)
    }

    fn has_others(&self) -> bool {
        self.sessions.iter().any(|session| !session.is_current)
    }
}

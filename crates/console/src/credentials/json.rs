//! API tokens and login sessions as JSON.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
};
use robot_detection_operations::{
    sessions::{self, EndedSessions, Sessions},
    tokens::{self, CreatedToken, NewToken, Tokens},
};
use tower_sessions::Session;

use crate::{
    access::Visitor,
    fields::{CsrfProof, JsonBody},
    problem::Problem,
    session,
    state::AdminState,
};

pub(crate) async fn tokens(State(state): State<AdminState>) -> Result<Json<Tokens>, Problem> {
    Ok(Json(tokens::list(&state.caller()).await?))
}

pub(crate) async fn make_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(request): JsonBody<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    let made = tokens::create(&state.caller_as(&visitor), &request).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

pub(crate) async fn put_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    JsonBody(request): JsonBody<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    let made = tokens::put(&state.caller_as(&visitor), &name, &request).await?;
    let status = match made.secret {
        Some(_) => StatusCode::CREATED,
        None => StatusCode::OK,
    };
    Ok((status, Json(made)))
}

pub(crate) async fn end_token(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    tokens::end(&state.caller_as(&visitor), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn sessions(
    State(state): State<AdminState>,
    session: Option<Extension<Session>>,
) -> Result<Json<Sessions>, Problem> {
    let current = session.as_deref().and_then(session::session_key);
    let list = sessions::list(&state.caller(), current.as_deref()).await?;
    Ok(Json(list))
}

pub(crate) async fn end_session(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(key): Path<String>,
) -> Result<StatusCode, Problem> {
    session::end_by_key(&state, &visitor, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn end_other_sessions(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    session: Option<Extension<Session>>,
    _proof: CsrfProof,
) -> Result<Json<EndedSessions>, Problem> {
    let ended = session::end_other_sessions(&state, &visitor, session.as_deref()).await?;
    Ok(Json(ended))
}

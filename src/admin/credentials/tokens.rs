//! Tokens: as lists show them, made and ended.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tracing::info;

use super::parse_end;
use crate::admin::{
    access::Visitor,
    changes,
    fields::{CsrfProof, JsonBody},
    moment::Moment,
    password::generate_password,
    problem::Problem,
    state::AdminState,
};
use crate::store::{AdminToken, StoreErrorKind, TokenScope};

/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Token as lists show it; the secret is not kept, so that nothing can show it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TokenView {
    pub(crate) name: String,
    pub(crate) scope: &'static str,
    pub(crate) created: Moment,
    /// Hour of its last use.
    pub(crate) used: Option<Moment>,
    pub(crate) ends: Option<Moment>,
    pub(crate) has_ended: bool,
}

/// Token that is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::admin) struct TokenForm {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) scope: String,
    #[serde(default)]
    pub(super) ends: String,
}

/// Field of the form that is wrong, and why.
#[derive(Clone, Debug)]
pub(super) struct TokenRefusal {
    pub(super) field: &'static str,
    pub(super) message: String,
}

/// Token that was just made.
#[derive(Debug)]
pub(super) struct MadeToken {
    pub(super) token: AdminToken,
    /// Shown in this response, and never again.
    pub(super) secret: String,
}

impl TokenView {
    pub(crate) fn new(token: &AdminToken, now_ms: i64) -> Self {
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        Self {
            name: token.name.clone(),
            scope: token.scope.as_str(),
            created: moment(token.created_ms),
            used: token.used_ms.map(moment),
            ends: token.ends_ms.map(moment),
            has_ended: token.has_ended(now_ms),
        }
    }

    /// Returns all of them.
    pub(super) async fn all(state: &AdminState) -> Result<Vec<Self>, Problem> {
        let tokens = state.admin().store.admin_tokens().await?;
        let now_ms = state.now_ms();
        Ok(tokens
            .iter()
            .map(|token| Self::new(token, now_ms))
            .collect())
    }
}

/// Returns the name of a token without blanks around it.
///
/// # Errors
///
/// Fails with what is wrong with it.
pub(crate) fn check_name(name: &str) -> Result<&str, String> {
    let name = name.trim();
    if name.is_empty() {
        Err("the token's name is empty; name what will use it, such as monitoring".to_owned())
    } else if name.chars().count() > MAX_NAME_CHARS {
        Err(format!(
            "the token's name has more than {MAX_NAME_CHARS} characters"
        ))
    } else if name.chars().any(char::is_control) {
        // Names stand in logs and on terminals.
        Err("the token's name has a control character in it".to_owned())
    } else {
        Ok(name)
    }
}

/// Returns what is stored of a token.
///
/// A plain hash is enough, as a random token cannot be guessed as a password can.
pub(crate) fn digest(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

/// Makes a token.
pub(super) async fn make(
    state: &AdminState,
    visitor: &Visitor,
    form: &TokenForm,
) -> Result<Result<MadeToken, TokenRefusal>, Problem> {
    let token = match checked(form, visitor, state.now_ms()) {
        Ok(token) => token,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let secret = generate_password();
    let store = &state.admin().store;
    if let Err(error) = store.add_admin_token(&token, &digest(&secret)).await {
        if error.kind() == StoreErrorKind::Conflict {
            let message = "A token has this name already; end it first, or take another name.";
            return Ok(Err(TokenRefusal::new("name", message)));
        }
        return Err(error.into());
    }
    let detail = match &token.ends_ms {
        Some(ends_ms) => format!(
            "scope {}, ends {}",
            token.scope.as_str(),
            Moment::new(*ends_ms, *ends_ms).iso
        ),
        None => format!("scope {}, lasting", token.scope.as_str()),
    };
    info!(name = %token.name, "a token was made: {:?}, {detail}", token.name);
    changes::record(state, visitor, "token-made", &token.name, &detail).await;
    Ok(Ok(MadeToken { token, secret }))
}

/// Ends a token.
pub(super) async fn end(state: &AdminState, visitor: &Visitor, name: &str) -> Result<(), Problem> {
    let ended = state.admin().store.remove_admin_token(name).await;
    ended.map_err(|error| match error.kind() {
        StoreErrorKind::NotFound => Problem::not_found("There is no token of this name."),
        _ => error.into(),
    })?;
    info!(name, "a token was ended: {name:?}");
    changes::record(state, visitor, "token-ended", name, "").await;
    Ok(())
}

fn checked(form: &TokenForm, visitor: &Visitor, now_ms: i64) -> Result<AdminToken, TokenRefusal> {
    let name = check_name(&form.name).map_err(|told| TokenRefusal::new("name", sentence(&told)))?;
    let scope = match form.scope.trim() {
        // The one that can do less, so that nobody hands out more than was meant.
        "" | "read" => TokenScope::Read,
        "write" => TokenScope::Write,
        _ => {
            let message = "The scope is read or write.";
            return Err(TokenRefusal::new("scope", message));
        }
    };
    let ends = parse_end(&form.ends, now_ms);
    let ends_ms = ends.map_err(|told| TokenRefusal::new("ends", sentence(&told)))?;
    // Else whoever has found a token that ends soon would make one that lasts.
    if let Visitor::Bearer(token) = visitor
        && let Some(limit_ms) = token.ends_ms
        && ends_ms.is_none_or(|ends_ms| ends_ms > limit_ms)
    {
        let limit = Moment::new(limit_ms, now_ms).iso;
        let message =
            format!("A token makes none that outlasts it: ends has to be {limit} at most.");
        return Err(TokenRefusal::new("ends", message));
    }
    Ok(AdminToken::new(name, now_ms).scope(scope).ends_ms(ends_ms))
}

/// Returns a text as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

impl TokenRefusal {
    fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            message: message.into(),
        }
    }
}

pub(in crate::admin) async fn json(
    State(state): State<AdminState>,
) -> Result<Json<serde_json::Value>, Problem> {
    let tokens = TokenView::all(&state).await?;
    Ok(Json(json!({ "tokens": tokens })))
}

pub(in crate::admin) async fn make_json(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    JsonBody(form): JsonBody<TokenForm>,
) -> Result<Response, Problem> {
    let made = make(&state, &visitor, &form).await?;
    let made = made
        .map_err(|refusal| Problem::invalid(format!("{}: {}", refusal.field, refusal.message)))?;
    let view = TokenView::new(&made.token, state.now_ms());
    let body = json!({ "token": view, "secret": made.secret });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

pub(in crate::admin) async fn end_json(
    State(state): State<AdminState>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    _proof: CsrfProof,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    end(&state, &visitor, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

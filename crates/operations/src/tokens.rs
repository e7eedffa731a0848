//! Lists, creates and revokes API tokens.

use robot_detection_store::store::{AdminToken, StoreErrorKind, TokenScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tracing::info;

use crate::{
    Caller, Moment, Refusal,
    ends::{check_absolute, end_ms},
    generate_password, rfc3339,
};

/// Maximum number of characters in a token's name.
const MAX_NAME_CHARS: usize = 100;

/// An API token. The token's secret is not stored.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Token {
    /// Name of the token, as shown in the audit log.
    pub name: String,
    /// Scope of the token: `read` or `write`.
    pub scope: &'static str,
    /// Creation time of the token.
    pub created: Moment,
    /// Time of the token's most recent use, accurate to the hour.
    pub used: Option<Moment>,
    /// Expiry of the token; absent if the token does not expire.
    pub ends: Option<Moment>,
    /// Whether the token has expired.
    pub has_ended: bool,
}

/// All API tokens.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "TokenList")]
pub struct Tokens {
    /// API tokens, sorted by name.
    pub tokens: Vec<Token>,
}

/// A request for a new token.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Name of the token, such as the name of the program that will use it.
    #[serde(default)]
    pub name: String,
    /// Scope of the token: `read` or `write`; the default is `read`.
    #[serde(default)]
    pub scope: String,
    /// Expiry of the token, such as `30d`, `2026-12-31` (the last day) or an RFC 3339 time; empty
    /// or `never` if the token does not expire.
    #[serde(default)]
    pub ends: String,
}

/// A token that was created or changed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "CreatedToken")]
pub struct CreatedToken {
    /// The token after the change.
    pub token: Token,
    /// Secret of a new token, which is shown only in this response.
    pub secret: Option<String>,
}

impl Token {
    fn new(token: &AdminToken, now_ms: i64) -> Self {
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
}

/// Lists all tokens.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn list(caller: &Caller<'_>) -> Result<Tokens, Refusal> {
    let tokens = caller.store.access().tokens().await?;
    let tokens = tokens.iter().map(|token| Token::new(token, caller.now_ms));
    Ok(Tokens {
        tokens: tokens.collect(),
    })
}

/// Validates a request for a token, without accessing the database.
///
/// # Errors
///
/// Returns an error that names the invalid field.
pub fn check(request: &NewToken, now_ms: i64) -> Result<(), Refusal> {
    checked(request, now_ms, None).map(|_| ())
}

/// Creates a token.
///
/// # Errors
///
/// Returns an error if a field is invalid, or if a database operation fails.
pub async fn create(caller: &Caller<'_>, request: &NewToken) -> Result<CreatedToken, Refusal> {
    let token = checked(request, caller.now_ms, caller.ends_ms)?;
    let secret = generate_password();
    let added = caller
        .store
        .access()
        .add_token(&token, &digest(&secret))
        .await;
    added.map_err(|error| match error.kind() {
        StoreErrorKind::Conflict => Refusal::invalid(
            "name",
            "A token with this name already exists; revoke it first, or use another name.",
        ),
        _ => error.into(),
    })?;
    let detail = detail(&token);
    info!(name = %token.name, "a token was created: {:?}, {detail}", token.name);
    caller.record("token-made", &token.name, &detail).await;
    Ok(CreatedToken {
        token: Token::new(&token, caller.now_ms),
        secret: Some(secret),
    })
}

/// Creates the token with the given name, or changes an existing token and keeps its secret.
///
/// # Errors
///
/// Returns the errors of [`create`], and an error for a relative expiry, whose meaning would change
/// each time the request is repeated.
pub async fn put(
    caller: &Caller<'_>,
    name: &str,
    request: &NewToken,
) -> Result<CreatedToken, Refusal> {
    if !request.name.is_empty() && request.name != name {
        return Err(Refusal::invalid(
            "name",
            "The name in the request differs from the name in the URL.",
        ));
    }
    check_absolute(&request.ends)?;
    let request = NewToken {
        name: name.to_owned(),
        ..request.clone()
    };
    let tokens = caller.store.access().tokens().await?;
    let Some(old) = tokens.into_iter().find(|token| token.name == name) else {
        return create(caller, &request).await;
    };
    let wanted = checked(&request, caller.now_ms, caller.ends_ms)?;
    if (old.scope, old.ends_ms) != (wanted.scope, wanted.ends_ms) {
        let access = caller.store.access();
        access
            .change_token(name, wanted.scope, wanted.ends_ms)
            .await?;
        caller.record("token-changed", name, &detail(&wanted)).await;
    }
    let token = old.scope(wanted.scope).ends_ms(wanted.ends_ms);
    Ok(CreatedToken {
        token: Token::new(&token, caller.now_ms),
        secret: None,
    })
}

fn detail(token: &AdminToken) -> String {
    let ends = token.ends_ms.map_or("no end".to_owned(), |ends_ms| {
        format!("ends {}", rfc3339(ends_ms))
    });
    format!("scope {}, {ends}", token.scope.as_str())
}

/// Revokes a token.
///
/// # Errors
///
/// Returns an error if no token has this name, or if a database operation fails.
pub async fn end(caller: &Caller<'_>, name: &str) -> Result<(), Refusal> {
    let ended = caller.store.access().remove_token(name).await;
    ended.map_err(|error| match error.kind() {
        StoreErrorKind::NotFound => Refusal::not_found("No token has this name."),
        _ => error.into(),
    })?;
    info!(name, "a token was revoked: {name:?}");
    caller.record("token-ended", name, "").await;
    Ok(())
}

/// Returns the digest of a token, as stored in the database.
///
/// A plain hash is enough, because a random token, unlike a password, cannot be guessed.
pub fn digest(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

fn checked(request: &NewToken, now_ms: i64, limit_ms: Option<i64>) -> Result<AdminToken, Refusal> {
    let name = checked_name(&request.name)?;
    let scope = match request.scope.trim() {
        // The default is the scope with fewer rights, so that no token gets more rights than
        // intended.
        "" | "read" => TokenScope::Read,
        "write" => TokenScope::Write,
        _ => {
            return Err(Refusal::invalid(
                "scope",
                "The scope must be read or write.",
            ));
        }
    };
    let ends_ms = match request.ends.trim() {
        "" => None,
        ends => end_ms(ends, now_ms).map_err(|message| Refusal::invalid("ends", message))?,
    };
    // Otherwise, someone with a leaked short-lived token could create a permanent token.
    if let Some(limit_ms) = limit_ms
        && ends_ms.is_none_or(|ends_ms| ends_ms > limit_ms)
    {
        let limit = rfc3339(limit_ms);
        let message = format!(
            "A token cannot create a token that expires later: ends must be at most {limit}."
        );
        return Err(Refusal::invalid("ends", message));
    }
    Ok(AdminToken::new(name, now_ms).scope(scope).ends_ms(ends_ms))
}

/// Returns the trimmed name of a token.
fn checked_name(name: &str) -> Result<&str, Refusal> {
    let name = name.trim();
    let message = if name.is_empty() {
        "The token's name is empty; use the name of the program that will use it, such as monitoring.".to_owned()
    } else if name.chars().count() > MAX_NAME_CHARS {
        format!("The token's name is longer than {MAX_NAME_CHARS} characters.")
    } else if name.chars().any(char::is_control) {
        // Token names appear in logs and on terminals.
        "The token's name contains a control character.".to_owned()
    } else {
        return Ok(name);
    };
    Err(Refusal::invalid("name", message))
}

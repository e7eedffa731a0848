//! Authentication: identifies the sender of a request and decides which pages the sender may see.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{Extensions, HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_sessions::Session;
use tracing::warn;

use super::{
    page::{RequestLocation, encode},
    problem::Problem,
    session,
    settings::Access,
    state::AdminState,
};
use robot_detection_operations::tokens;
use robot_detection_store::store::{AdminToken, TokenScope};

/// Maximum length of a token that is looked up; generated tokens have 29 characters.
const MAX_TOKEN_BYTES: usize = 512;

/// The authenticated visitor of the console, stored in the extensions of each request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Visitor {
    /// A visitor admitted by the application that embeds the console.
    Open,
    /// A visitor with a login session, whose forms contain the CSRF token.
    Session { csrf: String },
    /// A program with a bearer token. It sends no cookies, so other sites cannot forge its
    /// requests.
    Bearer(AdminToken),
    /// A visitor without a session or token.
    Nobody,
}

impl Visitor {
    /// Returns a CSRF token for the forms of one page: the session's token with a random mask.
    ///
    /// Pages are compressed and repeat search texts. If the token were the same on every page, an
    /// attacker could derive it byte by byte from the lengths of the responses (BREACH).
    pub(super) fn csrf(&self) -> Option<String> {
        let Self::Session { csrf } = self else {
            return None;
        };
        let mut token: Vec<u8> = csrf.bytes().map(|_| fastrand::u8(..)).collect();
        let masked: Vec<u8> = xor(&token, csrf.as_bytes()).collect();
        token.extend(masked);
        Some(hex::encode(token))
    }

    /// Returns the visitor's name for the audit log.
    pub(super) fn actor(&self) -> String {
        match self {
            Self::Bearer(token) => format!("token {}", token.name),
            Self::Open | Self::Session { .. } | Self::Nobody => "admin".to_owned(),
        }
    }

    /// Returns `true` if the visitor may only read.
    fn is_read_only(&self) -> bool {
        matches!(self, Self::Bearer(token) if token.scope == TokenScope::Read)
    }

    /// Returns `true` if the CSRF token of a form belongs to this visitor.
    pub(super) fn accepts(&self, token: &str) -> bool {
        match self {
            Self::Session { csrf } => {
                let token = hex::decode(token).unwrap_or_default();
                let (mask, masked) = token.split_at(token.len() / 2);
                is_equal(csrf.as_bytes(), &xor(mask, masked).collect::<Vec<u8>>())
            }
            Self::Open | Self::Bearer(_) | Self::Nobody => true,
        }
    }
}

/// Forwards requests from visitors that may see the page, and denies all other requests.
pub(super) async fn require_access(
    State(state): State<AdminState>,
    mut request: Request,
    next: Next,
) -> Response {
    let location = location(request.extensions());
    let session = request.extensions().get::<Session>().cloned();
    let address = state.address(request.extensions());
    let visitor = match recognise(&state, &location, request.headers(), session, address).await {
        Ok(visitor) => visitor,
        Err(problem) => return problem.into_response(),
    };
    if visitor == Visitor::Nobody && !is_public(&location) {
        return deny(&location, request.method().is_safe());
    }
    // Checked here instead of in the handlers, so that no route can omit the check: safe methods
    // have no effects (RFC 9110 §9.2.1).
    if visitor.is_read_only() && !request.method().is_safe() {
        return Problem::read_only().into_response();
    }
    request.extensions_mut().insert(visitor.clone());
    let mut response = next.run(request).await;
    // An outer layer renders errors and shows the navigation only to authenticated visitors.
    response.extensions_mut().insert(visitor);
    response
}

/// Returns `true` if a request for JSON contains a bearer token.
pub(super) fn has_bearer(location: &RequestLocation, headers: &HeaderMap) -> bool {
    location.is_api() && bearer(headers).is_some()
}

async fn recognise(
    state: &AdminState,
    location: &RequestLocation,
    headers: &HeaderMap,
    session: Option<Session>,
    address: Option<IpAddr>,
) -> Result<Visitor, Problem> {
    // Must precede the token lookup, because the application's own login may use `Authorization`
    // itself.
    if state.admin().access == Access::Open {
        return Ok(Visitor::Open);
    }
    // Only the token is accepted here: `same_site` allowed the request because it contains no
    // cookies.
    if location.is_api()
        && let Some(token) = bearer(headers)
    {
        return look_up_token(state, token, address).await;
    }
    match session {
        Some(session) if !location.is_asset() => match session::csrf(&session).await {
            Ok(Some(csrf)) => Ok(Visitor::Session { csrf }),
            Ok(None) => Ok(Visitor::Nobody),
            Err(failed) => match state.operations().store.outage() {
                Some(absence) => Err(Problem::database_unavailable(&absence)),
                None => Err(session::failed(failed)),
            },
        },
        // Assets are public and need no database lookup.
        _ => Ok(Visitor::Nobody),
    }
}

/// Looks up a bearer token by the token's digest.
///
/// A token has 80 random bits, so guessing a token is hopeless, and a lookup is cheap.
async fn look_up_token(
    state: &AdminState,
    token: &str,
    address: Option<IpAddr>,
) -> Result<Visitor, Problem> {
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
        return Ok(Visitor::Nobody);
    }
    let digest = tokens::digest(token);
    // The database looks up the digest, so no comparison here can reveal the position at which two
    // tokens differ.
    let store = &state.operations().store;
    let token = store.access().use_token(&digest, state.now_ms()).await?;
    if token.is_none() {
        let client = address.map_or_else(|| "an unknown address".to_owned(), |it| it.to_string());
        warn!(%client, "unknown or expired admin token from {client}");
    }
    Ok(token.map_or(Visitor::Nobody, Visitor::Bearer))
}

/// Returns the token from an `Authorization: Bearer` header (RFC 6750 §2.1).
///
/// The scheme is case-insensitive (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn is_public(location: &RequestLocation) -> bool {
    location.path() == "/login" || location.is_asset()
}

fn deny(location: &RequestLocation, is_safe: bool) -> Response {
    if location.wants_json() {
        return Problem::from_status(StatusCode::UNAUTHORIZED).into_response();
    }
    let wanted = location.local.trim_start_matches('/');
    // The redirect after a login cannot repeat a POST request, so only the URL of a GET request is
    // remembered.
    if is_safe && !wanted.is_empty() {
        location.see_other(&format!("login?next={}", encode(wanted)))
    } else {
        location.see_other("login")
    }
}

pub(super) fn location(extensions: &Extensions) -> RequestLocation {
    extensions
        .get::<RequestLocation>()
        .cloned()
        .unwrap_or_default()
}

/// Compares two tokens in constant time, regardless of the position at which they differ.
pub(super) fn is_equal(left: &[u8], right: &[u8]) -> bool {
    // The length is no secret, because all tokens have the same length.
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .fold(0, |difference, (l, r)| difference | (l ^ r))
            == 0
}

fn xor(left: &[u8], right: &[u8]) -> impl Iterator<Item = u8> {
    left.iter().zip(right).map(|(l, r)| l ^ r)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(authorization: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::AUTHORIZATION,
            HeaderValue::from_static(authorization),
        );
        headers
    }

    #[test]
    fn form_requires_the_token_of_its_session() {
        let session = Visitor::Session {
            csrf: "abc".to_owned(),
        };
        let [one, two] = [(); 2].map(|()| session.csrf().unwrap());
        assert_ne!(one, two, "each page has its own token");
        assert!(session.accepts(&one) && session.accepts(&two));
        let other = Visitor::Session {
            csrf: "abd".to_owned(),
        };
        for forged in [
            "",
            "abc",
            "616263",
            one.get(..8).unwrap(),
            &other.csrf().unwrap(),
        ] {
            assert!(!session.accepts(forged), "{forged}");
        }
    }

    #[test]
    fn bearer_scheme_is_case_insensitive() {
        assert_eq!(bearer(&headers("Bearer abc")), Some("abc"));
        assert_eq!(bearer(&headers("bearer  abc")), Some("abc"));
        assert_eq!(bearer(&headers("Basic abc")), None);
        assert_eq!(bearer(&headers("Bearer")), Some(""));
    }
}

//! Extractors for forms, JSON bodies and queries, which use the console's own error messages.

use std::time::Duration;

use axum::{
    Form, Json,
    extract::{
        FromRequest, FromRequestParts, Query, Request,
        rejection::{FormRejection, JsonRejection},
    },
    http::{Extensions, StatusCode, request::Parts},
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time;

use super::{access::Visitor, problem::Problem, state::AdminState};

/// Header in which a program that uses a session sends its CSRF token.
const TOKEN_HEADER: &str = "x-csrf-token";

/// Time limit for receiving the whole request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Form fields submitted with a valid CSRF token.
///
/// A form from a session is refused unless it contains the session's CSRF token.
#[derive(Debug)]
pub(super) struct Fields<T>(pub(super) T);

#[derive(Deserialize)]
struct WithToken<T> {
    #[serde(default)]
    csrf: String,
    #[serde(flatten)]
    fields: T,
}

impl<T: DeserializeOwned> FromRequest<AdminState> for Fields<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, Problem> {
        // Read before the body, because reading the body consumes the request.
        let visitor = visitor(request.extensions());
        let form: WithToken<T> = form(request, state).await?;
        if visitor.accepts(&form.csrf) {
            Ok(Self(form.fields))
        } else {
            Err(Problem::forged_request())
        }
    }
}

/// The fields of the login form, which needs no CSRF token because it contains the password.
#[derive(Debug)]
pub(super) struct LoginFields<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<AdminState> for LoginFields<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, Problem> {
        form(request, state).await.map(Self)
    }
}

/// The JSON body from a program that authenticates with a bearer token or with its session's CSRF
/// token.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<AdminState> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        // Checked before the body is read, so that a forged request costs little.
        CsrfProof::from_request_parts(&mut parts, state).await?;
        let Json(value) = in_time(Json::<T>::from_request(
            Request::from_parts(parts, body),
            state,
        ))
        .await?
        .map_err(|rejection: JsonRejection| {
            of_rejection(rejection.status(), &rejection.body_text())
        })?;
        Ok(Self(value))
    }
}

/// Proof that the request was not caused by another site; an extractor for requests without a body.
#[derive(Debug)]
pub(super) struct CsrfProof;

impl FromRequestParts<AdminState> for CsrfProof {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AdminState) -> Result<Self, Problem> {
        let token = parts
            .headers
            .get(TOKEN_HEADER)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if visitor(&parts.extensions).accepts(token) {
            Ok(Self)
        } else {
            Err(Problem::forged_request())
        }
    }
}

/// An extractor of query parameters; invalid parameters produce a page with status 400.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<AdminState> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, Problem> {
        Query::<T>::from_request_parts(parts, state)
            .await
            .map(|Query(value)| Self(value))
            .map_err(|rejection| Problem::invalid(rejection.body_text()))
    }
}

async fn form<T, S>(request: Request, state: &S) -> Result<T, Problem>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    let Form(form) = in_time(Form::<T>::from_request(request, state))
        .await?
        .map_err(|rejection: FormRejection| {
            of_rejection(rejection.status(), &rejection.body_text())
        })?;
    Ok(form)
}

/// Reads a body within [`BODY_TIMEOUT`], so that slow clients do not occupy a handler.
async fn in_time<F: Future>(reading: F) -> Result<F::Output, Problem> {
    time::timeout(BODY_TIMEOUT, reading)
        .await
        .map_err(|_| Problem::from_status(StatusCode::REQUEST_TIMEOUT))
}

fn visitor(extensions: &Extensions) -> Visitor {
    extensions
        .get::<Visitor>()
        .cloned()
        .unwrap_or(Visitor::Nobody)
}

fn of_rejection(status: StatusCode, text: &str) -> Problem {
    let told = Problem::from_status(status);
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            Problem::new(status, told.code, text)
        }
        // Other axum messages contain Rust type names, which mean nothing to the reader.
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::{body, http::header};
    use futures_util::{StreamExt as _, stream};

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Login {
        password: String,
    }

    /// Returns a form request whose body arrives at one byte per second.
    fn slow(form: &'static str) -> Request {
        let bytes = stream::iter(form.bytes()).then(async |byte| {
            time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(vec![byte])
        });
        Request::post("/login")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body::Body::from_stream(bytes))
            .unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn slow_form_is_accepted_until_the_timeout() {
        let form = form::<Login, _>(slow("password=abc"), &()).await.unwrap();
        assert_eq!(form.password, "abc");
        let problem = super::form::<Login, _>(slow("password=abcdefghijklmnopqrstuvwxyz"), &())
            .await
            .unwrap_err();
        assert_eq!(problem.status, StatusCode::REQUEST_TIMEOUT);
    }
}

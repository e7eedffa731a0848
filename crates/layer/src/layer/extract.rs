//! An identification as an argument of axum's handlers.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};

use super::Identification;

/// Answer to a person who asks a handler that takes an [`Identification`]: 403.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("this page is for robots")]
#[non_exhaustive]
pub struct NoRobot;

impl IntoResponse for NoRobot {
    fn into_response(self) -> Response {
        (StatusCode::FORBIDDEN, format!("{self}\n")).into_response()
    }
}

/// Robots only: others get a 403. `Option<Identification>` takes everybody.
impl<S: Sync> FromRequestParts<S> for Identification {
    type Rejection = NoRobot;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NoRobot> {
        parts.extensions.get().cloned().ok_or(NoRobot)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Identification {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get().cloned())
    }
}

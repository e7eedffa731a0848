//! Errors, rendered as pages or as JSON.

use askama::Template;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use tracing::error;

use super::{
    TimeZone,
    access::Visitor,
    page::{Page, RequestLocation},
};
use robot_detection_operations::Refusal;
use robot_detection_store::store::{DatabaseOutage, StoreError};

/// A problem as JSON (RFC 9457) with the type `about:blank`.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ProblemDetails {
    /// Name of the HTTP status.
    title: &'static str,
    status: u16,
    /// Description of the error, and the next step.
    detail: String,
    /// Error code, for programs.
    code: &'static str,
}

/// The reason why a request failed.
///
/// Until [`Problem::finish`] turns the problem into a page or JSON, depending on the path and the
/// client, the response contains only a status.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", what)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// Returns the problem for a request that conflicts with the current state (RFC 9110 §15.5.10).
    pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(super) fn forged_request() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "cross_site",
            "The request did not come from a page of this site. Reload the page and try again.",
        )
    }

    /// Returns the problem for a change that was attempted with a read-only token.
    pub(super) fn read_only() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "read_only",
            "This token has the scope read. Use a token with the scope write.",
        )
    }

    /// Returns the problem for an outage of the database.
    ///
    /// The message omits the reason for the outage, because visitors who are not logged in may see
    /// the message.
    pub(super) fn database_unavailable(absence: &DatabaseOutage) -> Self {
        let since = TimeZone::default().exact(absence.since_ms);
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database",
            format!(
                "The database has been unavailable since {since}. The site is served from memory as \
                 before; this page needs the database."
            ),
        )
    }

    /// Logs an internal error and returns the problem, which does not show any details to the
    /// visitor.
    pub(super) fn internal(cause: &str) -> Self {
        error!(cause, "could not create an admin page: {cause}");
        Self::from_status(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the problem for a status when no specific reason is known.
    pub(super) fn from_status(status: StatusCode) -> Self {
        let (code, message) = match status.as_u16() {
            400 => ("bad_request", "The request is malformed."),
            401 => ("unauthorized", "Log in, or send a bearer token."),
            403 => ("forbidden", "Access denied."),
            404 => ("not_found", "This page does not exist."),
            405 => (
                "method_not_allowed",
                "This URL does not support the request method.",
            ),
            408 => ("timeout", "The request was not received in time."),
            413 => ("too_large", "The request is larger than 64 KiB."),
            415 => ("unsupported_media_type", "Send a form, or JSON under api/."),
            422 => ("invalid", "A field is missing or not valid."),
            429 => ("too_often", "Too many attempts. Try again later."),
            500 => ("internal", "Internal error. See the log for details."),
            _ => ("failed", "The request failed."),
        };
        Self::new(status, code, message)
    }

    /// Returns the problem for an error response that is not in the expected format yet.
    pub(super) fn in_response(response: &Response, location: &RequestLocation) -> Option<Self> {
        let status = response.status();
        if let Some(problem) = response.extensions().get::<Self>() {
            return Some(problem.clone());
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.map_or(&[][..], |kind| kind.as_bytes());
        let is_told = kind.starts_with(b"application/json")
            || (kind.starts_with(b"text/html") && !location.wants_json());
        ((status.is_client_error() || status.is_server_error()) && !is_told)
            .then(|| Self::from_status(status))
    }

    /// Turns the problem into a page or JSON, and keeps the headers of the response.
    pub(super) fn finish(self, location: &RequestLocation, mut response: Response) -> Response {
        let dressed = if location.wants_json() {
            let details = ProblemDetails {
                title: self.status.canonical_reason().unwrap_or_default(),
                status: self.status.as_u16(),
                detail: self.message,
                code: self.code,
            };
            let kind = [(header::CONTENT_TYPE, "application/problem+json")];
            (self.status, kind, Json(details)).into_response()
        } else {
            let visitor = response.extensions().get::<Visitor>();
            self.page(location, visitor)
        };
        let (mut parts, body) = dressed.into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        // Both lengths describe the original body; hyper sets the length of the body that is sent.
        response.headers_mut().remove(header::CONTENT_LENGTH);
        for (name, value) in &parts.headers {
            response.headers_mut().insert(name, value.clone());
        }
        *response.status_mut() = parts.status;
        *response.body_mut() = body;
        response
    }

    fn page(&self, location: &RequestLocation, visitor: Option<&Visitor>) -> Response {
        let page = ProblemPage {
            page: Page {
                location: location.clone(),
                csrf: visitor.and_then(Visitor::csrf),
                ..Page::default()
            },
            has_nav: visitor.is_some_and(|visitor| *visitor != Visitor::Nobody),
            heading: heading(self.status),
            message: &self.message,
        };
        match page.render() {
            Ok(text) => (self.status, Html(text)).into_response(),
            Err(_) => self.status.into_response(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        // A 401 response must contain a challenge (RFC 9110 §11.6.1).
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"robot-detection\""),
            );
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(_) => Self::invalid(refusal.to_string()),
            Refusal::NotFound(what) => Self::not_found(what),
            Refusal::Conflict { code, message } => Self::conflict(code, message),
            Refusal::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(cause: StoreError) -> Self {
        if let Some(absence) = cause.outage() {
            return Self::database_unavailable(absence);
        }
        error!(%cause, "an admin page could not read or write the database: {cause}");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database",
            "The database does not respond. Robots are still recognised from memory. See the log for details.",
        )
    }
}

fn heading(status: StatusCode) -> &'static str {
    match status.as_u16() {
        403 => "Refused",
        404 => "Not found",
        405 => "Method not allowed",
        413 => "Too large",
        429 => "Too many attempts",
        503 => "Temporarily unavailable",
        500..600 => "Internal error",
        _ => "Request failed",
    }
}

#[derive(Template)]
#[template(path = "admin/problem.html")]
struct ProblemPage<'p> {
    page: Page,
    /// Whether the page shows the navigation, because the visitor may see other pages.
    has_nav: bool,
    heading: &'static str,
    message: &'p str,
}

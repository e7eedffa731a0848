//! What other proxies ask: a request described by headers, and a decision as each of them reads it.
//!
//! A [`Dialect`] is one proxy's way to describe the request that it has taken in, and to be told
//! what becomes of it. Everything here is a plain function from headers to headers; who decides
//! stands elsewhere, and is the same that decides for this program's own proxy.
//!
//! Nothing of the description is believed but what the proxy's file sets itself: one header with
//! the address, of one address. A header that comes twice is an error, as one of the two is the
//! visitor's.

mod answer;
mod described;
mod dialect;
mod map_line;
mod proxy_file;
mod redirect;
mod report;

pub use answer::{Answered, answer, mark, plain_pass};
pub use described::{Misdescribed, Page, describe, take_page};
pub use dialect::{Asked, Dialect};
pub use map_line::CheckToken;
pub use map_line::{MAX_LINE_BYTES, line_from_answer, question_from_line};
pub use proxy_file::{
    FileOptions, Finding, Front, FrontSite, GivenHeader, Inspection, NginxPart, OwnPath, Place,
    PlaceError, ProxyFile, TextError, inspect, proxy_file,
};
pub use redirect::requested_page;
pub use report::{MAX_REPORT_BYTES, Reported, WrongReport, YesNo, read_report};

use axum::http::HeaderName;

/// Header with the id of the robot that a request claims to come from.
pub const IDENTIFICATION_HEADER: HeaderName = HeaderName::from_static("x-robot-detection");
/// Header with the verdict on the claim.
pub const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-robot-detection-verdict");

/// Headers that only this program, or a proxy that it trusts, may set.
pub const IDENTITY_HEADERS: [HeaderName; 2] = [IDENTIFICATION_HEADER, VERDICT_HEADER];

/// Header by which nginx, Caddy and HAProxy describe a request: address, scheme, method, host and
/// target, with a blank between them.
///
/// One line, as each header costs the proxy and this program more than what stands in it.
const REQUEST: HeaderName = HeaderName::from_static("x-robot-detection-request");
/// Headers by which Envoy does, whose question has the visitor's own method and target.
const CLIENT: HeaderName = HeaderName::from_static("x-robot-detection-client");
const SCHEME: HeaderName = HeaderName::from_static("x-robot-detection-scheme");
/// The page that a proxy was told to serve in place of the one that was asked for.
const PAGE: HeaderName = HeaderName::from_static("x-robot-detection-page");

/// Headers by which it is told what was decided.
const DECISION: HeaderName = HeaderName::from_static("x-robot-detection-decision");
/// The same in answers of the listener, to questions that are malformed or too large.
pub const REFUSAL_LINE: &str = "x-robot-detection-decision: refuse\r\n";
/// Connection options of the visitor's request, which proxies do not forward.
const CONNECTION: HeaderName = HeaderName::from_static("x-robot-detection-connection");
const CAUSE: HeaderName = HeaderName::from_static("x-robot-detection-cause");
/// What nginx makes its answer of; one line, as it copies each header of every question's answer.
const ANSWER: HeaderName = HeaderName::from_static("x-robot-detection-answer");

/// Path of our own listener to which ingress-nginx sends visitors that are to be redirected.
pub const REDIRECT_PATH: &str = "/robot-detection/redirect";

/// What every header of this program's begins with; a visitor's are no description.
pub const PREFIX: &str = "x-robot-detection";

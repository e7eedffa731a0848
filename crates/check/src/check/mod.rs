//! Queries from front proxies: a query's headers describe a visitor's request, and the response
//! contains the decision in the proxy's format.
//!
//! A [`Dialect`] is the way in which a type of proxy describes a request and expects the decision.
//! This module only converts headers; the decision is made elsewhere, as for this program's own
//! proxy.
//!
//! Only the part of the description that the proxy's file itself sets is trusted: one header from
//! one address. A duplicated header is an error, because one of the duplicates may come from the
//! visitor.

mod answer;
mod described;
mod dialect;
mod map_line;
mod proxy_file;
mod report;

pub use answer::{EndpointAction, add_decision_header, endpoint_response, plain_pass};
pub use described::{InvalidDescription, Page, describe, page_from_headers};
pub use dialect::{Dialect, EndpointRequest, requested_page};
pub use map_line::CheckToken;
pub use map_line::{MAX_LINE_BYTES, line_from_answer, question_from_line};
pub use proxy_file::{
    FileOptions, Finding, Front, FrontSite, Inspection, NginxPart, OwnPath, Place, PlaceError,
    ProxyFile, RuleHeader, TextError, inspect, proxy_file,
};
pub use report::{EntryErrors, MAX_REPORT_BYTES, VisitorReport, YesNo, read_report};

use axum::http::HeaderName;

/// Request header that contains the ID of the robot that a request claims to come from.
pub const IDENTIFICATION_HEADER: HeaderName = HeaderName::from_static("x-robot-detection");
/// Response header that contains the verdict on the request's claim.
pub const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-robot-detection-verdict");

/// Headers that only this program or a trusted proxy may set.
pub const IDENTITY_HEADERS: [HeaderName; 2] = [IDENTIFICATION_HEADER, VERDICT_HEADER];

/// Query header in which nginx, Caddy and HAProxy describe a request: its address, scheme, method,
/// host and target, separated by spaces.
///
/// The description is a single header, because each header costs more than its content.
const REQUEST: HeaderName = HeaderName::from_static("x-robot-detection-request");
/// Query header that contains the visitor's address, for Envoy; Envoy's query already uses the
/// visitor's method and target.
const CLIENT: HeaderName = HeaderName::from_static("x-robot-detection-client");
const SCHEME: HeaderName = HeaderName::from_static("x-robot-detection-scheme");
/// Header that identifies the page that a proxy must serve directly instead of the requested page.
const PAGE: HeaderName = HeaderName::from_static("x-robot-detection-page");

/// Response header that contains the decision, for the front proxy.
const DECISION: HeaderName = HeaderName::from_static("x-robot-detection-decision");
/// Header line that contains the decision, added by the listener to its responses to malformed or
/// oversized queries.
pub const REFUSAL_LINE: &str = "x-robot-detection-decision: refuse\r\n";
/// Query header that contains the connection options of the visitor's request, which proxies do not
/// forward.
const CONNECTION: HeaderName = HeaderName::from_static("x-robot-detection-connection");
const CAUSE: HeaderName = HeaderName::from_static("x-robot-detection-cause");
/// Header from which nginx builds its response; a single header, because nginx copies each header
/// separately.
const ANSWER: HeaderName = HeaderName::from_static("x-robot-detection-answer");

/// Path on this program's listener to which ingress-nginx redirects visitors.
pub const REDIRECT_PATH: &str = "/robot-detection/redirect";

/// Prefix of all headers that this program defines; a visitor's own headers with this prefix are
/// never trusted as a description.
pub const PREFIX: &str = "x-robot-detection";

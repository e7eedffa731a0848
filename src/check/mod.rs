//! What other proxies ask: a request described by headers, and a decision as each of them reads it.
//!
//! A [`Dialect`] is one proxy's way to describe the request that it has taken in, and to be told
//! what becomes of it. Everything here is a plain function from headers to headers; who decides
//! stands elsewhere, and is the same that decides for this program's own proxy.
//!
//! Nothing of the description is believed but what the proxy's file sets itself: one header for
//! the address, of one address. A header that comes twice is an error, as one of the two is the
//! visitor's.

mod answer;
mod described;
mod dialect;
mod proxy_file;
mod report;
mod token;

pub(crate) use answer::{Answered, answer, unanswerable};
pub(crate) use described::{Misdescribed, Page, describe, take_page};
pub(crate) use dialect::{Asked, Dialect};
pub(crate) use proxy_file::{
    Front, FrontSite, GivenHeader, OwnPath, Place, PlaceError, ProxyFile, proxy_file,
};
pub(crate) use report::{MAX_REPORT_BYTES, Reported, WrongReport, YesNo, read_report};
pub(crate) use token::CheckToken;

use axum::http::HeaderName;

/// Headers by which a proxy describes a request.
const CLIENT: HeaderName = HeaderName::from_static("x-robot-detection-client");
const METHOD: HeaderName = HeaderName::from_static("x-robot-detection-method");
const TARGET: HeaderName = HeaderName::from_static("x-robot-detection-target");
const SCHEME: HeaderName = HeaderName::from_static("x-robot-detection-scheme");
const HOST: HeaderName = HeaderName::from_static("x-robot-detection-host");
/// The page that it was told to serve in place of the one that was asked for.
const PAGE: HeaderName = HeaderName::from_static("x-robot-detection-page");

/// Headers by which it is told what was decided.
const DECISION: HeaderName = HeaderName::from_static("x-robot-detection-decision");
const CAUSE: HeaderName = HeaderName::from_static("x-robot-detection-cause");
const STATUS: HeaderName = HeaderName::from_static("x-robot-detection-status");
const LOCATION: HeaderName = HeaderName::from_static("x-robot-detection-location");
const TEXT: HeaderName = HeaderName::from_static("x-robot-detection-text");

/// What every header of this program's begins with; a visitor's are no description.
const PREFIX: &str = "x-robot-detection";

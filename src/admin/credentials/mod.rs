//! Tokens of scripts and sessions of browsers: listed, made and ended.

mod end;
mod page;
mod sessions;
mod tokens;

pub(crate) use end::parse_end;
pub(super) use page::{end_session, end_sessions, end_token, make_token, show};
#[cfg(feature = "server")]
pub(crate) use sessions::SessionView;
pub(super) use sessions::browser_name;
pub(super) use sessions::{end_json as end_session_json, end_others_json, json as sessions_json};
pub(crate) use tokens::digest;
#[cfg(feature = "server")]
pub(crate) use tokens::{TokenView, check_name};
pub(super) use tokens::{end_json as end_token_json, json as tokens_json, make_json};

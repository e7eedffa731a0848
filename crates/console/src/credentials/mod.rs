//! API tokens and browser sessions, as a page and as JSON.

mod json;
mod page;

pub(super) use json::{
    end_other_sessions, end_session as end_session_json, end_token as end_token_json,
    make_token as make_json, put_token as put_token_json, sessions, tokens,
};
pub(super) use page::{end_session, end_sessions, end_token, make_token, show};

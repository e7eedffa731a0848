//! What was not simply passed, request by request: kept ones, and decisions as they come.
//!
//! `api/v1/evidence` tells what is kept, as JSON or CSV; the page *Live* shows the decisions of this
//! instance, those that pass included, and goes on by server-sent events.

mod filter;
mod json;
mod live;
mod row;
mod stream;

pub(super) use filter::reason_words;
pub(super) use json::{EvidencePage, PARAMETERS, json};
pub(super) use live::show;
pub(super) use stream::events;

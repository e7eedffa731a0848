//! Stored evidence and live decisions: individual requests that were handled specially.
//!
//! `api/v1/evidence` returns stored requests as JSON or CSV. The *Live* page shows all decisions of
//! this instance, including passes, and is updated by server-sent events.

mod filter;
mod json;
mod live;
mod row;
mod stream;

pub(super) use filter::reason_words;
pub(super) use json::{EvidencePage, PARAMETERS, json};
pub(super) use live::show;
pub(super) use stream::events;

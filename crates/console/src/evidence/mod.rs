//! Stored evidence: individual requests that were handled specially.
//!
//! The *Evidence* page shows the latest of these requests. `api/v1/evidence` returns them as JSON or
//! CSV.

mod filter;
mod json;
mod page;
mod row;

pub(super) use filter::reason_words;
pub(super) use json::{EvidencePage, PARAMETERS, json};
pub(super) use page::show;

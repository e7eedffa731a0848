//! The audit log of administrators' changes, with a button to undo a change.

mod page;
mod view;

pub(super) use page::{Changes, download, json, show};

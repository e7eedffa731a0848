//! The log of changes: who did what, and a button that undoes it.

mod page;
mod view;

pub(super) use page::{Changes, download, json, show};

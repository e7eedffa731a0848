//! Which pages robots and people ask for.

mod page;
mod question;

pub(super) use page::{download, json, show};
pub(super) use question::PARAMETERS;

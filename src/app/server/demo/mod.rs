//! The demonstration: an invented library with a members' area, and what our robot makes of it.

mod login;
mod site;
mod walk;

pub(super) use site::visit;
pub(super) use walk::walk;

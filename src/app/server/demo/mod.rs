//! The demonstration: a fictional library with a members' area, and heaven pages generated from it.

mod login;
mod site;
mod walk;

pub(super) use site::visit;
pub(super) use walk::walk;

//! Proofs of robots' claims, for all sites of a handle.

mod client;
mod lists;
mod methods;
mod settings;

pub(super) use client::client;
pub(super) use methods::Proving;
pub use settings::Verification;

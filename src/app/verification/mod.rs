//! Verification of robots' claims, for all sites of a handle.

mod methods;
mod settings;

pub(super) use methods::Proving;
pub use settings::Verification;
pub(super) use settings::client;

//! Proofs of robots' claims, for all sites of a handle.

#[cfg(feature = "server")]
mod assemble;
#[cfg(feature = "server")]
mod claim_prover;
mod client;
mod lists;
mod methods;
mod settings;

#[cfg(feature = "server")]
pub use assemble::verification;
#[cfg(feature = "server")]
pub use claim_prover::ClaimProver;
pub(super) use client::client;
pub(super) use methods::Proving;
pub use settings::Verification;

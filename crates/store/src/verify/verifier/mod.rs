//! Combines the verification methods: verdicts from memory, proofs in the background.

mod dns_verdicts;
mod lookup;
mod methods;
mod proofs;
mod signed;
mod signers;
#[expect(
    clippy::module_inception,
    reason = "the module is named after the type it defines"
)]
mod verifier;

pub use methods::Methods;
pub use verifier::{SettledVerdict, Verifier};

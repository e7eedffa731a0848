//! The methods together: verdicts from memory, proofs in the background.

mod dns_verdicts;
mod lookup;
mod methods;
mod proofs;
mod signed;
mod signers;
#[expect(
    clippy::module_inception,
    reason = "the file is named for what stands in it"
)]
mod verifier;

pub use methods::Methods;
pub use verifier::{SettledVerdict, Verifier};

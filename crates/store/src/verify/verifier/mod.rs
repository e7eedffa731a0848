//! The methods together: verdicts from memory, proofs in the background.

mod counts;
mod dns_verdicts;
mod lookup;
mod methods;
mod proofs;
mod signed;
mod signers;
mod spoofed;
#[expect(
    clippy::module_inception,
    reason = "the file is named for what stands in it"
)]
mod verifier;

pub use counts::{HourVerdicts, RobotVerdicts};
pub use methods::Methods;
pub use spoofed::SpoofedRequest;
pub use verifier::{SettledVerdict, Verifier};

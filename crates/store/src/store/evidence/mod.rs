//! Evidence: individual requests that were not simply passed, limited in number and age.

mod add;
mod addresses;
mod entry;
mod forget;
mod read;
pub(super) mod sql;

pub use add::EvidenceBatch;
pub use addresses::{AddressNetwork, KeptAddresses};
pub use entry::{ANY_REASON, BrokenRule, EVIDENCE_EVENTS, Evidence};
pub use forget::{Forgetting, ForgottenRows};
pub use read::{EvidenceQuery, KeptViolation, StoredEvidence, ViolationDay};

handle! {
    /// Access to the evidence of individual requests.
    EvidenceRows, evidence
}

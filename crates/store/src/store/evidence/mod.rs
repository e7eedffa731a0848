//! Evidence: individual requests that were not simply passed, limited in number and age.

mod add;
mod addresses;
mod entry;
mod forget;
mod read;
pub(super) mod sql;

pub use add::EvidenceBatch;
pub use addresses::{AddressNetwork, AddressRetention};
pub use entry::{ANY_REASON, BrokenRule, EVIDENCE_EVENTS, Evidence};
pub use forget::{DeletedRows, DeletionFilter};
pub use read::{EvidenceQuery, StoredEvidence, StoredViolation, ViolationDay};

handle! {
    /// Access to the evidence of individual requests.
    EvidenceRows, evidence
}

//! Evidence: a limited number of recent requests that were not simply passed.

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
    /// Access to the requests that are stored as evidence.
    EvidenceRows, evidence
}

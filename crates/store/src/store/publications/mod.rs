//! Publication of descriptions: staging by a run, publishing, undoing and withdrawing.
//!
//! A run writes its descriptions to a staging table. If the run succeeds, they replace the
//! published descriptions, which are kept until the next publication.

mod addresses;
mod lost;
pub(super) mod parity;
mod publish;
pub(super) mod sql;
mod stage;
mod withdraw;

pub use lost::{LostDescription, UnreachedDescription};
pub use parity::{DifferingPage, ParityResult, ParityState, ParityTerms, SAYS_MORE};
pub use publish::{Publication, StagedSelection};
pub use stage::{Loss, StagedChange, StagedPages};
pub use withdraw::{DescriptionStates, WITHDRAWN};

pub(super) use publish::{clear_publications, increment_heaven_version};
pub(super) use sql::HEAVEN_VERSION;
pub(super) use stage::{forget_staged, stage, unstage};
pub(super) use withdraw::hide_withdrawn;

handle! {
    /// Access to the published pages of robot heaven.
    Publications, publications
}

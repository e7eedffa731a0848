//! Publication of descriptions: stage, publish, undo and withdraw.
//!
//! A run writes its descriptions to a staging table. If the run succeeds, these descriptions
//! replace the published ones, which remain stored until the next publication.

mod addresses;
mod lost;
pub(super) mod parity;
mod publish;
pub(super) mod sql;
mod stage;
mod withdraw;

pub use lost::{LostDescription, UnvisitedDescription};
pub use parity::{DIFFERS_FROM_ORIGINAL, DifferingPage, ParityResult, ParityState, ParityTerms};
pub use publish::{Publication, StagedSelection};
pub use stage::{Loss, StagedChange, StagedPages};
pub use withdraw::{DescriptionCounts, WITHDRAWN_BY_ADMIN};

pub(super) use publish::{clear_publications, increment_heaven_version};
pub(super) use sql::HEAVEN_VERSION;
pub(super) use stage::{delete_staged, stage, unstage};
pub(super) use withdraw::hide_withdrawn;

handle! {
    /// Access to the published pages of robot heaven.
    Publications, publications
}

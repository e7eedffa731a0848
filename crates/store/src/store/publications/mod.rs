//! Which descriptions are in force: staged by a run, published, put back, withdrawn.
//!
//! A run writes what it describes beside what is in force. When it has ended and was found good,
//! that takes the place of what was there, which is kept until the next publication.

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
    /// The pages of robot heaven that are in force.
    Publications, publications
}

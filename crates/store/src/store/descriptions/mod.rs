//! Storage of resource descriptions.

mod query;
mod read;
mod row;
pub(super) mod sql;
mod write;

pub use query::{DescriptionCursor, DescriptionOrder, DescriptionQuery};
pub use read::DescriptionEntry;
pub use row::StoredDescription;
pub use write::SaveOutcome;

pub(super) use row::RecentDescriptions;
pub(super) use write::{clear, write_to};

handle! {
    /// Access to the descriptions of pages.
    Descriptions, descriptions
}

//! Frontier of the site robot: its runs and known URLs.
//!
//! Each URL is waiting, claimed by a holder, or done; the rows of the URLs are the entire state of
//! an interrupted run. The cost of a statement does not grow with the number of visited pages,
//! since no statement counts rows or sorts more rows than it returns.

mod claim;
mod duplicates;
mod finish;
mod record;
mod runs;
pub(super) mod sql;
mod url;

pub use claim::OpenUrls;
pub use duplicates::{AliasDescription, DuplicateDescription};
pub use record::{DescriptionChange, NextVisit, PageRecord, RecordSummary, RunKey};
pub use runs::{RunCommand, RunCounts, RunState, StoredRun};
pub use url::RobotsTxtCopy;
pub use url::{ClaimedUrl, FoundUrl, KnownUrl};

handle! {
    /// Access to the site robot's runs and known URLs.
    Frontier, frontier
}

//! The site robot's runs, and the URLs that it knows: its frontier.
//!
//! A URL waits, is taken by a holder, and is done; the rows of a run that was
//! cut off are its state. Each statement of the loop costs as much on the last
//! page as on the first: none counts, none sorts more than it returns.

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
    /// Runs of site robots, and the URLs that they know.
    Frontier, frontier
}

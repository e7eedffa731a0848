//! Address ranges that operators publish.
//!
//! [`PublishedRanges`] reads a document of any shape, [`RangeSet`] answers fast,
//! [`Ranges`] holds the lists at hand for all who ask, and [`RangesRefresher`] keeps
//! them up to date and the last good copies in the store. A list that is missing,
//! damaged or old never makes anybody an impostor.

mod due;
mod entries;
mod error;
mod evidence_text;
mod json;
mod kind;
mod lines;
mod listing;
mod names;
mod prefix;
mod published;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod ranges;
mod refresher;
mod report;
mod set;

pub use error::RangesError;
pub use published::PublishedRanges;
pub use ranges::{RangeList, Ranges};
pub use refresher::RangesRefresher;
pub use report::{RangesOutcome, RangesReport, RangesState};
pub use set::RangeSet;

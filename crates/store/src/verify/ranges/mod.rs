//! Address ranges published by operators.
//!
//! [`PublishedRanges`] parses documents in any structure, [`RangeSet`] provides fast lookups,
//! [`Ranges`] holds the current lists, and [`RangesRefresher`] keeps the lists up to date and
//! stores the last good copies. A list that is missing, damaged or old never contradicts a claim.

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
#[expect(
    clippy::module_inception,
    reason = "the module is named after the type it defines"
)]
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

//! Stored traffic as figures for pages, JSON, CSV and commands.

mod by;
mod course;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod figures;
mod filter;
mod moment;

pub use by::By;
pub use course::{Course, Line};
pub use figures::{Figures, KnownRobots};
pub use filter::TimesError;
pub use filter::{
    NONE_KNOWN, SPARED, TrafficFilter, VISITORS, decision_words, is_spared, verdict_words,
};
pub use filter::{Times, told};
pub use moment::Moment;

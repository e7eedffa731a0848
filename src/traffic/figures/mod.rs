//! What was kept of the traffic, as figures that pages, JSON, CSV and commands share.

mod by;
mod course;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod figures;
mod filter;
mod moment;
mod times;

pub(crate) use by::By;
pub(crate) use course::{Course, Line};
pub(crate) use figures::{Figures, KnownRobots};
pub(crate) use filter::{
    NONE_KNOWN, SPARED, TrafficFilter, VISITORS, decision_words, is_spared, verdict_words,
};
pub(crate) use moment::Moment;
#[cfg(feature = "server")]
pub(crate) use times::TimesError;
pub(crate) use times::{Times, told};

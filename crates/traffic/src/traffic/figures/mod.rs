//! Computes traffic figures from the stored counts, for pages, JSON, CSV and commands.

mod by;
mod class;
mod course;
#[expect(
    clippy::module_inception,
    reason = "the submodule is named after the type that it defines"
)]
mod figures;
mod filter;
mod moment;

pub use by::By;
pub use class::Class;
pub use course::{Line, TimeSteps};
pub use figures::{Figures, KnownRobots};
pub use filter::TimesError;
pub use filter::{
    KEPT_FROM_UPSTREAM, NONE_KNOWN, TrafficFilter, VISITORS, decision_words, is_spared,
    verdict_words,
};
pub use filter::{TimeRange, reported_range};
pub use moment::Moment;

//! `explain`: the decision for a request or each line of a log, with the reason of each step.

mod explainer;
mod logs;
mod report;
mod robot;
mod run;

pub(super) use explainer::Explainer;
pub(super) use robot::{GOOGLEBOT, example_page, obstacle};
pub(super) use run::run;

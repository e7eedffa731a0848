//! `explain`: shows the decision for a request, or for each line of a log, with the reason for each
//! step.

mod explainer;
mod logs;
mod report;
mod robot;
mod run;

pub(super) use explainer::{Explainer, read_robots_txt};
pub(super) use robot::{GOOGLEBOT, example_page, obstacle};
pub(super) use run::run;

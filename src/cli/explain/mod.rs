//! `explain`: the decision on a request or on each line of a log, with the reason of each step.

mod explainer;
mod logs;
mod raw;
mod report;
mod run;

pub(super) use run::run;

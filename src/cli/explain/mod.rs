//! `explain`: the decision on a request or a log's lines, with the reason of each step.

mod explainer;
mod logs;
mod run;
mod told;

pub(super) use run::run;

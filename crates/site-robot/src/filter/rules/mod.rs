//! filterrules.conf and classification.conf, in a form of our own.

mod classification;
mod filter_rules;
mod rule;
mod site;

pub use classification::ClassificationRules;
pub use filter_rules::{FilterRules, RuleVerdict};
pub use site::{Site, StartingPoint};

//! filterrules.conf and classification.conf, in formats specific to this program.

mod classification;
mod filter_rules;
mod rule;
mod site;

pub use classification::ClassificationRules;
pub use filter_rules::{FilterRules, RuleVerdict};
pub use site::{Site, StartingPoint};

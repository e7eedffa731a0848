//! Parsers for filterrules.conf and classification.conf, whose formats are specific to this
//! program.

mod classification;
mod filter_rules;
mod rule;
mod site;

pub use classification::ClassificationRules;
pub use filter_rules::{FilterRules, RuleVerdict};
pub use site::{Site, StartingPoint};

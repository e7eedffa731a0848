//! Live rules: made while servers run, in force at once on every instance.
//!
//! They are kept in the database and laid over the policies of all sites, before the rules of
//! the configuration. Each instance keeps a copy in a file, with which it starts while the
//! database is away.

mod definition;
mod end;
mod fields;
mod follow;
#[expect(clippy::module_inception, reason = "the file is named for its type")]
mod live_rules;
mod proposal;
mod set;
mod state_file;
#[cfg(feature = "server")]
mod toml;
mod touched;

pub(crate) use definition::{About, LiveAction, LiveRule};
pub(crate) use end::{DEFAULT_END, PAUSE, end_ms, length_ms, past_ms};
pub(crate) use fields::{FieldProblem, RuleFields};
pub(crate) use follow::{follow, load};
pub use live_rules::LiveRules;
pub(crate) use live_rules::MAX_RULES;
pub(crate) use proposal::{Proposal, ProposalError, Surroundings};
pub(crate) use set::{KeptRule, LiveRuleSet};
pub(crate) use state_file::StateFile;
#[cfg(feature = "server")]
pub(crate) use toml::to_toml;
pub(crate) use touched::{Touched, touched};

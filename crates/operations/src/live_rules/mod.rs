//! Live rules: rules that are added at run time and take effect immediately on every instance.
//!
//! Live rules are stored in the database and overlaid on the policies of all sites, before the
//! configured rules. Each instance saves a copy of the rules in a file, for startup while the
//! database is unavailable.

mod affected_requests;
mod definition;
mod fields;
mod follow;
#[expect(clippy::module_inception, reason = "the file is named after its type")]
mod live_rules;
mod proposal;
mod rules;
mod set;
mod state_file;
mod toml;

pub use affected_requests::AffectedRequests;
use affected_requests::affected_requests;
pub use definition::{LiveAction, LiveRule, Networks, RuleTarget};
pub use fields::RuleFields;
pub use follow::{follow, load};
pub use live_rules::LiveRules;
pub use proposal::{Proposal, Surroundings};
pub use rules::{
    AddedRule, LiveRuleView, NewPause, Outcome, Pause, PauseState, RateLimitView, RuleView, Rules,
    UnreadableRule, add, current_pause, list, list_live_rules, pause, put, remove, restore, resume,
};
pub use set::{LiveRuleSet, StoredRule};
pub use state_file::{StateFile, StateFileError};
pub use toml::to_toml;

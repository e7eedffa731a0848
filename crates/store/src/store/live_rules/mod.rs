//! Rules that are made while servers run, and the pause of all enforcement.

mod change;
mod read;
pub(super) mod sql;

pub use change::{AddedLiveRule, LiveRuleChange, NewLiveRule};
pub use read::{StoredLiveRule, StoredLiveRules, StoredPause};

handle! {
    /// Rules that are made while servers run.
    LiveRules, live_rules
}

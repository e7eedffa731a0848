//! The settings, judged as `serve` judges them.

use crate::app::{self, ServerSettings};
use crate::config::{ConfigErrors, Loaded};
use crate::policy::Policy;

use super::{check::Check, run::Subject};

pub(super) fn configuration(subject: &Subject<'_>) -> Check {
    let result = judge(subject.loaded).map(|policy| {
        if policy.is_disabled() {
            "nothing is filtered: set filter_pattern and redirect_url".to_owned()
        } else {
            let mut places: Vec<_> = policy.filter_patterns().map(str::to_owned).collect();
            places.extend(match policy.rules().count() {
                0 => None,
                1 => Some("by 1 rule".to_owned()),
                rules => Some(format!("by {rules} rules")),
            });
            format!("robots are redirected on {}", places.join(", "))
        }
    });
    Check::new("configuration", result.map_err(|error| error.to_string()))
}

/// Judges all that `serve` would judge before it opens anything.
fn judge(loaded: &Loaded) -> Result<Policy, ConfigErrors> {
    ServerSettings::new(loaded, false)?;
    app::assemble(loaded).and_then(|_| app::policy(loaded))
}

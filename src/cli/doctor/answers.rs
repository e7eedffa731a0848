//! Rules that hang on answers, where nobody here sees any.

use crate::app;
use crate::config::RuleSettings;

use super::{check::Check, run::Subject, sites::sites};

/// Names the rules that never act, as only the decision endpoint is asked about their site.
pub(super) fn unseen_answers(subject: &Subject<'_>) -> Vec<Check> {
    if subject.settings.check.listen.is_none() {
        return Vec::new();
    }
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        let settings = site.loaded.settings();
        // What is wrong with the rules the check of the configuration reports.
        let Ok(policy) = app::policy(&site.loaded) else {
            continue;
        };
        if !settings.server.upstream.is_empty() {
            continue;
        }
        let rules = settings.tables.rules.iter().zip(policy.rules());
        let unseen = rules.filter_map(|(settings, rule)| Some((rule.label(), asks(settings)?)));
        checks.extend(unseen.map(|(label, key)| {
            let text = format!(
                "{label} never acts by {key}: the decision endpoint does not see answers, and no server.upstream is set whose answers this program would see"
            );
            Check::warning(&site.label("rules"), text)
        }));
    }
    checks
}

/// Returns the setting by which a rule hangs on answers.
fn asks(rule: &RuleSettings) -> Option<&'static str> {
    // Whose requests count too acts by these.
    let by_time = rule
        .load_milliseconds
        .filter(|_| rule.load_requests.is_none());
    let by_errors = rule.errors.map(|_| "errors");
    by_errors.or(by_time.map(|_| "when.upstream_milliseconds"))
}

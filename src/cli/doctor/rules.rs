//! Rules that do nothing yet: they wait for a word, or for answers that nobody here sees.

use crate::app;
use crate::assembly::answer_setting;
use crate::clock::Clock;
use crate::store::{Store, TrafficSum};

use super::{check::Check, run::Subject, sites::sites};

/// Minutes of which it is told what a rule would have touched.
const TOLD_MINUTES: i64 = 7 * 24 * 60;

/// Checks the rules of every site.
pub(super) async fn rules(subject: &Subject<'_>) -> Vec<Check> {
    let sums = match &subject.store {
        Some(store) => last_sums(store).await,
        None => Vec::new(),
    };
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        // What is wrong with the rules the check of the configuration reports.
        let Ok(policy) = app::policy(&site.loaded) else {
            continue;
        };
        let name = site.label("rules");
        let settings = site.loaded.settings();
        for rule in policy.rules().filter(|rule| rule.is_dry()) {
            let text = unconfirmed(rule.label(), site.name(), &sums);
            checks.push(Check::warning(&name, text));
        }
        if subject.settings.check.listen.is_none() {
            continue;
        }
        let rules = || settings.tables.rules.iter().zip(policy.rules());
        let waiting = rules().filter(|(settings, _)| settings.wait_milliseconds.is_some());
        checks.extend(waiting.map(|(_, rule)| {
            let label = rule.label();
            let text = format!(
                "{label} does not wait for its verdict behind the map of Apache (proxy-config apache): the first requests of a robot are \"pending\" there"
            );
            Check::warning(&name, text)
        }));
        if !settings.server.upstream.is_empty() {
            continue;
        }
        let unseen =
            rules().filter_map(|(settings, rule)| Some((rule.label(), answer_setting(settings)?)));
        checks.extend(unseen.map(|(label, key)| {
            let text = format!(
                "{label} never acts by {key}: the decision endpoint does not see answers, and no server.upstream is set whose answers this program would see"
            );
            Check::warning(&name, text)
        }));
    }
    checks
}

/// Returns what was counted of the last days; the check of the database says what is wrong with it.
async fn last_sums(store: &Store) -> Vec<TrafficSum> {
    let now_ms = Clock::system().now_ms();
    let now = now_ms.div_euclid(60_000) + 1;
    let sums = store.traffic().read(now - TOLD_MINUTES..now, now_ms).await;
    sums.unwrap_or_default()
}

/// Says how many requests a rule would have done something to.
fn unconfirmed(label: &str, site: &str, sums: &[TrafficSum]) -> String {
    let is_its = |sum: &&TrafficSum| {
        sum.key.site == site && sum.key.cause == label && sum.key.decision.starts_with("would-")
    };
    let (mut all, mut of_people) = (0, 0);
    for sum in sums.iter().filter(is_its) {
        all += sum.count.requests;
        if ["person", "shared"].contains(&sum.key.kind.as_str()) {
            of_people += sum.count.requests;
        }
    }
    format!(
        "{label} only notes what it would do, as it is about people too; of the requests of the last 7 days it would have touched {all}, {of_people} of them people's: write people = true beside it for it to act"
    )
}

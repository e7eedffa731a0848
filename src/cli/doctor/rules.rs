//! Checks for rules that have no effect because they are unconfirmed or depend on responses that
//! this server does not see.

use super::{
    super::traps::{self, SiteTraps},
    check::{Check, Subject, sites},
};
use crate::app;
use crate::assembly::answer_setting;
use crate::clock::Clock;
use crate::config::RobotsTxtSource;
use crate::detect::SharedDetector;
use crate::store::{Store, TrafficSum};

/// The number of past minutes for which a rule's requests are counted.
const TOLD_MINUTES: i64 = 7 * 24 * 60;

/// Checks the rules of every site, and returns a warning for each rule without effect.
pub(super) async fn rules(subject: &Subject<'_>) -> Vec<Check> {
    let sums = match &subject.store {
        Some(store) => last_sums(store).await,
        None => Vec::new(),
    };
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        // The configuration check reports invalid rules.
        let Ok(policy) = app::policy(&site.loaded) else {
            continue;
        };
        let name = site.label("rules");
        let settings = site.loaded.settings();
        for rule in policy.rules().filter(|rule| rule.is_unconfirmed()) {
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
                "behind Apache's RewriteMap (proxy-config apache), {label} does not wait for the verdict: a robot's first requests have the verdict \"pending\""
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
                "{label} never matches {key}, because the decision endpoint does not receive responses and server.upstream is not set"
            );
            Check::warning(&name, text)
        }));
    }
    checks
}

/// Returns the traffic counters of the last few days; the database check reports errors.
async fn last_sums(store: &Store) -> Vec<TrafficSum> {
    let now_ms = Clock::system().now_ms();
    let now = now_ms.div_euclid(60_000) + 1;
    let sums = store.traffic().read(now - TOLD_MINUTES..now, now_ms).await;
    sums.unwrap_or_default()
}

/// Returns a warning with the number of requests that an unconfirmed rule would have affected.
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
        "{label} only logs its decisions, because it also matches human visitors; in the last 7 days it would have affected {all} requests, {of_people} of them from human visitors: to enforce the rule, add people = true to it"
    )
}

const NAME: &str = "traps";

pub(super) async fn traps(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    let Some(store) = &subject.store else {
        return Vec::new();
    };
    let all = match traps::all(subject.loaded, store).await {
        Ok(all) => all,
        Err(error) => return vec![Check::warning(NAME, error.to_string())],
    };
    let mut checks = Vec::new();
    for site in &all {
        if site.loaded.settings().robots_txt.serve != RobotsTxtSource::Pass {
            let text = format!(
                "robots.txt disallows the traps of {} in every group",
                site.site
            );
            checks.push(Check::new(NAME, Ok(text)));
        } else if !offline {
            checks.push(of_upstream(site).await);
        }
    }
    checks
}

async fn of_upstream(site: &SiteTraps) -> Check {
    let detector = SharedDetector::default();
    let served = app::active_robots_txt(&site.loaded, &detector).await;
    let files = served.map(|served| served.files().load());
    let files = match &files {
        Ok(files) => files,
        Err(error) => return Check::warning(NAME, error.to_string()),
    };
    let host = site.loaded.settings().server.hosts.first();
    let file = files.get(host.map(String::as_str));
    let open = file.into_iter().flat_map(|file| {
        let mut agents: Vec<_> = file.groups().flat_map(|group| group.agents).collect();
        agents.push("*".into());
        agents.into_iter().filter(move |agent| {
            let rules = file.for_robot(agent);
            site.paths.iter().any(|path| rules.check(path).allowed())
        })
    });
    let open: Vec<_> = open.map(|agent| format!("{agent:?}")).take(5).collect();
    if file.is_some() && open.is_empty() {
        let text = format!(
            "robots.txt of {} disallows the traps in every group",
            site.site
        );
        return Check::new(NAME, Ok(text));
    }
    let whom = if open.is_empty() {
        "all robots".to_owned()
    } else {
        open.join(", ")
    };
    Check::warning(
        NAME,
        format!(
            "robots.txt of {} comes from the upstream and does not disallow the traps for {whom}, so robots that obey robots.txt are caught: add the paths printed by robot-detection traps, or set robots_txt.serve to merge",
            site.site
        ),
    )
}

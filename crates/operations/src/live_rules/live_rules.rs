//! The live rules of a process, and the policies that the rules override.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tracing::{info, warn};

use robot_detection_layer::policy::{Policy, SharedPolicy, WeakPolicy};

use super::LiveRuleSet;

/// Maximum number of live rules; each rule is evaluated for every request from a robot.
pub(super) const MAX_RULES: usize = 500;

/// The live rules of a process; clones share the rules.
#[derive(Clone, Debug)]
pub struct LiveRules {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    is_enabled: bool,
    set: ArcSwap<LiveRuleSet>,
    /// Name and policy of each site; locked while the overlays of the policies are replaced.
    policies: Mutex<Vec<(String, WeakPolicy)>>,
}

impl LiveRules {
    /// Creates an empty set of live rules; rules are evaluated only if `is_enabled` is `true`.
    pub fn new(is_enabled: bool) -> Self {
        let none = LiveRuleSet {
            version: -1,
            ..LiveRuleSet::default()
        };
        Self {
            inner: Arc::new(Inner {
                is_enabled,
                set: ArcSwap::from_pointee(none),
                policies: Mutex::default(),
            }),
        }
    }

    /// Returns `true` if rules can be added and enforcement can be paused at run time.
    pub fn is_enabled(&self) -> bool {
        self.inner.is_enabled
    }

    /// Returns the live rules that are in force.
    pub fn load(&self) -> Arc<LiveRuleSet> {
        self.inner.set.load_full()
    }

    /// Overlays the rules on a site's policy, both now and whenever the rules change.
    pub fn attach(&self, site: &str, policy: &SharedPolicy) {
        let mut policies = self.inner.policies.lock();
        policy.set_overlay(self.load().overlay(site));
        policies.push((site.to_owned(), policy.downgrade()));
    }

    /// Returns each site's name and the policy in force, including its overlay.
    pub fn active_policies(&self) -> Vec<(String, Arc<Policy>)> {
        let policies = self.inner.policies.lock();
        let in_force = policies.iter().filter_map(|(site, policy)| {
            let policy = policy.upgrade()?;
            Some((site.clone(), Arc::clone(&policy.load())))
        });
        in_force.collect()
    }

    /// Applies a set of live rules to every site.
    pub fn put(&self, set: LiveRuleSet) {
        if !self.inner.is_enabled {
            return;
        }
        let mut policies = self.inner.policies.lock();
        let before = self.inner.set.swap(Arc::new(set));
        let set = self.load();
        // Sites that a reload has removed are dropped.
        policies.retain(|(site, policy)| {
            let policy = policy.upgrade();
            if let Some(policy) = &policy {
                policy.set_overlay(set.overlay(site));
            }
            policy.is_some()
        });
        drop(policies);
        log_changes(&before, &set);
    }

    /// Removes expired rules and an expired pause; returns `true` if anything was removed.
    pub(super) fn remove_ended(&self, now_ms: i64) -> bool {
        let set = self.load();
        if set.next_end_ms().is_none_or(|end_ms| end_ms > now_ms) {
            return false;
        }
        let mut set = LiveRuleSet::clone(&set);
        set.remove_ended(now_ms);
        self.put(set);
        true
    }
}

impl Default for LiveRules {
    fn default() -> Self {
        Self::new(true)
    }
}

/// Logs the changes between two sets of live rules.
fn log_changes(before: &LiveRuleSet, now: &LiveRuleSet) {
    let ids = |set: &LiveRuleSet| set.rules.iter().map(|rule| rule.id).collect::<Vec<_>>();
    let rules = now.rules.len();
    if ids(before) != ids(now) {
        info!(rules, "number of live rules in force: {rules}");
    }
    for (id, reason) in &now.unreadable {
        if !before.unreadable.iter().any(|(known, _)| known == id) {
            warn!(id, "live rule {id} is skipped: {reason}");
        }
    }
    match (&before.pause, &now.pause) {
        (Some(_), None) => warn!("enforcement has resumed"),
        (before, Some(pause)) if before.as_ref() != Some(pause) => {
            let by = &pause.begun_by;
            let seconds = pause.ends_ms.saturating_sub(pause.begun_ms) / 1_000;
            warn!(
                by,
                seconds,
                "all enforcement is paused for {seconds} s by {by:?}: robots get the same pages as human visitors"
            );
        }
        _ => {}
    }
}

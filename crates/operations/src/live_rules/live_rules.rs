//! The live rules of a process, and the policies that they are laid over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tracing::{info, warn};

use robot_detection_layer::policy::{Policy, SharedPolicy, WeakPolicy};

use super::LiveRuleSet;

/// Live rules at the same time, at most: each is asked about every request of a robot.
pub(super) const MAX_RULES: usize = 500;

/// Live rules of a process; clones share them.
#[derive(Clone, Debug)]
pub struct LiveRules {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    is_enabled: bool,
    set: ArcSwap<LiveRuleSet>,
    /// Name and policy of each site; held while what is laid over them is exchanged.
    policies: Mutex<Vec<(String, WeakPolicy)>>,
}

impl LiveRules {
    /// Creates them without any rule; if they are not enabled, none is ever judged.
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

    /// Returns `true` if rules may be made, and enforcement paused, while the process runs.
    pub fn is_enabled(&self) -> bool {
        self.inner.is_enabled
    }

    /// Returns the rules in force.
    pub fn load(&self) -> Arc<LiveRuleSet> {
        self.inner.set.load_full()
    }

    /// Lays the rules over the policy of a site, now and whenever they change.
    pub fn attach(&self, site: &str, policy: &SharedPolicy) {
        let mut policies = self.policies();
        policy.lay_over(self.load().overlay(site));
        policies.push((site.to_owned(), policy.downgrade()));
    }

    /// Returns the policy in force of each site, with what is laid over it.
    pub fn policies_in_force(&self) -> Vec<(String, Arc<Policy>)> {
        let policies = self.policies();
        let in_force = policies.iter().filter_map(|(site, policy)| {
            let policy = policy.upgrade()?;
            Some((site.clone(), Arc::clone(&policy.load())))
        });
        in_force.collect()
    }

    /// Applies rules on every site.
    pub fn put(&self, set: LiveRuleSet) {
        if !self.inner.is_enabled {
            return;
        }
        let mut policies = self.policies();
        let before = self.inner.set.swap(Arc::new(set));
        let set = self.load();
        // Sites that a reload took away are forgotten.
        policies.retain(|(site, policy)| {
            let policy = policy.upgrade();
            if let Some(policy) = &policy {
                policy.lay_over(set.overlay(site));
            }
            policy.is_some()
        });
        drop(policies);
        tell(&before, &set);
    }

    /// Ends what is over at a time.
    pub(super) fn end(&self, now_ms: i64) -> bool {
        let set = self.load();
        if set.next_end_ms().is_none_or(|end_ms| end_ms > now_ms) {
            return false;
        }
        let mut set = LiveRuleSet::clone(&set);
        set.end(now_ms);
        self.put(set);
        true
    }

    fn policies(&self) -> MutexGuard<'_, Vec<(String, WeakPolicy)>> {
        // Each policy is whole, whatever became of the others.
        let policies = self.inner.policies.lock();
        policies.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for LiveRules {
    fn default() -> Self {
        Self::new(true)
    }
}

/// Logs what has changed.
fn tell(before: &LiveRuleSet, now: &LiveRuleSet) {
    let ids = |set: &LiveRuleSet| set.rules.iter().map(|rule| rule.id).collect::<Vec<_>>();
    let rules = now.rules.len();
    if ids(before) != ids(now) {
        info!(rules, "live rules in force: {rules}");
    }
    for (id, reason) in &now.unreadable {
        if !before.unreadable.iter().any(|(known, _)| known == id) {
            warn!(id, "the live rule {id} is left out: {reason}");
        }
    }
    match (&before.pause, &now.pause) {
        (Some(_), None) => warn!("enforcement is resumed"),
        (before, Some(pause)) if before.as_ref() != Some(pause) => {
            let by = &pause.begun_by;
            let seconds = pause.ends_ms.saturating_sub(pause.begun_ms) / 1_000;
            warn!(
                by,
                seconds,
                "all enforcement is paused for {seconds} s by {by:?}: every robot gets what a person gets"
            );
        }
        _ => {}
    }
}

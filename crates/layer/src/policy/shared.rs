//! A policy that can be exchanged while it is read.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

use super::{LeftOutRule, Policy, PolicyError, Rule, RuleBuilder, builder::NO_REDIRECT_URL};

/// Policy that is exchanged as a whole; readers never wait. Clones share it.
#[derive(Clone)]
pub struct SharedPolicy {
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current {
    policy: ArcSwap<Policy>,
    /// Grows after each exchange.
    version: AtomicU64,
    /// What the policy in force is made of; held while it is exchanged.
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    /// Policy without the overlay.
    policy: Policy,
    overlay: Overlay,
}

/// Policy that is exchanged as long as somebody else has it.
#[derive(Clone, Debug)]
pub struct WeakPolicy {
    current: Weak<Current>,
}

impl SharedPolicy {
    /// Creates one that starts with `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            current: Arc::new(Current {
                policy: ArcSwap::from_pointee(policy.clone()),
                version: AtomicU64::new(0),
                parts: Mutex::new(Parts {
                    policy,
                    overlay: Overlay::default(),
                }),
            }),
        }
    }

    /// Returns the policy in force, for one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Policy>> {
        self.current.policy.load()
    }

    /// Returns a number that is another one as soon as another policy is in force.
    ///
    /// Read it before the policy, to keep with what is made of that.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.current.version.load(Ordering::Acquire)
    }

    /// Replaces the policy; what is laid over it stays.
    ///
    /// A rule that slows robots down and stays the same, whatever its name and
    /// place, goes on from where it was; one that changes begins anew.
    pub fn replace(&self, policy: Policy) {
        self.exchange(|parts| parts.policy = policy);
    }

    /// Replaces what is laid over the policy, whichever policy that is.
    pub fn lay_over(&self, overlay: Overlay) {
        self.exchange(|parts| parts.overlay = overlay);
    }

    /// Returns a handle that does not keep the policy.
    #[must_use]
    pub fn downgrade(&self) -> WeakPolicy {
        WeakPolicy {
            current: Arc::downgrade(&self.current),
        }
    }

    fn exchange(&self, change: impl FnOnce(&mut Parts)) {
        // A panic between would have left the old parts or the new ones, both whole.
        let parts = self.current.parts.lock();
        let mut parts = parts.unwrap_or_else(PoisonError::into_inner);
        change(&mut parts);
        let mut policy = parts.policy.clone().under(&parts.overlay);
        policy.take_over(&self.load());
        self.current.policy.store(Arc::new(policy));
        // After the store: whoever reads this version finds this policy, or a later one.
        self.current.version.fetch_add(1, Ordering::Release);
    }
}

impl WeakPolicy {
    /// Returns the policy, unless nobody has it any more.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedPolicy> {
        let current = self.current.upgrade()?;
        Some(SharedPolicy { current })
    }
}

impl fmt::Debug for SharedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPolicy").field(&**self.load()).finish()
    }
}

/// Rules that are asked before those of a policy, and whether enforcement is paused.
///
/// It is laid over whatever policy is in force, by
/// [`SharedPolicy::lay_over`](super::SharedPolicy::lay_over). Its rules come before the
/// lists of allowed and denied robots too. One that redirects does so to where the policy
/// sends robots; one that does not fit the policy is [left out](Policy::left_out).
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{Action, Overlay, Policy, Rule, SharedPolicy};
///
/// let shared = SharedPolicy::new(Policy::builder().build()?);
/// let rule = Rule::builder(Action::Refuse).label("live rule 1").paths(["/*"]).robots(["examplebot"]);
/// shared.lay_over(Overlay::new().rule(rule));
/// assert_eq!(shared.load().rules().next().unwrap().label(), "live rule 1");
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Overlay {
    rules: Vec<RuleBuilder>,
    is_paused: bool,
}

impl Overlay {
    /// Creates an overlay without rules, under which a policy is as it was.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule after the others.
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets whether enforcement is paused: all decisions are only noted.
    pub fn paused(mut self, paused: bool) -> Self {
        self.is_paused = paused;
        self
    }
}

impl Policy {
    /// Returns the policy under an overlay, itself having none.
    pub(super) fn under(mut self, overlay: &Overlay) -> Self {
        self.is_paused = overlay.is_paused;
        self.is_dry_run |= overlay.is_paused;
        if overlay.rules.is_empty() {
            return self;
        }
        let mut laid = Vec::new();
        for rule in &overlay.rules {
            match self.overlaid(rule.clone()) {
                Ok(rule) => laid.push(rule),
                Err(error) => self.left_out.push(LeftOutRule {
                    label: rule.shown_label(),
                    reason: match error {
                        PolicyError::Rule { reason, .. } => reason,
                        other => other.to_string(),
                    },
                }),
            }
        }
        self.overlaid = laid.len();
        laid.append(&mut self.rules);
        self.rules = laid;
        for (index, rule) in self.rules.iter_mut().enumerate() {
            rule.index = index;
        }
        self.with_reading().with_idle().with_hosts()
    }

    /// Builds a rule as one of this policy.
    fn overlaid(&self, rule: RuleBuilder) -> Result<Rule, PolicyError> {
        let rule = rule.build(0, &self.methods, &self.places, |url| {
            match (url, &self.heaven) {
                // A rule that is made on a page must not lead to wherever somebody typed.
                (Some(_), _) => Err("it leads to a URL of its own".to_owned()),
                (None, Some(own)) => Ok(Arc::clone(own)),
                (None, None) => Err(NO_REDIRECT_URL.to_owned()),
            }
        })?;
        let never_matches = self.never_matches(&rule);
        match never_matches {
            Some(reason) => Err(PolicyError::rule(0, "path", reason)),
            None => Ok(rule),
        }
    }

    /// Checks that a rule of an overlay would fit the policy.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it would be left out.
    pub fn check_overlaid(&self, rule: RuleBuilder) -> Result<(), PolicyError> {
        self.overlaid(rule).map(drop)
    }

    /// Returns the rules of the overlay that do not fit the policy, each with the reason.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOutRule] {
        &self.left_out
    }

    /// Returns `true` if enforcement is paused by the overlay.
    ///
    /// It is a [dry run](Self::is_dry_run) then, whatever the settings are.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Copies the state of the rate limits, and what is known of the load, from another policy.
    pub(super) fn take_over(&mut self, other: &Self) {
        if let (Some(ours), Some(theirs)) = (&mut self.load, &other.load) {
            *ours = Arc::clone(theirs);
        }
        let (theirs, of_settings) = other.rules.split_at(other.overlaid.min(other.rules.len()));
        // By their labels, which no two of them share: hundreds may have been laid over each site.
        let theirs: HashMap<&str, &Rule> = theirs.iter().map(|rule| (rule.label(), rule)).collect();
        for (index, rule) in self.rules.iter_mut().enumerate() {
            if index < self.overlaid {
                if let Some(theirs) = theirs.get(rule.label()) {
                    rule.take_over(theirs);
                }
                continue;
            }
            for theirs in of_settings {
                rule.take_over(theirs);
            }
        }
    }
}

//! A policy that can be replaced while requests are being handled.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

use super::{OmittedRule, Policy, PolicyError, Rule, RuleBuilder, builder::NO_REDIRECT_URL};

/// A policy that is replaced atomically, without blocking readers. Clones share the policy.
#[derive(Clone)]
pub struct SharedPolicy {
    current: Arc<Current>,
}

#[derive(Debug)]
struct Current {
    policy: ArcSwap<Policy>,
    /// The version of the policy, incremented after each replacement.
    version: AtomicU64,
    /// The parts of the active policy, which are locked during a replacement.
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    /// The policy without the overlay.
    policy: Policy,
    overlay: Overlay,
}

/// A weak reference to a shared policy.
#[derive(Clone, Debug)]
pub struct WeakPolicy {
    current: Weak<Current>,
}

impl SharedPolicy {
    /// Creates a shared policy that is initially `policy`.
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

    /// Returns the active policy, for use during one request.
    #[must_use]
    pub fn load(&self) -> Guard<Arc<Policy>> {
        self.current.policy.load()
    }

    /// Returns a version number that changes when the policy is replaced.
    ///
    /// To cache data derived from the policy, read the version before the policy.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.current.version.load(Ordering::Acquire)
    }

    /// Replaces the policy and retains the overlay.
    ///
    /// A rule that slows robots down retains the state of its rate limiter if only the rule's name
    /// or position changes. A changed rule starts with a new rate limiter.
    pub fn replace(&self, policy: Policy) {
        self.exchange(|parts| parts.policy = policy);
    }

    /// Replaces the overlay and retains the policy.
    pub fn set_overlay(&self, overlay: Overlay) {
        self.exchange(|parts| parts.overlay = overlay);
    }

    /// Returns a weak reference to the policy.
    #[must_use]
    pub fn downgrade(&self) -> WeakPolicy {
        WeakPolicy {
            current: Arc::downgrade(&self.current),
        }
    }

    fn exchange(&self, change: impl FnOnce(&mut Parts)) {
        // After a panic, the parts are either the old parts or the new parts, never a mixture.
        let parts = self.current.parts.lock();
        let mut parts = parts.unwrap_or_else(PoisonError::into_inner);
        change(&mut parts);
        let mut policy = parts.policy.clone().with_overlay(&parts.overlay);
        policy.inherit_state(&self.load());
        self.current.policy.store(Arc::new(policy));
        // Incremented after the store, so that a reader of this version loads this policy or a
        // later policy.
        self.current.version.fetch_add(1, Ordering::Release);
    }
}

impl WeakPolicy {
    /// Returns the policy, unless all strong references have been dropped.
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

/// Additional rules that precede a policy's rules, and a switch that pauses enforcement.
///
/// An overlay is applied to the active policy with
/// [`SharedPolicy::set_overlay`](super::SharedPolicy::set_overlay). The overlay's rules also
/// precede the lists of allowed and denied robots. A rule that redirects uses the policy's redirect
/// target; a rule that is not valid for the policy is [left out](Policy::omitted_rules).
///
/// # Example
///
/// ```
/// use robot_detection_layer::policy::{Action, Overlay, Policy, Rule, SharedPolicy};
///
/// let shared = SharedPolicy::new(Policy::builder().build()?);
/// let rule = Rule::builder(Action::Refuse).label("live rule 1").paths(["/*"]).robots(["examplebot"]);
/// shared.set_overlay(Overlay::new().rule(rule));
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
    /// Creates an overlay without rules, which leaves the policy unchanged.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule after the existing rules.
    pub fn rule(mut self, rule: RuleBuilder) -> Self {
        self.rules.push(rule);
        self
    }

    /// Pauses enforcement, so that all decisions are only reported.
    pub fn paused(mut self, paused: bool) -> Self {
        self.is_paused = paused;
        self
    }
}

impl Policy {
    /// Returns the policy with an overlay applied; `self` must not have an overlay yet.
    pub(super) fn with_overlay(mut self, overlay: &Overlay) -> Self {
        self.is_paused = overlay.is_paused;
        self.is_dry_run |= overlay.is_paused;
        if overlay.rules.is_empty() {
            return self;
        }
        let mut laid = Vec::new();
        for rule in &overlay.rules {
            match self.overlaid(rule.clone()) {
                Ok(rule) => laid.push(rule),
                Err(error) => self.left_out.push(OmittedRule {
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
        self.apply_path_reading()
            .compute_idle()
            .compute_host_dependency()
    }

    /// Builds a rule from an overlay for this policy.
    fn overlaid(&self, rule: RuleBuilder) -> Result<Rule, PolicyError> {
        let rule = rule.build(0, &self.methods, &self.places, |url| {
            match (url, &self.heaven) {
                // A rule created on an admin page must not redirect to an arbitrary URL.
                (Some(_), _) => {
                    Err("rules added at run time cannot have their own redirect URL".to_owned())
                }
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

    /// Checks whether a rule from an overlay is valid for this policy.
    ///
    /// # Errors
    ///
    /// If the rule is not valid, returns the reason why it would be left out.
    pub fn check_overlay_rule(&self, rule: RuleBuilder) -> Result<(), PolicyError> {
        self.overlaid(rule).map(drop)
    }

    /// Returns the rules of the overlay that are not valid for the policy, each with the reason.
    #[must_use]
    pub fn omitted_rules(&self) -> &[OmittedRule] {
        &self.left_out
    }

    /// Returns `true` if the overlay pauses enforcement.
    ///
    /// In this case, [`is_dry_run`](Self::is_dry_run) returns `true` regardless of the settings.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Takes over the rate limits and the measured load from another policy.
    pub(super) fn inherit_state(&mut self, other: &Self) {
        if let (Some(ours), Some(theirs)) = (&mut self.load, &other.load) {
            *ours = Arc::clone(theirs);
        }
        let (theirs, of_settings) = other.rules.split_at(other.overlaid.min(other.rules.len()));
        // Rules are looked up by unique labels, because an overlay may have hundreds of rules.
        let theirs: HashMap<&str, &Rule> = theirs.iter().map(|rule| (rule.label(), rule)).collect();
        for (index, rule) in self.rules.iter_mut().enumerate() {
            if index < self.overlaid {
                if let Some(theirs) = theirs.get(rule.label()) {
                    rule.inherit_state(theirs);
                }
                continue;
            }
            for theirs in of_settings {
                rule.inherit_state(theirs);
            }
        }
    }
}

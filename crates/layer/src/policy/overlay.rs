//! Rules that are laid over a policy while it is in force.

use std::{collections::HashMap, sync::Arc};

use super::{LeftOutRule, Policy, PolicyError, Rule, RuleBuilder, builder::NO_REDIRECT_URL};

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

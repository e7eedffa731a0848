//! A proposed live rule, which is validated and previewed before it takes effect.

use std::sync::Arc;

use robot_detection_site_robot::spelling::nearest;

use robot_detection_layer::detect::Detector;
use robot_detection_layer::policy::{Policy, PolicyError};
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_store::store::{AddRuleOutcome, NewLiveRule};

use crate::{
    Caller, Invalid, Refusal,
    ends::{DEFAULT_END, end_ms},
};

use super::{
    AffectedRequests, LiveRule, RuleFields, RuleTarget, affected_requests,
    live_rules::MAX_RULES,
    rules::{change, too_many_rules},
};

/// Length of the preview period in minutes: the last day.
const MINUTES: i64 = 24 * 60;

/// A rule that is not in force yet.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Name of the proposed rule, if any.
    pub name: Option<String>,
    /// The proposed rule.
    pub rule: LiveRule,
    /// Expiry of the proposed rule; `None` if the rule does not expire.
    pub ends_ms: Option<i64>,
    /// Recent requests that the rule matches.
    pub touched: AffectedRequests,
    /// Warnings about the proposed rule, as sentences.
    pub warnings: Vec<String>,
}

/// The context for evaluating proposed rules.
#[derive(Clone, Debug)]
pub struct Surroundings<'s> {
    /// Caller of the operation.
    pub caller: Caller<'s>,
    /// Detector of known robots.
    pub detector: Arc<Detector>,
    /// Name and policy of each site.
    pub sites: Vec<(String, Arc<Policy>)>,
}

impl Proposal {
    /// Validates the fields of a rule and counts the requests that the rule would have affected.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if no site accepts the rule, or if a database
    /// operation fails.
    pub async fn new(fields: &RuleFields, among: &Surroundings<'_>) -> Result<Self, Refusal> {
        let now_ms = among.caller.now_ms;
        let robots = || among.detector.robots().iter().map(|robot| &**robot);
        let rule = fields.rule()?.limited_to_verified(robots());
        let end = fields.ends.as_deref().map(str::trim);
        let end = end.filter(|end| !end.is_empty()).unwrap_or(DEFAULT_END);
        let ends_ms = end_ms(end, now_ms).map_err(|reason| Refusal::invalid("ends", reason))?;
        check_people(&rule, robots())?;
        let mut warnings = among.misfits(&rule)?;
        warnings.extend(unknown(&rule.about, robots()));
        let now = now_ms.div_euclid(60_000);
        // The range includes the current minute.
        let minutes = now + 1 - MINUTES..now + 1;
        let sums = among.caller.store.traffic().read(minutes, now_ms).await?;
        Ok(Self {
            name: fields.name()?.map(str::to_owned),
            touched: affected_requests(&rule, &sums, &among.detector),
            rule,
            ends_ms,
            warnings,
        })
    }

    /// Adds the rule on every instance, or replaces the existing rule with the same name.
    pub(super) async fn add(
        &self,
        caller: &Caller<'_>,
        replaces: bool,
    ) -> Result<AddRuleOutcome, Refusal> {
        let rule = NewLiveRule {
            definition: &self.rule.definition(),
            name: self.name.as_deref(),
            ends_ms: self.ends_ms,
            replaces,
        };
        let detail = self.rule.to_string();
        let rules = caller.store.live_rules();
        let added = rules.add(rule, MAX_RULES, change(caller, &detail)).await?;
        match added {
            AddRuleOutcome::Full => Err(too_many_rules()),
            AddRuleOutcome::Taken(id) => Err(Refusal::conflict(
                "name_taken",
                format!("Live rule {id} already has this name; remove or replace that rule."),
            )),
            added => Ok(added),
        }
    }
}

impl Surroundings<'_> {
    /// Returns the sites that would skip a rule, with reasons.
    fn misfits(&self, rule: &LiveRule) -> Result<Vec<String>, Invalid> {
        let mut sites = self.sites.iter().filter(|(name, _)| rule.is_for_site(name));
        let mut misfits = Vec::new();
        let mut has_fit = false;
        for (name, policy) in sites.by_ref() {
            match policy.check_overlay_rule(rule.builder()) {
                Ok(()) => has_fit = true,
                Err(error) => misfits.push((name, error)),
            }
        }
        match misfits.first() {
            Some((_, error)) if !has_fit => Err(error_of(error)),
            None if !has_fit => {
                let names: Vec<_> = self.sites.iter().map(|(name, _)| &**name).collect();
                let reason = format!("unknown site; the sites are {}", names.join(", "));
                Err(Invalid::new("site", reason))
            }
            _ => {
                let told = misfits.iter().map(|(name, error)| {
                    let reason = error_of(error).message;
                    format!("The rule is skipped on the site {name}: {reason}.")
                });
                Ok(told.collect())
            }
        }
    }
}

/// Returns the error for a rule that a site's policy rejects.
fn error_of(error: &PolicyError) -> Invalid {
    match error {
        PolicyError::Rule { key, reason, .. } => {
            let field = if *key == "path" { "path" } else { "action" };
            Invalid::new(field, reason)
        }
        other => Invalid::new("action", other.to_string()),
    }
}

/// Refuses a rule for a User-Agent that many people share.
fn check_people<'r>(
    rule: &LiveRule,
    mut robots: impl Iterator<Item = &'r Robot>,
) -> Result<(), Invalid> {
    let is_people = |robot: &Robot| rule.about.includes(robot) && robot.purpose == Purpose::Shared;
    match rule.about {
        RuleTarget::Robot(_) if robots.any(is_people) => Err(Invalid::new(
            "robot",
            "its User-Agent is shared by many people, whose requests always pass",
        )),
        _ => Ok(()),
    }
}

/// Returns a warning if no registry contains the visitors that a rule selects.
fn unknown<'r>(
    about: &RuleTarget,
    robots: impl Iterator<Item = &'r Robot> + Clone,
) -> Option<String> {
    if robots.clone().any(|robot| about.includes(robot)) {
        return None;
    }
    let (told, near) = match about {
        RuleTarget::Operator(name) => (
            format!("No registry contains the operator {name}"),
            nearest(name, robots.filter_map(|robot| robot.operator.as_deref())),
        ),
        RuleTarget::Robot(id) => (
            format!("No registry lists the {about}"),
            nearest(id, robots.map(|robot| &*robot.id)),
        ),
        _ => return None,
    };
    let near = near.map_or_else(
        || ".".to_owned(),
        |near| format!("; did you mean {near:?}?"),
    );
    Some(format!("{told}{near}"))
}

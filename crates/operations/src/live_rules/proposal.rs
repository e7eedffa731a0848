//! A rule that somebody wants, judged and counted before it is in force.

use std::sync::Arc;

use robot_detection_site_robot::spelling::nearest;

use robot_detection_layer::detect::Detector;
use robot_detection_layer::policy::{Policy, PolicyError};
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_store::store::{LiveRuleChange, Store, StoreError};

use super::{
    About, FieldProblem, LiveRule, RuleFields, Touched, end_ms, live_rules::MAX_RULES, touched,
};

/// Minutes of the time that is counted: the last day.
const MINUTES: i64 = 24 * 60;

/// Rule that is not in force yet.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The rule.
    pub rule: LiveRule,
    /// `None`: it lasts.
    pub ends_ms: Option<i64>,
    /// Recent requests that it matches.
    pub touched: Touched,
    /// What whoever makes it should know, in sentences.
    pub warnings: Vec<String>,
}

/// What a rule is judged by.
#[derive(Clone, Debug)]
pub struct Surroundings<'s> {
    /// Database.
    pub store: &'s Store,
    /// Detector of known robots.
    pub detector: &'s Detector,
    /// Name and policy of each site.
    pub sites: Vec<(String, Arc<Policy>)>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// Error of a rule that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// A field is wrong.
    #[error("{}: {}", .0.field, .0.reason)]
    Field(FieldProblem),
    /// There are as many as there may be.
    #[error(
        "there are {MAX_RULES} live rules already: remove some, or put those into the configuration that `robot-detection rules export` prints"
    )]
    Full,
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Proposal {
    /// Judges the fields of a rule, and counts what it would have touched.
    ///
    /// # Errors
    ///
    /// Fails on a wrong field, on a rule that would fit no site, and when the database does.
    pub async fn new(
        fields: &RuleFields,
        end: &str,
        among: &Surroundings<'_>,
    ) -> Result<Self, ProposalError> {
        let field = ProposalError::Field;
        let robots = || among.detector.robots().iter().map(|robot| &**robot);
        let rule = fields.rule().map_err(field)?.proven(robots());
        let end_of = |reason| field(FieldProblem::new("ends", reason));
        let ends_ms = end_ms(end, among.now_ms).map_err(end_of)?;
        check_people(&rule, robots()).map_err(field)?;
        let mut warnings = among.misfits(&rule).map_err(field)?;
        warnings.extend(unknown(&rule.about, robots()));
        let now = among.now_ms.div_euclid(60_000);
        // The minute that has begun is counted too.
        let minutes = now + 1 - MINUTES..now + 1;
        let sums = among.store.traffic().read(minutes, among.now_ms).await?;
        Ok(Self {
            touched: touched(&rule, &sums, among.detector),
            rule,
            ends_ms,
            warnings,
        })
    }

    /// Adds the rule on every instance, and returns its number.
    ///
    /// # Errors
    ///
    /// Fails when there are too many, and when the database does.
    pub async fn add(&self, store: &Store, actor: &str, now_ms: i64) -> Result<i64, ProposalError> {
        let definition = self.rule.definition();
        let detail = self.rule.to_string();
        let change = LiveRuleChange {
            actor,
            detail: &detail,
            now_ms,
        };
        let added = store
            .live_rules()
            .add(&definition, self.ends_ms, MAX_RULES, change);
        added.await?.ok_or(ProposalError::Full)
    }
}

impl Surroundings<'_> {
    /// Returns on which sites a rule would be left out, and why; fails where on all.
    fn misfits(&self, rule: &LiveRule) -> Result<Vec<String>, FieldProblem> {
        let mut sites = self.sites.iter().filter(|(name, _)| rule.is_of_site(name));
        let mut misfits = Vec::new();
        let mut has_fit = false;
        for (name, policy) in sites.by_ref() {
            match policy.check_overlaid(rule.builder()) {
                Ok(()) => has_fit = true,
                Err(error) => misfits.push((name, error)),
            }
        }
        match misfits.first() {
            Some((_, error)) if !has_fit => Err(error_of(error)),
            None if !has_fit => {
                let names: Vec<_> = self.sites.iter().map(|(name, _)| &**name).collect();
                let reason = format!("there is no such site; there are {}", names.join(", "));
                Err(FieldProblem::new("site", reason))
            }
            _ => {
                let told = misfits.iter().map(|(name, error)| {
                    let reason = error_of(error).reason;
                    format!("It is left out on the site {name}: {reason}.")
                });
                Ok(told.collect())
            }
        }
    }
}

/// Returns what is wrong with a rule that does not fit.
fn error_of(error: &PolicyError) -> FieldProblem {
    match error {
        PolicyError::Rule { key, reason, .. } => {
            let field = if *key == "path" { "path" } else { "action" };
            FieldProblem::new(field, reason)
        }
        other => FieldProblem::new("action", other.to_string()),
    }
}

/// Refuses the record of a User-Agent that many people share.
fn check_people<'r>(
    rule: &LiveRule,
    mut robots: impl Iterator<Item = &'r Robot>,
) -> Result<(), FieldProblem> {
    let is_people = |robot: &Robot| rule.about.is_about(robot) && robot.purpose == Purpose::Shared;
    match rule.about {
        About::Robot(_) if robots.any(is_people) => Err(FieldProblem::new(
            "robot",
            "its User-Agent is that of many people, who always pass",
        )),
        _ => Ok(()),
    }
}

/// Returns what to know of a rule about nobody who is known.
fn unknown<'r>(about: &About, robots: impl Iterator<Item = &'r Robot> + Clone) -> Option<String> {
    if robots.clone().any(|robot| about.is_about(robot)) {
        return None;
    }
    let (told, near) = match about {
        About::Operator(name) => (
            format!("No registry names the operator {name} now"),
            nearest(name, robots.filter_map(|robot| robot.operator.as_deref())),
        ),
        About::Robot(id) => (
            format!("No registry lists the {about} now"),
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

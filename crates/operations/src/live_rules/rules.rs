//! Lists and changes live rules and the pause of enforcement.

use robot_detection_layer::policy::{Decision, Policy, RateLimiter, Rule};
use robot_detection_store::store::{AddRuleOutcome, LiveRuleChange, StoredPause};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Caller, Moment, Refusal, ends::check_absolute, length_ms, rfc3339};

use super::{
    LiveRule, LiveRuleSet, RuleFields, RuleTarget, StoredRule,
    affected_requests::AffectedRequests,
    live_rules::MAX_RULES,
    proposal::{Proposal, Surroundings},
};

/// Default duration of a pause of enforcement.
const PAUSE: &str = "1h";

/// The rules in force, and the current pause of enforcement.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RuleList")]
pub struct Rules {
    /// Whether live rules are enabled; if not, they are not evaluated.
    pub enabled: bool,
    /// Live rules, oldest first.
    pub live_rules: Vec<LiveRuleView>,
    /// Live rules that this version of the program cannot read.
    pub unreadable: Vec<UnreadableRule>,
    /// All rules of each site in order of evaluation, live rules first.
    pub rules: Vec<RuleView>,
    /// The current pause of enforcement, if any.
    pub pause: Option<Pause>,
}

/// A live rule that is in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "LiveRule")]
pub struct LiveRuleView {
    /// ID of the live rule.
    pub id: i64,
    /// Name of the live rule, if any.
    pub name: Option<String>,
    /// Label of the rule, as used in reasons and logs.
    pub rule: String,
    /// Description of the rule.
    #[serde(rename = "summary")]
    pub does: String,
    /// Request that would create the same rule.
    pub definition: RuleFields,
    /// Expiry of the rule; absent if the rule does not expire.
    pub ends: Option<Moment>,
    /// Creation time of the live rule.
    #[serde(rename = "created")]
    pub made: Moment,
    /// Name of the rule's creator.
    pub by: String,
    /// Limitations of the rule, as sentences.
    pub notes: Vec<String>,
}

/// A live rule in the database that this version of the program cannot read.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct UnreadableRule {
    /// ID of the unreadable rule.
    pub id: i64,
    /// Reason why the rule cannot be read.
    pub reason: String,
}

/// A rule of a site, either live or configured.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Rule")]
pub struct RuleView {
    /// Name of the site.
    pub site: String,
    /// Label of the rule, as used in reasons: `rule "its name"`, or `rule 2`.
    pub rule: String,
    /// Conditions, all of which must match; empty if the rule matches every robot on a filtered
    /// path.
    pub conditions: Vec<String>,
    /// Action of the rule.
    pub action: &'static str,
    /// Words that connect the action to its location or status.
    #[serde(skip)]
    pub joint: &'static str,
    /// Target of a redirect, or location of the directly served page.
    pub location: Option<String>,
    /// HTTP status of a redirect or refusal.
    pub status: Option<u16>,
    /// Response text of a refusal.
    pub text: Option<String>,
    /// Rate limit that the rule applies.
    #[serde(rename = "rate_limit")]
    pub pace: Option<RateLimitView>,
    /// Headers that the rule adds to responses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Place of the rule in the configuration; empty if the rule is built in.
    pub origin: String,
}

/// The rate limit of a rule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RateLimit")]
pub struct RateLimitView {
    /// Requests per period, if requests are limited.
    pub requests: Option<u32>,
    /// Errors per period, if errors are limited.
    pub errors: Option<u32>,
    /// Length of the rate limit's period in seconds.
    pub per_seconds: f64,
    /// Number of requests allowed in a burst.
    pub burst: u32,
    /// Unit to which the limit applies, such as an address or a robot.
    pub per: &'static str,
    /// Description of the rate limit.
    #[serde(rename = "text")]
    pub told: String,
}

/// The pause of all enforcement.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Pause {
    /// End of the pause.
    pub ends: Moment,
    /// Start of the pause.
    #[serde(rename = "started")]
    pub begun: Moment,
    /// Name of the administrator who paused enforcement.
    pub by: String,
}

/// The state of the pause of enforcement.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PauseState {
    /// The pause of enforcement, if any.
    pub pause: Option<Pause>,
}

/// A request to pause all enforcement.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPause {
    /// Duration of the pause, such as `30m` or `12h`; the default is `1h`.
    pub r#for: Option<String>,
}

/// A rule that was added or previewed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct AddedRule {
    /// ID of the new rule; absent in a dry run.
    pub id: Option<i64>,
    /// Outcome of adding the rule.
    pub outcome: Outcome,
    /// Description of the rule.
    #[serde(rename = "summary")]
    pub does: String,
    /// Request that would create the same rule.
    pub definition: RuleFields,
    /// Expiry of the rule; absent if the rule does not expire.
    pub ends: Option<Moment>,
    /// Requests in the last 24 hours that the rule would have matched.
    #[serde(rename = "matched")]
    pub touched: AffectedRequests,
    /// Warnings about the rule, as sentences.
    pub warnings: Vec<String>,
}

/// The outcome of adding a rule.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RuleOutcome")]
pub enum Outcome {
    /// The rule was added.
    Added,
    /// The rule replaced an existing rule with the same name.
    Replaced,
    /// An identical rule with the same name already exists.
    Unchanged,
    /// Dry run: nothing was changed.
    DryRun,
}

/// Lists the rules in force.
pub fn list(among: &Surroundings<'_>, set: &LiveRuleSet, enabled: bool) -> Rules {
    let unreadable = set.unreadable.iter().cloned();
    let rules = among.sites.iter();
    Rules {
        enabled,
        live_rules: list_live_rules(among, set, |_| true),
        unreadable: unreadable
            .map(|(id, reason)| UnreadableRule { id, reason })
            .collect(),
        rules: rules
            .flat_map(|(site, policy)| RuleView::all(site, policy))
            .collect(),
        pause: current_pause(among.caller.now_ms, set),
    }
}

/// Lists the live rules that apply to the given visitors.
pub fn list_live_rules(
    among: &Surroundings<'_>,
    set: &LiveRuleSet,
    is_asked: impl Fn(&RuleTarget) -> bool,
) -> Vec<LiveRuleView> {
    let asked = set.rules.iter().filter(|kept| is_asked(&kept.rule.about));
    asked.map(|kept| LiveRuleView::new(kept, among)).collect()
}

/// Adds a rule; a dry run only counts the requests that the rule would have affected.
///
/// # Errors
///
/// Returns an error if a field is invalid, if the name is taken, if there are too many rules, or if
/// a database operation fails.
pub async fn add(
    among: &Surroundings<'_>,
    request: &RuleFields,
    is_dry_run: bool,
) -> Result<AddedRule, Refusal> {
    save(among, request, is_dry_run, false).await
}

/// Creates or replaces the rule with the given name; nothing changes if the existing rule is
/// identical.
///
/// A rule without `ends` does not expire.
///
/// # Errors
///
/// Returns the errors of [`add`], and an error for a relative expiry, whose meaning would change
/// each time the request is repeated.
pub async fn put(
    among: &Surroundings<'_>,
    name: &str,
    request: &RuleFields,
    is_dry_run: bool,
) -> Result<AddedRule, Refusal> {
    let mut request = request.clone();
    if request.name.as_ref().is_some_and(|own| own != name) {
        return Err(Refusal::invalid(
            "name",
            "The name in the request differs from the name in the URL.",
        ));
    }
    request.name = Some(name.to_owned());
    check_absolute(request.ends.get_or_insert_with(|| "never".to_owned()))?;
    save(among, &request, is_dry_run, true).await
}

async fn save(
    among: &Surroundings<'_>,
    request: &RuleFields,
    is_dry_run: bool,
    replaces: bool,
) -> Result<AddedRule, Refusal> {
    let proposal = Proposal::new(request, among).await?;
    let (id, outcome) = if is_dry_run {
        (None, Outcome::DryRun)
    } else {
        match proposal.add(&among.caller, replaces).await? {
            AddRuleOutcome::Unchanged(id) => (Some(id), Outcome::Unchanged),
            AddRuleOutcome::Replaced(id) => (Some(id), Outcome::Replaced),
            AddRuleOutcome::Added(id) | AddRuleOutcome::Taken(id) => (Some(id), Outcome::Added),
            AddRuleOutcome::Full => return Err(too_many_rules()),
        }
    };
    let now_ms = among.caller.now_ms;
    Ok(AddedRule {
        id,
        outcome,
        does: proposal.rule.to_string(),
        definition: definition(&proposal.rule, proposal.name, proposal.ends_ms),
        ends: proposal.ends_ms.map(|ends_ms| Moment::new(ends_ms, now_ms)),
        touched: proposal.touched,
        warnings: proposal.warnings,
    })
}

/// Removes a rule, given its ID or name, and returns its ID.
///
/// # Errors
///
/// Returns an error if no such rule is in force, or if a database operation fails.
pub async fn remove(caller: &Caller<'_>, rule: &str) -> Result<i64, Refusal> {
    let rules = caller.store.live_rules();
    let gone = || Refusal::not_found(format!("No live rule {rule} is in force."));
    let id = if let Ok(id) = rule.parse() {
        id
    } else {
        let stored = rules.list(caller.now_ms).await?.rules;
        let named = stored
            .iter()
            .find(|kept| kept.name.as_deref() == Some(rule));
        named.ok_or_else(gone)?.id
    };
    let removed = rules.remove(id, change(caller, ""), LiveRule::told).await?;
    removed.map(|_| id).ok_or_else(gone)
}

/// Restores a live rule that was removed.
///
/// # Errors
///
/// Returns an error if the rule cannot be restored, or if a database operation fails.
pub async fn restore(caller: &Caller<'_>, id: i64) -> Result<(), Refusal> {
    let rules = caller.store.live_rules();
    let restored = rules.restore(id, MAX_RULES, change(caller, ""), LiveRule::told);
    restored.await?.map(drop).ok_or_else(|| {
        let message = format!(
            "Live rule {id} cannot be restored: it is in force, has expired or is unknown, its name is taken, or there are already {MAX_RULES} live rules."
        );
        Refusal::conflict("not_removed", message)
    })
}

/// Pauses all enforcement and replaces any current pause.
///
/// # Errors
///
/// Returns an error if the duration is invalid, or if a database operation fails.
pub async fn pause(caller: &Caller<'_>, request: &NewPause) -> Result<PauseState, Refusal> {
    let length = request.r#for.as_deref().unwrap_or(PAUSE);
    let length_ms = length_ms(length).map_err(|reason| Refusal::invalid("for", reason))?;
    let ends = Moment::new(caller.now_ms.saturating_add(length_ms), caller.now_ms);
    let detail = format!("until {}", ends.iso);
    let rules = caller.store.live_rules();
    rules.pause(ends.at_ms, change(caller, &detail)).await?;
    let pause = Pause {
        ends,
        begun: Moment::new(caller.now_ms, caller.now_ms),
        by: caller.actor.clone(),
    };
    Ok(PauseState { pause: Some(pause) })
}

/// Resumes enforcement; returns `false` if enforcement was not paused.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn resume(caller: &Caller<'_>) -> Result<bool, Refusal> {
    let rules = caller.store.live_rules();
    Ok(rules.resume(change(caller, "")).await?)
}

/// Returns the pause that is in force, if there is one.
pub fn current_pause(now_ms: i64, set: &LiveRuleSet) -> Option<Pause> {
    let pause = |pause: &StoredPause| Pause {
        ends: Moment::new(pause.ends_ms, now_ms),
        begun: Moment::new(pause.begun_ms, now_ms),
        by: pause.begun_by.clone(),
    };
    set.pause.as_ref().map(pause)
}

/// Returns the audit log fields that describe a caller's change.
pub(super) fn change<'c>(caller: &'c Caller<'_>, detail: &'c str) -> LiveRuleChange<'c> {
    LiveRuleChange {
        actor: &caller.actor,
        detail,
        now_ms: caller.now_ms,
    }
}

/// Returns the refusal for an attempt to add a rule beyond the maximum number of live rules.
pub(super) fn too_many_rules() -> Refusal {
    let message = format!(
        "There are already {MAX_RULES} live rules; remove some, or move the rules printed by `robot-detection rules export` to the configuration."
    );
    Refusal::conflict("too_many", message)
}

impl LiveRuleView {
    fn new(kept: &StoredRule, among: &Surroundings<'_>) -> Self {
        let moment = |at_ms| Moment::new(at_ms, among.caller.now_ms);
        Self {
            id: kept.id,
            name: kept.name.clone(),
            rule: kept.label(),
            does: kept.rule.to_string(),
            definition: definition(&kept.rule, kept.name.clone(), kept.ends_ms),
            ends: kept.ends_ms.map(moment),
            made: moment(kept.created_ms),
            by: kept.created_by.clone(),
            notes: notes(kept, among),
        }
    }
}

impl RuleView {
    /// Returns the rules of a site, in order of evaluation.
    pub fn all(site: &str, policy: &Policy) -> Vec<Self> {
        policy.rules().map(|rule| Self::new(site, rule)).collect()
    }

    fn new(site: &str, rule: &Rule) -> Self {
        let decision = rule.decision();
        let decision = decision.as_ref();
        let headers = rule.response_headers();
        Self {
            site: site.to_owned(),
            rule: rule.label().to_owned(),
            conditions: rule.conditions().map(str::to_owned).collect(),
            action: rule.action().as_str(),
            joint: rule.action().words().joint,
            location: decision.and_then(Decision::location).map(str::to_owned),
            status: decision.and_then(Decision::status),
            text: decision.and_then(Decision::text).map(str::to_owned),
            pace: rule.rate_limiter().map(RateLimitView::from),
            headers: headers.iter().flat_map(|headers| headers.shown()).collect(),
            origin: rule.origin().to_owned(),
        }
    }
}

impl From<&RateLimiter> for RateLimitView {
    fn from(limiter: &RateLimiter) -> Self {
        Self {
            requests: limiter.requests(),
            errors: limiter.errors(),
            per_seconds: limiter.period().as_secs_f64(),
            burst: limiter.burst(),
            per: limiter.key().as_str(),
            told: limiter.to_string(),
        }
    }
}

/// Returns the request that would create the same rule.
fn definition(rule: &LiveRule, name: Option<String>, ends_ms: Option<i64>) -> RuleFields {
    RuleFields {
        name,
        ends: Some(ends_ms.map_or("never".to_owned(), rfc3339)),
        ..RuleFields::from(rule)
    }
}

/// Returns the reasons why a rule affects fewer requests than its description suggests.
fn notes(kept: &StoredRule, among: &Surroundings<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let about = &kept.rule.about;
    let is_named = matches!(about, RuleTarget::Robot(_) | RuleTarget::Operator(_));
    let mut robots = among.detector.robots().iter();
    if is_named && !robots.any(|robot| about.includes(robot)) {
        notes.push("The selected robots are no longer listed in any registry.".to_owned());
    }
    if let Some(site) = &kept.rule.site
        && !among.sites.iter().any(|(name, _)| name == site)
    {
        notes.push("The rule's site no longer exists, so the rule has no effect.".to_owned());
    }
    let label = kept.label();
    for (site, policy) in &among.sites {
        let left_out = policy.omitted_rules().iter();
        for left in left_out.filter(|left| left.label == label) {
            notes.push(format!("Skipped on the site {site}: {}.", left.reason));
        }
    }
    notes
}

//! Rules and headers, as the pages and their JSON show them.

use schemars::JsonSchema;
use serde::Serialize;

use robot_detection_layer::policy::{Decision, Policy, RateLimiter, Rule, TagRule};

/// Rule in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct RuleView {
    /// Its label in reasons: `rule "its name"`, or `rule 2`.
    pub(super) rule: String,
    /// All of these have to hold; none: every robot on a filtered path.
    pub(super) conditions: Vec<String>,
    /// Word of the action.
    pub(super) action: &'static str,
    /// Words between it and the location or status.
    #[serde(skip)]
    pub(super) joint: &'static str,
    /// Target of a redirect, or the page that is served in place.
    pub(super) location: Option<String>,
    /// Status of a redirect or refusal.
    pub(super) status: Option<u16>,
    /// Text of a refusal.
    pub(super) text: Option<String>,
    /// Rate limit of its requests.
    pub(super) pace: Option<PaceView>,
    /// Headers that it gives to responses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<String>,
    /// Place in the configuration; empty: set by the program.
    pub(super) origin: String,
}

impl RuleView {
    /// Returns the rules in the order in which they are asked.
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        policy.rules().map(Self::new).collect()
    }

    fn new(rule: &Rule) -> Self {
        let decision = rule.decision();
        let decision = decision.as_ref();
        Self {
            rule: rule.label().to_owned(),
            conditions: rule.conditions().map(str::to_owned).collect(),
            action: rule.action().as_str(),
            joint: rule.action().words().joint,
            location: decision.and_then(Decision::location).map(str::to_owned),
            status: decision.and_then(Decision::status),
            text: decision.and_then(Decision::text).map(str::to_owned),
            pace: rule.rate_limiter().map(PaceView::new),
            headers: rule
                .response_headers()
                .iter()
                .flat_map(|headers| headers.shown())
                .collect(),
            origin: rule.origin().to_owned(),
        }
    }
}

/// Rate limit of a rule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct PaceView {
    /// How many requests, where these are counted.
    pub(super) requests: Option<u32>,
    /// How many errors, where these are.
    pub(super) errors: Option<u32>,
    pub(super) per_seconds: f64,
    pub(super) burst: u32,
    /// Who has such a limit of his own.
    pub(super) per: &'static str,
    /// All of them, for people to read.
    pub(super) told: String,
}

impl PaceView {
    fn new(limiter: &RateLimiter) -> Self {
        Self {
            requests: limiter.requests(),
            errors: limiter.errors(),
            per_seconds: limiter.per().as_secs_f64(),
            burst: limiter.burst(),
            per: limiter.key().as_str(),
            told: limiter.to_string(),
        }
    }
}

/// `X-Robots-Tag` header in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct TagRuleView {
    pub(super) value: String,
    /// All of these have to hold; none: every response.
    pub(super) conditions: Vec<String>,
    /// Place in the configuration; empty: set by the program.
    pub(super) origin: String,
}

impl TagRuleView {
    /// Returns the headers in the order of the settings.
    pub(super) fn all(policy: &Policy) -> Vec<Self> {
        policy.tag_rules().map(Self::new).collect()
    }

    fn new(rule: &TagRule) -> Self {
        Self {
            value: rule.value().to_owned(),
            conditions: rule.conditions().map(str::to_owned).collect(),
            origin: rule.origin().to_owned(),
        }
    }
}

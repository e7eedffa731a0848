//! Views of a site's filtering policy and of the numbers of known robots.

use schemars::JsonSchema;
use serde::Serialize;

use super::{sources::SourceView, state::AdminState};
use robot_detection_layer::policy::{Policy, TagRule};
use robot_detection_layer::registry::Purpose;
use robot_detection_operations::live_rules::RuleView;

/// The filtering policy of a site.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Filtering")]
pub(super) struct FilteringView {
    pub(super) is_on: bool,
    /// Whether decisions are only recorded and not enforced.
    pub(super) is_dry_run: bool,
    pub(super) filter_patterns: Vec<String>,
    pub(super) redirect_url: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<&'static str>,
    /// Purposes whose robots are recognised but allowed.
    pub(super) passing_purposes: Vec<&'static str>,
    /// Settings that must be set before filtering can be turned on.
    pub(super) missing: Vec<&'static str>,
    /// Rules in order of evaluation; all rules are evaluated before the purposes.
    pub(super) rules: Vec<RuleView>,
    /// `X-Robots-Tag` headers that are added to responses.
    pub(super) x_robots_tags: Vec<TagRuleView>,
}

/// The numbers of known robots by status.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotCounts")]
pub(super) struct RobotsView {
    /// Number of robots that this process detects.
    pub(super) in_force: usize,
    pub(super) active: u64,
    pub(super) quarantined: u64,
    pub(super) unusable: u64,
}

impl FilteringView {
    pub(super) fn new(site: &str, policy: &Policy) -> Self {
        let filter_patterns: Vec<String> = policy.filter_patterns().map(str::to_owned).collect();
        let redirect = policy.redirect();
        let purposes: Vec<_> = policy.purposes().map(Purpose::as_str).collect();
        let mut missing = Vec::new();
        if filter_patterns.is_empty() {
            missing.push("filter_pattern (FilterPattern)");
        }
        if redirect.is_none() {
            missing.push("redirect_url (RedirectURL)");
        }
        Self {
            is_on: !policy.is_disabled(),
            is_dry_run: policy.is_dry_run(),
            filter_patterns,
            redirect_url: redirect.map(|redirect| redirect.location.clone()),
            status: redirect.map(|redirect| redirect.status),
            methods: policy.methods().map(str::to_owned).collect(),
            passing_purposes: Purpose::ROBOTS
                .iter()
                .map(|purpose| purpose.as_str())
                .filter(|purpose| !purposes.contains(purpose))
                .collect(),
            purposes,
            missing,
            rules: RuleView::all(site, policy),
            x_robots_tags: TagRuleView::all(policy),
        }
    }
}

impl RobotsView {
    pub(super) fn new(state: &AdminState, sources: &[SourceView]) -> Self {
        Self {
            in_force: state.operations().detector.load().robots().len(),
            active: sources.iter().map(|source| source.active).sum(),
            quarantined: sources.iter().map(|source| source.quarantined).sum(),
            unusable: sources.iter().map(|source| source.unusable).sum(),
        }
    }
}

/// An `X-Robots-Tag` header in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "XRobotsTagRule")]
pub(super) struct TagRuleView {
    pub(super) value: String,
    /// Conditions, all of which must match; if empty, the header is added to every response.
    pub(super) conditions: Vec<String>,
    /// Place of the header in the configuration; empty if the header is built in.
    pub(super) origin: String,
}

impl TagRuleView {
    /// Returns the headers in the order in which they are configured.
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

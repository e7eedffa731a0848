//! The form of a live rule.

use std::sync::Arc;

use serde::Deserialize;

use super::super::{problem::Problem, state::AdminState};
use robot_detection_operations::live_rules::{
    DEFAULT_END, FieldProblem, Proposal, ProposalError, RuleFields, Surroundings,
};
use robot_detection_store::store::StoreError;

/// Live rule as a form sends it; what is empty was not written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RuleForm {
    pub(super) action: String,
    pub(super) robot: String,
    pub(super) operator: String,
    pub(super) purpose: String,
    pub(super) visitors: String,
    pub(super) addresses: String,
    pub(super) user_agent: String,
    pub(super) path: String,
    pub(super) site: String,
    pub(super) status: String,
    pub(super) requests: String,
    pub(super) per_seconds: String,
    pub(super) people: String,
    pub(super) ends: String,
}

impl RuleForm {
    /// Returns the fields that the action has.
    pub(super) fn fields(&self) -> Result<RuleFields, FieldProblem> {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.trim().is_empty());
        // The form has the fields of all actions.
        let of = |action: &str, text: &String| Some(text.clone()).filter(|_| self.action == action);
        Ok(RuleFields {
            action: self.action.clone(),
            robot: text(&self.robot),
            operator: text(&self.operator),
            purpose: text(&self.purpose),
            visitors: text(&self.visitors),
            addresses: text(&self.addresses),
            user_agent: text(&self.user_agent),
            path: text(&self.path),
            site: text(&self.site),
            status: number("status", of("refuse", &self.status))?,
            requests: number("requests", of("slow", &self.requests))?,
            per_seconds: number("per_seconds", of("slow", &self.per_seconds))?,
            verified: false,
            people: !self.people.is_empty(),
        })
    }

    /// Returns when it ends, as it was written.
    pub(super) fn end(&self) -> &str {
        match self.ends.trim() {
            "" => DEFAULT_END,
            end => end,
        }
    }

    /// Judges the rule, and counts what it would have touched.
    pub(super) async fn proposal(&self, state: &AdminState) -> Result<Proposal, ProposalError> {
        let fields = self.fields().map_err(ProposalError::Field)?;
        propose(state, &fields, self.end()).await
    }
}

/// Judges a rule, and counts what it would have touched.
pub(super) async fn propose(
    state: &AdminState,
    fields: &RuleFields,
    end: &str,
) -> Result<Proposal, ProposalError> {
    let operations = state.operations();
    let detector = operations.detector.load();
    let sites = state.operations().site_policies();
    let sites = sites.into_iter().map(|(name, policy)| {
        let policy = policy.load();
        (name, Arc::clone(&policy))
    });
    let among = Surroundings {
        store: &operations.store,
        detector: &detector,
        sites: sites.collect(),
        now_ms: state.now_ms(),
    };
    Proposal::new(fields, end, &among).await
}

/// Refuses what cannot be done as live rules are turned off.
pub(super) fn check_enabled(state: &AdminState) -> Result<(), Problem> {
    if state.operations().live_rules.is_enabled() {
        return Ok(());
    }
    Err(Problem::conflict(
        "rules_off",
        "Live rules are turned off: admin.rules is false in the configuration.",
    ))
}

impl From<ProposalError> for Problem {
    fn from(error: ProposalError) -> Self {
        match error {
            ProposalError::Store(error) => StoreError::into(error),
            ProposalError::Full => Self::conflict("too_many", sentence(&error.to_string())),
            ProposalError::Field(_) => Self::invalid(error.to_string()),
        }
    }
}

/// Returns a text as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain(['.']).collect()
}

fn number<N: std::str::FromStr>(
    field: &'static str,
    text: Option<String>,
) -> Result<Option<N>, FieldProblem> {
    let text = text.map(|text| text.trim().to_owned());
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.parse().ok();
    let wrong = || FieldProblem::new(field, "write a whole number");
    number.map(Some).ok_or_else(wrong)
}

//! Live rules for programs.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use super::{
    super::{
        Moment,
        access::Visitor,
        fields::{CsrfProof, JsonBody, Params},
        page::Page,
        problem::Problem,
        rules::RuleView,
        sites::SelectedSite,
        state::AdminState,
    },
    form::{check_enabled, propose},
    page::{remove_rule, restore_rule},
    pause::PauseView,
    view::LiveRuleView,
};
use robot_detection_operations::live_rules::{DEFAULT_END, RuleFields};

/// Live rule as a program sends it.
#[derive(Debug, JsonSchema)]
pub(crate) struct NewRule {
    #[schemars(flatten)]
    rule: RuleFields,
    /// When it ends, such as `12h`, `7d`, `never`, or a time in RFC 3339; `24h` by default.
    ends: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DryRunParams {
    dry_run: bool,
}

impl<'de> Deserialize<'de> for NewRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // serde's `flatten` would accept unknown fields.
        let mut fields = Map::deserialize(deserializer)?;
        let ends = fields.remove("ends").unwrap_or_default();
        Ok(Self {
            ends: serde_json::from_value(ends).map_err(Error::custom)?,
            rule: RuleFields::deserialize(Value::Object(fields)).map_err(|error| {
                let text = error.to_string();
                let is_unknown = text.starts_with("unknown field");
                Error::custom(if is_unknown { text + ", `ends`" } else { text })
            })?,
        })
    }
}

/// Path parameter of a rule.
#[derive(Debug, Deserialize)]
pub(crate) struct RulePath {
    rule_id: i64,
}

/// Rules in force, and the pause.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct RulesInForce {
    enabled: bool,
    live_rules: Vec<LiveRuleView>,
    unreadable: Vec<UnreadableRule>,
    /// Rules of the configuration.
    rules: Vec<RuleView>,
    pause: Option<PauseView>,
}

/// Live rule of the database that cannot be read.
#[derive(Debug, JsonSchema, Serialize)]
struct UnreadableRule {
    id: i64,
    reason: String,
}

/// Rule that was added, or would be.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AddedRule {
    /// Nothing in a dry run.
    id: Option<i64>,
    does: String,
    definition: RuleFields,
    ends: Option<Moment>,
    touched: TouchedRequests,
    warnings: Vec<String>,
}

/// Recent requests that the rule would have matched.
#[derive(Debug, JsonSchema, Serialize)]
struct TouchedRequests {
    hours: u32,
    requests: u64,
    robots: usize,
    people: u64,
    told: String,
    notes: Vec<&'static str>,
}

/// Returns the rules in force.
pub(crate) async fn list_json(
    State(state): State<AdminState>,
    site: SelectedSite,
) -> Json<RulesInForce> {
    let live = &state.operations().live_rules;
    let set = live.load();
    let unreadable = set.unreadable.iter();
    let unreadable = unreadable.map(|(id, reason)| UnreadableRule {
        id: *id,
        reason: reason.clone(),
    });
    Json(RulesInForce {
        enabled: live.is_enabled(),
        live_rules: LiveRuleView::all(&state),
        unreadable: unreadable.collect(),
        rules: RuleView::all(&site.policy.load()),
        pause: PauseView::of(&state),
    })
}

/// Adds a rule, or returns what it would have touched.
pub(crate) async fn add_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Params(params): Params<DryRunParams>,
    page: Page,
    JsonBody(body): JsonBody<NewRule>,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    let end = body.ends.clone().unwrap_or_else(|| DEFAULT_END.to_owned());
    let proposal = propose(&state, &body.rule, &end).await?;
    let now_ms = state.now_ms();
    let store = &state.operations().store;
    let id = if params.dry_run {
        None
    } else {
        let id = proposal.add(store, &visitor.actor(), now_ms).await?;
        state.operations().take_over_live_rules().await;
        Some(id)
    };
    let told = proposal.touched.sentence();
    let answer = Json(AddedRule {
        id,
        does: proposal.rule.to_string(),
        definition: RuleFields::from(&proposal.rule),
        ends: proposal.ends_ms.map(|ends_ms| Moment::new(ends_ms, now_ms)),
        touched: TouchedRequests {
            hours: 24,
            requests: proposal.touched.requests,
            robots: proposal.touched.robots,
            people: proposal.touched.of_people,
            told,
            notes: proposal.touched.notes,
        },
        warnings: proposal.warnings,
    });
    Ok(match id {
        Some(id) => {
            let location = [(
                header::LOCATION,
                format!("{}api/v1/rules/{id}", page.root()),
            )];
            (StatusCode::CREATED, location, answer).into_response()
        }
        None => answer.into_response(),
    })
}

/// Ends a rule.
pub(crate) async fn remove_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(path): Path<RulePath>,
) -> Result<StatusCode, Problem> {
    remove_rule(&state, &visitor, path.rule_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Brings a rule back.
pub(crate) async fn restore_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(path): Path<RulePath>,
) -> Result<StatusCode, Problem> {
    restore_rule(&state, &visitor, path.rule_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Live rules for programs.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleBody {
    action: String,
    robot: Option<String>,
    operator: Option<String>,
    purpose: Option<String>,
    visitors: Option<String>,
    addresses: Option<String>,
    user_agent: Option<String>,
    path: Option<String>,
    site: Option<String>,
    status: Option<u16>,
    requests: Option<u32>,
    per_seconds: Option<u32>,
    #[serde(default)]
    people: bool,
    ends: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DryRunParams {
    dry_run: bool,
}

/// Path parameter of a rule.
#[derive(Debug, Deserialize)]
pub(crate) struct RulePath {
    rule_id: i64,
}

/// Returns the rules in force.
pub(crate) async fn list_json(
    State(state): State<AdminState>,
    site: SelectedSite,
) -> Json<serde_json::Value> {
    let live = &state.operations().live_rules;
    let set = live.load();
    let unreadable = set.unreadable.iter();
    let unreadable = unreadable.map(|(id, reason)| json!({ "id": id, "reason": reason }));
    Json(json!({
        "enabled": live.is_enabled(),
        "live_rules": LiveRuleView::all(&state),
        "unreadable": unreadable.collect::<Vec<_>>(),
        "rules": RuleView::all(&site.policy.load()),
        "pause": PauseView::of(&state),
    }))
}

/// Adds a rule, or returns what it would have touched.
pub(crate) async fn add_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Params(params): Params<DryRunParams>,
    page: Page,
    JsonBody(body): JsonBody<RuleBody>,
) -> Result<Response, Problem> {
    check_enabled(&state)?;
    let end = body.ends.clone().unwrap_or_else(|| DEFAULT_END.to_owned());
    let proposal = propose(&state, &body.into(), &end).await?;
    let now_ms = state.now_ms();
    let store = &state.operations().store;
    let id = if params.dry_run {
        None
    } else {
        let id = proposal.add(store, &visitor.actor(), now_ms).await?;
        state.operations().take_over_live_rules().await;
        Some(id)
    };
    let answer = Json(json!({
        "id": id,
        "does": proposal.rule.to_string(),
        "definition": RuleFields::from(&proposal.rule),
        "ends": proposal.ends_ms.map(|ends_ms| Moment::new(ends_ms, now_ms)),
        "touched": {
            "hours": 24,
            "requests": proposal.touched.requests,
            "robots": proposal.touched.robots,
            "people": proposal.touched.of_people,
            "told": proposal.touched.sentence(),
            "notes": proposal.touched.notes,
        },
        "warnings": proposal.warnings,
    }));
    Ok(match id {
        Some(id) => {
            let location = [(header::LOCATION, format!("{}api/rules/{id}", page.root()))];
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

impl From<RuleBody> for RuleFields {
    fn from(body: RuleBody) -> Self {
        Self {
            action: body.action,
            robot: body.robot,
            operator: body.operator,
            purpose: body.purpose,
            visitors: body.visitors,
            addresses: body.addresses,
            user_agent: body.user_agent,
            path: body.path,
            site: body.site,
            status: body.status,
            requests: body.requests,
            per_seconds: body.per_seconds,
            verified: false,
            people: body.people,
        }
    }
}

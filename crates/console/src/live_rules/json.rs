//! The JSON API for live rules.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{
    super::{
        access::Visitor,
        fields::{CsrfProof, JsonBody, Params},
        page::Page,
        problem::Problem,
        sites::SiteParam,
        state::AdminState,
    },
    form::surroundings,
};
use robot_detection_operations::live_rules::{
    self, AddedRule, NewPause, Outcome, PauseState, RuleFields, Rules,
};

/// The query parameter that requests only a preview of the change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DryRun {
    pub(crate) dry_run: bool,
}

/// Returns the rules in force, either on all sites or on one site.
pub(crate) async fn list_json(
    State(state): State<AdminState>,
    Params(of): Params<SiteParam>,
) -> Result<Json<Rules>, Problem> {
    let operations = state.operations();
    let mut among = operations.surroundings(state.caller());
    if !of.site.is_empty() {
        among.sites.retain(|(name, _)| *name == of.site);
        if among.sites.is_empty() {
            return Err(Problem::not_found("This site does not exist."));
        }
    }
    let live = &operations.live_rules;
    Ok(Json(live_rules::list(
        &among,
        &live.load(),
        live.is_enabled(),
    )))
}

/// Adds a rule or, in a dry run, returns the requests that the rule would have affected.
pub(crate) async fn add_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Params(params): Params<DryRun>,
    page: Page,
    JsonBody(rule): JsonBody<RuleFields>,
) -> Result<Response, Problem> {
    let among = surroundings(&state, &visitor)?;
    let added = live_rules::add(&among, &rule, params.dry_run).await?;
    Ok(answer(&state, &page, added).await)
}

/// Creates or replaces the rule with the given name.
pub(crate) async fn put_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    Params(params): Params<DryRun>,
    page: Page,
    JsonBody(rule): JsonBody<RuleFields>,
) -> Result<Response, Problem> {
    let among = surroundings(&state, &visitor)?;
    let added = live_rules::put(&among, &name, &rule, params.dry_run).await?;
    Ok(answer(&state, &page, added).await)
}

async fn answer(state: &AdminState, page: &Page, added: AddedRule) -> Response {
    state.operations().take_over_live_rules().await;
    match added.id.filter(|_| added.outcome == Outcome::Added) {
        Some(id) => {
            let location = format!("{}api/v1/rules/{id}", page.root());
            let headers = [(header::LOCATION, location)];
            (StatusCode::CREATED, headers, Json(added)).into_response()
        }
        None => Json(added).into_response(),
    }
}

/// Removes a rule, given its ID or name.
pub(crate) async fn remove_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(rule): Path<String>,
) -> Result<StatusCode, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::remove(&among.caller, &rule).await?;
    state.operations().take_over_live_rules().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Restores a live rule that was removed.
pub(crate) async fn restore_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(id): Path<i64>,
) -> Result<StatusCode, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::restore(&among.caller, id).await?;
    state.operations().take_over_live_rules().await;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the current pause of enforcement, if any.
pub(crate) async fn pause_state_json(State(state): State<AdminState>) -> Json<PauseState> {
    let set = state.operations().live_rules.load();
    let pause = live_rules::current_pause(state.now_ms(), &set);
    Json(PauseState { pause })
}

/// Pauses the enforcement of all rules.
pub(crate) async fn pause_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(length): JsonBody<NewPause>,
) -> Result<Json<PauseState>, Problem> {
    let among = surroundings(&state, &visitor)?;
    let paused = live_rules::pause(&among.caller, &length).await?;
    state.operations().take_over_live_rules().await;
    Ok(Json(paused))
}

/// Resumes enforcement; also succeeds if enforcement is not paused.
pub(crate) async fn resume_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
) -> Result<StatusCode, Problem> {
    let among = surroundings(&state, &visitor)?;
    live_rules::resume(&among.caller).await?;
    state.operations().take_over_live_rules().await;
    Ok(StatusCode::NO_CONTENT)
}

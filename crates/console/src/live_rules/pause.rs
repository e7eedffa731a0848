//! The pause of all enforcement.

use axum::{
    Extension, Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        Moment,
        access::Visitor,
        fields::{CsrfProof, Fields, JsonBody},
        login::Empty,
        page::Page,
        problem::Problem,
        state::AdminState,
    },
    form::check_enabled,
};
use robot_detection_operations::live_rules::{PAUSE, length_ms};
use robot_detection_store::store::LiveRuleChange;

/// Pause under way.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct PauseView {
    pub(crate) ends: Moment,
    pub(crate) begun: Moment,
    pub(crate) by: String,
}

/// Length of a pause, as a program sends it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseBody {
    r#for: Option<String>,
}

impl PauseView {
    /// Returns the pause under way, if there is one.
    pub(crate) fn of(state: &AdminState) -> Option<Self> {
        let set = state.operations().live_rules.load();
        let now_ms = state.now_ms();
        set.pause.as_ref().map(|pause| Self {
            ends: Moment::new(pause.ends_ms, now_ms),
            begun: Moment::new(pause.begun_ms, now_ms),
            by: pause.begun_by.clone(),
        })
    }
}

/// Pauses all enforcement for an hour.
pub(crate) async fn pause(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    let length_ms = i64::try_from(PAUSE.as_millis()).unwrap_or(i64::MAX);
    begin(&state, &visitor, length_ms).await?;
    Ok(page.location.see_other("rules"))
}

/// Ends the pause.
pub(crate) async fn resume(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(Empty {}): Fields<Empty>,
) -> Result<Response, Problem> {
    end(&state, &visitor).await?;
    Ok(page.location.see_other("rules"))
}

/// The pause under way.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "PauseState")]
pub(crate) struct Pause {
    pause: Option<PauseView>,
}

/// Returns the pause under way.
pub(crate) async fn pause_state_json(State(state): State<AdminState>) -> Json<Pause> {
    Json(Pause {
        pause: PauseView::of(&state),
    })
}

/// Pauses all enforcement, for an hour if no other time is sent.
pub(crate) async fn pause_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(body): JsonBody<PauseBody>,
) -> Result<Response, Problem> {
    let length = body.r#for.as_deref().unwrap_or("1h");
    let invalid = |reason| Problem::invalid(format!("for: {reason}"));
    let length_ms = length_ms(length).map_err(invalid)?;
    begin(&state, &visitor, length_ms).await?;
    Ok(pause_state_json(State(state)).await.into_response())
}

/// Ends the pause; one that is over already is no error.
pub(crate) async fn resume_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
) -> Result<StatusCode, Problem> {
    end(&state, &visitor).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn begin(state: &AdminState, visitor: &Visitor, length_ms: i64) -> Result<(), Problem> {
    check_enabled(state)?;
    let now_ms = state.now_ms();
    let ends_ms = now_ms.saturating_add(length_ms);
    let detail = format!("until {}", Moment::new(ends_ms, now_ms).iso);
    let change = LiveRuleChange {
        actor: &visitor.actor(),
        detail: &detail,
        now_ms,
    };
    let store = &state.operations().store;
    store.live_rules().pause(ends_ms, change).await?;
    state.operations().take_over_live_rules().await;
    Ok(())
}

async fn end(state: &AdminState, visitor: &Visitor) -> Result<(), Problem> {
    check_enabled(state)?;
    let change = LiveRuleChange {
        actor: &visitor.actor(),
        detail: "",
        now_ms: state.now_ms(),
    };
    state.operations().store.live_rules().resume(change).await?;
    state.operations().take_over_live_rules().await;
    Ok(())
}

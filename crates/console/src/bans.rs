//! The page of bans: who is refused so often that a firewall had better keep him out.

use askama::Template;
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Moment,
    access::Visitor,
    fields::{CsrfProof, Fields},
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_store::store::Ban;

/// Bans that the page shows; the JSON has all.
const SHOWN: usize = 500;

/// Ban as lists show it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
struct BanView {
    network: String,
    /// What refused it last.
    cause: String,
    since: Moment,
    until: Moment,
}

/// Network whose ban is ended.
#[derive(Debug, Deserialize)]
pub(super) struct NetworkForm {
    network: String,
}

#[derive(Template)]
#[template(path = "admin/bans.html")]
struct BansPage {
    page: Page,
    bans: Vec<BanView>,
    all: usize,
}

impl BanView {
    fn new(ban: Ban, now_ms: i64) -> Self {
        Self {
            network: ban.network,
            cause: ban.cause,
            since: Moment::new(ban.since_ms, now_ms),
            until: Moment::new(ban.until_ms, now_ms),
        }
    }
}

/// Returns the bans in force, the newest first.
async fn load(state: &AdminState) -> Result<Vec<BanView>, Problem> {
    let now_ms = state.now_ms();
    let bans = state.operations().store.bans().list(now_ms).await?;
    let views = bans.into_iter().rev();
    Ok(views.map(|ban| BanView::new(ban, now_ms)).collect())
}

/// Shows the page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let mut bans = load(&state).await?;
    let all = bans.len();
    bans.truncate(SHOWN);
    Ok(html(&BansPage { page, bans, all }))
}

/// Current bans.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "BanList")]
pub(super) struct Bans {
    /// Newest first.
    bans: Vec<BanView>,
}

pub(super) async fn json(State(state): State<AdminState>) -> Result<Json<Bans>, Problem> {
    let bans = load(&state).await?;
    Ok(Json(Bans { bans }))
}

/// Ends a ban at once, in the list.
pub(super) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<NetworkForm>,
) -> Result<Response, Problem> {
    end(&state, &visitor, &form.network).await?;
    Ok(page.location.see_other("bans"))
}

pub(super) async fn remove_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(network): Path<String>,
) -> Result<StatusCode, Problem> {
    end(&state, &visitor, &network).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn end(state: &AdminState, visitor: &Visitor, network: &str) -> Result<(), Problem> {
    if !state.operations().store.bans().remove(network).await? {
        return Err(Problem::not_found(
            "This network is not banned; its ban has ended.",
        ));
    }
    let caller = state.caller_as(visitor);
    caller.record("ban-removed", network, "").await;
    Ok(())
}

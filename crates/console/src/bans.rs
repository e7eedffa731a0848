//! The bans page, which lists the clients that are banned because their requests were often
//! refused.

use askama::Template;
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;

use super::{
    access::Visitor,
    fields::{CsrfProof, Fields},
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_operations::bans::{self, BanView, BanViews};

/// Maximum number of bans on the page; the JSON version contains all bans.
const SHOWN: usize = 500;

/// A form with the network whose ban must end.
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

/// Shows the bans page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let BanViews { mut bans } = bans::list(&state.caller()).await?;
    let all = bans.len();
    bans.truncate(SHOWN);
    Ok(html(&BansPage { page, bans, all }))
}

pub(super) async fn json(State(state): State<AdminState>) -> Result<Json<BanViews>, Problem> {
    Ok(Json(bans::list(&state.caller()).await?))
}

/// Ends a ban immediately, and redirects back to the bans page.
pub(super) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<NetworkForm>,
) -> Result<Response, Problem> {
    bans::remove(&state.caller_as(&visitor), &form.network).await?;
    Ok(page.location.see_other("bans"))
}

pub(super) async fn remove_json(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(network): Path<String>,
) -> Result<StatusCode, Problem> {
    bans::remove(&state.caller_as(&visitor), &network).await?;
    Ok(StatusCode::NO_CONTENT)
}

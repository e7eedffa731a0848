//! The alerts page: the state of each alert, and the most recent messages.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use robot_detection_operations::alerts::{self, AlertStatuses};

use super::{
    page::{Page, html},
    problem::Problem,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/alerts.html")]
struct AlertsPage {
    page: Page,
    list: AlertStatuses,
}

/// Shows the alerts page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let list = alerts::list(&state.caller()).await?;
    Ok(html(&AlertsPage { page, list }))
}

pub(super) async fn json(State(state): State<AdminState>) -> Result<Json<AlertStatuses>, Problem> {
    Ok(Json(alerts::list(&state.caller()).await?))
}

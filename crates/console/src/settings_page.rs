//! The page that shows the settings and rules in force.

use askama::Template;
use axum::{Json, extract::State, response::Response};
use robot_detection_operations::{
    Setting,
    instances::{self, Instance, Instances},
};

use super::{
    filtering::FilteringView,
    page::{Page, html},
    problem::Problem,
    sites::SelectedSite,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct SettingsPage<'s> {
    page: Page,
    of: SelectedSite,
    filtering: FilteringView,
    instances: Vec<Instance>,
    parameters: Vec<&'s Setting>,
    other_settings: Vec<&'s Setting>,
}

/// Shows the settings page.
pub(super) async fn show(
    State(state): State<AdminState>,
    page: Page,
    of: SelectedSite,
) -> Response {
    let settings = state.operations().settings.load();
    let (parameters, other_settings) = settings
        .iter()
        .partition(|setting| setting.old_name.is_some());
    let instances = instances::list(&state.caller()).await;
    html(&SettingsPage {
        page,
        filtering: FilteringView::new(&of.name, &of.policy.load()),
        // The list is empty while the database is unavailable.
        instances: instances.map_or_else(|_| Vec::new(), |list| list.instances),
        of,
        parameters,
        other_settings,
    })
}

/// Returns the list of instances as JSON.
pub(super) async fn instances_json(
    State(state): State<AdminState>,
) -> Result<Json<Instances>, Problem> {
    Ok(Json(instances::list(&state.caller()).await?))
}

//! The page of the settings and rules in force.

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    filtering::FilteringView,
    fleet::{self, InstanceView},
    page::{Page, html},
    settings::Setting,
    sites::SelectedSite,
    state::AdminState,
};

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct SettingsPage<'s> {
    page: Page,
    of: SelectedSite,
    filtering: FilteringView,
    instances: Vec<InstanceView>,
    parameters: Vec<&'s Setting>,
    other_settings: Vec<&'s Setting>,
}

/// Shows them.
pub(super) async fn show(
    State(state): State<AdminState>,
    page: Page,
    of: SelectedSite,
) -> Response {
    let settings = state.admin().settings.load();
    let (parameters, other_settings) = settings
        .iter()
        .partition(|setting| setting.old_name.is_some());
    html(&SettingsPage {
        page,
        filtering: FilteringView::new(&of.policy.load()),
        instances: fleet::views(&state).await,
        of,
        parameters,
        other_settings,
    })
}

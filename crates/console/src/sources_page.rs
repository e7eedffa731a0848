//! The page of the sources of the registry, and of their refreshes.

use askama::Template;
use axum::{extract::State, response::Response};

use super::{
    filtering::RobotsView,
    page::{Page, html},
    problem::Problem,
    refreshes::{self, RefreshView},
    sources::{self, SourceView},
    state::AdminState,
};

/// Refreshes that are shown beside the sources.
const RECENT: u64 = 5;

#[derive(Template)]
#[template(path = "admin/sources.html")]
struct SourcesPage {
    page: Page,
    robots: RobotsView,
    sources: Vec<SourceView>,
    is_bundled_only: bool,
    is_refreshable: bool,
    is_refreshing: bool,
    refreshes: Vec<RefreshView>,
}

/// Shows them.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let sources = sources::load(&state).await?;
    let recent = match &page.away {
        // The page is to show that the database is away, and not fail for want of its history.
        Some(_) => Vec::new(),
        None => refreshes::history(&state, RECENT).await?,
    };
    Ok(html(&SourcesPage {
        page,
        robots: RobotsView::new(&state, &sources),
        is_bundled_only: sources::is_bundled_only(&sources),
        is_refreshable: sources.iter().any(SourceView::is_refreshable),
        is_refreshing: refreshes::current(&state).running,
        refreshes: recent,
        sources,
    }))
}

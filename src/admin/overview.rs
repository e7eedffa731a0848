//! The first page: whether anything is filtered, which robots are known, and how old the sources are.

use askama::Template;
use axum::{extract::State, response::Response};
use serde::Serialize;

use super::{
    AdminSite,
    page::{Page, html},
    problem::Problem,
    refreshes::{self, RefreshView},
    rules::{RuleView, TagRuleView},
    settings::Setting,
    sites::SelectedSite,
    sources::{self, SourceView},
    state::AdminState,
};
use crate::policy::Policy;
use crate::registry::Purpose;

/// Refreshes shown on the overview.
const RECENT: u64 = 5;

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct OverviewPage<'s> {
    page: Page,
    of: SelectedSite,
    filtering: FilteringView,
    robots: RobotsView,
    sources: Vec<SourceView>,
    /// Front that hides the visitors, and what to do.
    front: Option<String>,
    is_bundled_only: bool,
    is_refreshable: bool,
    is_refreshing: bool,
    refreshes: Vec<RefreshView>,
    parameters: Vec<&'s Setting>,
    other_settings: Vec<&'s Setting>,
}

/// Policy of a site.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FilteringView {
    pub(super) is_on: bool,
    /// Decisions are only noted.
    pub(super) is_dry_run: bool,
    pub(super) filter_patterns: Vec<String>,
    pub(super) redirect_url: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) methods: Vec<String>,
    pub(super) purposes: Vec<&'static str>,
    /// Robots of these are recognised, but pass.
    pub(super) passing_purposes: Vec<&'static str>,
    /// What to set before anything is filtered.
    pub(super) missing: Vec<&'static str>,
    /// Asked before the purposes, in this order.
    pub(super) rules: Vec<RuleView>,
    /// Added to responses.
    pub(super) x_robots_tags: Vec<TagRuleView>,
}

/// How many robots are known.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct RobotsView {
    /// In the detector of this process.
    pub(super) in_force: usize,
    pub(super) active: u64,
    pub(super) quarantined: u64,
    pub(super) unusable: u64,
}

/// Shows the overview.
pub(super) async fn show(
    State(state): State<AdminState>,
    page: Page,
    of: SelectedSite,
) -> Result<Response, Problem> {
    let sources = sources::load(&state).await?;
    let recent = match &page.away {
        // The page is to show that the database is away, and not fail for want of its history.
        Some(_) => Vec::new(),
        None => refreshes::history(&state, RECENT).await?,
    };
    let settings = state.admin().settings.load();
    let (parameters, other_settings) = settings
        .iter()
        .partition(|setting| setting.old_name.is_some());
    Ok(html(&OverviewPage {
        page,
        filtering: FilteringView::new(&of.policy.load()),
        front: of.site.as_ref().and_then(AdminSite::ask_front),
        of,
        robots: RobotsView::new(&state, &sources),
        is_bundled_only: sources::is_bundled_only(&sources),
        is_refreshable: sources.iter().any(SourceView::is_refreshable),
        is_refreshing: refreshes::current(&state).running,
        refreshes: recent,
        sources,
        parameters,
        other_settings,
    }))
}

/// Shows the overview at the top of the router.
///
/// Without a slash at its end the address cannot carry relative links, so that it redirects.
pub(super) async fn top(
    State(state): State<AdminState>,
    page: Page,
    of: SelectedSite,
) -> Result<Response, Problem> {
    if page.location.root == "./" {
        show(State(state), page, of).await
    } else {
        Ok(page.location.see_other("overview"))
    }
}

impl FilteringView {
    pub(super) fn new(policy: &Policy) -> Self {
        let filter_patterns: Vec<String> = policy.filter_patterns().map(str::to_owned).collect();
        let redirect = policy.redirect();
        let purposes: Vec<_> = policy.purposes().map(Purpose::as_str).collect();
        let mut missing = Vec::new();
        if filter_patterns.is_empty() {
            missing.push("filter_pattern (FilterPattern)");
        }
        if redirect.is_none() {
            missing.push("redirect_url (RedirectURL)");
        }
        Self {
            is_on: !policy.is_disabled(),
            is_dry_run: policy.is_dry_run(),
            filter_patterns,
            redirect_url: redirect.map(|redirect| redirect.location.clone()),
            status: redirect.map(|redirect| redirect.status),
            methods: policy.methods().map(str::to_owned).collect(),
            passing_purposes: Purpose::ROBOTS
                .iter()
                .map(|purpose| purpose.as_str())
                .filter(|purpose| !purposes.contains(purpose))
                .collect(),
            purposes,
            missing,
            rules: RuleView::all(policy),
            x_robots_tags: TagRuleView::all(policy),
        }
    }
}

impl RobotsView {
    pub(super) fn new(state: &AdminState, sources: &[SourceView]) -> Self {
        Self {
            in_force: state.admin().detector.load().robots().len(),
            active: sources.iter().map(|source| source.active).sum(),
            quarantined: sources.iter().map(|source| source.quarantined).sum(),
            unusable: sources.iter().map(|source| source.unusable).sum(),
        }
    }
}

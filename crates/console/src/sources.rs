//! The sources of robots, and the age of their data.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Moment,
    filtering::RobotsView,
    page::{Page, html},
    problem::Problem,
    refreshes::{self, RefreshView},
    state::AdminState,
};
use robot_detection_layer::registry::Source;
use robot_detection_operations::robots::title;
use robot_detection_store::refresh::SourceSpec;
use robot_detection_store::store::{RefreshOutcome, RobotCount, StoreError};

/// A source, as shown on the sources page.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Source")]
pub(super) struct SourceView {
    pub(super) source: String,
    /// Display name of the source.
    pub(super) title: String,
    /// URL from which the source is downloaded; `None` for a source that is not downloaded.
    pub(super) url: Option<String>,
    pub(super) format: Option<&'static str>,
    pub(super) interval_days: Option<u32>,
    pub(super) active: u64,
    pub(super) quarantined: u64,
    pub(super) unusable: u64,
    /// Time of the most recent successful refresh of the source.
    pub(super) refreshed: Option<Moment>,
    pub(super) next_refresh: Option<Moment>,
    /// Refresh that failed after the most recent successful refresh, if any.
    pub(super) failure: Option<FailureView>,
    /// Quarantined document that requires a decision by an administrator.
    pub(super) held: Option<QuarantinedView>,
}

/// The quarantined document of a source.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "QuarantinedDocument")]
pub(super) struct QuarantinedView {
    pub(super) refresh_id: i64,
    pub(super) reason: String,
    pub(super) at: Moment,
    /// SHA-256 of the document in hexadecimal, by which the administrator accepts the document.
    pub(super) document: String,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RefreshFailure")]
pub(super) struct FailureView {
    pub(super) refresh_id: i64,
    pub(super) error: String,
    pub(super) at: Moment,
}

impl SourceView {
    /// Returns the data about a source that is available without the database.
    fn new(source: &Source, spec: Option<&SourceSpec>, count: Option<&RobotCount>) -> Self {
        Self {
            source: source.to_string(),
            title: title(source),
            url: spec.map(|spec| without_secrets(&spec.url)),
            format: spec.map(|spec| spec.format.as_str()),
            interval_days: spec.map(|spec| spec.interval_days),
            active: count.map_or(0, |count| count.active),
            quarantined: count.map_or(0, |count| count.quarantined),
            unusable: count.map_or(0, |count| count.unusable),
            refreshed: None,
            next_refresh: None,
            failure: None,
            held: None,
        }
    }

    pub(super) fn is_refreshable(&self) -> bool {
        self.url.is_some()
    }

    pub(super) fn robots(&self) -> u64 {
        self.active + self.quarantined + self.unusable
    }
}

/// Returns the configured sources, and the sources of the robots in the database.
pub(super) async fn load(state: &AdminState) -> Result<Vec<SourceView>, StoreError> {
    let counts = match state.operations().store.robots().counts().await {
        // The page also works without a database, and then shows the robots that are in force.
        Err(error) if error.outage().is_some() => return Ok(in_memory(state)),
        counts => counts?,
    };
    let specs = state.operations().refresher.sources();
    let mut views = Vec::new();
    for source in names(&specs, &counts) {
        let spec = specs.iter().find(|spec| spec.source == source);
        let count = counts.iter().find(|count| count.source == source);
        views.push(view(state, &source, spec, count).await?);
    }
    Ok(views)
}

/// Returns the sources with the robots in force, for use while the database is unavailable.
fn in_memory(state: &AdminState) -> Vec<SourceView> {
    let detector = state.operations().detector.load();
    let mut counts: Vec<RobotCount> = Vec::new();
    for robot in detector.robots() {
        match counts.iter_mut().find(|count| count.source == robot.source) {
            Some(count) => count.active += 1,
            None => counts.push(RobotCount {
                source: robot.source.clone(),
                active: 1,
                quarantined: 0,
                unusable: 0,
            }),
        }
    }
    let specs = state.operations().refresher.sources();
    let view = |source: Source| {
        let spec = specs.iter().find(|spec| spec.source == source);
        let count = counts.iter().find(|count| count.source == source);
        SourceView::new(&source, spec, count)
    };
    names(&specs, &counts).into_iter().map(view).collect()
}

/// Returns `true` if only the bundled registry has been loaded so far.
pub(super) fn is_bundled_only(views: &[SourceView]) -> bool {
    let has_robots = |view: &SourceView| view.robots() > 0;
    views.iter().any(SourceView::is_refreshable)
        && !views
            .iter()
            .any(|view| view.is_refreshable() && has_robots(view))
        && views
            .iter()
            .any(|view| view.source == Source::bundled().as_str() && has_robots(view))
}

/// Returns the configured sources in order, followed by the other sources sorted by name.
fn names(specs: &[SourceSpec], counts: &[RobotCount]) -> Vec<Source> {
    let mut names: Vec<Source> = Vec::new();
    let configured = specs.iter().map(|spec| &spec.source);
    for source in configured.chain(counts.iter().map(|count| &count.source)) {
        if !names.contains(source) {
            names.push(source.clone());
        }
    }
    names
}

async fn view(
    state: &AdminState,
    source: &Source,
    spec: Option<&SourceSpec>,
    count: Option<&RobotCount>,
) -> Result<SourceView, StoreError> {
    let operations = state.operations();
    let now_ms = state.now_ms();
    let told = |at_ms| Moment::new(at_ms, now_ms);
    let remembered = operations.store.refreshes().source_state(source).await?;
    let (next_ms, failure, held) = match spec {
        Some(spec) => (
            operations.refresher.next_due_ms(source).await?,
            operations.refresher.standing_failure(source).await?,
            operations.refresher.held(spec).await?,
        ),
        None => (None, None, None),
    };
    // A quarantined refresh is shown separately.
    let failure = failure.filter(|record| record.outcome == RefreshOutcome::Failed);
    let held = held.and_then(|record| {
        Some(QuarantinedView {
            refresh_id: record.refresh_id,
            reason: record.error,
            at: told(record.finished_ms),
            document: record.held_sha256?,
        })
    });
    Ok(SourceView {
        refreshed: remembered.and_then(|state| state.succeeded_ms).map(told),
        next_refresh: next_ms.map(told),
        failure: failure.map(|record| FailureView {
            refresh_id: record.refresh_id,
            error: record.error,
            at: told(record.finished_ms),
        }),
        held,
        ..SourceView::new(source, spec, count)
    })
}

/// Returns a URL without the user name, password and query, because these may contain secrets.
fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let shown = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = shown
        .split_once('/')
        .map_or((shown, None), |(authority, path)| (authority, Some(path)));
    let host = authority.rsplit('@').next().unwrap_or_default();
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

/// Number of recent refreshes shown on the page.
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

/// Shows the sources page.
pub(super) async fn show(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let sources = load(&state).await?;
    let recent = match &page.away {
        // The page must report the database outage instead of failing because the history is
        // missing.
        Some(_) => Vec::new(),
        None => refreshes::history(&state, RECENT).await?,
    };
    Ok(html(&SourcesPage {
        page,
        robots: RobotsView::new(&state, &sources),
        is_bundled_only: is_bundled_only(&sources),
        is_refreshable: sources.iter().any(SourceView::is_refreshable),
        is_refreshing: refreshes::current(&state).running,
        refreshes: recent,
        sources,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, url: Option<&str>, active: u64) -> SourceView {
        SourceView {
            source: name.to_owned(),
            title: name.to_owned(),
            url: url.map(str::to_owned),
            format: None,
            interval_days: None,
            active,
            quarantined: 0,
            unusable: 0,
            refreshed: None,
            next_refresh: None,
            failure: None,
            held: None,
        }
    }

    #[test]
    fn source_passwords_are_not_shown() {
        for (url, shown) in [
            (
                "http://example.com/db/all.txt",
                "http://example.com/db/all.txt",
            ),
            (
                "https://u:p@example.com/a@b?key=1#x",
                "https://example.com/a@b",
            ),
            ("https://u@example.com", "https://example.com"),
            ("file:///srv/robots.txt", "file:///srv/robots.txt"),
            ("/srv/robots?.txt", "/srv/robots?.txt"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }

    #[test]
    fn first_start_without_network_is_detected() {
        let bundled = source("bundled", None, 60);
        let web = source("web-robots-db", Some("http://example.com/"), 0);
        assert!(is_bundled_only(&[web.clone(), bundled.clone()]));
        assert!(!is_bundled_only(std::slice::from_ref(&bundled)));
        let arrived = SourceView { active: 1, ..web };
        assert!(!is_bundled_only(&[arrived, bundled]));
    }
}

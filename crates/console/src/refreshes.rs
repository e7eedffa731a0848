//! The history of refreshes, and the refresh that is running.

use askama::Template;
use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Moment,
    access::Visitor,
    duration_text,
    fields::{Fields, Params},
    jobs::{self, AlreadyRunning},
    page::{Page, html},
    problem::Problem,
    refresh_job::JobView,
    state::AdminState,
};
use robot_detection_layer::registry::Source;
use robot_detection_operations::robots::title;
use robot_detection_store::refresh::RefreshOptions;
use robot_detection_store::store::{RefreshOutcome, RefreshRecord};

/// Number of refreshes shown in the history.
pub(super) const HISTORY: u64 = 200;

#[derive(Template)]
#[template(path = "admin/refreshes.html")]
struct RefreshesPage {
    page: Page,
    refreshes: Vec<RefreshView>,
}

#[derive(Template)]
#[template(path = "admin/refresh_record.html")]
struct RecordPage {
    page: Page,
    refresh: RefreshView,
}

#[derive(Template)]
#[template(path = "admin/refresh.html")]
struct ProgressPage {
    page: Page,
    job: JobView,
    sources: Vec<String>,
    was_busy: bool,
}

/// An entry of the refresh history.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Refresh")]
pub(super) struct RefreshView {
    pub(super) id: i64,
    pub(super) source: String,
    pub(super) source_title: String,
    pub(super) url: String,
    pub(super) trigger: String,
    /// Text that describes what triggered the refresh.
    #[serde(skip)]
    pub(super) started_by: String,
    pub(super) started: Moment,
    pub(super) finished: Moment,
    #[serde(skip)]
    pub(super) took: String,
    /// Outcome: "replaced", "not-modified", "held" or "failed".
    pub(super) outcome: &'static str,
    #[serde(skip)]
    pub(super) outcome_text: &'static str,
    pub(super) error: String,
    pub(super) records: u64,
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
    pub(super) skipped: u64,
    pub(super) quarantined: u64,
    pub(super) unusable: u64,
    pub(super) problems: Vec<String>,
    /// SHA-256 of the document that was quarantined.
    pub(super) document: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartForm {
    /// Source to refresh; if empty, all sources are refreshed.
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) force: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AcceptForm {
    #[serde(default)]
    source: String,
    /// SHA-256 of the document that the administrator has reviewed.
    #[serde(default)]
    document: String,
}

/// The path parameter that identifies a refresh.
#[derive(Debug, Deserialize)]
pub(super) struct RefreshPath {
    pub(super) refresh_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct NoteParams {
    #[serde(default)]
    note: String,
}

/// Shows the history of refreshes.
pub(super) async fn list(State(state): State<AdminState>, page: Page) -> Result<Response, Problem> {
    let refreshes = history(&state, HISTORY).await?;
    Ok(html(&RefreshesPage { page, refreshes }))
}

/// Shows one refresh, with the problems found in the source.
pub(super) async fn record(
    State(state): State<AdminState>,
    Path(path): Path<RefreshPath>,
    page: Page,
) -> Result<Response, Problem> {
    let refresh = find(&state, &path.refresh_id).await?;
    Ok(html(&RecordPage { page, refresh }))
}

/// Shows the progress or outcome of the refresh.
pub(super) async fn progress(
    State(state): State<AdminState>,
    Params(params): Params<NoteParams>,
    page: Page,
) -> Response {
    let job = current(&state);
    html(&ProgressPage {
        page,
        sources: source_names(&state),
        // The note remains in the URL, and may no longer be true when the page is reloaded.
        was_busy: params.note == "busy" && job.running,
        job,
    })
}

/// Starts a refresh, and shows its progress.
pub(super) async fn start(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<StartForm>,
) -> Result<Response, Problem> {
    let sources = find_sources(&state, &form.source)?;
    let options = RefreshOptions {
        force: form.force.is_some(),
        ..RefreshOptions::default()
    };
    let started = start_refresh(&state, &visitor, "refresh-started", sources, options).await;
    Ok(to_progress(&page, &started))
}

/// Accepts the quarantined document of a source, and shows the progress.
pub(super) async fn accept(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    Fields(form): Fields<AcceptForm>,
) -> Result<Response, Problem> {
    let (source, options) = acceptance_options(&state, &form.source, Some(&form.document)).await?;
    let started = start_refresh(&state, &visitor, "refresh-accepted", vec![source], options).await;
    Ok(to_progress(&page, &started))
}

/// Starts a refresh of the given sources, and records the visitor in the audit log.
pub(super) async fn start_refresh(
    state: &AdminState,
    visitor: &Visitor,
    event: &str,
    sources: Vec<Source>,
    options: RefreshOptions,
) -> Result<(), AlreadyRunning> {
    let names: Vec<_> = sources.iter().map(ToString::to_string).collect();
    jobs::start(state.jobs(), state.operations(), sources, options)?;
    let caller = state.caller_as(visitor);
    caller.record(event, &names.join(", "), "").await;
    Ok(())
}

fn to_progress(page: &Page, started: &Result<(), AlreadyRunning>) -> Response {
    page.location.see_other(match started {
        Ok(()) => "refresh",
        Err(AlreadyRunning) => "refresh?note=busy",
    })
}

/// Returns the options for accepting the quarantined document, provided that this document was
/// reviewed.
///
/// A newer document, which has not been reviewed, may have been downloaded since the page was
/// loaded.
pub(super) async fn acceptance_options(
    state: &AdminState,
    name: &str,
    document: Option<&str>,
) -> Result<(Source, RefreshOptions), Problem> {
    let refresher = &state.operations().refresher;
    let specs = refresher.sources();
    let spec = specs.iter().find(|spec| spec.source.as_str() == name);
    let spec = spec.ok_or_else(|| Problem::invalid(format!("There is no source {name:?}.")))?;
    let not_held = |message: String| Problem::conflict("not_held", message);
    let held = refresher
        .held(spec)
        .await?
        .and_then(|record| record.held_sha256);
    let held =
        held.ok_or_else(|| not_held(format!("No download from {name} is held for review.")))?;
    if document.is_some_and(|document| document != held) {
        return Err(not_held(format!(
            "A newer download from {name} is now held for review; review it first."
        )));
    }
    let options = RefreshOptions {
        accept: Some(held),
        ..RefreshOptions::default()
    };
    Ok((spec.source.clone(), options))
}

/// Returns the source with the requested name; an empty name selects all sources.
pub(super) fn find_sources(state: &AdminState, name: &str) -> Result<Vec<Source>, Problem> {
    let mut sources: Vec<Source> = state
        .operations()
        .refresher
        .sources()
        .into_iter()
        .map(|spec| spec.source)
        .collect();
    if !name.is_empty() {
        sources.retain(|source| source.as_str() == name);
    }
    if sources.is_empty() {
        let message = if name.is_empty() {
            "No source is configured; set web_robots_db (WebRobotsDB).".to_owned()
        } else {
            format!("There is no source {name:?}.")
        };
        return Err(Problem::invalid(message));
    }
    Ok(sources)
}

/// Returns one entry of the history.
pub(super) async fn find(state: &AdminState, id: &str) -> Result<RefreshView, Problem> {
    history(state, HISTORY)
        .await?
        .into_iter()
        .find(|refresh| refresh.id.to_string() == id)
        .ok_or_else(|| {
            Problem::not_found(format!(
                "This refresh is not among the last {HISTORY} refreshes in the history."
            ))
        })
}

/// Returns the most recent entries of the history.
pub(super) async fn history(state: &AdminState, limit: u64) -> Result<Vec<RefreshView>, Problem> {
    let now_ms = state.now_ms();
    let records = state.operations().store.refreshes().list(limit).await?;
    Ok(records
        .into_iter()
        .map(|record| RefreshView::new(record, now_ms))
        .collect())
}

/// Returns the job that is running, or the most recent job.
pub(super) fn current(state: &AdminState) -> JobView {
    let progress = state.operations().refresher.progress().borrow().clone();
    JobView::new(state.jobs().last(), &progress, state.now_ms())
}

fn source_names(state: &AdminState) -> Vec<String> {
    state
        .operations()
        .refresher
        .sources()
        .iter()
        .map(|spec| spec.source.to_string())
        .collect()
}

/// Returns a text that describes what triggered a refresh.
fn started_by(trigger: &str) -> &str {
    match trigger {
        "schedule" => "the schedule",
        "start" => "program start",
        "command" => "a command",
        "admin" => "the administrator",
        other => other,
    }
}

impl RefreshView {
    pub(super) fn new(record: RefreshRecord, now_ms: i64) -> Self {
        let (outcome, outcome_text) = match record.outcome {
            RefreshOutcome::Replaced => ("replaced", "updated"),
            RefreshOutcome::NotModified => ("not-modified", "unchanged"),
            RefreshOutcome::Held => ("held", "held for review"),
            RefreshOutcome::Failed => ("failed", "failed"),
        };
        Self {
            id: record.refresh_id,
            source: record.source.to_string(),
            source_title: title(&record.source),
            url: record.url,
            started_by: started_by(&record.trigger).to_owned(),
            trigger: record.trigger,
            started: Moment::new(record.started_ms, now_ms),
            finished: Moment::new(record.finished_ms, now_ms),
            took: duration_text(record.finished_ms.saturating_sub(record.started_ms)),
            outcome,
            outcome_text,
            error: record.error,
            records: record.records,
            added: record.added,
            changed: record.changed,
            removed: record.removed,
            skipped: record.skipped,
            quarantined: record.quarantined,
            unusable: record.unusable,
            problems: record.problems,
            document: record.held_sha256,
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        self.outcome == "failed"
    }

    pub(super) fn is_held(&self) -> bool {
        self.outcome == "held"
    }
}

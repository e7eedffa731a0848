//! JSON versions of the console's pages, for programs.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AdminSite, CERTIFICATE_DAYS, Moment,
    access::Visitor,
    certificate_sentences,
    fields::{CsrfProof, JsonBody, Params},
    filtering::{FilteringView, RobotsView, TagRuleView},
    heavens_needing_attention,
    identify::{self, IdentifyParams},
    jobs::AlreadyRunning,
    manual::reload_registry,
    page::{Page, encode},
    problem::Problem,
    refresh_job::JobView,
    refreshes::{self, RefreshPath, RefreshView},
    robots::{RobotPath, find},
    sites::SelectedSite,
    sources::{self, SourceView},
    state::AdminState,
};
use robot_detection_layer::registry::Source;
use robot_detection_operations::decisions::Explanation;
use robot_detection_operations::live_rules::RuleView;
use robot_detection_operations::robots::{
    self, ListRobots, NewRobot, PutRobot, RobotView, RobotViews,
};
use robot_detection_operations::{Paging, Setting};
use robot_detection_store::refresh::RefreshOptions;

/// The state of the database, the registry and filtering.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Status {
    version: &'static str,
    /// Database backend: `sqlite` or `postgres`.
    database: &'static str,
    database_away_since: Option<Moment>,
    filtering: FilteringView,
    robots: RobotsView,
    /// Text about a proxy or CDN that hides the visitors' addresses from the server, if there is
    /// one.
    front: Option<String>,
    bundled_only: bool,
    refreshing: bool,
    /// Problems that require an administrator's attention.
    needs: Vec<String>,
    sources: Vec<SourceView>,
}

/// The settings, rules and headers in force.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SettingList")]
pub(super) struct SettingsAnswer {
    settings: Vec<Setting>,
    rules: Vec<RuleView>,
    x_robots_tags: Vec<TagRuleView>,
}

/// A response that contains one robot.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RobotAnswer")]
pub(super) struct OneRobot {
    robot: RobotView,
}

/// The refreshes of the registry, newest first.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct RefreshList {
    refreshes: Vec<RefreshView>,
}

/// A response that contains one refresh of the registry.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RefreshAnswer")]
pub(super) struct OneRefresh {
    refresh: RefreshView,
}

pub(super) async fn status(
    State(state): State<AdminState>,
    site: SelectedSite,
) -> Result<Json<Status>, Problem> {
    let views = sources::load(&state).await?;
    let absence = state.operations().store.outage();
    let away_since = absence.map(|absence| Moment::new(absence.since_ms, state.now_ms()));
    let needs = needs(&state).await?;
    let needs = needs.into_iter().map(|need| need.text).collect();
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        database: state.operations().store.engine(),
        database_away_since: away_since,
        filtering: FilteringView::new(&site.name, &site.policy.load()),
        robots: RobotsView::new(&state, &views),
        front: site.site.as_ref().and_then(AdminSite::masking_proxy),
        bundled_only: sources::is_bundled_only(&views),
        refreshing: refreshes::current(&state).running,
        needs,
        sources: views,
    }))
}

pub(super) async fn settings(
    State(state): State<AdminState>,
    site: SelectedSite,
) -> Json<SettingsAnswer> {
    let policy = site.policy.load();
    Json(SettingsAnswer {
        settings: state.operations().settings.load().to_vec(),
        rules: RuleView::all(&site.name, &policy),
        x_robots_tags: TagRuleView::all(&policy),
    })
}

pub(super) async fn list(
    State(state): State<AdminState>,
    Params(request): Params<ListRobots>,
    Params(paging): Params<Paging>,
) -> Result<Json<RobotViews>, Problem> {
    let operations = state.operations();
    let rows = robots::stored(&operations.store).await?;
    let detector = operations.detector.load();
    let listed = robots::list(rows, &request, Some(&paging), &detector, state.now_ms())?;
    Ok(Json(listed))
}

pub(super) async fn robot(
    State(state): State<AdminState>,
    Path(path): Path<RobotPath>,
) -> Result<Json<OneRobot>, Problem> {
    let robot = find(&state, &path.robot_source, &path.robot_id).await?;
    Ok(Json(OneRobot { robot }))
}

pub(super) async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    JsonBody(form): JsonBody<NewRobot>,
) -> Result<Response, Problem> {
    let robot = robots::add(&state.caller_as(&visitor), &form).await?;
    answer(&state, &page, &robot.id, StatusCode::CREATED).await
}

pub(super) async fn put(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    Path(path): Path<RobotPath>,
    page: Page,
    JsonBody(form): JsonBody<NewRobot>,
) -> Result<Response, Problem> {
    check_by_hand(&path.robot_source)?;
    let id = &path.robot_id;
    let status = match robots::put(&state.caller_as(&visitor), id, &form).await? {
        PutRobot::Added => StatusCode::CREATED,
        PutRobot::Replaced | PutRobot::Unchanged => StatusCode::OK,
    };
    answer(&state, &page, id, status).await
}

/// Responds with a robot that was added by hand.
async fn answer(
    state: &AdminState,
    page: &Page,
    id: &str,
    status: StatusCode,
) -> Result<Response, Problem> {
    reload_registry(state).await?;
    let location = format!("{}api/v1/robots/manual/{}", page.root(), encode(id));
    let robot = find(state, Source::manual().as_str(), id).await?;
    let headers = [(header::LOCATION, location)];
    Ok((status, headers, Json(OneRobot { robot })).into_response())
}

pub(super) async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(path): Path<RobotPath>,
) -> Result<StatusCode, Problem> {
    // Looked up first, so that an unknown robot results in 404, and a robot from a registry in 409.
    find(&state, &path.robot_source, &path.robot_id).await?;
    check_by_hand(&path.robot_source)?;
    robots::remove(&state.caller_as(&visitor), &path.robot_id).await?;
    reload_registry(&state).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns an error if the robot's source shows that the robot was not added by hand.
fn check_by_hand(source: &str) -> Result<(), Problem> {
    if source == Source::manual().as_str() {
        return Ok(());
    }
    let message = "Only robots that were added by hand can be changed; the next refresh would restore this robot.";
    Err(Problem::conflict("not_by_hand", message))
}

pub(super) async fn history(State(state): State<AdminState>) -> Result<Json<RefreshList>, Problem> {
    let refreshes = refreshes::history(&state, refreshes::HISTORY).await?;
    Ok(Json(RefreshList { refreshes }))
}

pub(super) async fn record(
    State(state): State<AdminState>,
    Path(path): Path<RefreshPath>,
) -> Result<Json<OneRefresh>, Problem> {
    let refresh = refreshes::find(&state, &path.refresh_id).await?;
    Ok(Json(OneRefresh { refresh }))
}

pub(super) async fn progress(State(state): State<AdminState>) -> Json<JobView> {
    Json(refreshes::current(&state))
}

/// A request body that lists the sources to refresh.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartBody {
    source: Option<String>,
    #[serde(default)]
    force: bool,
}

pub(super) async fn start(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(body): JsonBody<StartBody>,
) -> Result<Response, Problem> {
    let sources = refreshes::find_sources(&state, &body.source.unwrap_or_default())?;
    let options = RefreshOptions {
        force: body.force,
        ..RefreshOptions::default()
    };
    let event = "refresh-started";
    let started = refreshes::start_refresh(&state, &visitor, event, sources, options).await;
    started.map_err(|AlreadyRunning| busy())?;
    let job = refreshes::current(&state);
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

/// A request body that identifies the quarantined document to accept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AcceptBody {
    source: String,
    /// SHA-256 of the quarantined document to accept; by default, the current document is accepted.
    document: Option<String>,
}

pub(super) async fn accept(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(body): JsonBody<AcceptBody>,
) -> Result<Response, Problem> {
    let document = body.document.as_deref();
    let (source, options) = refreshes::acceptance_options(&state, &body.source, document).await?;
    let event = "refresh-accepted";
    let started = refreshes::start_refresh(&state, &visitor, event, vec![source], options).await;
    started.map_err(|AlreadyRunning| busy())?;
    let job = refreshes::current(&state);
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

fn busy() -> Problem {
    Problem::conflict(
        "busy",
        "A refresh is already running; see GET api/v1/refresh.",
    )
}

pub(super) async fn identify(
    State(state): State<AdminState>,
    Params(question): Params<IdentifyParams>,
    site: SelectedSite,
) -> Result<Json<Explanation>, Problem> {
    identify::answer(&state, &question, &site).map(Json)
}

/// A problem that requires an administrator's attention, described in a sentence.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) text: String,
    /// Link to the page on which the problem can be solved, relative to the console's root; empty
    /// if there is no such page.
    pub(super) link: String,
}

/// Returns the problems with certificates, front proxies and robot heavens; empty if there are
/// none.
///
/// The state of robot heavens is unknown while the database is unavailable, which pages report
/// separately.
pub(super) async fn needs(state: &AdminState) -> Result<Vec<Need>, Problem> {
    let certificates = state.operations().certificates.load();
    let told = certificate_sentences(&certificates, CERTIFICATE_DAYS, state.now_ms());
    let told = told.into_iter().chain(state.operations().notices.load());
    let told = told.map(|text| Need {
        text,
        link: String::new(),
    });
    let heavens = match heavens_needing_attention(state.operations()).await {
        Err(error) if error.outage().is_some() => Vec::new(),
        heavens => heavens?,
    };
    let heavens = heavens.into_iter().map(|(site, text)| Need {
        text,
        link: format!("site-robot?site={}", encode(&site)),
    });
    Ok(told.chain(heavens).collect())
}

//! The pages as JSON, for programs.

use axum::{
    Extension, Json, Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    AdminSite,
    access::Visitor,
    changes,
    fields::{CsrfProof, JsonBody, Params},
    filtering::{FilteringView, RobotsView},
    identify::{self, IdentifyParams},
    jobs,
    listing::{ListParams, Listing},
    live_rules,
    manual::{self, RobotForm},
    moment::Moment,
    page::{Page, encode},
    parameters::with_parameters,
    problem::Problem,
    refresh_job::JobView,
    refreshes::{self, RefreshPath},
    robots::{self, RobotPath},
    robots_txt,
    rules::{RuleView, TagRuleView},
    site_robot,
    sites::{self, SelectedSite},
    sources,
    state::AdminState,
    traffic, verification,
};
use crate::refresh::RefreshOptions;
use crate::registry::Source;

type JsonResult = Result<Json<serde_json::Value>, Problem>;

/// Parameters of requests about a site.
const SITE: &[&str] = &["site", "host"];
const DRY_RUN: &[&str] = &["dry_run"];
const CHANGES: &[&str] = &["event", "since", "until"];
const LIST: &[&str] = &["q", "source", "status", "sort", "dir", "page"];
const IDENTIFY: &[&str] = &["user_agent", "path", "method", "host", "site"];
const VERIFICATION: &[&str] = &["robot", "sort", "dir"];
const CHECK: &[&str] = &["robot", "url", "host", "site"];
/// Parameters of requests about a site's robot.
const ROBOT_SITE: &[&str] = &["site"];
const ROBOT_URL: &[&str] = &["site", "url"];
const DESCRIPTIONS: &[&str] = &["site", "q", "after_key", "after_url"];

/// Returns the routes below `/api`.
pub(super) fn routes() -> Router<AdminState> {
    let none = |route| with_parameters(&[], route);
    Router::new()
        .route("/status", with_parameters(SITE, get(status)))
        .route("/settings", with_parameters(SITE, get(settings)))
        .route(
            "/robots",
            with_parameters(LIST, get(list)).merge(none(post(add))),
        )
        .route(
            "/robots/{robot_source}/{robot_id}",
            none(get(robot).delete(remove)),
        )
        .route("/refreshes", none(get(history)))
        .route("/refreshes/{refresh_id}", none(get(record)))
        .route("/refresh", none(get(progress).post(start)))
        .route("/refresh/accept", none(post(accept)))
        .route("/identify", with_parameters(IDENTIFY, get(identify)))
        .route(
            "/traffic",
            with_parameters(traffic::FIGURES, get(traffic::figures_json)),
        )
        .route(
            "/traffic/series",
            with_parameters(traffic::FIGURES, get(traffic::series_json)),
        )
        .route("/sites", none(get(sites::json)))
        .route("/reload", none(post(sites::reload_json)))
        .merge(rule_routes())
        .merge(site_robot_routes())
        .route(
            "/verification",
            with_parameters(VERIFICATION, get(verification::json)),
        )
        .route(
            "/verification/ranges/refresh",
            none(get(verification::progress).post(verification::fetch_json)),
        )
        .route("/robots-txt", with_parameters(SITE, get(robots_txt::json)))
        .route(
            "/robots-txt/check",
            with_parameters(CHECK, get(robots_txt::check_json)),
        )
}

fn rule_routes() -> Router<AdminState> {
    let none = |route| with_parameters(&[], route);
    Router::new()
        .route(
            "/rules",
            with_parameters(SITE, get(live_rules::list_json))
                .merge(with_parameters(DRY_RUN, post(live_rules::add_json))),
        )
        .route("/rules/{rule_id}", none(delete(live_rules::remove_json)))
        .route(
            "/rules/{rule_id}/restore",
            none(post(live_rules::restore_json)),
        )
        .route(
            "/pause",
            none(
                get(live_rules::pause_state_json)
                    .post(live_rules::pause_json)
                    .delete(live_rules::resume_json),
            ),
        )
        .route("/changes", with_parameters(CHANGES, get(changes::json)))
}

fn site_robot_routes() -> Router<AdminState> {
    let of_site = |route| with_parameters(ROBOT_SITE, route);
    Router::new()
        .route("/site-robot", of_site(get(site_robot::json)))
        .route("/site-robot/runs", of_site(get(site_robot::runs_json)))
        .route("/site-robot/run", of_site(post(site_robot::run_json)))
        .route("/site-robot/pause", of_site(post(site_robot::pause_json)))
        .route("/site-robot/resume", of_site(post(site_robot::resume_json)))
        .route("/site-robot/stop", of_site(post(site_robot::stop_json)))
        .route("/site-robot/accept", of_site(post(site_robot::accept_json)))
        .route("/site-robot/clear", of_site(post(site_robot::clear_json)))
        .route(
            "/site-robot/descriptions",
            with_parameters(DESCRIPTIONS, get(site_robot::list_json)),
        )
        .route(
            "/site-robot/description",
            with_parameters(ROBOT_URL, get(site_robot::one_json)),
        )
        .route(
            "/site-robot/explain",
            with_parameters(ROBOT_URL, get(site_robot::explain_json)),
        )
}

async fn status(State(state): State<AdminState>, site: SelectedSite) -> JsonResult {
    let views = sources::load(&state).await?;
    let absence = state.admin().store.absence();
    let away_since = absence.map(|absence| Moment::new(absence.since_ms, state.now_ms()));
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "database": state.admin().store.engine(),
        "database_away_since": away_since,
        "filtering": FilteringView::new(&site.policy.load()),
        "robots": RobotsView::new(&state, &views),
        "front": site.site.as_ref().and_then(AdminSite::ask_front),
        "bundled_only": sources::is_bundled_only(&views),
        "refreshing": refreshes::current(&state).running,
        "sources": views,
    })))
}

async fn settings(State(state): State<AdminState>, site: SelectedSite) -> JsonResult {
    let settings: Vec<_> = state
        .admin()
        .settings
        .load()
        .iter()
        .map(|setting| {
            json!({
                "key": setting.key,
                "old_name": setting.old_name,
                "value": setting.value,
                "origin": setting.origin,
                "help": setting.help,
            })
        })
        .collect();
    let policy = site.policy.load();
    Ok(Json(json!({
        "settings": settings,
        "rules": RuleView::all(&policy),
        "x_robots_tags": TagRuleView::all(&policy),
    })))
}

async fn list(State(state): State<AdminState>, Params(params): Params<ListParams>) -> JsonResult {
    let listing = Listing::parse_strictly(&params)?;
    let found = listing.load(&state).await?;
    // A person is shown the last page instead; a program that counts pages has to notice the end.
    if found.number != listing.number {
        let pages = found.pages;
        return Err(Problem::out_of_range(format!(
            "page: there are {pages} pages"
        )));
    }
    Ok(Json(json!({
        "robots": found.robots,
        "total": found.total,
        "page": found.number,
        "pages": found.pages,
    })))
}

async fn robot(State(state): State<AdminState>, Path(path): Path<RobotPath>) -> JsonResult {
    let robot = robots::find(&state, &path.robot_source, &path.robot_id).await?;
    Ok(Json(json!({ "robot": robot })))
}

async fn add(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    page: Page,
    JsonBody(form): JsonBody<RobotForm>,
) -> Result<Response, Problem> {
    let robot = manual::checked(&form).map_err(manual::Refusal::into_problem)?;
    manual::store(&state, &visitor, &robot).await?;
    let location = format!("{}api/robots/manual/{}", page.root(), encode(&robot.id));
    let robot = robots::find(&state, Source::manual().as_str(), &robot.id).await?;
    let headers = [(header::LOCATION, location)];
    Ok((
        StatusCode::CREATED,
        headers,
        Json(json!({ "robot": robot })),
    )
        .into_response())
}

async fn remove(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    _proof: CsrfProof,
    Path(path): Path<RobotPath>,
) -> Result<StatusCode, Problem> {
    // First found: a robot that nobody knows is a 404, one of a registry a 409.
    robots::find(&state, &path.robot_source, &path.robot_id).await?;
    if path.robot_source != Source::manual().as_str() {
        return Err(Problem::conflict(
            "not_by_hand",
            "Only robots that were added by hand can be removed; the next refresh would bring this one back.",
        ));
    }
    manual::unstore(&state, &visitor, &path.robot_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn history(State(state): State<AdminState>) -> JsonResult {
    let refreshes = refreshes::history(&state, refreshes::HISTORY).await?;
    Ok(Json(json!({ "refreshes": refreshes })))
}

async fn record(State(state): State<AdminState>, Path(path): Path<RefreshPath>) -> JsonResult {
    let refresh = refreshes::find(&state, &path.refresh_id).await?;
    Ok(Json(json!({ "refresh": refresh })))
}

async fn progress(State(state): State<AdminState>) -> Json<JobView> {
    Json(refreshes::current(&state))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StartBody {
    source: Option<String>,
    #[serde(default)]
    force: bool,
}

async fn start(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(body): JsonBody<StartBody>,
) -> Result<Response, Problem> {
    let sources = refreshes::chosen(&state, &body.source.unwrap_or_default())?;
    let options = RefreshOptions {
        force: body.force,
        ..RefreshOptions::default()
    };
    let started = jobs::start(&state, sources.clone(), options);
    started.map_err(|jobs::AlreadyRunning| busy())?;
    changes::started(&state, &visitor, "refresh-started", &sources).await;
    let job = refreshes::current(&state);
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    source: String,
    /// SHA-256 of the document; without it, whichever is held back.
    document: Option<String>,
}

async fn accept(
    State(state): State<AdminState>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(body): JsonBody<AcceptBody>,
) -> Result<Response, Problem> {
    let document = body.document.as_deref();
    let (source, options) = refreshes::acceptance(&state, &body.source, document).await?;
    let started = jobs::start(&state, vec![source.clone()], options);
    started.map_err(|jobs::AlreadyRunning| busy())?;
    changes::started(&state, &visitor, "refresh-accepted", &[source]).await;
    let job = refreshes::current(&state);
    Ok((StatusCode::ACCEPTED, Json(job)).into_response())
}

fn busy() -> Problem {
    Problem::conflict("busy", "A refresh is running already; see GET api/refresh.")
}

async fn identify(
    State(state): State<AdminState>,
    Params(question): Params<IdentifyParams>,
    site: SelectedSite,
) -> Result<Json<identify::Identification>, Problem> {
    identify::answer(&state, &question, &site).map(Json)
}

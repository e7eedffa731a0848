//! The pages as JSON, for programs.

use axum::{
    Json,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    AdminSite, alerts, credentials,
    fields::{CsrfProof, JsonBody, Params},
    identify::{self, IdentifyParams},
    jobs,
    listing::{ListParams, Listing},
    manual::{self, RobotForm},
    moment::Moment,
    openapi::{Api, Field, Operation},
    overview::{FilteringView, RobotsView},
    page::{Page, encode},
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
    verification,
};
use crate::refresh::RefreshOptions;
use crate::registry::Source;

type JsonResult = Result<Json<serde_json::Value>, Problem>;

/// Parameters of requests about a site.
const SITE: &[&str] = &["site", "host"];
const LIST: &[&str] = &["q", "source", "status", "sort", "dir", "page"];
const IDENTIFY: &[&str] = &["user_agent", "path", "method", "host", "site"];
const VERIFICATION: &[&str] = &["robot", "sort", "dir"];
const CHECK: &[&str] = &["robot", "url", "host", "site"];
/// Parameters of requests about a site's robot.
const ROBOT_SITE: &[&str] = &["site"];
const ROBOT_URL: &[&str] = &["site", "url"];
const DESCRIPTIONS: &[&str] = &["site", "q", "after_key", "after_url"];

/// Fields of a robot that is added by hand.
const ROBOT: &[Field] = &[
    Field::required("id", "string"),
    Field::required("useragent", "string"),
    Field::new("name", "string"),
    Field::new("purpose", "string"),
    Field::new("operator", "string"),
    Field::new("product_token", "string"),
    Field::new("details_url", "string"),
    Field::new("host_suffixes", "array"),
    Field::new("ranges_url", "string"),
    Field::new("signature_agents", "array"),
    Field::new("accept_browser_hits", "boolean"),
];
const REFRESH: &[Field] = &[
    Field::new("source", "string"),
    Field::new("force", "boolean"),
];
const ACCEPTED: &[Field] = &[
    Field::required("source", "string"),
    Field::new("document", "string"),
];
const LISTS: &[Field] = &[Field::new("url", "string")];
const TOKEN: &[Field] = &[
    Field::required("name", "string"),
    Field::new("scope", "string"),
    Field::new("ends", "string"),
];

/// Returns what stands below `/api`; tokens and sessions only where the pages have a login.
pub(super) fn routes(has_login: bool) -> Api {
    let api = site_robot_routes(registry_routes(Api::default()))
        .add(
            Operation::get("/status", "State of database, registry and filtering").takes(SITE),
            status,
        )
        .add(
            Operation::get("/settings", "Settings, rules and headers in force").takes(SITE),
            settings,
        )
        .add(
            Operation::get("/identify", "Robot and decision for a request").takes(IDENTIFY),
            identify,
        )
        .add(
            Operation::get("/alerts", "Alerts, and their last messages"),
            alerts::json,
        )
        .add(
            Operation::get("/sites", "Sites, with their upstreams and counts"),
            sites::json,
        )
        .add(
            Operation::post("/reload", "Reloads the configuration"),
            sites::reload_json,
        )
        .add(
            Operation::get("/robots-txt", "The robots.txt in force").takes(SITE),
            robots_txt::json,
        )
        .add(
            Operation::get("/robots-txt/check", "What robots.txt says of a URL").takes(CHECK),
            robots_txt::check_json,
        );
    if has_login { login_routes(api) } else { api }
}

fn registry_routes(api: Api) -> Api {
    api.add(
        Operation::get("/robots", "Robots of the registry, by page").takes(LIST),
        list,
    )
    .add(
        Operation::post("/robots", "Adds a robot by hand")
            .body(ROBOT)
            .answers(StatusCode::CREATED),
        add,
    )
    .add(
        Operation::get("/robots/{robot_source}/{robot_id}", "A robot"),
        robot,
    )
    .add(
        Operation::delete(
            "/robots/{robot_source}/{robot_id}",
            "Removes a robot that was added by hand",
        ),
        remove,
    )
    .add(
        Operation::get("/refreshes", "The last refreshes of all sources"),
        history,
    )
    .add(
        Operation::get("/refreshes/{refresh_id}", "A refresh"),
        record,
    )
    .add(
        Operation::get("/refresh", "The refresh under way, or the last one"),
        progress,
    )
    .add(
        Operation::post("/refresh", "Refreshes a source, or all")
            .body(REFRESH)
            .answers(StatusCode::ACCEPTED),
        start,
    )
    .add(
        Operation::post("/refresh/accept", "Accepts a document that is held back")
            .body(ACCEPTED)
            .answers(StatusCode::ACCEPTED),
        accept,
    )
    .add(
        Operation::get("/verification", "Verdicts of the last 24 hours").takes(VERIFICATION),
        verification::json,
    )
    .add(
        Operation::get(
            "/verification/ranges/refresh",
            "The fetch of lists of addresses under way, or the last one",
        ),
        verification::progress,
    )
    .add(
        Operation::post("/verification/ranges/refresh", "Fetches lists of addresses")
            .body(LISTS)
            .answers(StatusCode::ACCEPTED),
        verification::fetch_json,
    )
}

fn login_routes(api: Api) -> Api {
    api.add(
        Operation::get("/tokens", "Tokens, without their secrets"),
        credentials::tokens_json,
    )
    .add(
        Operation::post(
            "/tokens",
            "Makes a token; its secret is in this response alone",
        )
        .body(TOKEN)
        .answers(StatusCode::CREATED),
        credentials::make_json,
    )
    .add(
        Operation::delete("/tokens/{token_name}", "Ends a token"),
        credentials::end_token_json,
    )
    .add(
        Operation::get("/sessions", "Who is logged in"),
        credentials::sessions_json,
    )
    .add(
        Operation::post(
            "/sessions/end-others",
            "Ends all sessions but that of the request",
        ),
        credentials::end_others_json,
    )
    .add(
        Operation::delete("/sessions/{session_key}", "Ends a session"),
        credentials::end_session_json,
    )
}

fn site_robot_routes(api: Api) -> Api {
    let get = |path, summary| Operation::get(path, summary).takes(ROBOT_SITE);
    let post = |path, summary| {
        let operation = Operation::post(path, summary).takes(ROBOT_SITE);
        operation.answers(StatusCode::ACCEPTED)
    };
    api.add(
        get("/site-robot", "How the site robot stands"),
        site_robot::json,
    )
    .add(
        get("/site-robot/runs", "Its last runs"),
        site_robot::runs_json,
    )
    .add(
        post("/site-robot/run", "Starts a run"),
        site_robot::run_json,
    )
    .add(
        post("/site-robot/pause", "Pauses the run"),
        site_robot::pause_json,
    )
    .add(
        post("/site-robot/resume", "Resumes the run"),
        site_robot::resume_json,
    )
    .add(
        post("/site-robot/stop", "Stops the run; the next one resumes it"),
        site_robot::stop_json,
    )
    .add(
        post("/site-robot/accept", "Publishes results that are held back"),
        site_robot::accept_json,
    )
    .add(
        post("/site-robot/clear", "Forgets all that it described").answers(StatusCode::OK),
        site_robot::clear_json,
    )
    .add(
        Operation::get(
            "/site-robot/descriptions",
            "Resource descriptions, by cursor",
        )
        .takes(DESCRIPTIONS),
        site_robot::list_json,
    )
    .add(
        Operation::get("/site-robot/description", "A resource description").takes(ROBOT_URL),
        site_robot::one_json,
    )
    .add(
        Operation::get("/site-robot/explain", "Why a URL is described, or not").takes(ROBOT_URL),
        site_robot::explain_json,
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
    page: Page,
    JsonBody(form): JsonBody<RobotForm>,
) -> Result<Response, Problem> {
    let robot = manual::checked(&form).map_err(manual::Refusal::into_problem)?;
    manual::store(&state, &robot).await?;
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
    manual::unstore(&state, &path.robot_id).await?;
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
    JsonBody(body): JsonBody<StartBody>,
) -> Result<Response, Problem> {
    let sources = refreshes::chosen(&state, &body.source.unwrap_or_default())?;
    let options = RefreshOptions {
        force: body.force,
        ..RefreshOptions::default()
    };
    jobs::start(&state, sources, options).map_err(|jobs::AlreadyRunning| busy())?;
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
    JsonBody(body): JsonBody<AcceptBody>,
) -> Result<Response, Problem> {
    let document = body.document.as_deref();
    let (source, options) = refreshes::acceptance(&state, &body.source, document).await?;
    jobs::start(&state, vec![source], options).map_err(|jobs::AlreadyRunning| busy())?;
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

//! The actions on the site robot's page: run, pause, resume, stop, accept and clear.

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::info;
use url::Url;

use super::{robot_site::RobotSite, status::StatusView};
use crate::{
    fields::{CsrfProof, Fields, JsonBody},
    page::{Page, encode, html},
    problem::Problem,
    state::AdminState,
};
use robot_detection_store::store::RunCommand;

#[derive(Template)]
#[template(path = "admin/site_robot_clear.html")]
struct ClearPage {
    page: Page,
    site: String,
    query: String,
    descriptions: u64,
    is_at_work: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SiteForm {
    #[serde(default)]
    site: String,
}

macro_rules! actions {
    ($($doc:literal $page:ident $json:ident $action:expr;)*) => {$(
        #[doc = concat!($doc, ", then shows the page.")]
        pub(crate) async fn $page(
            State(state): State<AdminState>,
            page: Page,
            Fields(form): Fields<SiteForm>,
        ) -> Result<Response, Problem> {
            let of = RobotSite::find(&state, &form.site).await?;
            let is_done = control_run(&state, &of.name, $action).await?;
            Ok(redirect_to_site(&page, &of.name, if is_done { "" } else { "none" }))
        }

        #[doc = concat!($doc, " for a program; status 409 if there is no such run.")]
        pub(crate) async fn $json(
            State(state): State<AdminState>,
            _proof: CsrfProof,
            of: RobotSite,
        ) -> Result<Response, Problem> {
            if !control_run(&state, &of.name, $action).await? {
                return Err(Problem::conflict("no_run", "The site has no unfinished run."));
            }
            let (status, _) = StatusView::load(&state, &of.name).await?;
            Ok((StatusCode::ACCEPTED, Json(status)).into_response())
        }
    )*};
}

actions! {
    "Starts a run, or continues a stopped run" run run_json None;
    "Pauses the run" pause pause_json Some(RunCommand::Pause);
    "Resumes a paused run" resume resume_json Some(RunCommand::Run);
    "Stops the run" stop stop_json Some(RunCommand::Stop);
}

/// Accepts the quarantined results, and then shows the page.
pub(crate) async fn accept(
    State(state): State<AdminState>,
    page: Page,
    Fields(form): Fields<SiteForm>,
) -> Result<Response, Problem> {
    let of = RobotSite::find(&state, &form.site).await?;
    let is_done = ask_to_accept(&state, &of.name).await?;
    Ok(redirect_to_site(
        &page,
        &of.name,
        if is_done { "accepted" } else { "none" },
    ))
}

/// Accepts the quarantined results at the request of a program; returns status 409 if there are
/// none.
pub(crate) async fn accept_json(
    State(state): State<AdminState>,
    _proof: CsrfProof,
    of: RobotSite,
) -> Result<Response, Problem> {
    if !ask_to_accept(&state, &of.name).await? {
        return Err(Problem::conflict(
            "not_held",
            "No results for the site are held for review.",
        ));
    }
    let (status, _) = StatusView::load(&state, &of.name).await?;
    Ok((StatusCode::ACCEPTED, Json(status)).into_response())
}

/// Shows the page on which a reset is confirmed.
pub(crate) async fn confirm(
    State(state): State<AdminState>,
    of: RobotSite,
    page: Page,
) -> Result<Response, Problem> {
    let (status, _) = StatusView::load(&state, &of.name).await?;
    Ok(html(&ClearPage {
        page,
        query: of.query(),
        site: of.name,
        descriptions: status.descriptions,
        is_at_work: status.running,
    }))
}

/// Deletes the descriptions, URLs and runs of a site.
pub(crate) async fn clear(
    State(state): State<AdminState>,
    page: Page,
    Fields(form): Fields<SiteForm>,
) -> Result<Response, Problem> {
    let of = RobotSite::find(&state, &form.site).await?;
    forget(&state, &of.name).await?;
    // Once its descriptions are deleted, a site without a robot in this process becomes unknown.
    let is_offered = state.operations().robot_runs.offered().contains(&of.name);
    let site = if is_offered { &*of.name } else { "" };
    Ok(redirect_to_site(&page, site, "cleared"))
}

/// A response that contains the number of deleted descriptions.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ClearedDescriptions")]
pub(crate) struct Cleared {
    site: String,
    descriptions: u64,
}

/// Deletes the descriptions, URLs and runs of a site at the request of a program.
pub(crate) async fn clear_json(
    State(state): State<AdminState>,
    _proof: CsrfProof,
    of: RobotSite,
) -> Result<Json<Cleared>, Problem> {
    let descriptions = forget(&state, &of.name).await?;
    let site = of.name;
    Ok(Json(Cleared { site, descriptions }))
}

/// A request to fetch changed pages again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedPages {
    #[serde(default)]
    site: String,
    urls: Vec<String>,
}

/// The number of pages that were queued to be fetched again.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AcceptedPages")]
pub(crate) struct QueuedPages {
    site: String,
    pages: usize,
}

/// Queues changed pages to be fetched again; returns status 422 for a page that the robot does not
/// visit, and 429 for more than 1,000 pages per hour.
pub(crate) async fn changed_json(
    State(state): State<AdminState>,
    JsonBody(body): JsonBody<ChangedPages>,
) -> Result<(StatusCode, Json<QueuedPages>), Problem> {
    let of = RobotSite::find(&state, &body.site).await?;
    let operations = state.operations();
    let robot = operations.robot_runs.robot(&of.name).ok_or_else(|| {
        let message = "This process has no robot for the site; notify the process that has the robot, or run \
                       robot-detection site-robot refresh there.";
        Problem::conflict("no_robot", message)
    })?;
    let urls = body.urls.iter().map(|url| Url::parse(url.trim()));
    let urls: Result<Vec<_>, _> = urls.collect();
    let urls = urls.map_err(|error| Problem::invalid(format!("urls: {error}")))?;
    robot
        .for_pages(urls.clone())
        .map_err(|error| Problem::invalid(error.to_string()))?;
    if !operations
        .robot_runs
        .queue_changed(&of.name, &urls, operations.clock.now_ms())
    {
        let message =
            "More than 1,000 pages were submitted within an hour; start a full run instead.";
        return Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many",
            message,
        ));
    }
    let (site, pages) = (of.name, urls.len());
    Ok((StatusCode::ACCEPTED, Json(QueuedPages { site, pages })))
}

/// Requests a new run, or a different state of the open run; returns `false` if there is no such
/// run.
async fn control_run(
    state: &AdminState,
    site: &str,
    wanted: Option<RunCommand>,
) -> Result<bool, Problem> {
    let operations = state.operations();
    let Some(wanted) = wanted else {
        if !operations.robot_runs.request_run(site) {
            let message = "This process has no robot for the site; configure a robot, or run it in another process.";
            return Err(Problem::conflict("no_robot", message));
        }
        info!(site, "an administrator requested a run of the site robot");
        return Ok(true);
    };
    let is_told = operations
        .store
        .frontier()
        .set_run_command(site, wanted)
        .await?;
    if is_told {
        if let Some(robot) = operations.robot_runs.robot(site) {
            // The robot checks the database only every second, whereas its handle takes effect
            // immediately.
            let handle = robot.handle();
            match wanted {
                RunCommand::Run => handle.resume(),
                RunCommand::Pause => handle.pause(),
                RunCommand::Stop => handle.stop(),
            }
        }
        let word = wanted.as_str();
        info!(site, "an administrator asked the site robot to {word}");
    }
    Ok(is_told)
}

/// Requests that the quarantined results be accepted; returns `false` without such results.
async fn ask_to_accept(state: &AdminState, site: &str) -> Result<bool, Problem> {
    let (status, _) = StatusView::load(state, site).await?;
    if status.held.is_none() {
        return Ok(false);
    }
    if !state.operations().robot_runs.request_acceptance(site) {
        let message = "This process has no robot for the site; accept the results where the robot runs: \
             robot-detection site-robot run --accept.";
        return Err(Problem::conflict("no_robot", message));
    }
    info!(
        site,
        "an administrator accepted the results of the site robot"
    );
    Ok(true)
}

async fn forget(state: &AdminState, site: &str) -> Result<u64, Problem> {
    let (status, _) = StatusView::load(state, site).await?;
    if status.running {
        return Err(Problem::conflict(
            "running",
            "A run is in progress and would add descriptions again. Stop the run first.",
        ));
    }
    let cleared = state.operations().store.frontier().clear_site(site).await?;
    info!(
        site,
        cleared, "an administrator reset the site robot of {site:?}"
    );
    Ok(cleared)
}

fn redirect_to_site(page: &Page, site: &str, note: &str) -> Response {
    let site = encode(site);
    page.location
        .see_other(&format!("site-robot?site={site}&note={note}"))
}

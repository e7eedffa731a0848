//! The registry page, and the page about a single robot.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use serde::Deserialize;

use super::{
    fields::Params,
    listing::{Listing, PageParams},
    page::{Page, html},
    problem::Problem,
    robot_links::{RobotLinks as _, to_rule_robot},
    sorting::Column,
    state::AdminState,
    traffic::{RobotTraffic, TrafficParams},
    verification::{TotalsView, Verdicts},
};
use robot_detection_layer::registry::Purpose;
use robot_detection_operations::{
    live_rules::{self, LiveRuleView},
    robots::{self, ListRobots, RobotView, title},
};

#[derive(Template)]
#[template(path = "admin/registry.html")]
struct RegistryPage {
    page: Page,
    found: Listing,
    sources: Vec<SourceChoice>,
    columns: Vec<Column>,
    note: &'static str,
}

#[derive(Template)]
#[template(path = "admin/robot.html")]
struct RobotPage {
    page: Page,
    robot: RobotView,
    /// Live rules that apply to the robot.
    live: Vec<LiveRuleView>,
    can_make_rules: bool,
    /// Verdicts in the last 24 hours on requests that claim to come from this robot.
    verdicts: Option<TotalsView>,
    traffic: RobotTraffic,
    note: &'static str,
}

struct SourceChoice {
    name: String,
    title: String,
    is_chosen: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct RobotParams {
    #[serde(default)]
    id: String,
    #[serde(default)]
    note: String,
}

/// The path parameters of a robot's page; their long names avoid conflicts with outer routers.
#[derive(Debug, Deserialize)]
pub(super) struct RobotPath {
    pub(super) robot_source: String,
    pub(super) robot_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SourcePath {
    robot_source: String,
}

/// Shows the registry page.
pub(super) async fn list(
    State(state): State<AdminState>,
    Params(params): Params<PageParams>,
    Params(request): Params<ListRobots>,
    page: Page,
) -> Result<Response, Problem> {
    let found = Listing::load(&state, request, &params).await?;
    Ok(html(&RegistryPage {
        page,
        sources: choices(&state, found.request.source.as_deref()).await?,
        columns: found.columns(),
        found,
        note: note_text(&params.note),
    }))
}

/// Shows the page of a robot.
pub(super) async fn show(
    State(state): State<AdminState>,
    Path(path): Path<RobotPath>,
    Params(params): Params<RobotParams>,
    Params(traffic): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let robot = find(&state, &path.robot_source, &path.robot_id).await?;
    let note = note_text(&params.note);
    robot_page(&state, page, robot, &traffic, note).await
}

/// Shows the page of a robot whose ID cannot be part of a path.
pub(super) async fn show_by_query(
    State(state): State<AdminState>,
    Path(path): Path<SourcePath>,
    Params(params): Params<RobotParams>,
    Params(traffic): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let robot = find(&state, &path.robot_source, &params.id).await?;
    let note = note_text(&params.note);
    robot_page(&state, page, robot, &traffic, note).await
}

async fn robot_page(
    state: &AdminState,
    page: Page,
    robot: RobotView,
    params: &TrafficParams,
    note: &'static str,
) -> Result<Response, Problem> {
    let traffic = RobotTraffic::load(state, params, &robot.id, &robot.link()).await?;
    let verdicts = Verdicts::load(state).await?;
    let operations = state.operations();
    let among = operations.surroundings(state.caller());
    let (set, asked) = (operations.live_rules.load(), to_rule_robot(&robot));
    Ok(html(&RobotPage {
        page,
        verdicts: verdicts.for_robot(&robot.id),
        live: live_rules::list_live_rules(&among, &set, |about| about.includes(&asked)),
        can_make_rules: state.operations().live_rules.is_enabled()
            && robot.purpose != Purpose::Shared.as_str(),
        traffic,
        robot,
        note,
    }))
}

/// Returns the view of a robot, given its source and ID.
pub(super) async fn find(state: &AdminState, source: &str, id: &str) -> Result<RobotView, Problem> {
    let detector = state.operations().detector.load();
    Ok(robots::find(&state.caller(), &detector, source, id).await?)
}

async fn choices(state: &AdminState, chosen: Option<&str>) -> Result<Vec<SourceChoice>, Problem> {
    let counts = state.operations().store.robots().counts().await?;
    Ok(counts
        .iter()
        .map(|count| SourceChoice {
            name: count.source.to_string(),
            title: title(&count.source),
            is_chosen: Some(count.source.as_str()) == chosen,
        })
        .collect())
}

/// Returns the text for the code of a note; text from the query itself is never shown.
fn note_text(note: &str) -> &'static str {
    match note {
        "added" => "Robot added. The robot is now recognised.",
        "removed" => "Robot removed. The robot is no longer recognised.",
        _ => "",
    }
}

//! Traffic figures as JSON.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{fields::Params, problem::Problem, rfc3339, state::AdminState};
use robot_detection_operations::traffic::TrafficFigures;
use robot_detection_traffic::traffic::{By, KnownRobots, Line};

use super::{TrafficParams, loaded::Traffic, question::parse_grouping};

const MINUTE_MS: i64 = 60_000;

/// The traffic of a period, by time step.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct TrafficSeries {
    since: String,
    until: String,
    by: &'static str,
    step_minutes: i64,
    /// Start time of each step.
    #[serde(rename = "steps")]
    began: Vec<String>,
    lines: Vec<SeriesLine>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TrafficSeriesLine")]
struct SeriesLine {
    hits: u64,
    bytes: u64,
    hits_by_step: Vec<u64>,
    bytes_by_step: Vec<u64>,
    /// Names that identify the group, such as `robot` and `name`.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, String>")]
    about: Map<String, Value>,
}

/// Returns the totals, and an array for each grouping in `by`; by default, all groupings are
/// included.
pub(crate) async fn figures(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
) -> Result<Json<TrafficFigures>, Problem> {
    let mut groupings = Vec::new();
    for word in params.by.split(',') {
        groupings.extend(parse_grouping(word, By::ALL)?);
    }
    if groupings.is_empty() {
        groupings = By::ALL.to_vec();
    }
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let known = KnownRobots::new(&detector);
    let mut answer = TrafficFigures::new(&traffic.told, &traffic.figures(&known), &groupings, 0);
    let before = traffic.before.as_ref().zip(traffic.figures_before(&known));
    answer.before =
        before.map(|(time, before)| Box::new(TrafficFigures::new(time, &before, &[By::Total], 0)));
    Ok(Json(answer))
}

/// Returns the traffic figures for one grouping over time.
pub(crate) async fn series(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
) -> Result<Json<TrafficSeries>, Problem> {
    let by = parse_grouping(&params.by, By::ALL)?.unwrap_or(By::Total);
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let figures = traffic.figures(&KnownRobots::new(&detector));
    let course = traffic.time_steps();
    let lines = figures.lines(by, &course);
    Ok(Json(TrafficSeries {
        since: iso(traffic.told.start),
        until: iso(traffic.told.end),
        by: by.as_str(),
        step_minutes: course.step,
        began: course.starts().map(iso).collect(),
        lines: lines.iter().map(|line| SeriesLine::new(line, by)).collect(),
    }))
}

impl SeriesLine {
    fn new(line: &Line, by: By) -> Self {
        let names: &[&str] = match by {
            By::Robot => &["robot", "name", "operator", "purpose", "source"],
            By::Verdict => &["robot", "verdict"],
            By::Cause => &["decision", "cause"],
            _ => &[by.as_str()],
        };
        let about = names.iter().zip(&line.cells);
        Self {
            hits: line.count.hits,
            bytes: line.count.bytes,
            hits_by_step: line.steps.iter().map(|step| step.hits).collect(),
            bytes_by_step: line.steps.iter().map(|step| step.bytes).collect(),
            about: about
                .map(|(name, cell)| ((*name).to_owned(), json!(cell)))
                .collect(),
        }
    }
}

fn iso(minute: i64) -> String {
    rfc3339(minute.saturating_mul(MINUTE_MS))
}

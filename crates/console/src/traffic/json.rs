//! Figures as JSON.

use axum::{Json, extract::State};
use serde_json::{Map, Value, json};

use crate::{fields::Params, problem::Problem, rfc3339, state::AdminState};
use robot_detection_traffic::summary::json_object;
use robot_detection_traffic::traffic::{By, KnownRobots, Line};

use super::{TrafficParams, loaded::Traffic, question::by};

const MINUTE_MS: i64 = 60_000;

type JsonResult = Result<Json<Value>, Problem>;

/// Returns the totals, and an array for each of the groupings that `by` lists; all by default.
pub(crate) async fn figures(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
) -> JsonResult {
    let mut groupings = Vec::new();
    for word in params.by.split(',') {
        groupings.extend(by(word, By::ALL)?);
    }
    if groupings.is_empty() {
        groupings = By::ALL.to_vec();
    }
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let known = KnownRobots::new(&detector);
    let mut object = times(&traffic);
    object.extend(json_object(&traffic.figures(&known), &groupings, 0));
    let before = traffic.figures_before(&known);
    let before = before.map(|before| json_object(&before, &[By::Total], 0));
    object.insert("before".to_owned(), before_object(&traffic, before));
    Ok(Json(Value::Object(object)))
}

/// Returns the figures of one grouping over time.
pub(crate) async fn series(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
) -> JsonResult {
    let by = by(&params.by, By::ALL)?.unwrap_or(By::Total);
    let traffic = Traffic::load(&state, &params).await?;
    let detector = state.operations().detector.load();
    let figures = traffic.figures(&KnownRobots::new(&detector));
    let course = traffic.course();
    let lines = figures.lines(by, &course);
    let mut object = times(&traffic);
    object.insert("by".to_owned(), json!(by.as_str()));
    object.insert("step_minutes".to_owned(), json!(course.step));
    let began: Vec<String> = course.starts().map(iso).collect();
    object.insert("began".to_owned(), json!(began));
    let lines = lines.iter().map(|line| line_object(line, by));
    object.insert("lines".to_owned(), lines.collect());
    Ok(Json(Value::Object(object)))
}

fn line_object(line: &Line, by: By) -> Value {
    let hits: Vec<u64> = line.steps.iter().map(|step| step.hits).collect();
    let bytes: Vec<u64> = line.steps.iter().map(|step| step.bytes).collect();
    let names: &[&str] = match by {
        By::Robot => &["robot", "name", "operator", "purpose", "source"],
        By::Verdict => &["robot", "verdict"],
        By::Cause => &["decision", "cause"],
        _ => &[by.as_str()],
    };
    let mut object: Map<String, Value> = names
        .iter()
        .zip(&line.cells)
        .map(|(name, cell)| ((*name).to_owned(), json!(cell)))
        .collect();
    object.insert("hits".to_owned(), json!(line.count.hits));
    object.insert("bytes".to_owned(), json!(line.count.bytes));
    object.insert("hits_by_step".to_owned(), json!(hits));
    object.insert("bytes_by_step".to_owned(), json!(bytes));
    Value::Object(object)
}

fn times(traffic: &Traffic) -> Map<String, Value> {
    let told = &traffic.told;
    let [since, until] = [told.start, told.end].map(|minute| json!(iso(minute)));
    [("since".to_owned(), since), ("until".to_owned(), until)]
        .into_iter()
        .collect()
}

/// Returns the time before with its totals; null where nothing is compared.
fn before_object(traffic: &Traffic, totals: Option<Map<String, Value>>) -> Value {
    let (Some(before), Some(mut object)) = (&traffic.before, totals) else {
        return Value::Null;
    };
    object.insert("since".to_owned(), json!(iso(before.start)));
    object.insert("until".to_owned(), json!(iso(before.end)));
    Value::Object(object)
}

fn iso(minute: i64) -> String {
    rfc3339(minute.saturating_mul(MINUTE_MS))
}

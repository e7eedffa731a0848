//! `registry show`: everything that is known about one robot.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::output;
use crate::registry::{Exclusion, Robot, Status};

use super::select::{Row, mark_duplicates};

pub(super) fn show(mut rows: Vec<Row>, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    mark_duplicates(&mut rows)?;
    // After the duplicates are marked: the winner may have another id.
    rows.retain(|row| row.robot.id == id);
    rows.sort_by_key(|row| row.robot.source.precedence());
    if rows.is_empty() {
        output::note(&format!(
            "error: no robot has the id {id:?}; `registry list WORD` searches"
        ));
        return Ok(ExitCode::FAILURE);
    }
    if json {
        output::json(&rows.iter().map(robot_object).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in &rows {
        for (name, text) in lines(row) {
            output::line(format!("{name:<12}  {}", output::clean(&text)).trim_end())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(row: &Row) -> Vec<(&'static str, String)> {
    let robot = &row.robot;
    let status = format!("{} {}", robot.status.as_str(), reason(&robot.status));
    let mut lines = vec![
        ("id", robot.id.clone()),
        ("name", robot.name.clone()),
        ("source", robot.source.to_string()),
        ("status", status),
    ];
    let mut more = |name, texts: Vec<String>| {
        lines.extend(texts.into_iter().map(|text| (name, text)));
    };
    more(
        "duplicate of",
        row.duplicate_of
            .iter()
            .map(|other| source_and_id(other))
            .collect(),
    );
    more("purpose", vec![robot.purpose.to_string()]);
    more("useragent", vec![robot.useragent.clone()]);
    more(
        "pattern",
        robot.patterns.iter().map(ToString::to_string).collect(),
    );
    more("operator", robot.operator.iter().cloned().collect());
    more("robots.txt", vec![robots_txt(robot)]);
    if robot.exclusion != Exclusion::Unknown {
        more("obeys it", vec![robot.exclusion.as_str().to_owned()]);
    }
    more("host", robot.host_suffixes.clone());
    more("ranges", robot.ranges_url.iter().cloned().collect());
    more("signs as", robot.signature_agents.clone());
    more("details", robot.details_url.iter().cloned().collect());
    more("evidence", robot.evidence.clone());
    more("checked", robot.checked.iter().cloned().collect());
    lines
}

pub(super) fn robot_object(row: &Row) -> Value {
    let robot = &row.robot;
    let patterns = robot
        .patterns
        .iter()
        .map(|pattern| json!({"kind": pattern.kind.as_str(), "text": pattern.text}))
        .collect::<Vec<_>>();
    let other = row.duplicate_of.as_deref();
    json!({
        "robot_id": robot.id,
        "robot_name": robot.name,
        "robot_details_url": robot.details_url,
        "robot_useragent": robot.useragent,
        "source": robot.source.as_str(),
        "status": robot.status.as_str(),
        "reason": reason(&robot.status),
        "duplicate_of": other.map(|it| json!({"source": it.source.as_str(), "robot_id": it.id})),
        "purpose": robot.purpose.as_str(),
        "operator": robot.operator,
        "product_token": robot.token().ok().map(|token| token.as_str()),
        "product_token_origin": robot.token().ok().map(|token| token.origin()),
        "exclusion": robot.exclusion.as_str(),
        "host_suffixes": robot.host_suffixes,
        "ranges_url": robot.ranges_url,
        "signature_agents": robot.signature_agents,
        "evidence": robot.evidence,
        "checked": robot.checked,
        "patterns": patterns,
        "insertion_ms": row.dates_ms.map(|(insertion_ms, _)| insertion_ms),
        "modified_ms": row.dates_ms.map(|(_, modified_ms)| modified_ms),
    })
}

/// Returns the product token of a robot, and whether it is derived.
fn robots_txt(robot: &Robot) -> String {
    match robot.token() {
        Ok(token) if token.is_published() => token.as_str().to_owned(),
        Ok(token) => format!("{}, derived from its name", token.as_str()),
        Err(_) => "has no name for it".to_owned(),
    }
}

/// Returns a robot's source and id.
pub(super) fn source_and_id(robot: &Robot) -> String {
    format!("{}:{}", robot.source, robot.id)
}

/// Returns why a robot is not active.
fn reason(status: &Status) -> String {
    match status {
        Status::Active => String::new(),
        Status::Quarantined { pattern, browser } => {
            format!("the pattern {pattern:?} hits the browser {browser}")
        }
        Status::Unusable { reason } => reason.clone(),
    }
}

/// Returns the robot's patterns on one line.
pub(super) fn patterns(robot: &Robot) -> String {
    let patterns = robot.patterns.iter().map(ToString::to_string);
    patterns.collect::<Vec<_>>().join(", ")
}

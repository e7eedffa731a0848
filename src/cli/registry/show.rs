//! `registry show`: all that is known of one robot.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::app::RobotDetection;
use crate::cli::output;
use crate::registry::{Robot, Status};
use crate::store::StoredRobot;

pub(super) async fn show(
    robots: &RobotDetection,
    id: &str,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let rows = robots.store().robots_by_id(id).await?;
    if rows.is_empty() {
        output::note(&format!(
            "error: no robot has the id {id:?}; `registry list WORD` searches"
        ));
        return Ok(ExitCode::FAILURE);
    }
    if json {
        output::json(&rows.iter().map(robot_object).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in &rows {
        let robot = &row.robot;
        let mut lines = vec![
            ("id", robot.id.clone()),
            ("name", robot.name.clone()),
            ("source", robot.source.to_string()),
            (
                "status",
                format!("{} {}", robot.status.as_str(), reason(&robot.status)),
            ),
            ("purpose", robot.purpose.to_string()),
            ("useragent", robot.useragent.clone()),
        ];
        lines.extend(
            robot
                .patterns
                .iter()
                .map(|pattern| ("pattern", pattern.to_string())),
        );
        lines.extend(
            robot
                .operator
                .iter()
                .map(|operator| ("operator", operator.clone())),
        );
        lines.extend(
            robot
                .product_token
                .iter()
                .map(|token| ("robots.txt", token.clone())),
        );
        lines.extend(robot.details_url.iter().map(|url| ("details", url.clone())));
        for (name, text) in lines {
            output::line(format!("{name:<10}  {}", output::clean(&text)).trim_end())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn robot_object(row: &StoredRobot) -> Value {
    let robot = &row.robot;
    let patterns = robot
        .patterns
        .iter()
        .map(|pattern| json!({"kind": pattern.kind.as_str(), "text": pattern.text}))
        .collect::<Vec<_>>();
    json!({
        "robot_id": robot.id,
        "robot_name": robot.name,
        "robot_details_url": robot.details_url,
        "robot_useragent": robot.useragent,
        "source": robot.source.as_str(),
        "status": robot.status.as_str(),
        "reason": reason(&robot.status),
        "purpose": robot.purpose.as_str(),
        "operator": robot.operator,
        "product_token": robot.product_token,
        "patterns": patterns,
        "insertion_ms": row.insertion_ms,
        "modified_ms": row.modified_ms,
    })
}

/// Why a robot is not active.
fn reason(status: &Status) -> String {
    match status {
        Status::Active => String::new(),
        Status::Quarantined { pattern, browser } => {
            format!("the pattern {pattern:?} hits the browser {browser}")
        }
        Status::Unusable { reason } => reason.clone(),
    }
}

/// The robot's patterns on one line.
pub(super) fn patterns(robot: &Robot) -> String {
    let patterns = robot.patterns.iter().map(ToString::to_string);
    patterns.collect::<Vec<_>>().join(", ")
}

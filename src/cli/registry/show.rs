//! `registry show`: prints all data about one robot.

use std::process::ExitCode;
use std::sync::Arc;

use super::args::ListArgs;
use crate::cli::output;
use crate::clock::Clock;
use crate::detect::Detector;
use crate::operations::robots::{ListRobots, RobotLinkView, RobotView, Row, list as list_robots};

pub(super) fn show(rows: Vec<Row>, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let request = ListRobots {
        id: Some(id.to_owned()),
        sort: Some("source".to_owned()),
        ..ListRobots::default()
    };
    let detector = detector(&rows)?;
    let listed = list_robots(rows, &request, None, &detector, Clock::system().now_ms())?;
    if listed.robots.is_empty() {
        output::note(&format!(
            "error: no robot has the id {id:?}; to search for robots, run `registry list WORD`"
        ));
        return Ok(ExitCode::FAILURE);
    }
    if json {
        output::json(&listed)?;
        return Ok(ExitCode::SUCCESS);
    }
    for robot in &listed.robots {
        for (name, text) in lines(robot) {
            output::line(format!("{name:<12}  {}", output::clean(&text)).trim_end())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the detector used to find duplicates.
pub(super) fn detector(rows: &[Row]) -> anyhow::Result<Detector> {
    let robots = rows.iter().map(|row| Arc::clone(&row.robot));
    Ok(Detector::new(robots)?)
}

fn lines(robot: &RobotView) -> Vec<(&'static str, String)> {
    let optional = |text: &Option<String>| text.iter().cloned().collect::<Vec<_>>();
    let robots_txt = match (&robot.product_token, robot.product_token_origin) {
        (Some(token), Some("derived")) => format!("{token}, derived from its name"),
        (Some(token), _) => token.clone(),
        (None, _) => "has no name for the robot".to_owned(),
    };
    let patterns = robot.patterns.iter();
    let patterns = patterns.map(|pattern| format!("{} {:?}", pattern.kind, pattern.text));
    let duplicate = robot.duplicate_of.iter().map(source_and_id);
    let exclusion = Some(robot.exclusion.to_owned()).filter(|word| word != "unknown");
    let partial = "partial: the robot has other addresses, too";
    let partial = Vec::from_iter(robot.has_partial_proofs.then(|| partial.to_owned()));
    let lines = [
        ("id", vec![robot.id.clone()]),
        ("name", vec![robot.name.clone()]),
        ("source", vec![robot.source.clone()]),
        ("status", vec![format!("{} {}", robot.status, robot.reason)]),
        ("duplicate of", duplicate.collect()),
        ("purpose", vec![robot.purpose.to_owned()]),
        ("useragent", vec![robot.useragent.clone()]),
        ("pattern", patterns.collect()),
        ("operator", optional(&robot.operator)),
        ("robots.txt", vec![robots_txt]),
        ("obeys it", optional(&exclusion)),
        ("host", robot.host_suffixes.clone()),
        ("ranges", optional(&robot.ranges_url)),
        ("signs as", robot.signature_agents.clone()),
        ("proofs", partial),
        ("details", optional(&robot.details_url)),
        ("evidence", robot.evidence.clone()),
        ("checked", optional(&robot.checked)),
    ];
    let lines = lines.into_iter();
    lines
        .flat_map(|(name, texts)| texts.into_iter().map(move |text| (name, text)))
        .collect()
}

/// Returns a robot's source and id.
pub(super) fn source_and_id(robot: &RobotLinkView) -> String {
    format!("{}:{}", robot.source, robot.id)
}

/// Returns the robot's patterns on one line.
pub(super) fn patterns(robot: &RobotView) -> String {
    let patterns = robot.patterns.iter();
    let patterns = patterns.map(|pattern| format!("{} {:?}", pattern.kind, pattern.text));
    patterns.collect::<Vec<_>>().join(", ")
}

pub(super) const NO_ROBOT: &str =
    "no robot matches; to list all robots, run `robot-detection registry list`";

pub(super) fn list(rows: Vec<Row>, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let now_ms = Clock::system().now_ms();
    let detector = detector(&rows)?;
    let listed = list_robots(rows, &args.select.request(), None, &detector, now_ms)?;
    if args.json {
        output::json(&listed)?;
    } else if listed.robots.is_empty() {
        output::note(NO_ROBOT);
    } else {
        print_table(&listed.robots)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the robots; includes a column for duplicates only if there are any.
fn print_table(robots: &[RobotView]) -> std::io::Result<()> {
    let has_duplicates = robots.iter().any(|robot| robot.duplicate_of.is_some());
    let mut header = vec!["ID", "SOURCE", "PURPOSE", "STATUS", "NAME", "PATTERNS"];
    if has_duplicates {
        header.insert(4, "DUPLICATE OF");
    }
    let cells = robots.iter().map(|robot| {
        let mut cells = vec![
            robot.id.clone(),
            robot.source.clone(),
            robot.purpose.to_owned(),
            robot.status.to_owned(),
            robot.name.clone(),
            patterns(robot),
        ];
        if has_duplicates {
            let other = robot.duplicate_of.as_ref();
            cells.insert(4, other.map_or_else(|| "-".to_owned(), source_and_id));
        }
        cells.iter().map(|cell| output::clean(cell)).collect()
    });
    output::table(&header, &cells.collect::<Vec<_>>())
}

//! `registry list`: the robots table by name, or what a search leaves of it.

use std::process::ExitCode;

use crate::cli::output;
use crate::clock::Clock;
use crate::operations::robots::{RobotView, Row, list as list_robots};

use super::{
    args::ListArgs,
    show::{detector, patterns, source_and_id},
};

pub(super) const NO_ROBOT: &str = "no robot is found; `robot-detection registry list` shows all";

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

/// Prints the robots; what they are duplicates of only where one is.
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

//! `registry list`: the robots table by name, or what a search leaves of it.

use std::process::ExitCode;

use crate::cli::output;

use super::{
    args::ListArgs,
    select::{Row, Selection, mark_duplicates},
    show::{patterns, robot_object, source_and_id},
};

pub(super) const NO_ROBOT: &str = "no robot is found; `robot-detection registry list` shows all";

pub(super) fn list(mut rows: Vec<Row>, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let selection = Selection::parse(&args.select)?;
    // Before the selection: a robot may duplicate one that is not selected.
    mark_duplicates(&mut rows)?;
    let mut rows = selection.of(rows);
    rows.sort_by_cached_key(|row| {
        let robot = &row.robot;
        let name = robot.name.to_ascii_lowercase();
        (name, robot.id.clone(), robot.source.clone())
    });
    if args.duplicates {
        rows.retain(|row| row.duplicate_of.is_some());
    }
    if args.json {
        output::json(&rows.iter().map(robot_object).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        output::note(NO_ROBOT);
    } else {
        print_table(&rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the rows; what they are duplicates of only where one is.
fn print_table(rows: &[Row]) -> std::io::Result<()> {
    let has_duplicates = rows.iter().any(|row| row.duplicate_of.is_some());
    let mut header = vec!["ID", "SOURCE", "PURPOSE", "STATUS", "NAME", "PATTERNS"];
    if has_duplicates {
        header.insert(4, "DUPLICATE OF");
    }
    let cells = rows.iter().map(|row| {
        let robot = &row.robot;
        let mut cells = vec![
            robot.id.clone(),
            robot.source.to_string(),
            robot.purpose.to_string(),
            robot.status.as_str().to_owned(),
            robot.name.clone(),
            patterns(robot),
        ];
        if has_duplicates {
            let other = row.duplicate_of.as_deref();
            cells.insert(4, other.map_or_else(|| "-".to_owned(), source_and_id));
        }
        cells.iter().map(|cell| output::clean(cell)).collect()
    });
    output::table(&header, &cells.collect::<Vec<_>>())
}

//! `registry export`: prints robots in the formats of other programs.

use std::{process::ExitCode, sync::Arc};

use robot_detection_site_robot::spelling::unknown_word;

use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::cli::output::write_file;
use crate::clock::Clock;
use crate::detect;
use crate::operations::robots::{ListRobots, Row, list, select};
use crate::registry::ExportFormat;

use super::{
    args::ExportArgs,
    show::{NO_ROBOT, detector},
};

/// The name of the JSON format, offered in addition to the export formats; `--json` also selects
/// it.
const JSON: &str = "json";

pub(super) fn export(rows: Vec<Row>, args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let format = format(args)?;
    let detector = detector(&rows)?;
    let now_ms = Clock::system().now_ms();
    let request = ListRobots {
        sort: Some("source".to_owned()),
        ..args.select.request()
    };
    let rows = select(rows, &request, &detector)?;
    // An empty map would allow every robot, so the old file is kept if no robot matches.
    if rows.is_empty() && (format.is_some() || args.output.is_some()) {
        output::note(NO_ROBOT);
        let Some(file) = &args.output else {
            return Ok(ExitCode::SUCCESS);
        };
        output::note(&format!("{} was not changed", file.display()));
        return Ok(ExitCode::FAILURE);
    }
    let text = if let Some(format) = format {
        text(format, rows)
    } else {
        let listed = list(rows, &request, None, &detector, now_ms)?;
        format!("{}\n", serde_json::to_string_pretty(&listed)?)
    };
    match &args.output {
        Some(file) => write_file(file, &text)?,
        None => output::line(text.trim_end_matches('\n'))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the export format that the arguments select; `None` for JSON.
fn format(args: &ExportArgs) -> anyhow::Result<Option<ExportFormat>> {
    let word = match &args.format {
        None if args.json => JSON,
        None => ExportFormat::WebRobotsDb.as_str(),
        Some(word) => word,
    };
    if word == JSON {
        return Ok(None);
    }
    let format = ExportFormat::from_word(word).ok_or_else(|| {
        let words = ExportFormat::ALL.iter().map(|format| format.as_str());
        WrongUsage(unknown_word("format", word, words.chain([JSON])))
    })?;
    Ok(Some(format))
}

/// The maximum number of ids to print for robots omitted for the same reason; comments in the
/// exported text list all of these robots.
const MAX_IDS: usize = 10;

/// Returns the exported text; prints a note about omitted robots.
fn text(format: ExportFormat, rows: Vec<Row>) -> String {
    let robots: Vec<Arc<_>> = rows.into_iter().map(|row| row.robot).collect();
    let exported = detect::export(format, &robots);
    for (reason, ids) in exported.ids_by_reason() {
        let more = match ids.len().saturating_sub(MAX_IDS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = ids.len();
        let ids = ids.into_iter().take(MAX_IDS).collect::<Vec<_>>();
        let ids = output::clean(&ids.join(", "));
        output::note(&format!("omitted, {reason}: {count}: {ids}{more}"));
    }
    exported.text
}

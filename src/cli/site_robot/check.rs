//! `site-robot check`: shows the contents and errors of the site robot's configuration files.

use std::{io, process::ExitCode};

use serde_json::{Value, json};

use crate::cli::output;
use crate::filter::{FilterText, Note};

use super::{
    args::CheckArgs,
    file_kind::FileKind,
    file_kind::{self, name},
    file_report::{FileReport, count},
};

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    for file in &args.files {
        files.push((name(file), FileReport::read(file, &file_kind::read(file)?)));
    }
    if args.json {
        let objects = files.iter().map(|(name, report)| object(name, report));
        output::json(&objects.collect::<Vec<_>>())?;
    } else {
        for (name, report) in &files {
            print(name, report)?;
        }
    }
    if files.iter().all(|(_, report)| report.is_usable()) {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn print(name: &str, report: &FileReport) -> io::Result<()> {
    let kind = report.kind.map_or("?", FileKind::as_str);
    output::line(&format!("{name}: {kind}, {}", report.summary))?;
    for filter in &report.filters {
        let text = format!(
            "  {}: {}{} (line {})",
            filter.name(),
            count(filter.directives().len(), "directive"),
            disabled_text(filter),
            filter.line()
        );
        output::line(&output::clean(&text))?;
    }
    if !report.rows.is_empty() {
        print_rows(report)?;
    }
    for (url, depth) in &report.starting_points {
        let depth = depth.map_or(String::new(), |depth| format!(" depth={depth}"));
        output::line(&output::clean(&format!("  start {url}{depth}")))?;
    }
    for note in &report.notes {
        let Note {
            line,
            severity,
            text,
            ..
        } = note;
        output::line(&format!(
            "{name}:{line}: {severity}: {}",
            output::clean(text)
        ))?;
    }
    Ok(())
}

fn print_rows(report: &FileReport) -> io::Result<()> {
    let rows: Vec<_> = report
        .rows
        .iter()
        .map(|row| {
            let value = row.value.as_deref().unwrap_or("(none)");
            let origin = if row.is_default { "default" } else { "set" };
            vec![row.key.to_owned(), output::clean(value), origin.to_owned()]
        })
        .collect();
    output::table(&["KEY", "VALUE", "ORIGIN"], &rows)
}

fn disabled_text(filter: &FilterText) -> String {
    match disabled(filter) {
        0 => String::new(),
        count => format!(", {count} of them off"),
    }
}

fn disabled(filter: &FilterText) -> usize {
    let directives = filter.directives().iter();
    directives.filter(|it| !it.is_enabled()).count()
}

fn object(name: &str, report: &FileReport) -> Value {
    let filters = report.filters.iter().map(|filter| {
        json!({
            "name": filter.name(),
            "line": filter.line(),
            "directives": filter.directives().len(),
            "disabled": disabled(filter),
        })
    });
    let keys = report.rows.iter().map(|row| {
        json!({
            "key": row.key,
            "value": row.value,
            "default": row.is_default,
            "help": row.help,
        })
    });
    let starts = report.starting_points.iter();
    let starts = starts.map(|(url, depth)| json!({"url": url, "depth": depth}));
    json!({
        "file": name,
        "kind": report.kind.map(FileKind::as_str),
        "usable": report.is_usable(),
        "filters": filters.collect::<Vec<_>>(),
        "keys": keys.collect::<Vec<_>>(),
        "starting_points": starts.collect::<Vec<_>>(),
        "notes": report.notes.iter().map(note).collect::<Vec<_>>(),
    })
}

fn note(note: &Note) -> Value {
    json!({
        "line": note.line,
        "severity": note.severity.as_str(),
        "text": note.text,
    })
}

//! Prints the reports about paths for `traffic report`.

use std::{
    io::{self, Write as _},
    ops::Range,
};

use serde_json::{Map, Value};

use crate::cli::{output, summary::SummaryForm};
use crate::operations::rfc3339;
use crate::store::PathSums;
use crate::traffic::{PathFigure, PathFigures, PathFilter, PathGroup, path_csv};

use super::args::{PathBy, ReportArgs};

const MINUTE_MS: i64 = 60_000;

/// The default number of rows in each table of paths.
const TOP: usize = 20;

const HEADER: &[&str] = &["requests", "", "robots", "people", "3xx", "4xx", "5xx"];

/// Prints the requested paths, grouped by path, pattern or form.
pub(super) fn print(sums: PathSums, args: &ReportArgs) -> io::Result<()> {
    let minutes = sums.minutes.clone();
    let filter = PathFilter {
        robot: args.robot.clone(),
        path: args.path.clone(),
    };
    let figures = PathFigures::new(sums, filter);
    match args.form() {
        SummaryForm::Json => json_of(&figures, args, &minutes),
        SummaryForm::Csv => args.path_groupings().iter().try_for_each(|by| {
            let (rows, _) = figures.top(by.group(), args.top.unwrap_or_default());
            output::text(&path_csv(by.word(), &rows))
        }),
        SummaryForm::Table => tables(&figures, args, &minutes),
    }
}

fn tables(figures: &PathFigures, args: &ReportArgs, minutes: &Range<i64>) -> io::Result<()> {
    let [since, until] = times(minutes);
    let total = figures.total();
    let bound = total.bound();
    let bound = if bound.is_empty() {
        bound
    } else {
        format!(", {bound}")
    };
    output::line(&format!(
        "From {since} to {until}: about {} requests{bound}",
        total.count.requests
    ))?;
    for by in args.path_groupings() {
        let top = args.top.unwrap_or(TOP);
        let (rows, all) = figures.top(by.group(), top);
        let header: Vec<_> = [by.word()]
            .into_iter()
            .chain(HEADER.iter().copied())
            .collect();
        let cells: Vec<_> = rows.iter().map(row).collect();
        output::line("")?;
        output::table(&header, &cells)?;
        if all > rows.len() {
            let gone = all - rows.len();
            output::line(&format!("({gone} more; use --top 0 to print all)"))?;
        }
    }
    io::stdout().flush()
}

fn row(figure: &PathFigure) -> Vec<String> {
    let count = figure.count;
    vec![
        output::clean(&figure.name),
        count.requests.to_string(),
        figure.bound(),
        figure.robots().to_string(),
        figure.people.to_string(),
        count.redirects.to_string(),
        count.client_errors.to_string(),
        count.server_errors.to_string(),
    ]
}

fn json_of(figures: &PathFigures, args: &ReportArgs, minutes: &Range<i64>) -> io::Result<()> {
    let [since, until] = times(minutes);
    let mut all = Map::new();
    all.insert("since".to_owned(), since.into());
    all.insert("until".to_owned(), until.into());
    all.insert("total".to_owned(), figures.total().to_json("name"));
    for by in args.path_groupings() {
        let (rows, _) = figures.top(by.group(), args.top.unwrap_or_default());
        let rows: Vec<_> = rows.iter().map(|row| row.to_json(by.word())).collect();
        all.insert(format!("{}s", by.word()), rows.into());
    }
    output::json(&Value::Object(all))
}

fn times(minutes: &Range<i64>) -> [String; 2] {
    [minutes.start, minutes.end].map(|minute| rfc3339(minute.saturating_mul(MINUTE_MS)))
}

impl PathBy {
    fn group(self) -> PathGroup {
        match self {
            Self::Path => PathGroup::Path,
            Self::Pattern => PathGroup::Pattern,
            Self::Form => PathGroup::Form,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Pattern => "pattern",
            Self::Form => "form",
        }
    }
}

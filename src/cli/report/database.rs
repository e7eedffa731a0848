//! Reports the requests that servers have counted in the database.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::ops::Range;
use std::process::ExitCode;

use serde_json::{Map, Value};

use crate::cli::output::WrongUsage;
use crate::cli::{context, output};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::log_report::Hour;
use crate::operations::{rfc3339, traffic::TrafficFigures};
use crate::store::{PathSums, StoredSuspects, TrafficSeries, TrafficSpan, TrafficSum};
use crate::summary::{Summary as _, write_csv};
use crate::suspicion::SUSPECTS_LAST_MS;
use crate::traffic::{
    By, Class, Figures, KnownRobots, Parameters, PathFigure, PathFigures, PathFilter, PathGroup,
    SuspectFigures, TimesError, path_csv, reported_range,
};

use super::{
    ReportArgs,
    args::PathBy,
    logs::{TOP, print},
    section::{Cell, Report, Section},
    sections,
};

const MINUTE_MS: i64 = 60_000;

/// The columns of a table of paths.
const PATH_COLUMNS: [&str; 7] = [
    "requests",
    "at most more",
    "robots",
    "people",
    "3xx",
    "4xx",
    "5xx",
];

pub(super) async fn report(loaded: &Loaded, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let detector = context::detector(loaded).await?;
    let store = context::store(loaded).await?;
    let now_ms = Clock::system().now_ms();
    let minutes = match args.times().minutes(&store, now_ms).await {
        Err(error @ TimesError::Backwards) => return Err(WrongUsage(error.to_string()).into()),
        minutes => minutes?,
    };
    let told = reported_range(&minutes, now_ms);
    let site = args.site.as_deref();
    if args.path_groupings().is_empty() && args.selects_tables() {
        let sums = store.traffic().read(minutes, now_ms).await?;
        store.close().await;
        let figures = Figures::new(sums, &args.filter(), KnownRobots::new(&detector));
        print_tables(&figures, args, &told)?;
        if figures.sums().next().is_none() {
            output::note(&hint(loaded, args));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let paths = store.traffic().paths(minutes.clone(), site, now_ms).await?;
    if !args.path_groupings().is_empty() {
        store.close().await;
        let is_empty = paths.rows.is_empty();
        print_paths(paths, args)?;
        if is_empty {
            output::note(&path_hint(loaded, args));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let span = [(minutes, Some(TrafficSpan::Hour))];
    let series = store
        .traffic()
        .series(&span, args.robot.as_deref(), now_ms)
        .await?;
    let reported = store
        .suspects()
        .load(now_ms.saturating_sub(SUSPECTS_LAST_MS))
        .await?;
    let parameters = Parameters::read(&store, &told, site, args.robot.as_deref()).await?;
    store.close().await;
    let mut report = whole(&series, paths, args, &KnownRobots::new(&detector), &told);
    if reported.is_empty() {
        report.limits.push(no_suspects(loaded).to_owned());
    }
    let parameters = sections::parameters(&parameters, args.top.unwrap_or(TOP));
    report.sections.push(parameters);
    report
        .sections
        .extend(suspects(&reported, args.top.unwrap_or(TOP)));
    print(&report, args)?;
    if series.parts.iter().all(|part| part.steps.is_empty()) {
        output::note(&hint(loaded, args));
    }
    Ok(ExitCode::SUCCESS)
}

fn whole(
    series: &TrafficSeries,
    paths: PathSums,
    args: &ReportArgs,
    robots: &KnownRobots<'_>,
    told: &Range<i64>,
) -> Report {
    let top = args.top.unwrap_or(TOP);
    let filter = args.filter();
    let mut all = Vec::new();
    if let Some(part) = series.parts.first() {
        let figures = Figures::over_time(&series.keys, part, &filter, robots.clone());
        let requests = figures.all();
        all = sections::visitors(&figures, top);
        for (id, title, about, by) in [
            (
                "verdicts",
                "Verified robots",
                "Results of the checks whether robots are who they claim to be.",
                By::Verdict,
            ),
            (
                "decisions",
                "Decisions",
                "Decisions of the servers for the requests.",
                By::Decision,
            ),
        ] {
            let rows = figures.rows(by);
            all.push(Section::new(id, title, about).with_counts(rows, requests, top));
        }
        let sums: Vec<_> = (series.keys.iter().zip(&part.sums))
            .map(|(key, count)| TrafficSum::new(key.clone(), *count))
            .collect();
        let rows = SuspectFigures::from_sums(&sums).rows();
        let row = |(label, _, requests)| vec![Cell::text(label), Cell::Number(requests)];
        all.push(
            Section::new(
                "suspects",
                "Suspects",
                "Human requests, and the decisions for suspects among them.",
            )
            .with_columns(&["requests", "number"])
            .with_rows(rows.map(row)),
        );
        all.extend(sections::load(&hours(series, &figures, robots)));
    }
    let figures = PathFigures::new(paths, path_filter(args));
    all.push(path_section(&figures, PathBy::Path, top));
    let [since, until] = [told.start, told.end].map(|minute| rfc3339(minute * MINUTE_MS));
    Report {
        title: "Visitors of the site",
        facts: vec![format!(
            "From {since} to {until}, as counted by the servers."
        )],
        numbers: Vec::new(),
        sections: all,
        limits: Vec::new(),
    }
}

/// Returns the load by hour; days whose hours are no longer stored count as their first hour.
fn hours(
    series: &TrafficSeries,
    figures: &Figures<'_>,
    robots: &KnownRobots<'_>,
) -> BTreeMap<i64, Hour> {
    let classes: Vec<_> = (series.keys.iter())
        .map(|key| Class::for_key(key, robots))
        .collect();
    let mut hours = BTreeMap::<i64, Hour>::new();
    for step in figures.steps() {
        let hour = hours.entry(step.began.div_euclid(60)).or_default();
        for cell in step.cells.iter().filter(|cell| figures.is_counted(cell)) {
            hour.bytes = hour.bytes.saturating_add(cell.bytes);
            if let Some(class) = classes.get(cell.key_index()) {
                *hour.requests_mut(*class) += cell.requests;
            }
        }
    }
    hours
}

/// Returns the tables of the suspects that running servers have flagged.
fn suspects(reported: &[StoredSuspects], top: usize) -> [Section; 2] {
    let values = reported
        .iter()
        .filter_map(|one| serde_json::from_str::<Value>(&one.flags).ok());
    let (mut fleets, mut conduct) = (Vec::new(), Vec::new());
    for mut value in values {
        for (name, all) in [("fleets", &mut fleets), ("conduct", &mut conduct)] {
            let flagged = value.get_mut(name).and_then(Value::as_array_mut);
            all.extend(flagged.map(std::mem::take).unwrap_or_default());
        }
    }
    [
        sections::fleets(fleets, top),
        sections::conduct(conduct, top, false),
    ]
}

/// Returns the reason why no server has reported suspects.
fn no_suspects(loaded: &Loaded) -> &'static str {
    let settings = &loaded.settings().traffic;
    match (settings.fleets, settings.keep) {
        (false, _) => "Fleets are not detected because traffic.fleets is false.",
        (true, false) => {
            "Servers do not report suspects because traffic.keep is false; see the Suspects page of the console."
        }
        (true, true) => "No running server has reported suspects in the last few minutes.",
    }
}

/// Prints the tables that the arguments select, as text, JSON or CSV.
pub(super) fn print_tables(
    figures: &Figures<'_>,
    args: &ReportArgs,
    minutes: &Range<i64>,
) -> io::Result<()> {
    let groupings = args.groupings();
    if args.json {
        let top = args.top.unwrap_or_default();
        return output::json(&TrafficFigures::new(minutes, figures, &groupings, top));
    }
    let mut out = io::stdout().lock();
    if args.csv {
        return write_csv(figures, &groupings, args.top.unwrap_or_default(), &mut out);
    }
    let [since, until] = [minutes.start, minutes.end].map(|minute| rfc3339(minute * MINUTE_MS));
    writeln!(out, "From {since} to {until}")?;
    let total = (By::Total, "Total");
    let others = groupings.iter().filter(|by| **by != By::Total);
    let titled = others.map(|by| (*by, by.as_str()));
    for (by, title) in [total].into_iter().chain(titled) {
        let top = if by == By::Total {
            0
        } else {
            args.top.unwrap_or(TOP)
        };
        Section::new(by.as_str(), title, "")
            .with_counts(figures.rows(by), figures.all(), top)
            .without(&["name", "source"])
            .write_text(&mut out)?;
    }
    out.flush()
}

fn path_filter(args: &ReportArgs) -> PathFilter {
    PathFilter {
        robot: args.robot.clone(),
        path: args.path.clone(),
    }
}

fn path_section(figures: &PathFigures, by: PathBy, top: usize) -> Section {
    let (rows, all) = figures.top(by.group(), top);
    let more = all - rows.len();
    let columns: Vec<_> = [by.word()].into_iter().chain(PATH_COLUMNS).collect();
    let mut section = Section::new("pages", "Most requested pages", "Numbers are approximate.")
        .with_columns(&columns)
        .with_rows(rows.iter().map(path_row));
    section.more = more;
    section
}

fn path_row(figure: &PathFigure) -> Vec<Cell> {
    let count = figure.count;
    let numbers = [
        count.requests,
        figure.more,
        figure.robots(),
        figure.people,
        count.redirects,
        count.client_errors,
        count.server_errors,
    ];
    let numbers = numbers.into_iter().map(Cell::Number);
    [Cell::text(&figure.name)]
        .into_iter()
        .chain(numbers)
        .collect()
}

/// Prints the requested paths, grouped by path, pattern or form.
fn print_paths(sums: PathSums, args: &ReportArgs) -> io::Result<()> {
    let minutes = sums.minutes.clone();
    let figures = PathFigures::new(sums, path_filter(args));
    let [since, until] =
        [minutes.start, minutes.end].map(|minute| rfc3339(minute.saturating_mul(MINUTE_MS)));
    let top = args.top.unwrap_or_default();
    if args.json {
        let mut all = Map::new();
        all.insert("since".to_owned(), since.into());
        all.insert("until".to_owned(), until.into());
        all.insert("total".to_owned(), figures.total().to_json("name"));
        for by in args.path_groupings() {
            let (rows, _) = figures.top(by.group(), top);
            let rows: Vec<_> = rows.iter().map(|row| row.to_json(by.word())).collect();
            all.insert(format!("{}s", by.word()), rows.into());
        }
        return output::json(&Value::Object(all));
    }
    if args.csv {
        return args.path_groupings().iter().try_for_each(|by| {
            let (rows, _) = figures.top(by.group(), top);
            output::text(&path_csv(by.word(), &rows))
        });
    }
    let total = figures.total();
    let bound = total.bound();
    let comma = if bound.is_empty() { "" } else { ", " };
    let requests = total.count.requests;
    output::line(&format!(
        "From {since} to {until}: about {requests} requests{comma}{bound}"
    ))?;
    let mut out = io::stdout().lock();
    for by in args.path_groupings() {
        path_section(&figures, by, args.top.unwrap_or(TOP)).write_text(&mut out)?;
    }
    out.flush()
}

/// Returns the possible reason why a report does not contain any paths.
fn path_hint(loaded: &Loaded, args: &ReportArgs) -> String {
    if loaded.settings().traffic.keep && !loaded.settings().traffic.paths {
        return "paths are not stored because traffic.paths is false".to_owned();
    }
    hint(loaded, args)
}

/// Returns the possible reason why a report is empty.
fn hint(loaded: &Loaded, args: &ReportArgs) -> String {
    if !loaded.settings().traffic.keep {
        return "traffic is not stored because traffic.keep is false".to_owned();
    }
    match &args.site {
        Some(site) => format!(
            "no requests were counted for {} in this period; to see all sites, use --by site",
            output::clean(site)
        ),
        None => "no requests were counted in this period; robot-detection serve counts the requests that it answers; \
                 to report about an access log, specify its file"
            .to_owned(),
    }
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

//! Runs a `traffic` command, and prints reports.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::cli::output::WrongUsage;
use crate::cli::summary::{self, SummaryForm};
use crate::cli::{Cli, context, output};
use crate::clock::Clock;
use crate::operations::{rfc3339, traffic::TrafficFigures};
use crate::traffic::{Figures, KnownRobots, TimesError, reported_range};

use super::{
    args::{ReportArgs, TrafficCommand},
    forget, import, paths,
};

const MINUTE_MS: i64 = 60_000;

pub(in crate::cli) async fn run(cli: &Cli, command: &TrafficCommand) -> anyhow::Result<ExitCode> {
    match command {
        TrafficCommand::Report(args) => report(cli, args).await,
        TrafficCommand::Import(args) => import::run(cli, args).await,
        TrafficCommand::Forget(args) => forget::run(cli, args).await,
    }
}

async fn report(cli: &Cli, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(text) = args.contradiction() {
        return Err(WrongUsage(text.to_owned()).into());
    }
    let loaded = context::load(cli)?;
    let detector = context::detector(&loaded).await?;
    let store = context::store(&loaded).await?;
    let now_ms = Clock::system().now_ms();
    let minutes = match args.times().minutes(&store, now_ms).await {
        Err(error @ TimesError::Backwards) => return Err(WrongUsage(error.to_string()).into()),
        minutes => minutes?,
    };
    if !args.path_groupings().is_empty() {
        let site = args.site.as_deref();
        let sums = store.traffic().paths(minutes, site, now_ms).await?;
        store.close().await;
        let is_empty = sums.rows.is_empty();
        paths::print(sums, args)?;
        if is_empty {
            output::note(&path_hint(&loaded, args));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let sums = store.traffic().read(minutes.clone(), now_ms).await?;
    store.close().await;
    let figures = Figures::new(sums, &args.filter(), KnownRobots::new(&detector));
    let (form, groupings) = (args.form(), args.groupings());
    let told = reported_range(&minutes, now_ms);
    if form == SummaryForm::Json {
        let top = args.top.unwrap_or_default();
        output::json(&TrafficFigures::new(&told, &figures, &groupings, top))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = io::stdout().lock();
    if form == SummaryForm::Table {
        let [since, until] = [told.start, told.end].map(|minute| rfc3339(minute * MINUTE_MS));
        writeln!(out, "From {since} to {until}\n")?;
    }
    summary::write(&figures, form, &groupings, args.top, &mut out)?;
    out.flush()?;
    if figures.sums().next().is_none() {
        output::note(&hint(&loaded, args));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the possible reason why a report does not contain any paths.
fn path_hint(loaded: &crate::config::Loaded, args: &ReportArgs) -> String {
    if loaded.settings().traffic.keep && !loaded.settings().traffic.paths {
        return "paths are not stored because traffic.paths is false".to_owned();
    }
    hint(loaded, args)
}

/// Returns the possible reason why a report is empty.
fn hint(loaded: &crate::config::Loaded, args: &ReportArgs) -> String {
    if !loaded.settings().traffic.keep {
        return "traffic is not stored because traffic.keep is false".to_owned();
    }
    match &args.site {
        Some(site) => format!(
            "no requests were counted for {} in this period; to see all sites, use --by site",
            output::clean(site)
        ),
        None => "no requests were counted in this period; robot-detection serve counts the requests that it answers"
            .to_owned(),
    }
}

//! From the arguments to a report.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use crate::admin::rfc3339;
use crate::cli::{
    Cli, context, output,
    summary::{self, SummaryForm},
    usage::WrongUsage,
};
use crate::clock::Clock;
use crate::traffic::{Figures, KnownRobots, TimesError, told};

use super::{
    args::{ReportArgs, TrafficCommand},
    import,
};

const MINUTE_MS: i64 = 60_000;

pub(in crate::cli) async fn run(cli: &Cli, command: &TrafficCommand) -> anyhow::Result<ExitCode> {
    match command {
        TrafficCommand::Report(args) => report(cli, args).await,
        TrafficCommand::Import(args) => import::run(cli, args).await,
    }
}

async fn report(cli: &Cli, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if args.csv && args.by.len() > 1 {
        let text = "--csv prints one table; name one with --by, or use --json";
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
    let sums = store.traffic(minutes.clone(), now_ms).await?;
    store.close().await;
    let figures = Figures::new(sums, &args.filter(), KnownRobots::new(&detector));
    let mut out = io::stdout().lock();
    let (form, groupings) = (args.form(), args.groupings());
    if form == SummaryForm::Table {
        let told = told(&minutes, now_ms);
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

/// Returns why there may be nothing to tell of.
fn hint(loaded: &crate::config::Loaded, args: &ReportArgs) -> String {
    if !loaded.settings().traffic.keep {
        return "nothing is kept: traffic.keep is false".to_owned();
    }
    match &args.site {
        Some(site) => format!(
            "nothing was counted of {} in that time; see --by site",
            output::clean(site)
        ),
        None => "nothing was counted in that time; robot-detection serve counts what it answers"
            .to_owned(),
    }
}

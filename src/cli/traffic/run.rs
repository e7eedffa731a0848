//! From the arguments to a report.

use std::{
    io::{self, Write as _},
    ops::Range,
    process::ExitCode,
};

use crate::admin::rfc3339;
use crate::cli::{
    Cli, context, output,
    summary::{self, SummaryForm},
    usage::WrongUsage,
};
use crate::clock::Clock;
use crate::store::{Store, TrafficSpan};

use super::{
    args::{ReportArgs, TrafficCommand},
    figures::Figures,
    import, paths,
};

const MINUTE_MS: i64 = 60_000;

pub(in crate::cli) async fn run(cli: &Cli, command: &TrafficCommand) -> anyhow::Result<ExitCode> {
    match command {
        TrafficCommand::Report(args) => report(cli, args).await,
        TrafficCommand::Import(args) => import::run(cli, args).await,
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
    let minutes = minutes(&store, args, now_ms).await?;
    if !args.path_groupings().is_empty() {
        let site = args.site.as_deref();
        let sums = store.traffic_paths(minutes, site, now_ms).await?;
        store.close().await;
        let is_empty = sums.rows.is_empty();
        paths::print(sums, args)?;
        if is_empty {
            output::note(&path_hint(&loaded, args));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut sums = store.traffic(minutes.clone(), now_ms).await?;
    store.close().await;
    if let Some(site) = &args.site {
        sums.retain(|sum| sum.key.site == *site);
    }
    let is_empty = sums.is_empty();
    let figures = Figures::new(sums, &detector);
    let mut out = io::stdout().lock();
    let (form, groupings) = (args.form(), args.groupings());
    if form == SummaryForm::Table {
        writeln!(out, "{}\n", told(&minutes, now_ms))?;
    }
    summary::write(&figures, form, &groupings, args.top, &mut out)?;
    out.flush()?;
    if is_empty {
        output::note(&hint(&loaded, args));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the minutes that are asked for.
async fn minutes(store: &Store, args: &ReportArgs, now_ms: i64) -> anyhow::Result<Range<i64>> {
    let first = store.first_day_of_traffic().await?;
    // The minute that has begun is counted too.
    let now = now_ms.div_euclid(MINUTE_MS) + 1;
    let first = first.unwrap_or(now);
    let until = args.until.map_or(now, |until| until.minute(now, first));
    let since = args.since.minute(now, first.min(until));
    if since > until {
        let text = "--since is later than --until: nothing is between them";
        return Err(WrongUsage(text.to_owned()).into());
    }
    // Nothing was counted before; who asks for the year 1970 waits for no half a million pieces.
    let bounded = |minute: i64| minute.clamp(first.min(now), now);
    Ok(bounded(since)..bounded(until))
}

/// Returns the time that is told of, which grows where only whole hours or days are kept.
fn told(minutes: &Range<i64>, now_ms: i64) -> String {
    let pieces = TrafficSpan::cover(minutes.clone(), now_ms.div_euclid(MINUTE_MS));
    let since = pieces
        .first()
        .map_or(minutes.start, |(_, piece)| piece.start);
    let until = pieces.last().map_or(minutes.end, |(_, piece)| piece.end);
    let [since, until] = [since, until].map(|minute| rfc3339(minute.saturating_mul(MINUTE_MS)));
    format!("From {since} to {until}")
}

/// Returns why there may be no path to tell of.
fn path_hint(loaded: &crate::config::Loaded, args: &ReportArgs) -> String {
    if loaded.settings().traffic.keep && !loaded.settings().traffic.paths {
        return "no paths are kept: traffic.paths is false".to_owned();
    }
    hint(loaded, args)
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

//! `site-robot run`: visits a site until all of its pages are described.

use std::{io::IsTerminal as _, process::ExitCode, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::app::{RunResult, SiteRobotChanges, SiteRobotRuns, heaven_use};
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::heaven::HeavenError;
use crate::operations::HeavenUse;
use crate::site_robot::{OnCompletion, Progress, SiteRobotError, Summary};
use crate::store::{LeaseError, RunCounts, RunState, StoreError};

use super::{
    args::{RefreshPagesArgs, VisitArgs},
    command_context::CommandContext,
    handover::{self, HandoverResult},
    reasons::{Reason, print_reasons, reasons},
};

/// The interval for redrawing the progress bar.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// The maximum duration of a database outage before a run fails.
const LONGEST_OUTAGE: Duration = Duration::from_mins(10);

/// The duration after which an attempt to resume is assumed to have reached the database.
const LONGEST_FAILURE: Duration = Duration::from_mins(1);

/// The pause between attempts to resume a run.
const RETRY: Duration = Duration::from_secs(1);

/// The exit code after a second Ctrl-C: 128 + SIGINT, as shells report it.
pub(in crate::cli) const INTERRUPTED: u8 = 130;

/// Options for a run of the site robot.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct RunOptions<'a> {
    /// The name of the site.
    pub(in crate::cli) site: &'a str,
    /// Whether the results are printed as JSON.
    pub(in crate::cli) is_json: bool,
    /// Whether a server with different settings reloads its configuration before the run.
    pub(in crate::cli) reload: bool,
}

/// A hint to print if no page was described.
const UNKNOWN_SITE_NOTE: &str = "note: these URLs do not belong to a configured site; if robots are \
                       redirected there, set site_robot.starting_points or server.hosts, so that the \
                       site robot may pass";

pub(super) async fn run(context: &CommandContext, args: &VisitArgs) -> anyhow::Result<ExitCode> {
    let delay = args.delay.map(Duration::try_from_secs_f64).transpose();
    let mut changes = SiteRobotChanges::default();
    changes.urls.clone_from(&args.urls);
    // -1 means no limit, as in site_robot.depth.
    changes.depth = args.depth.map(|depth| u32::try_from(depth).ok());
    changes.delay = delay.map_err(|error| WrongUsage(format!("--delay: {error}")))?;
    changes.only_below.clone_from(&args.only_below);
    changes.robot_conf.clone_from(&args.robot_conf);
    changes.filter_conf.clone_from(&args.filter_conf);
    changes.publish.clone_from(&args.publish);
    changes.accept = args.accept;
    let runs = context.runs(&args.site, &changes).await?;
    let heaven = heaven_use(&context.loaded, &args.site, args.publish.as_deref());
    if args.fresh {
        context
            .store
            .frontier()
            .abandon_run(&args.site, CommandContext::now_ms())
            .await?;
    }
    loop {
        let manner = RunOptions::of(&args.site, args.json);
        let Some(ran) = run_anywhere(context, manner, &changes, &runs).await? else {
            return Ok(ExitCode::from(INTERRUPTED));
        };
        let reasons = reasons(&context.store, &ran).await?;
        print(&ran, &reasons, &heaven, args.json)?;
        if described(&ran.summary.counts) == 0 && !runs.stays_on_own_sites() {
            output::note(UNKNOWN_SITE_NOTE);
        }
        // A run that was stopped or held for review requires an administrator, so no further rounds
        // follow.
        let is_finished = ran.summary.state == RunState::Finished;
        if !is_finished || runs.on_completion() != OnCompletion::Loop {
            return Ok(exit_code(&ran, ran.summary.is_good()));
        }
        if !pause(&runs).await? {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

impl<'a> RunOptions<'a> {
    fn of(site: &'a str, is_json: bool) -> Self {
        Self {
            site,
            is_json,
            reload: false,
        }
    }
}

/// Revisits the pages given on the command line.
pub(super) async fn refresh(
    context: &CommandContext,
    args: &RefreshPagesArgs,
) -> anyhow::Result<ExitCode> {
    let mut changes = SiteRobotChanges::default();
    changes.only.clone_from(&args.urls);
    let runs = context.runs(&args.site, &changes).await?;
    let manner = RunOptions::of(&args.site, args.json);
    let Some(ran) = run_anywhere(context, manner, &changes, &runs).await? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let heaven = heaven_use(&context.loaded, &args.site, None);
    let reasons = reasons(&context.store, &ran).await?;
    print(&ran, &reasons, &heaven, args.json)?;
    Ok(exit_code(&ran, ran.summary.state == RunState::Finished))
}

/// Returns the exit code for a run that succeeded or failed.
fn exit_code(ran: &RunResult, is_good: bool) -> ExitCode {
    if is_good && ran.hook_failure.is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs the site robot in a server or in this process; returns `None` after a second Ctrl-C.
pub(in crate::cli) async fn run_anywhere(
    context: &CommandContext,
    manner: RunOptions<'_>,
    changes: &SiteRobotChanges,
    runs: &SiteRobotRuns,
) -> anyhow::Result<Option<RunResult>> {
    let ran = match handover::run(context, manner, changes).await? {
        HandoverResult::Ran(ran) => Some(*ran),
        HandoverResult::Interrupted => None,
        HandoverResult::NotTaken => run_with_bar(runs, manner.is_json).await?,
    };
    if ran.is_none() {
        output::note("interrupted; to resume the run, repeat the command");
    }
    Ok(ran)
}

/// Waits for the next round; returns `false` if Ctrl-C is pressed.
async fn pause(runs: &SiteRobotRuns) -> anyhow::Result<bool> {
    let now_ms = CommandContext::now_ms();
    let pause_ms = runs.next_round_ms(now_ms).saturating_sub(now_ms);
    let pause = Duration::from_millis(u64::try_from(pause_ms).unwrap_or(0));
    let minutes = pause.as_secs().div_ceil(60);
    output::note(&format!(
        "the next round starts in {minutes} min (onCompletion=loop, site_robot.schedule); press Ctrl-C to exit"
    ));
    tokio::select! {
        () = tokio::time::sleep(pause) => Ok(true),
        stopped = tokio::signal::ctrl_c() => stopped.map(|()| false).map_err(Into::into),
    }
}

/// Runs the site robot with a progress bar.
///
/// Ctrl-C stops the run after the active visits; a second Ctrl-C interrupts the run immediately.
async fn run_with_bar(runs: &SiteRobotRuns, is_json: bool) -> anyhow::Result<Option<RunResult>> {
    let handle = runs.robot().handle();
    let bar = bar(is_json);
    let running = run_through_outages(runs);
    tokio::pin!(running);
    let mut redraw = tokio::time::interval(REDRAW_INTERVAL);
    // One future is used for all rounds; a new future for each round would miss signals in between.
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    let mut is_stopping = false;
    let ran = loop {
        tokio::select! {
            ran = &mut running => break Some(ran?),
            _ = redraw.tick() => draw(&bar, &handle.progress()),
            stopped = &mut interrupted => {
                stopped?;
                if is_stopping {
                    break None;
                }
                interrupted.set(tokio::signal::ctrl_c());
                is_stopping = true;
                handle.stop();
                bar.suspend(|| output::note("stopping; press Ctrl-C again to exit immediately"));
            }
        }
    };
    bar.finish_and_clear();
    Ok(ran)
}

/// Runs the site robot to the end; after a database outage, resumes the run when the database is
/// available.
async fn run_through_outages(runs: &SiteRobotRuns) -> anyhow::Result<RunResult> {
    let mut away: Option<Instant> = None;
    loop {
        let began = Instant::now();
        let error = match runs.run().await {
            Err(error) if is_outage(&error) => error,
            ran => return ran,
        };
        // An attempt that took longer is assumed to have reached the database.
        let since = away.filter(|_| began.elapsed() < LONGEST_FAILURE);
        if since.is_none() {
            output::note(&format!(
                "the run will resume when the database is available again: {error}"
            ));
        }
        let since = *away.insert(since.unwrap_or_else(Instant::now));
        if since.elapsed() > LONGEST_OUTAGE {
            return Err(error);
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Returns `true` if the database is unavailable or busy.
pub(super) fn is_outage(error: &anyhow::Error) -> bool {
    let store = match error.downcast_ref() {
        Some(SiteRobotError::Store(store)) => Some(store),
        _ => match (error.downcast_ref(), error.downcast_ref()) {
            (Some(HeavenError::Store(store)), _) | (_, Some(LeaseError::Store(store))) => {
                Some(store)
            }
            _ => error.downcast_ref(),
        },
    };
    store.is_some_and(StoreError::is_temporary)
}

pub(super) fn bar(is_json: bool) -> ProgressBar {
    if is_json || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

pub(super) fn draw(bar: &ProgressBar, progress: &Progress) {
    let counts = progress.counts;
    bar.tick();
    bar.set_message(format!(
        "{} visited of {} found, {} described, {:.0}/s  {}",
        counts.fetched,
        counts.found,
        described(&counts),
        progress.rate(),
        output::clean(&progress.last_url),
    ));
}

fn described(counts: &RunCounts) -> u64 {
    counts.added + counts.changed + counts.same + counts.unmodified
}

/// Prints the errors and warnings from a run.
pub(in crate::cli) fn print_problems(ran: &RunResult) {
    for (url, outcome) in &ran.summary.failed_starts {
        let (url, outcome) = (output::clean(url), output::clean(outcome));
        output::note(&format!("error: {url} failed: {outcome}"));
    }
    for (url, reason) in &ran.summary.undescribed_starts {
        let (url, reason) = (output::clean(url), output::clean(reason));
        output::note(&format!(
            "warning: the starting point {url} is not described: {reason}"
        ));
    }
    if let Some(held) = &ran.summary.held {
        let held = output::clean(held);
        output::note(&format!(
            "error: the results are held for review, and robot heaven is unchanged: {held}; \
             to publish them, run site-robot run --accept"
        ));
    }
    let without = &ran.summary.without_words;
    if let Some((url, why)) = without.first() {
        let (url, why) = (output::clean(url), output::clean(why));
        output::note(&format!(
            "warning: {} pages have no text and are not described, such as {url}: {why}; \
             to list all of these pages, use --json",
            without.len(),
        ));
    }
    if let Some(parity) = &ran.parity
        && let Some(first) = &parity.first
    {
        let (url, sentence) = (output::clean(&first.url), output::clean(&first.sentence));
        let withdrawn = parity.withdrawn;
        output::note(&format!(
            "warning: {} of {} compared heaven pages contain text that is missing from the original pages \
             (withdrawn: {withdrawn}), such as {url}: {sentence}",
            parity.differing, parity.compared,
        ));
        if let Some(held) = &parity.held {
            output::note(&format!(
                "warning: no page was withdrawn: {}",
                output::clean(held)
            ));
        }
    }
    if ran.summary.missing > 0 {
        output::note(&format!(
            "warning: for {} of {} heaven pages, the original page did not respond; these heaven pages are kept until the originals are known to be \
             deleted",
            ran.summary.missing, ran.summary.shown
        ));
    }
}

pub(in crate::cli) fn print(
    ran: &RunResult,
    reasons: &[Reason],
    heaven: &HeavenUse,
    is_json: bool,
) -> std::io::Result<()> {
    print_problems(ran);
    if is_json {
        return output::json(&object(ran, reasons, heaven));
    }
    let Summary {
        site,
        run_id,
        state,
        counts,
        elapsed,
        ..
    } = &ran.summary;
    let seconds = elapsed.as_secs_f64();
    let end = match state {
        RunState::Finished => "finished",
        RunState::Held => "held for review",
        _ => "stopped; to resume, repeat the command",
    };
    let site = output::clean(site);
    output::line(&format!("run {run_id} of {site}: {end}, {seconds:.1} s"))?;
    for line in lines(counts) {
        output::line(&line)?;
    }
    print_reasons(reasons)?;
    if let Some(published) = &ran.published {
        output::line(&format!(
            "heaven: {} pages; {} files written, {} unchanged",
            published.pages, published.written, published.unchanged,
        ))?;
    }
    if !matches!(heaven, HeavenUse::Published(_)) {
        output::line(&output::clean(&format!("descriptions: {heaven}")))?;
    }
    if let Some(failure) = &ran.hook_failure {
        output::note(&format!("error: cmd-hook: {}", output::clean(failure)));
    }
    Ok(())
}

/// Returns the counts of a run as two lines of text.
pub(super) fn lines(counts: &RunCounts) -> [String; 2] {
    [
        format!(
            "{} URLs found, {} responses, {} bytes, {} unmodified, {} failed",
            counts.found, counts.fetched, counts.bytes, counts.unmodified, counts.failed,
        ),
        format!(
            "descriptions: {} new, {} changed, {} unchanged, {} withdrawn, {} not described",
            counts.added, counts.changed, counts.same, counts.withdrawn, counts.rejected,
        ),
    ]
}

pub(in crate::cli) fn object(ran: &RunResult, reasons: &[Reason], heaven: &HeavenUse) -> Value {
    let summary = &ran.summary;
    let pairs = |pairs: &[(String, String)]| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(url, reason)| json!({"url": url, "reason": reason}));
        pairs.collect::<Vec<_>>()
    };
    let mut object = json!({
        "site": summary.site,
        "run": summary.run_id,
        "state": summary.state.as_str(),
        "resumed": summary.is_resumed,
        "without_words": pairs(&summary.without_words),
        "undescribed_starts": pairs(&[&*summary.failed_starts, &summary.undescribed_starts].concat()),
        "not_described": reasons.iter().map(Reason::value).collect::<Vec<_>>(),
        "elapsed_ms": u64::try_from(summary.elapsed.as_millis()).unwrap_or(u64::MAX),
        "heaven": ran.published.as_ref().map(|published| json!({
            "pages": published.pages,
            "written": published.written,
            "unchanged": published.unchanged,
            "changed": published.is_changed,
        })),
        "heaven_source": heaven.as_str(),
        "parity": ran.parity,
        "hook_failure": ran.hook_failure,
        "held": summary.held,
        "missing": summary.missing,
    });
    add_counts(&mut object, &summary.counts);
    object
}

/// Adds the counts of a run to a JSON object.
pub(super) fn add_counts(object: &mut Value, counts: &RunCounts) {
    let pairs = [
        ("found", counts.found),
        ("fetched", counts.fetched),
        ("unmodified", counts.unmodified),
        ("bytes", counts.bytes),
        ("added", counts.added),
        ("changed", counts.changed),
        ("same", counts.same),
        ("withdrawn", counts.withdrawn),
        ("rejected", counts.rejected),
        ("failed", counts.failed),
    ];
    if let Some(object) = object.as_object_mut() {
        object.extend(pairs.map(|(name, count)| (name.to_owned(), count.into())));
    }
}

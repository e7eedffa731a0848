//! Hands a run over to a running server, and shows the progress.

use std::time::Duration;

use crate::app::{Handover, HandoverState, RunResult, SiteRobotChanges};
use crate::cli::output;

use super::{
    command_context::CommandContext,
    visit::{RunOptions, bar, draw, is_outage},
};

/// The interval at which the progress of the run is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The result of handing a run over to a server.
pub(super) enum HandoverResult {
    Ran(Box<RunResult>),
    /// The user pressed Ctrl-C twice, to stop waiting for the run to finish.
    Interrupted,
    /// No server accepted the run.
    NotTaken,
}

/// Hands over a run and shows its progress; Ctrl-C stops the run, and a second Ctrl-C ends the
/// wait.
pub(super) async fn run(
    context: &CommandContext,
    manner: RunOptions<'_>,
    changes: &SiteRobotChanges,
) -> anyhow::Result<HandoverResult> {
    let RunOptions {
        site,
        is_json,
        reload,
    } = manner;
    let placed = Handover::place(&context.loaded, &context.store, site, changes, reload);
    let Some(mut handover) = placed.await? else {
        return Ok(HandoverResult::NotTaken);
    };
    let bar = bar(is_json);
    let mut polls = tokio::time::interval(POLL_INTERVAL);
    // One future is used for all polls; a new future for each poll would miss signals in between.
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    let (mut is_stopping, mut is_going) = (false, false);
    let result = loop {
        tokio::select! {
            _ = polls.tick() => match handover.look().await.or_else(going_on)? {
                HandoverState::Going(progress) => {
                    if !std::mem::replace(&mut is_going, true) {
                        bar.suspend(|| output::note("a running server is visiting the site; press Ctrl-C to stop the run"));
                    }
                    draw(&bar, &progress);
                }
                HandoverState::Ran(ran) => {
                    if !is_going {
                        output::note("a running server has visited the site");
                    }
                    break HandoverResult::Ran(ran);
                }
                HandoverState::Failed(reason) => anyhow::bail!("{}", output::clean(&reason)),
                HandoverState::Declined(reason) => {
                    tell_declined(reason.as_deref());
                    break HandoverResult::NotTaken;
                }
                _ => {}
            },
            stopped = &mut interrupted => {
                stopped?;
                interrupted.set(tokio::signal::ctrl_c());
                // A request that no server has accepted is withdrawn; a run in progress is stopped
                // first.
                if is_stopping || handover.take_back().await? {
                    break HandoverResult::Interrupted;
                }
                is_stopping = true;
                handover.stop().await?;
                bar.suspend(|| output::note("stopping; press Ctrl-C again to exit without waiting"));
            }
        }
    };
    bar.finish_and_clear();
    Ok(result)
}

/// Continues to wait if the database is unavailable, because the server will resume the run.
fn going_on(error: impl Into<anyhow::Error>) -> anyhow::Result<HandoverState> {
    let error = error.into();
    if is_outage(&error) {
        return Ok(HandoverState::Waiting);
    }
    Err(error)
}

fn tell_declined(reason: Option<&str>) {
    let reason = reason.unwrap_or("no server accepted the run");
    let reason = output::clean(reason);
    output::note(&format!("{reason}; this process visits the site instead"));
}

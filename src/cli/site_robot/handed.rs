//! A run is handed over to a running server, and shown here as it goes.

use std::time::Duration;

use crate::app::{Handed, Handover, Ran, SiteRobotChanges};
use crate::cli::output;

use super::{
    args::VisitArgs,
    opened::Opened,
    visit::{bar, draw},
};

/// How often it is looked how the run goes.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What came of handing a run over.
pub(super) enum Handing {
    Ran(Box<Ran>),
    /// Somebody does not want to wait for its end.
    Interrupted,
    /// No server does it.
    NotTaken,
}

/// Hands a run over, and shows it; Ctrl-C stops the run, and a second one the waiting.
pub(super) async fn run(
    opened: &Opened,
    args: &VisitArgs,
    changes: &SiteRobotChanges,
) -> anyhow::Result<Handing> {
    let placed = Handover::place(&opened.loaded, &opened.store, &args.site, changes);
    let Some(mut handover) = placed.await? else {
        return Ok(Handing::NotTaken);
    };
    let bar = bar(args.json);
    let mut looks = tokio::time::interval(LOOK_EVERY);
    // Kept between two looks: none of its signals is missed.
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    let (mut is_stopping, mut is_going) = (false, false);
    let handing = loop {
        tokio::select! {
            _ = looks.tick() => match handover.look().await? {
                Handed::Going(progress) => {
                    if !std::mem::replace(&mut is_going, true) {
                        bar.suspend(|| output::note("a running server visits; Ctrl-C stops it"));
                    }
                    draw(&bar, &progress);
                }
                Handed::Ran(ran) => {
                    if !is_going {
                        output::note("a running server has visited");
                    }
                    break Handing::Ran(ran);
                }
                Handed::Failed(reason) => anyhow::bail!("{}", output::clean(&reason)),
                Handed::Declined(reason) => {
                    tell_declined(reason.as_deref());
                    break Handing::NotTaken;
                }
                _ => {}
            },
            stopped = &mut interrupted => {
                stopped?;
                interrupted.set(tokio::signal::ctrl_c());
                if is_stopping || handover.take_back().await? {
                    break Handing::Interrupted;
                }
                is_stopping = true;
                handover.stop().await?;
                bar.suspend(|| output::note("stopping; Ctrl-C again does not wait for it"));
            }
        }
    };
    bar.finish_and_clear();
    Ok(handing)
}

fn tell_declined(reason: Option<&str>) {
    let reason = reason.unwrap_or("no server took it over");
    let reason = output::clean(reason);
    output::note(&format!("{reason}: this process visits"));
}

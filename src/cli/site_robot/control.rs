//! `site-robot status`, `pause`, `resume`, `stop` and `clear`.
//!
//! All commands act through the database, so that they control a run in any process.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, IsTerminal as _},
    process::ExitCode,
};

use serde_json::{Value, json};

use crate::app::heaven_use;
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::operations::HeavenUse;
use crate::store::{DescriptionCounts, RunCommand, StoredRun};

use super::{
    args::{ClearArgs, SiteArgs, StatusArgs},
    command_context::CommandContext,
    visit::{add_counts, lines},
};

/// Prints the current or most recent run of each site.
pub(super) async fn status(
    context: &CommandContext,
    args: &StatusArgs,
) -> anyhow::Result<ExitCode> {
    let mut sites = Vec::new();
    for site in known_sites(context, args.site.as_deref()).await? {
        let last = context
            .store
            .frontier()
            .runs(&site, 1)
            .await?
            .into_iter()
            .next();
        let count = context.store.descriptions().count(&site).await?;
        let states = context
            .store
            .publications()
            .description_states(&site)
            .await?;
        let heaven = heaven_use(&context.loaded, &site, None);
        sites.push((site, last, (count, states), heaven));
    }
    if args.json {
        let objects = sites
            .iter()
            .map(|(site, last, counts, heaven)| object(site, last.as_ref(), *counts, heaven));
        output::json(&objects.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for (site, last, (count, states), heaven) in &sites {
        let site = output::clean(site);
        match last {
            None => output::line(&format!("{site}: never run; {count} descriptions"))?,
            Some(run) => {
                let (id, word) = (run.run_id, word(run));
                output::line(&format!("{site}: run {id} is {word}; {count} descriptions"))?;
                for line in lines(&run.counts) {
                    output::line(&format!("  {line}"))?;
                }
                if let Some(held) = &run.held {
                    let held = output::clean(held);
                    output::line(&format!(
                        "  held for review: {held}; to publish the results, use --accept"
                    ))?;
                }
            }
        }
        if *states != DescriptionCounts::default() {
            output::line(&format!(
                "  {} more are hidden, {} did not respond and are kept, {} are permanently withdrawn",
                states.hidden, states.missing, states.kept_out,
            ))?;
        }
        output::line(&output::clean(&format!("  descriptions: {heaven}")))?;
    }
    if sites.is_empty() {
        output::note("no site robot is configured or has ever run");
    }
    Ok(ExitCode::SUCCESS)
}

/// Requests a change of state from the process that executes a site's run.
pub(super) async fn request(
    context: &CommandContext,
    args: &SiteArgs,
    wanted: RunCommand,
) -> anyhow::Result<ExitCode> {
    let site = output::clean(&args.site);
    if !context
        .store
        .frontier()
        .set_run_command(&args.site, wanted)
        .await?
    {
        output::note(&format!("error: no run of {site} is in progress"));
        return Ok(ExitCode::FAILURE);
    }
    output::line(&match wanted {
        RunCommand::Run => {
            format!("{site}: resume requested; takes effect if a process is executing the run")
        }
        RunCommand::Pause => format!("{site}: paused"),
        RunCommand::Stop => format!("{site}: stopped; the next run resumes it"),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Deletes all site robot data for a site, including descriptions.
pub(super) async fn clear(context: &CommandContext, args: &ClearArgs) -> anyhow::Result<ExitCode> {
    let site = output::clean(&args.site);
    if !args.yes && !is_confirmed(&site)? {
        output::note("nothing was cleared");
        return Ok(ExitCode::FAILURE);
    }
    // A site robot that is still running would write the deleted data again.
    context
        .store
        .frontier()
        .set_run_command(&args.site, RunCommand::Stop)
        .await?;
    context
        .store
        .frontier()
        .abandon_run(&args.site, CommandContext::now_ms())
        .await?;
    let cleared = context.store.frontier().clear_site(&args.site).await?;
    output::line(&format!("{site}: cleared, {cleared} descriptions deleted"))?;
    Ok(ExitCode::SUCCESS)
}

fn is_confirmed(site: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        let text = "clear requires confirmation, but there is no terminal: add --yes";
        return Err(WrongUsage(text.to_owned()).into());
    }
    output::note(&format!(
        "Delete all descriptions, URLs and runs of {site}? yes or no"
    ));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "yes" | "y"))
}

async fn known_sites(
    context: &CommandContext,
    one: Option<&str>,
) -> anyhow::Result<BTreeSet<String>> {
    if let Some(site) = one {
        return Ok([site.to_owned()].into());
    }
    let mut sites = BTreeSet::from_iter(context.store.descriptions().sites().await?);
    // A run that was interrupted early may not have produced descriptions.
    sites.extend(context.store.frontier().run_sites().await?);
    let configured = crate::app::site_robots(&context.loaded)?;
    sites.extend(configured.iter().map(|settings| settings.site().to_owned()));
    Ok(sites)
}

/// Returns a word or phrase that describes the state of a run.
fn word(run: &StoredRun) -> &'static str {
    match (run.finished_ms, run.wanted) {
        (Some(_), _) => run.state.as_str(),
        (None, RunCommand::Run) => "running, or was interrupted",
        (None, RunCommand::Pause) => "paused",
        (None, RunCommand::Stop) => "stopped",
    }
}

fn object(
    site: &str,
    last: Option<&StoredRun>,
    (descriptions, states): (u64, DescriptionCounts),
    heaven: &HeavenUse,
) -> Value {
    let run = last.map(|run| {
        let mut object = json!({
            "run": run.run_id,
            "state": run.state.as_str(),
            "wanted": run.wanted.as_str(),
            "started_ms": run.started_ms,
            "finished_ms": run.finished_ms,
            "held": run.held,
        });
        add_counts(&mut object, &run.counts);
        object
    });
    json!({
        "site": site,
        "descriptions": descriptions,
        "hidden": states.hidden,
        "missing": states.missing,
        "kept_out": states.kept_out,
        "heaven_source": heaven.as_str(),
        "last_run": run,
    })
}

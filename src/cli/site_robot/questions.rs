//! `site-robot explain` and `parity`: explains visits, and compares heaven pages with original
//! pages.

use std::process::ExitCode;

use serde_json::json;

use crate::app::{Disparity, SiteRobotChanges};
use crate::cli::output;
use crate::site_robot::Explanation;

use super::{
    args::{ExplainUrlArgs, ParityArgs},
    command_context::CommandContext,
};

pub(super) async fn explain(
    context: &CommandContext,
    args: &ExplainUrlArgs,
) -> anyhow::Result<ExitCode> {
    let runs = context.runs_for(&args.site, &args.url).await?;
    let explanation = runs.robot().explain(&args.url).await?;
    if args.json {
        print_json(&explanation)?;
    } else {
        for line in explanation.to_string().lines() {
            output::line(&output::clean(line))?;
        }
    }
    Ok(if explanation.is_visited() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print_json(explanation: &Explanation) -> std::io::Result<()> {
    let steps = explanation.steps.iter().map(|step| {
        json!({
            "step": step.step.to_string(),
            "continues": step.goes_on,
            "reason": step.reason,
        })
    });
    let known = explanation.known.as_ref().map(|known| {
        json!({
            "state": known.state,
            "depth": known.depth,
            "found_on": known.found_on,
            "status": known.status,
            "outcome": known.outcome,
            "described": known.is_described,
            "fetched_ms": known.fetched_ms,
        })
    });
    output::json(&json!({
        "url": explanation.url,
        "would_visit": explanation.is_visited(),
        "steps": steps.collect::<Vec<_>>(),
        "last_visit": known,
    }))
}

pub(super) async fn parity(
    context: &CommandContext,
    args: &ParityArgs,
) -> anyhow::Result<ExitCode> {
    // If the site is not configured, such as after an import, only its descriptions are known.
    let first = context.first_described(&args.site).await?;
    let runs = if let Some(url) = first {
        context.runs_for(&args.site, &url).await?
    } else {
        let none = SiteRobotChanges::default();
        context.runs(&args.site, &none).await?
    };
    let parity = runs.parity(args.sample).await?;
    if args.json {
        let disparities = parity.disparities.iter().map(
            |found| json!({"url": found.url, "reason": found.reason, "sentences": found.sentences}),
        );
        output::json(&json!({
            "compared": parity.compared,
            "left_out": parity.left_out,
            "disparities": disparities.collect::<Vec<_>>(),
        }))?;
    } else {
        parity.disparities.iter().try_for_each(print)?;
        output::line(&format!(
            "{} pages compared, {} differ, {} are neither HTML nor text",
            parity.compared,
            parity.disparities.len(),
            parity.left_out,
        ))?;
    }
    Ok(if parity.disparities.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(found: &Disparity) -> std::io::Result<()> {
    output::line(&output::clean(&format!("{}: {}", found.url, found.reason)))?;
    for sentence in &found.sentences {
        output::line(&format!(
            "  missing from the original page: {}",
            output::clean(sentence)
        ))?;
    }
    Ok(())
}

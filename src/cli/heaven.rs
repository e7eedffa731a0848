//! `heaven`: sets up robot heaven, rolls back a publication, previews a page.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::app::{SiteRobotChanges, SiteRobotRuns, SiteRobotSettings};

use super::{
    Cli,
    heaven_preview::{self, PreviewArgs},
    heaven_start::{self, StartArgs},
    output,
    site_robot::CommandContext,
};

/// Subcommands of the `heaven` command.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum HeavenCommand {
    /// Set up robot heaven for a proxied site, and check that robots are redirected to it
    #[command(
        after_help = "Requests the site, adds missing settings to the configuration file (starting points, schedule,
heaven) without changing other lines, reloads a running server, runs the site robot, and requests
a page as Googlebot would. If the command is run again, it writes nothing, and the site robot visits
only changed pages.

Exit code: 0 robots are redirected to heaven, or will be once a server is running; 1 robots are not redirected, or no
page was described; 2 wrong usage or configuration, nothing was written

Examples: robot-detection heaven start --dry-run
          robot-detection heaven start https://www.example.com/members/"
    )]
    Start(StartArgs),
    /// Roll back the most recent publication; run the command again to undo the rollback
    #[command(
        after_help = "Pages, lists, feeds and exports immediately return to their state before the most recent publication.
The next run downloads these pages again in full and publishes them.

Exit code: 0 done, 1 there is nothing to roll back

Example: robot-detection heaven undo --site shop"
    )]
    Undo(UndoArgs),
    /// Preview the heaven page for an HTML file
    #[command(
        after_help = "Processes the page with the bundled generation filter and prints the page as heaven would show it.
Nothing is downloaded or stored; links keep their original targets.

Exit code: 0 done, 1 the filter does not accept the page, or the file cannot be read

Example: robot-detection heaven preview page.html --url https://www.example.com/docs/page.html"
    )]
    Preview(PreviewArgs),
}

/// Arguments of the `heaven undo` command.
#[derive(Args, Clone, Debug)]
pub(super) struct UndoArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    site: String,
    /// Directory in which heaven was published, if it is not the configured directory
    #[arg(long, value_name = "DIRECTORY")]
    publish: Option<std::path::PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(cli: &Cli, command: &HeavenCommand) -> anyhow::Result<ExitCode> {
    let args = match command {
        HeavenCommand::Start(args) => return Box::pin(heaven_start::run(cli, args)).await,
        HeavenCommand::Preview(args) => return heaven_preview::run(args),
        HeavenCommand::Undo(args) => args,
    };
    let context = CommandContext::new(cli).await?;
    // No `?` here, so that the database is always closed.
    let code = undo(&context, args).await;
    context.store.close().await;
    code
}

async fn undo(context: &CommandContext, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let site = output::clean(&args.site);
    let undone = runs(context, args).await?.undo().await?;
    let Some((publication, pages)) = undone else {
        output::note(&format!(
            "error: nothing to roll back: {site} has no earlier publication that contained pages"
        ));
        return Ok(ExitCode::FAILURE);
    };
    let is_undone = publication.undone_ms.is_some();
    if args.json {
        output::json(&json!({
            "site": args.site,
            "run": publication.run_id,
            "undone": is_undone,
            "pages": pages,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let run = publication.run_id;
    output::line(&if is_undone {
        format!(
            "{site}: restored the state before run {run} with {pages} pages; run this command again to undo the rollback"
        )
    } else {
        format!(
            "{site}: restored the publication of run {run} with {pages} pages; run this command again to roll back"
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the site's robot; if none is configured, creates a site robot that starts at a described
/// page.
async fn runs(context: &CommandContext, args: &UndoArgs) -> anyhow::Result<SiteRobotRuns> {
    let mut changes = SiteRobotChanges::default();
    changes.publish.clone_from(&args.publish);
    if SiteRobotSettings::new(&context.loaded, &args.site, &changes)?.is_none() {
        let first = context.first_described(&args.site).await?;
        // The site robot requires a starting point, although a rollback does not visit any page.
        changes.urls = vec![first.unwrap_or_else(|| "http://localhost/".to_owned())];
    }
    context.runs(&args.site, &changes).await
}

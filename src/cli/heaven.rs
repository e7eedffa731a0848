//! `heaven`: starts one, undoes the last publication, shows what is made of a page.

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

/// Commands of `heaven`.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum HeavenCommand {
    /// Leads from a site that is proxied to robots that read its heaven
    #[command(
        after_help = "It asks the site, writes what is missing into the configuration file (starting points, schedule,
heaven) and leaves its other lines as they are, has the site robot run, by the server where one
runs, which reloads its configuration, and asks for a page as Googlebot would. Run again, it writes
nothing, and the site robot visits what has changed.

Exit code: 0 a robot is led to heaven, or will be once a server runs; 1 it is not, or nothing was
described; 2 wrong usage or configuration: nothing was written

Examples: robot-detection heaven start --dry-run
          robot-detection heaven start https://www.example.com/members/"
    )]
    Start(StartArgs),
    /// Puts the last publication back; once more undoes that
    #[command(
        after_help = "Pages, lists, feeds and exports are at once as they were before the last run was published.
The next run asks for these pages as wholes, and publishes what they say then.

Exit code: 0 done, 1 there is nothing to put back

Example: robot-detection heaven undo --site shop"
    )]
    Undo(UndoArgs),
    /// Shows what heaven makes of a page that is in a file
    #[command(
        after_help = "The page goes through the generation filter that ships, and is told as heaven tells it. Nothing is
fetched or stored; links lead where the page's own do.

Exit code: 0 done, 1 the filter takes no such page, or the file cannot be read

Example: robot-detection heaven preview page.html --url https://www.example.com/docs/page.html"
    )]
    Preview(PreviewArgs),
}

/// Arguments of `heaven undo`.
#[derive(Args, Clone, Debug)]
pub(super) struct UndoArgs {
    /// Name of the site
    #[arg(long, value_name = "NAME", default_value = "default")]
    site: String,
    /// Directory that heaven was published into, where it is not the configured one
    #[arg(long, value_name = "DIRECTORY")]
    publish: Option<std::path::PathBuf>,
    /// Prints JSON
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
    // Not `?`: the database is closed in any case.
    let code = undo(&context, args).await;
    context.store.close().await;
    code
}

async fn undo(context: &CommandContext, args: &UndoArgs) -> anyhow::Result<ExitCode> {
    let site = output::clean(&args.site);
    let undone = runs(context, args).await?.undo().await?;
    let Some((publication, pages)) = undone else {
        output::note(&format!(
            "error: nothing to put back: {site} has no publication before which it had pages"
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
        format!("{site}: as before run {run} was published, {pages} pages; once more undoes that")
    } else {
        format!("{site}: as run {run} was published, {pages} pages; once more takes that back")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the robot whose heaven it is, made from a described page where none is configured.
async fn runs(context: &CommandContext, args: &UndoArgs) -> anyhow::Result<SiteRobotRuns> {
    let mut changes = SiteRobotChanges::default();
    changes.publish.clone_from(&args.publish);
    if SiteRobotSettings::new(&context.loaded, &args.site, &changes)?.is_none() {
        let first = context.first_described(&args.site).await?;
        // A robot needs a starting point, though undoing visits none.
        changes.urls = vec![first.unwrap_or_else(|| "http://localhost/".to_owned())];
    }
    context.runs(&args.site, &changes).await
}

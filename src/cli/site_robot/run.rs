//! Runs the command.

use std::process::ExitCode;

use super::{
    SiteRobotCommand, args::WithdrawArgs, check, command_context::CommandContext, control,
    exchange, file_kind, questions, visit,
};
use crate::cli::{Cli, output};
use crate::store::RunCommand;

pub(in crate::cli) fn run(cli: &Cli, command: &SiteRobotCommand) -> anyhow::Result<ExitCode> {
    match command {
        SiteRobotCommand::Check(args) => check::run(args),
        SiteRobotCommand::Fmt(args) => file_kind::format(args),
        // Pages, files and the database have threads of their own: with several for the tasks that
        // wait for them, tasks would only move from one to another.
        command => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(with_database(cli, command)),
    }
}

async fn with_database(cli: &Cli, command: &SiteRobotCommand) -> anyhow::Result<ExitCode> {
    let context = CommandContext::new(cli).await?;
    let code = match command {
        SiteRobotCommand::Run(args) => visit::run(&context, args).await,
        SiteRobotCommand::Refresh(args) => visit::refresh(&context, args).await,
        SiteRobotCommand::Status(args) => control::status(&context, args).await,
        SiteRobotCommand::Pause(args) => control::request(&context, args, RunCommand::Pause).await,
        SiteRobotCommand::Resume(args) => control::request(&context, args, RunCommand::Run).await,
        SiteRobotCommand::Stop(args) => control::request(&context, args, RunCommand::Stop).await,
        SiteRobotCommand::Withdraw(args) => withdraw(&context, args).await,
        SiteRobotCommand::Clear(args) => control::clear(&context, args).await,
        SiteRobotCommand::Explain(args) => questions::explain(&context, args).await,
        SiteRobotCommand::Parity(args) => questions::parity(&context, args).await,
        SiteRobotCommand::Export(args) => exchange::export(&context, args).await,
        SiteRobotCommand::Import(args) => exchange::import(&context, args).await,
        SiteRobotCommand::Check(_) | SiteRobotCommand::Fmt(_) => Ok(ExitCode::SUCCESS),
    };
    context.store.close().await;
    code
}

async fn withdraw(context: &CommandContext, args: &WithdrawArgs) -> anyhow::Result<ExitCode> {
    let (store, site) = (&context.store, &args.site);
    // The robot stores URLs as the URL Standard serialises them, with a slash after the host.
    let url = url::Url::parse(&args.url).map_or_else(|_| args.url.clone(), String::from);
    let shown = output::clean(&url);
    let is_done = if args.again {
        store.publications().admit_url(site, &url).await?
    } else {
        let now_ms = CommandContext::now_ms();
        let was_described = store
            .publications()
            .withdraw_url(site, &url, args.for_good, now_ms)
            .await?;
        // For good, a page may also be kept out before it was ever described.
        was_described || args.for_good
    };
    if !is_done {
        let hint = if args.again {
            "it was not withdrawn"
        } else {
            "heaven has no page of it; write the URL as site-robot export does, or add --for-good"
        };
        output::note(&format!("error: {shown}: {hint}"));
        return Ok(ExitCode::FAILURE);
    }
    if let Some(runs) = context.configured(site).await? {
        // Files that are published have to lose the page as well; the database's pages have lost it
        // already.
        runs.publish().await?;
    }
    output::line(&match (args.again, args.for_good) {
        (true, _) => format!("{shown}: let in again; the next run looks at it"),
        (false, true) => format!("{shown}: withdrawn for good; --again takes that back"),
        (false, false) => format!("{shown}: withdrawn; the next run may bring it back"),
    })?;
    Ok(ExitCode::SUCCESS)
}

//! Runs a `site-robot` command.

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
        // A single thread is enough, because pages, files and the database have their own threads;
        // with several threads, tasks would only move between them.
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
    // The site robot stores URLs as serialized by the URL Standard, with a slash after the host.
    let url = url::Url::parse(&args.url).map_or_else(|_| args.url.clone(), String::from);
    let shown = output::clean(&url);
    let is_done = if args.again {
        store.publications().readmit_url(site, &url).await?
    } else {
        let now_ms = CommandContext::now_ms();
        let was_described = store
            .publications()
            .withdraw_url(site, &url, args.for_good, now_ms)
            .await?;
        // A page can be permanently withdrawn even if it was never described.
        was_described || args.for_good
    };
    if !is_done {
        let hint = if args.again {
            "the page was not withdrawn"
        } else {
            "heaven does not contain this page; use a URL printed by site-robot export, or add --for-good"
        };
        output::note(&format!("error: {shown}: {hint}"));
        return Ok(ExitCode::FAILURE);
    }
    if let Some(runs) = context.configured(site).await? {
        // The page must also be removed from published files; database pages no longer contain it.
        runs.publish().await?;
    }
    output::line(&match (args.again, args.for_good) {
        (true, _) => format!("{shown}: withdrawal undone; the next run visits the page"),
        (false, true) => format!("{shown}: permanently withdrawn; to undo, use --again"),
        (false, false) => format!("{shown}: withdrawn; the next run may add the page again"),
    })?;
    Ok(ExitCode::SUCCESS)
}

//! Runs the command.

use std::process::ExitCode;

use crate::cli::Cli;
use crate::store::RunCommand;

use super::{
    SiteRobotCommand, check, command_context::CommandContext, control, exchange, fmt, questions,
    visit, withdraw,
};

pub(in crate::cli) fn run(cli: &Cli, command: &SiteRobotCommand) -> anyhow::Result<ExitCode> {
    match command {
        SiteRobotCommand::Check(args) => check::run(args),
        SiteRobotCommand::Fmt(args) => fmt::run(args),
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
        SiteRobotCommand::Withdraw(args) => withdraw::withdraw(&context, args).await,
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

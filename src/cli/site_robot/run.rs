//! Hands over to the command.

use std::process::ExitCode;

use crate::cli::Cli;
use crate::store::RunCommand;

use super::{
    SiteRobotCommand, check, control, exchange, fmt, opened::Opened, questions, visit, withdraw,
};

pub(in crate::cli) fn run(cli: &Cli, command: &SiteRobotCommand) -> anyhow::Result<ExitCode> {
    match command {
        SiteRobotCommand::Check(args) => check::run(args),
        SiteRobotCommand::Fmt(args) => fmt::run(args),
        // Most of the work is done on threads of its own (pages, files, the database):
        // among several that wait, tasks would only be handed to and fro.
        command => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(with_database(cli, command)),
    }
}

async fn with_database(cli: &Cli, command: &SiteRobotCommand) -> anyhow::Result<ExitCode> {
    let opened = Opened::new(cli).await?;
    let code = match command {
        SiteRobotCommand::Run(args) => visit::run(&opened, args).await,
        SiteRobotCommand::Status(args) => control::status(&opened, args).await,
        SiteRobotCommand::Pause(args) => control::want(&opened, args, RunCommand::Pause).await,
        SiteRobotCommand::Resume(args) => control::want(&opened, args, RunCommand::Run).await,
        SiteRobotCommand::Stop(args) => control::want(&opened, args, RunCommand::Stop).await,
        SiteRobotCommand::Withdraw(args) => withdraw::withdraw(&opened, args).await,
        SiteRobotCommand::Clear(args) => control::clear(&opened, args).await,
        SiteRobotCommand::Explain(args) => questions::explain(&opened, args).await,
        SiteRobotCommand::Parity(args) => questions::parity(&opened, args).await,
        SiteRobotCommand::Export(args) => exchange::export(&opened, args).await,
        SiteRobotCommand::Import(args) => exchange::import(&opened, args).await,
        SiteRobotCommand::Check(_) | SiteRobotCommand::Fmt(_) => Ok(ExitCode::SUCCESS),
    };
    opened.store.close().await;
    code
}

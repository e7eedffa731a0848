//! Opens the database and hands over to the command.

use std::process::ExitCode;

use crate::app;
use crate::cli::{Cli, args::RegistryCommand, context};
use crate::telemetry::{LogFormat, start_log};

use super::{
    change::{add, remove},
    list::{export, list},
    refresh::refresh,
    show::show,
};

pub(in crate::cli) async fn run(cli: &Cli, command: &RegistryCommand) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    // What a refresh has to say is printed as its result, not logged beside it.
    start_log("error", LogFormat::Text)?;
    let robots = app::assemble(&loaded)?.build_idle().await?;
    let code = match command {
        RegistryCommand::Refresh(args) => refresh(&robots, args).await,
        RegistryCommand::List(args) => list(&robots, args).await,
        RegistryCommand::Show { id, json } => show(&robots, id, *json).await,
        RegistryCommand::Add(args) => add(&robots, args).await,
        RegistryCommand::Remove { id } => remove(&robots, id).await,
        RegistryCommand::Export(args) => export(&robots, args).await,
    };
    robots.shutdown().await;
    code
}

//! Opens the database and hands over to the command.

use std::process::ExitCode;

use crate::app::{self, RobotDetection};
use crate::cli::{Cli, args::RegistryCommand, context, doctor::held_back_text, output};
use crate::config::wants_colours;
use crate::telemetry::{LogFormat, start_log};

use super::{
    change::{add, remove},
    export::export,
    list::list,
    refresh::refresh,
    select::{bundled_rows, stored_rows},
    show::show,
};

pub(in crate::cli) async fn run(cli: &Cli, command: &RegistryCommand) -> anyhow::Result<ExitCode> {
    match command {
        RegistryCommand::List(args) if args.select.bundled => return list(bundled_rows(), args),
        RegistryCommand::Export(args) if args.select.bundled => {
            return export(bundled_rows(), args);
        }
        _ => {}
    }
    let loaded = context::load(cli)?;
    context::check_database(loaded.settings())?;
    // What a refresh has to say is printed as its result, not logged beside it.
    start_log("error", LogFormat::Text, wants_colours())?;
    let robots = app::assemble(&loaded)?.build_idle().await?;
    let code = match command {
        RegistryCommand::Refresh(args) => refresh(&robots, args).await,
        RegistryCommand::List(args) => {
            tell_held_back(&robots).await;
            let rows = stored_rows(robots.store()).await;
            rows.and_then(|rows| list(rows, args))
        }
        RegistryCommand::Show { id, json } => {
            let rows = stored_rows(robots.store()).await;
            rows.and_then(|rows| show(rows, id, *json))
        }
        RegistryCommand::Add(args) => add(&robots, args).await,
        RegistryCommand::Remove { id } => remove(&robots, id).await,
        RegistryCommand::Export(args) => {
            let rows = stored_rows(robots.store()).await;
            rows.and_then(|rows| export(rows, args))
        }
    };
    robots.shutdown().await;
    code
}

/// Tells on standard error what waits for somebody to accept it.
async fn tell_held_back(robots: &RobotDetection) {
    let refresher = robots.refresher();
    for spec in refresher.sources() {
        // A database that does not answer is told of by the command itself.
        if let Ok(Some(record)) = refresher.held(&spec).await {
            let text = held_back_text(&spec.source, &record);
            output::note(&format!("{}: {}", spec.source, output::clean(&text)));
        }
    }
}

//! Opens the database and runs the command.

use std::process::ExitCode;

use crate::app::{self, RobotDetection};
use crate::cli::{Cli, context, doctor::held_back_text, output};
use crate::config::wants_colours;
use crate::telemetry::{LogFormat, start_log};

use super::{
    args::RegistryCommand,
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
    // A refresh prints its result, and its log lines would repeat it.
    start_log("error", LogFormat::Text, wants_colours())?;
    let robots = app::assemble(&loaded)?.build_idle().await?;
    let code = match command {
        RegistryCommand::Refresh(args) => refresh(&robots, args).await,
        RegistryCommand::List(args) => {
            note_held_back(&robots).await;
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

/// Prints on standard error which documents wait for somebody to accept them.
async fn note_held_back(robots: &RobotDetection) {
    let refresher = robots.refresher();
    for spec in refresher.sources() {
        // The command itself reports a database that does not answer.
        if let Ok(Some(record)) = refresher.held(&spec).await {
            let text = held_back_text(&spec.source, &record);
            output::note(&format!("{}: {}", spec.source, output::clean(&text)));
        }
    }
}

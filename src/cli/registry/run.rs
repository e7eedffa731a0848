//! Opens the database and runs a `registry` command.

use std::process::ExitCode;

use crate::app::{self, RobotDetection};
use crate::cli::{Cli, context, doctor::held_back_text, output};
use crate::config::wants_colours;
use crate::operations::robots::{self, bundled};
use crate::telemetry::{LogFormat, start_log};

use super::{
    args::RegistryCommand,
    export::export,
    refresh::refresh,
    show::{list, show},
};

pub(in crate::cli) async fn run(cli: &Cli, command: &RegistryCommand) -> anyhow::Result<ExitCode> {
    match command {
        RegistryCommand::List(args) if args.select.bundled => return list(bundled(), args),
        RegistryCommand::Export(args) if args.select.bundled => {
            return export(bundled(), args);
        }
        _ => {}
    }
    let loaded = context::load(cli)?;
    context::check_database(loaded.settings())?;
    // Log lines are suppressed, because the result of a refresh is printed.
    start_log("error", LogFormat::Text, wants_colours())?;
    let robots = app::assemble(&loaded)?.build_idle().await?;
    let code = table(&robots, command).await;
    robots.shutdown().await;
    code
}

/// Runs a command that reads or changes the robots table.
async fn table(detection: &RobotDetection, command: &RegistryCommand) -> anyhow::Result<ExitCode> {
    let store = detection.store();
    let caller = context::caller(store);
    match command {
        RegistryCommand::Refresh(args) => return refresh(detection, args).await,
        RegistryCommand::List(args) => {
            note_held_back(detection).await;
            return list(robots::stored(store).await?, args);
        }
        RegistryCommand::Show { id, json } => {
            return show(robots::stored(store).await?, id, *json);
        }
        RegistryCommand::Export(args) => return export(robots::stored(store).await?, args),
        RegistryCommand::Add(request) => {
            let robot = robots::add(&caller, request).await?;
            let patterns = robot.patterns.iter().map(ToString::to_string);
            let patterns = patterns.collect::<Vec<_>>().join(", ");
            output::line(&format!("added {}: {patterns}", robot.id))?;
        }
        RegistryCommand::Remove { id } => {
            robots::remove(&caller, id).await?;
            output::line(&format!("removed {id}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints documents held for review to standard error.
async fn note_held_back(robots: &RobotDetection) {
    let refresher = robots.refresher();
    for spec in refresher.sources() {
        // If the database is unavailable, the command itself reports the error.
        if let Ok(Some(record)) = refresher.held(&spec).await {
            let text = held_back_text(&spec.source, &record);
            output::note(&format!("{}: {}", spec.source, output::clean(&text)));
        }
    }
}

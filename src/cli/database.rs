//! `database`: backs up, restores or replaces the database.

use std::{path::Path, process::ExitCode};

use serde_json::json;

use crate::clock::Clock;
use crate::store::Store;

use super::{
    Cli,
    args::{DatabaseCommand, NewDatabaseArgs},
    context,
    input::is_confirmed,
    output,
};

pub(super) async fn run(cli: &Cli, command: &DatabaseCommand) -> anyhow::Result<ExitCode> {
    let url = context::load(cli)?.settings().database.url.clone();
    match command {
        DatabaseCommand::New(args) => recreate(&url, *args).await,
        DatabaseCommand::Backup { file, json } => back_up(&url, file, *json).await,
        DatabaseCommand::Restore { file, force, json } => restore(&url, file, *force, *json).await,
    }
}

async fn back_up(url: &str, file: &Path, json: bool) -> anyhow::Result<ExitCode> {
    Store::back_up(url, file).await?;
    let (shown, file) = (Store::shown_url(url), file.display().to_string());
    if json {
        output::json(&json!({"database": shown, "file": file}))?;
    } else {
        output::line(&format!("backed up {shown} to {file}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn restore(url: &str, file: &Path, force: bool, json: bool) -> anyhow::Result<ExitCode> {
    let kept = Store::restore(url, file, force, Clock::system().now_ms()).await?;
    let (shown, file) = (Store::shown_url(url), file.display().to_string());
    let kept = kept.map(|kept| kept.display().to_string());
    if json {
        output::json(&json!({"database": shown, "file": file, "kept": kept}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("restored {shown} from {file}"))?;
    if let Some(kept) = kept {
        output::line(&format!("the previous database was saved as {kept}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn recreate(url: &str, args: NewDatabaseArgs) -> anyhow::Result<ExitCode> {
    let shown = Store::shown_url(url);
    let is_there = context::sqlite_file(url).is_some_and(Path::exists);
    let question = format!(
        "{shown} will be kept under another name and replaced with an empty database. Password, tokens, \
         page descriptions and manually added robots are not copied."
    );
    if is_there && !is_confirmed(&question, args.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    let kept = Store::recreate(url, Clock::system().now_ms()).await?;
    let kept = kept.map(|kept| kept.display().to_string());
    if args.json {
        output::json(&json!({"database": shown, "made": true, "kept": kept}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("created {shown}"))?;
    if let Some(kept) = kept {
        output::line(&format!("the previous database was saved as {kept}"))?;
    }
    output::note(
        "servers that use this database print a new administrator password now or when they start; \
         to set another password, run `robot-detection admin password`",
    );
    Ok(ExitCode::SUCCESS)
}

//! `database`: backs up, restores, repairs or replaces the database.

use std::{path::Path, process::ExitCode};

use serde_json::{Value, json};

use crate::clock::Clock;
use crate::store::{Repair, RepairedTable, Store};

use super::{
    Cli,
    args::{DatabaseArgs, DatabaseCommand},
    context,
    input::is_confirmed,
    output,
};

pub(super) async fn run(cli: &Cli, command: &DatabaseCommand) -> anyhow::Result<ExitCode> {
    let url = context::load(cli)?.settings().database.url.clone();
    match command {
        DatabaseCommand::Repair(args) => repair(&url, *args).await,
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

async fn repair(url: &str, args: DatabaseArgs) -> anyhow::Result<ExitCode> {
    let shown = Store::shown_url(url);
    // Checked before asking for confirmation, because an undamaged file does not need repair.
    let Some(damage) = Store::find_damage(url).await? else {
        return print_undamaged(&shown, args);
    };
    let question = format!(
        "{shown} is damaged: {damage}\nAll readable rows will be copied to a new file that replaces the damaged file. \
         The damaged file is kept under another name."
    );
    if !is_confirmed(&question, args.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    match Store::repair(url, Clock::system().now_ms()).await? {
        None => print_undamaged(&shown, args),
        Some(repair) => {
            print_repair(&shown, &repair, args)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn recreate(url: &str, args: DatabaseArgs) -> anyhow::Result<ExitCode> {
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

fn print_undamaged(shown: &str, args: DatabaseArgs) -> anyhow::Result<ExitCode> {
    if args.json {
        output::json(&json!({"database": shown, "repaired": false, "damage": Value::Null}))?;
    } else {
        output::line(&format!("{shown} is not damaged; nothing was changed"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_repair(shown: &str, repair: &Repair, args: DatabaseArgs) -> anyhow::Result<()> {
    let Repair {
        damage,
        kept,
        tables,
        ..
    } = repair;
    let kept = kept.display().to_string();
    if args.json {
        let tables = tables
            .iter()
            .map(|table| json!({"name": table.name, "saved": table.saved, "lost": table.lost}));
        output::json(&json!({
            "database": shown,
            "repaired": true,
            "damage": damage,
            "kept": kept,
            "tables": tables.collect::<Vec<_>>(),
        }))?;
        return Ok(());
    }
    let rows: Vec<_> = tables.iter().map(row).collect();
    output::table(&["table", "rows saved", "rows lost"], &rows)?;
    output::line(&format!(
        "repaired {shown}\nthe damaged file was saved as {kept}"
    ))?;
    if tables.iter().any(|table| table.lost != Some(0)) {
        output::note(
            "lost registry rows are restored by the next refresh, and lost pages by the next run of the site robot; replace a lost password or lost tokens with `robot-detection admin`",
        );
    }
    Ok(())
}

fn row(table: &RepairedTable) -> Vec<String> {
    let lost = match table.lost {
        Some(lost) => lost.to_string(),
        None => "all other rows, if any".to_owned(),
    };
    vec![table.name.clone(), table.saved.to_string(), lost]
}

//! `alerts`: sends test messages and lists the state of all alerts.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use crate::alerts::{self, Alert, AlertStatus, Message, Receipt};
use crate::app;
use crate::clock::Clock;
use crate::config::Loaded;

use super::{
    Cli, context,
    output::{self, WrongUsage},
};

/// Subcommands of the `alerts` command.
#[derive(Clone, Debug, Subcommand)]
pub(super) enum AlertsCommand {
    /// Send a test message and print the receiver's response
    #[command(
        after_help = "Exit code: 0 the receiver accepted the message, 1 it did not

Example: robot-detection alerts test impostors"
    )]
    Test {
        /// Name of the `[[alert]]` to test [default: all]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all alerts with their state and most recent deliveries
    #[command(after_help = "Example: robot-detection alerts list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(cli: &Cli, command: &AlertsCommand) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    match command {
        AlertsCommand::Test { name, json } => test(&loaded, name.as_deref(), *json).await,
        AlertsCommand::List { json } => list(&loaded, *json).await,
    }
}

async fn test(loaded: &Loaded, name: Option<&str>, as_json: bool) -> anyhow::Result<ExitCode> {
    let alerts = chosen(app::alerts(loaded)?, name)?;
    let now_ms = Clock::system().now_ms();
    let mut sent = Vec::new();
    for alert in &alerts {
        let message = Message::test(alert, now_ms);
        let result = alert.webhook.send(alert, &message).await;
        if !as_json {
            output::line(&line(alert, &result))?;
        }
        sent.push((alert, result));
    }
    if as_json {
        let object = |(alert, result): &(&Alert, Result<Receipt, String>)| {
            json!({
                "name": alert.name,
                "receiver": alert.webhook.redacted_url(),
                "taken": result.is_ok(),
                "status": result.as_ref().ok().map(|receipt| receipt.status),
                "answer": result.as_ref().ok().map(|receipt| &receipt.text),
                "error": result.as_ref().err(),
            })
        };
        let sent: Vec<_> = sent.iter().map(object).collect();
        output::json(&json!({ "sent": sent }))?;
    }
    let is_well = sent.iter().all(|(_, result)| result.is_ok());
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the alert with the given name, or all alerts if no name is given.
fn chosen(alerts: Vec<Alert>, name: Option<&str>) -> Result<Vec<Alert>, WrongUsage> {
    if alerts.is_empty() {
        let text = "the configuration contains no [[alert]] table";
        return Err(WrongUsage(text.to_owned()));
    }
    let Some(name) = name else {
        return Ok(alerts);
    };
    let names: Vec<_> = alerts.iter().map(|alert| alert.name.clone()).collect();
    let found: Vec<_> = alerts
        .into_iter()
        .filter(|alert| alert.name == name)
        .collect();
    if found.is_empty() {
        let names = names.join(", ");
        let text = format!("no alert is named {name:?}; configured alerts: {names}");
        return Err(WrongUsage(text));
    }
    Ok(found)
}

fn line(alert: &Alert, result: &Result<Receipt, String>) -> String {
    let (name, receiver) = (output::clean(&alert.name), alert.webhook.redacted_url());
    match result {
        Ok(receipt) if receipt.text.is_empty() => {
            format!("ok    {name}: {receiver} returned {}", receipt.status)
        }
        Ok(receipt) => {
            let answer = output::clean(&receipt.text);
            format!(
                "ok    {name}: {receiver} returned {}: {answer}",
                receipt.status
            )
        }
        Err(error) => format!("FAIL  {name}: {receiver}: {}", output::clean(error)),
    }
}

async fn list(loaded: &Loaded, as_json: bool) -> anyhow::Result<ExitCode> {
    let store = context::store(loaded).await?;
    let list = alerts::list(&context::caller(&store)).await?;
    store.close().await;
    if as_json {
        output::json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |view: &AlertStatus| {
        let since = view.since.as_ref().map_or("", |since| &since.iso);
        let told = view.told.as_ref().map_or("never", |told| &told.iso);
        vec![
            output::clean(&view.name),
            view.on.clone(),
            view.state.to_owned(),
            since.to_owned(),
            told.to_owned(),
            output::clean(&view.error),
        ]
    };
    let header = ["name", "on", "state", "since", "told", "error"];
    output::table(&header, &list.alerts.iter().map(row).collect::<Vec<_>>())?;
    Ok(ExitCode::SUCCESS)
}

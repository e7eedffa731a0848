//! Prints the report about suspects from the database.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::cards;
use crate::cli::{Cli, context, output};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::suspicion::{SUSPECTS_LAST_MS, moment};
use crate::traffic::{Moment, SuspectFigures};

pub(in crate::cli) async fn run(cli: &Cli, command: &SuspectsCommand) -> anyhow::Result<ExitCode> {
    let SuspectsCommand::Report {
        since,
        json: is_json,
    } = command;
    let loaded = context::load(cli)?;
    let store = context::store(&loaded).await?;
    let now_ms = Clock::system().now_ms();
    let told = store
        .suspects()
        .load(now_ms.saturating_sub(SUSPECTS_LAST_MS))
        .await?;
    let now = now_ms.div_euclid(60_000);
    let first = store.traffic().first_day().await?.unwrap_or(now);
    let sums = store
        .traffic()
        .read(since.minute(now, first)..now + 1, now_ms)
        .await?;
    let figures = SuspectFigures::from_sums(&sums);
    store.close().await;
    let instances: Vec<_> = told
        .into_iter()
        .filter_map(|told| {
            let mut value: Map<String, Value> = serde_json::from_str(&told.flags).ok()?;
            value.insert("instance".to_owned(), told.instance.into());
            let at = moment(told.at_ms.div_euclid(1_000));
            value.insert("at".to_owned(), at.into());
            Some(value)
        })
        .collect();
    if instances.is_empty() {
        output::note(why_none(&loaded));
    }
    if *is_json {
        output::json(&json!({ "figures": figures.object(), "instances": instances }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (name, _, requests) in figures.rows() {
        output::line(&format!("{name:<18} {requests:>10}"))?;
    }
    for instance in &instances {
        let of = |name: &str| instance.get(name).and_then(Value::as_array).cloned();
        let word = |name: &str| instance.get(name).and_then(Value::as_str);
        let [name, at] = ["instance", "at"].map(|name| word(name).unwrap_or_default());
        let heading = format!("instance {}, {at}", output::clean(name));
        output::line(&heading)?;
        let [fleets, conduct] = ["fleets", "conduct"].map(|name| of(name).unwrap_or_default());
        output::text(&cards(&fleets, &conduct))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the reason why no server has reported suspects.
fn why_none(loaded: &Loaded) -> &'static str {
    let settings = &loaded.settings().traffic;
    match (settings.fleets, settings.keep) {
        (false, _) => "fleets are not detected because traffic.fleets is false",
        (true, false) => {
            "servers do not report to the database because traffic.keep is false; see the Suspects page of the console"
        }
        (true, true) => {
            "no server has reported suspects to this database in the last few minutes: start robot-detection serve, or evaluate a log with robot-detection identify --suspects"
        }
    }
}

/// Subcommands of the `suspects` command.
#[derive(Clone, Debug, Subcommand)]
pub(in crate::cli) enum SuspectsCommand {
    /// Report the decisions for suspects, and the fleets, addresses and networks that running
    /// servers have flagged
    #[command(
        after_help = "Each server that uses this database reports its own findings. Evaluate older access logs with
robot-detection identify --suspects.

Example: robot-detection suspects report --since 30d"
    )]
    Report {
        /// Start of the period: an age (24h, 7d, 4w), a UTC day or time, or all
        #[arg(long, value_name = "WHEN", default_value = "7d")]
        since: Moment,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

//! `traffic forget`: deletes stored visitor data.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, output};
use crate::clock::Clock;
use crate::store::{DeletedRows, DeletionFilter};
use crate::traffic::Moment;

use super::args::ForgetArgs;

/// The name shown in the audit log as the author of the deletion.
const ACTOR: &str = "command line";

const MINUTE_MS: i64 = 60_000;

pub(in crate::cli) async fn run(cli: &Cli, args: &ForgetArgs) -> anyhow::Result<ExitCode> {
    let now_ms = Clock::system().now_ms();
    let forgetting = DeletionFilter {
        address: args.address,
        robot: args.robot.clone(),
        before_ms: args
            .before
            .map(|before| before_ms(before, now_ms))
            .transpose()?,
    };
    let store = context::store(&context::load(cli)?).await?;
    let rows = if args.dry_run {
        store.evidence().count_matching(&forgetting).await?
    } else {
        store.evidence().delete(&forgetting, ACTOR, now_ms).await?
    };
    store.close().await;
    if args.json {
        output::json(&json!({
            "dry_run": args.dry_run,
            "evidence": rows.evidence,
            "of_networks": rows.of_networks,
            "paths": rows.paths,
        }))?;
    } else {
        output::line(&told(rows, args.dry_run))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn before_ms(before: Moment, now_ms: i64) -> Result<i64, WrongUsage> {
    match before {
        Moment::All => Err(WrongUsage(
            "--before all is not a time; to delete all stored data, use --before now".to_owned(),
        )),
        moment => {
            // The current minute is included.
            let now = now_ms.div_euclid(MINUTE_MS) + 1;
            Ok(moment.minute(now, 0).saturating_mul(MINUTE_MS))
        }
    }
}

fn told(rows: DeletedRows, is_dry_run: bool) -> String {
    let done = if is_dry_run {
        "would be deleted"
    } else {
        "were deleted"
    };
    let mut told = format!("{} evidence requests {done}", rows.evidence);
    if rows.paths > 0 {
        told = format!(
            "{} evidence requests and {} path rows {done}",
            rows.evidence, rows.paths
        );
    }
    if rows.of_networks > 0 {
        told = format!(
            "{told}, {} of them stored only by network and possibly from other visitors",
            rows.of_networks
        );
    }
    told
}

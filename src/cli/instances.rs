//! `instances`: the instances that serve from the database, and what each of them leads.

use std::process::ExitCode;

use clap::Args;

use crate::operations::instances::{self, Instance};

use super::{
    Cli, context,
    output::{self, clean},
};

const HEADER: [&str; 9] = [
    "INSTANCE",
    "HOST",
    "PROCESS",
    "VERSION",
    "ADDRESS",
    "SINCE",
    "LAST SEEN",
    "CLOCK",
    "LEADS",
];

/// Arguments of `instances`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Each instance says every 15 seconds that it is alive. One that stops takes leave; one that was
killed is listed for two minutes more. Times are those of the database; an instance whose own clock
is wrong goes by it. What an instance leads others do not do meanwhile: alerts, or the refresh of a
source while it lasts.

Exit codes: 0 done, 1 the database failed

Example: robot-detection instances --json"
)]
pub(super) struct InstancesArgs {
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(cli: &Cli, args: &InstancesArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let store = context::store(&loaded).await?;
    let list = instances::list(&context::caller(&store)).await?;
    store.close().await;
    if args.json {
        output::json(&list)?;
    } else if list.instances.is_empty() {
        let url = store.url();
        output::note(&format!(
            "no instance serves from {url}; `robot-detection serve` starts one"
        ));
    } else {
        output::table(&HEADER, &list.instances.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the cells of an instance; other programs may have written what they say.
fn row(instance: &Instance) -> Vec<String> {
    let or_dash = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    vec![
        clean(&instance.instance),
        clean(&instance.host),
        instance.process.to_string(),
        clean(&instance.version),
        or_dash(clean(instance.address.as_deref().unwrap_or_default())),
        instance.since.iso.clone(),
        format!("{} s ago", instance.silent_seconds),
        instance.clock(),
        or_dash(clean(&instance.leads.join(", "))),
    ]
}

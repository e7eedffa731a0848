//! `instances`: lists the instances that share the database and the leases that they hold.

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

/// Arguments of the `instances` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Instances report to the database every 15 seconds. A stopped instance is removed from the list immediately,
a killed instance after two minutes. Times are from the database's clock, which all instances use even if
their own clock is wrong. Only the holder of a lease performs its task, such as sending alerts or
refreshing a source.

Exit codes: 0 done, 1 the database failed

Example: robot-detection instances --json"
)]
pub(super) struct InstancesArgs {
    /// Print JSON
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
            "no instance uses {url}; to start an instance, run `robot-detection serve`"
        ));
    } else {
        output::table(&HEADER, &list.instances.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the table cells for an instance; control characters from the database are removed.
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

//! Proves one claim, or shows the lists.

use std::process::ExitCode;

use crate::app::ClaimProver;
use crate::cli::{Cli, args::VerifyArgs, context, usage::WrongUsage};

use super::{claim, lists};

pub(in crate::cli) async fn run(cli: &Cli, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let loaded = context::load(cli)?;
    let settings = ClaimProver::settings(&loaded.settings().verify, args.offline);
    let prover = ClaimProver::new(settings, context::store(&loaded).await?).await?;
    let prover = prover.offline(args.offline);
    if args.ranges {
        let robots = context::robots(&loaded).await?;
        return lists::run(&prover, &robots, args).await;
    }
    let (Some(address), Some(user_agent)) = (args.ip, &args.user_agent) else {
        let usage = "say whose claim it is: --ip and --user-agent";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    let detector = context::detector(&loaded).await?;
    claim::run(&prover, &detector, address, user_agent, args.json).await
}

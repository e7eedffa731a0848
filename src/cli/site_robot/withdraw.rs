//! `site-robot withdraw`: removes one page of heaven everywhere, or admits it again.

use std::process::ExitCode;

use crate::cli::output;

use super::{args::WithdrawArgs, command_context::CommandContext};

pub(super) async fn withdraw(
    context: &CommandContext,
    args: &WithdrawArgs,
) -> anyhow::Result<ExitCode> {
    let (store, site) = (&context.store, &args.site);
    // The robot stores URLs as the URL Standard serialises them, with a slash after the host.
    let url = url::Url::parse(&args.url).map_or_else(|_| args.url.clone(), String::from);
    let shown = output::clean(&url);
    let is_done = if args.again {
        store.publications().admit_url(site, &url).await?
    } else {
        let now_ms = CommandContext::now_ms();
        let was_described = store
            .publications()
            .withdraw_url(site, &url, args.for_good, now_ms)
            .await?;
        // For good, a page may also be kept out before it was ever described.
        was_described || args.for_good
    };
    if !is_done {
        let hint = if args.again {
            "it was not withdrawn"
        } else {
            "heaven has no page of it; write the URL as site-robot export does, or add --for-good"
        };
        output::note(&format!("error: {shown}: {hint}"));
        return Ok(ExitCode::FAILURE);
    }
    if let Some(runs) = context.configured(site).await? {
        // Files that are published have to lose the page as well; the database's pages have lost it
        // already.
        runs.publish().await?;
    }
    output::line(&match (args.again, args.for_good) {
        (true, _) => format!("{shown}: let in again; the next run looks at it"),
        (false, true) => format!("{shown}: withdrawn for good; --again takes that back"),
        (false, false) => format!("{shown}: withdrawn; the next run may bring it back"),
    })?;
    Ok(ExitCode::SUCCESS)
}

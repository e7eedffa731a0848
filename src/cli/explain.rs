//! `explain`: the decision on one request, with the reason of each step.

use std::process::ExitCode;

use serde_json::json;

use crate::app;
use crate::detect::Claim;
use crate::policy::{Decision, Request};

use super::{Cli, args::ExplainArgs, context, identify, output, usage::WrongUsage};

pub(super) async fn run(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    if !args.path.starts_with('/') {
        anyhow::bail!(WrongUsage(format!(
            "--path {:?} does not start with /; write it as it stands in the request",
            args.path
        )));
    }
    let loaded = context::load(cli)?;
    let policy = app::policy(&loaded)?;
    let detector = context::detector(&loaded).await?;
    let path = args.path.split(['?', '#']).next().unwrap_or_default();
    let request = Request {
        method: &args.method,
        host: args.host.as_deref(),
        path,
    };
    let claim = detector.identify(args.user_agent.as_bytes());
    let explanation = policy.explain(&request, claim.as_ref());
    let (decision, reason) = match explanation.decision {
        Decision::Pass(reason) => ("pass".to_owned(), Some(reason.as_str())),
        Decision::Redirect(to) => (format!("redirect {} {}", to.status, to.location), None),
    };
    if args.json {
        let steps = explanation
            .steps
            .iter()
            .map(|step| json!({"step": step.name, "reason": step.text}))
            .collect::<Vec<_>>();
        output::json(&json!({
            "decision": decision,
            "pass_reason": reason,
            "claim": claim.as_ref().map(identify::object),
            "steps": steps,
        }))?;
    } else {
        if let Some(claim) = &claim {
            let found = found(claim, args.user_agent.as_bytes());
            output::line(&format!("{:<8}  {found}", "claim"))?;
        }
        for step in &explanation.steps {
            output::line(&format!("{:<8}  {}", step.name, output::clean(&step.text)))?;
        }
        output::line(&format!("{:<8}  {decision}", "decision"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says which robot is claimed, and by what of the User-Agent.
fn found(claim: &Claim<'_>, user_agent: &[u8]) -> String {
    let by = match claim {
        Claim::Listed(_) => claim.to_string(),
        Claim::Unlisted(unlisted) => {
            let text = user_agent.get(claim.range()).unwrap_or_default();
            format!("{} {:?}", unlisted.sign, String::from_utf8_lossy(text))
        }
    };
    output::clean(&format!("{}, by {by}", claim.id()))
}

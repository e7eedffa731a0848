//! From the arguments to one answer, or one for each line.

use std::process::ExitCode;

use crate::cli::{Cli, args::ExplainArgs, usage::WrongUsage};

use super::{explainer::Explainer, logs, told::Asked};

pub(in crate::cli) async fn run(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    if let Some(line) = &args.log_line {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_line(&explainer, args, line).await;
    }
    if let Some(file) = &args.from_log {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_file(&explainer, args, file).await;
    }
    let (Some(path), Some(user_agent)) = (&args.path, &args.user_agent) else {
        let usage = "say what is asked for: --path and --user-agent, --log-line, or --from-log";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    if !path.starts_with('/') {
        anyhow::bail!(WrongUsage(format!(
            "--path {path:?} does not start with /; write it as it stands in the request"
        )));
    }
    let asked = Asked {
        line: None,
        method: args.method.clone(),
        host: args.host.clone(),
        target: path.split('#').next().unwrap_or_default().to_owned(),
        user_agent: user_agent.clone().into_bytes(),
    };
    let explainer = Explainer::new(cli, args).await?;
    explainer.tell(&asked, args.json).await?;
    Ok(ExitCode::SUCCESS)
}

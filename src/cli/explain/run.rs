//! Explains one request, or each line of a log.

use std::process::ExitCode;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::cli::{Cli, args::ExplainArgs, usage::WrongUsage};

use super::{explainer::Explainer, logs, raw, report::ExplainedRequest};

pub(in crate::cli) async fn run(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    if let Some(line) = &args.log_line {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_line(&explainer, args, line).await;
    }
    if let Some(file) = &args.from_log {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_file(&explainer, args, file).await;
    }
    if let Some(file) = &args.request {
        let mut request = raw::read(file)?;
        request.headers.extend(headers(&args.headers)?);
        let explainer = Explainer::new(cli, args).await?;
        explainer.explain(&request, args.json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(path), Some(user_agent)) = (&args.path, &args.user_agent) else {
        let usage =
            "say what is asked for: --path and --user-agent, --request, --log-line, or --from-log";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    if !path.starts_with('/') {
        anyhow::bail!(WrongUsage(format!(
            "--path {path:?} does not start with /; write it as it stands in the request"
        )));
    }
    let request = ExplainedRequest {
        line: None,
        method: args.method.clone(),
        host: args.host.clone(),
        // Browsers do not send the fragment of a URL (RFC 9110 §7.1).
        target: path.split('#').next().unwrap_or_default().to_owned(),
        user_agent: user_agent.clone().into_bytes(),
        headers: headers(&args.headers)?,
    };
    let explainer = Explainer::new(cli, args).await?;
    explainer.explain(&request, args.json).await?;
    Ok(ExitCode::SUCCESS)
}

/// Parses headers as they stand in a request.
fn headers(lines: &[String]) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let read = line.split_once(':').and_then(|(name, value)| {
            let name = name.trim().parse::<HeaderName>().ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        });
        let Some((name, value)) = read else {
            anyhow::bail!(WrongUsage(format!(
                "--header {line:?} is no header; write it as it stands in the request, such as 'Signature-Agent: \"https://agent.example\"'"
            )));
        };
        headers.append(name, value);
    }
    Ok(headers)
}

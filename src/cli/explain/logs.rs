//! Explains the decisions for lines of access logs.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;
use http::HeaderMap;

use crate::access_log::{Lines, LoggedRequest, open};
use crate::cli::args::ExplainArgs;
use crate::cli::output;
use crate::cli::output::WrongUsage;

use super::{explainer::Explainer, report::ExplainedRequest};

/// Explains one log line given as an argument.
pub(super) async fn explain_line(
    explainer: &Explainer,
    args: &ExplainArgs,
    line: &str,
) -> anyhow::Result<ExitCode> {
    let Some(logged) = LoggedRequest::read(line.trim().as_bytes()) else {
        let usage = "--log-line does not contain a request; specify a complete line in the common, combined or JSON format";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    explainer
        .explain(&request(logged, args, 1), args.json)
        .await?;
    Ok(ExitCode::SUCCESS)
}

/// Explains each line of an uncompressed or gzip file; `-` reads standard input.
pub(super) async fn explain_file(
    explainer: &Explainer,
    args: &ExplainArgs,
    file: &Path,
) -> anyhow::Result<ExitCode> {
    let name = || format!("cannot read {}", file.display());
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).with_context(name)?)
    };
    let mut lines = Lines::new(open(input).with_context(name)?);
    let (mut number, mut unreadable) = (0_u64, 0_u64);
    while lines.read_more().with_context(name)? {
        while let Some(line) = lines.next_line() {
            number += 1;
            match LoggedRequest::read(line) {
                Some(logged) => {
                    explainer
                        .explain(&request(logged, args, number), args.json)
                        .await?;
                }
                None => unreadable += 1,
            }
        }
    }
    if unreadable > 0 {
        output::note(&format!(
            "{unreadable} of {number} lines do not contain a request in the common, combined or JSON format"
        ));
    }
    // An empty log is not an error.
    let is_explained = unreadable < number || number == 0;
    Ok(ExitCode::from(u8::from(!is_explained)))
}

/// Returns the request in a log line; missing parts are taken from the arguments.
fn request(logged: LoggedRequest, args: &ExplainArgs, number: u64) -> ExplainedRequest {
    ExplainedRequest {
        line: Some(number),
        method: logged.method.unwrap_or_else(|| args.method.clone()),
        host: logged.host.or_else(|| args.host.clone()),
        target: logged.target,
        // The layer treats a missing header in the same way as an empty header.
        user_agent: logged.user_agent.unwrap_or_default(),
        // Log formats do not include signature headers.
        headers: HeaderMap::new(),
    }
}

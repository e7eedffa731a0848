//! Lines of access logs, one after the other.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;
use http::HeaderMap;

use crate::access_log::{Lines, LoggedRequest, open};
use crate::cli::{args::ExplainArgs, output, usage::WrongUsage};

use super::{explainer::Explainer, told::Asked};

/// Explains one line that was given as an argument.
pub(super) async fn explain_line(
    explainer: &Explainer,
    args: &ExplainArgs,
    line: &str,
) -> anyhow::Result<ExitCode> {
    let Some(logged) = LoggedRequest::read(line.trim().as_bytes()) else {
        let usage = "--log-line tells of no request; give a whole line of the common, combined or JSON form";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    explainer.tell(&asked(logged, args, 1), args.json).await?;
    Ok(ExitCode::SUCCESS)
}

/// Explains each line of a file, plain or gzip; `-` is standard input.
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
    while lines.fill().with_context(name)? {
        while let Some(line) = lines.next_line() {
            number += 1;
            match LoggedRequest::read(line) {
                Some(logged) => {
                    explainer
                        .tell(&asked(logged, args, number), args.json)
                        .await?;
                }
                None => unreadable += 1,
            }
        }
    }
    if unreadable > 0 {
        output::note(&format!(
            "{unreadable} of {number} lines tell of no request in the common, combined or JSON form"
        ));
    }
    let has_told = unreadable < number || number == 0;
    Ok(ExitCode::from(u8::from(!has_told)))
}

/// Fills in from the arguments what the line does not say.
fn asked(logged: LoggedRequest, args: &ExplainArgs, number: u64) -> Asked {
    Asked {
        line: Some(number),
        method: logged.method.unwrap_or_else(|| args.method.clone()),
        host: logged.host.or_else(|| args.host.clone()),
        target: logged.target,
        user_agent: logged.user_agent.unwrap_or_default(),
        // No log tells them.
        headers: HeaderMap::new(),
    }
}

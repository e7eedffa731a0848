//! Explains the decisions for lines of access logs.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;

use crate::access_log::{Lines, LogLine, LogReader, open};
use crate::cli::args::ExplainArgs;
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::log_report::SampledRequest;

use super::{explainer::Explainer, report::ExplainedRequest};

/// Explains one log line given as an argument.
pub(super) async fn explain_line(
    explainer: &Explainer,
    args: &ExplainArgs,
    line: &str,
) -> anyhow::Result<ExitCode> {
    let mut reader = args.log.reader();
    let Some(request) = request(&mut reader, line.trim().as_bytes(), args, 1) else {
        let usage =
            "--log-line does not contain a request; specify a complete line of an access log";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    explainer.explain(&request, args.json).await?;
    Ok(ExitCode::SUCCESS)
}

/// Explains each line of an uncompressed or compressed file; `-` reads standard input.
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
    let mut reader = args.log.reader();
    let (mut number, mut unreadable) = (0_u64, 0_u64);
    while lines.read_more().with_context(name)? {
        while let Some(line) = lines.next_line() {
            number += 1;
            if let Some(request) = request(&mut reader, line, args, number) {
                explainer.explain(&request, args.json).await?;
            } else {
                unreadable += u64::from(!line.starts_with(b"#"));
            }
        }
    }
    if unreadable > 0 {
        output::note(&format!(
            "{unreadable} of {number} lines do not contain a request in a known format"
        ));
    }
    // An empty log is not an error.
    let is_explained = unreadable < number || number == 0;
    Ok(ExitCode::from(u8::from(!is_explained)))
}

/// Returns the request in a log line, if the line contains one; missing parts are taken from the
/// arguments.
fn request(
    reader: &mut LogReader,
    line: &[u8],
    args: &ExplainArgs,
    number: u64,
) -> Option<ExplainedRequest> {
    let LogLine::Request(record) = reader.read(line) else {
        return None;
    };
    let mut request = ExplainedRequest::from_log(SampledRequest::from_record(&record)?);
    request.line = Some(number);
    if record.method.is_empty() {
        request.method.clone_from(&args.method);
    }
    request.host = request.host.or_else(|| args.host.clone());
    Some(request)
}

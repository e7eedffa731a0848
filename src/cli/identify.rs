//! `identify`: user agents in, robots out, fast enough for access logs.

use std::{
    io::{self, BufRead, BufWriter, Write},
    process::ExitCode,
};

use serde_json::json;

use crate::detect::{Claim, Detector};

use super::{Cli, args::IdentifyArgs, context};

/// Bytes of a line that are kept; the rest is read over.
const MAX_LINE_BYTES: usize = 64 * 1024;

pub(super) fn run(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<ExitCode> {
    let detector = detector(cli, args)?;
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    if args.user_agents.is_empty() {
        identify_lines(&detector, io::stdin().lock(), &mut out, args.json)?;
    } else {
        for user_agent in &args.user_agents {
            write_answer(&detector, user_agent.as_bytes(), &mut out, args.json)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn detector(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<Detector> {
    if args.bundled {
        return context::bundled_detector();
    }
    let loaded = context::load(cli)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(context::detector(&loaded))
}

/// Answers each line with one line; LF or CRLF ends a line.
fn identify_lines(
    detector: &Detector,
    mut input: impl BufRead,
    out: &mut impl Write,
    json: bool,
) -> io::Result<()> {
    let mut line = Vec::with_capacity(1024);
    while read_line(&mut input, &mut line)? {
        write_answer(detector, &line, out, json)?;
    }
    Ok(())
}

/// Reads a line without its end, and no more than the limit of it into memory.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            break;
        }
        any = true;
        let end = available.iter().position(|b| *b == b'\n');
        let part = available
            .get(..end.unwrap_or(available.len()))
            .unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        line.extend(part.iter().take(room));
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(any)
}

fn write_answer(
    detector: &Detector,
    user_agent: &[u8],
    out: &mut impl Write,
    json: bool,
) -> io::Result<()> {
    let claim = detector.identify(user_agent);
    if json {
        return writeln!(
            out,
            "{}",
            claim.map_or_else(|| json!({"robot": null}), |claim| object(&claim))
        );
    }
    match claim {
        Some(claim) => writeln!(out, "{}", claim.robot.id),
        None => out.write_all(b"-\n"),
    }
}

/// Returns a claim as a JSON object.
pub(super) fn object(claim: &Claim<'_>) -> serde_json::Value {
    json!({
        "robot": claim.robot.id,
        "name": claim.robot.name,
        "purpose": claim.robot.purpose.as_str(),
        "operator": claim.robot.operator,
        "source": claim.robot.source.as_str(),
        "details_url": claim.robot.details_url,
        "pattern": {"kind": claim.pattern.kind.as_str(), "text": claim.pattern.text},
        "matched": {"from": claim.range.start, "to": claim.range.end},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> String {
        let mut out = Vec::new();
        let detector = context::bundled_detector().unwrap();
        identify_lines(&detector, input, &mut out, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_gets_one_line() {
        let input =
            b"Mozilla/5.0 (compatible; Googlebot/2.1)\r\n\nMozilla/5.0 (X11)\nGooglebot/2.1";
        assert_eq!(answers(input), "googlebot\n-\n-\ngooglebot\n");
        assert_eq!(answers(b""), "");
    }

    #[test]
    fn a_line_without_end_is_not_kept_in_memory() {
        let mut input = vec![b'x'; 3 * MAX_LINE_BYTES];
        input.extend(b"\nGooglebot/2.1\n");
        let mut line = Vec::new();
        let mut reader = input.as_slice();
        assert!(read_line(&mut reader, &mut line).unwrap());
        assert_eq!(line.len(), MAX_LINE_BYTES);
        assert_eq!(answers(&input), "-\ngooglebot\n");
    }
}

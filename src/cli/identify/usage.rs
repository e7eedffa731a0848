//! Checks combinations of arguments, and prints hints if the log does not match them.

use crate::access_log::{FieldPath, Parser};
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::cli::summary::SummaryForm;

use super::{
    args::{By, IdentifyArgs, LogFormat},
    input::ReadCounts,
};

/// Returns the format of the summary, if requested.
pub(super) fn summary_form(args: &IdentifyArgs) -> Result<Option<SummaryForm>, WrongUsage> {
    let Some(form) = args.summary else {
        return Ok(None);
    };
    // Without a value, `--summary` is a table unless `--json` selects JSON.
    if form == SummaryForm::Csv && args.json {
        let text = "--json selects a JSON summary and --summary=csv a CSV summary; omit one";
        return Err(WrongUsage(text.to_owned()));
    }
    if form == SummaryForm::Csv && args.by.len() > 1 {
        let text = "--summary=csv prints one table; select it with --by, or use --summary=json";
        return Err(WrongUsage(text.to_owned()));
    }
    Ok(Some(if args.json { SummaryForm::Json } else { form }))
}

/// Returns the parser described by the arguments.
pub(super) fn parser(args: &IdentifyArgs) -> Result<Parser, WrongUsage> {
    let names_field = args.field.is_some() || args.bytes_field.is_some();
    if names_field && args.format != LogFormat::Json {
        let text = "--field and --bytes-field name fields of JSON lines; add --format json";
        return Err(WrongUsage(text.to_owned()));
    }
    if args.verify && args.format == LogFormat::UserAgents {
        let text = "--verify needs the addresses of a log; add --format combined or --format json";
        return Err(WrongUsage(text.to_owned()));
    }
    if args.by.contains(&By::Verdict) && !args.verify {
        let text = "--by verdict needs verdicts; add --verify";
        return Err(WrongUsage(text.to_owned()));
    }
    let parser = match args.format {
        LogFormat::UserAgents => Parser::user_agents(),
        LogFormat::Combined => Parser::combined(),
        LogFormat::Json => Parser::json(
            paths(args.field.as_ref(), FieldPath::usual_user_agents),
            paths(args.bytes_field.as_ref(), FieldPath::usual_bytes),
        ),
    };
    Ok(parser.clients(args.verify))
}

fn paths(named: Option<&FieldPath>, usual: fn() -> Vec<FieldPath>) -> Vec<FieldPath> {
    named.map_or_else(usual, |path| vec![path.clone()])
}

/// Prints hints on standard error if the log does not seem to have the given format.
pub(super) fn hint(args: &IdentifyArgs, counts: &ReadCounts, is_summary: bool) {
    let readable = counts.lines - counts.unreadable;
    // A log in the right format has odd lines too; if most are odd, the format is wrong.
    if counts.unreadable > readable {
        output::note(&format!(
            "{} of {} lines cannot be read as --format {}: try another format",
            counts.unreadable,
            counts.lines,
            args.format.as_str()
        ));
    } else if args.format != LogFormat::UserAgents
        && readable > 0
        && counts.without_user_agent == readable
    {
        let next = match args.format {
            LogFormat::Json => "set its field with --field",
            _ => "the common format has none, the combined format does",
        };
        output::note(&format!("no line has a User-Agent: {next}"));
    }
    if is_summary && counts.failed > 0 {
        output::note("the figures do not include unreadable input");
    }
}

//! Checks combinations of arguments, and prints hints if the log does not match the arguments.

use crate::access_log::{FieldPath, Parser};
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::cli::summary::SummaryForm;

use super::{
    args::{By, IdentifyArgs, LogFormat},
    input::ReadCounts,
};

/// Returns the format of the summary, if a summary is requested.
pub(super) fn summary_form(args: &IdentifyArgs) -> Result<Option<SummaryForm>, WrongUsage> {
    let Some(form) = args.summary else {
        return Ok(None);
    };
    // Without a value, `--summary` is a table unless `--json` selects JSON.
    if form == SummaryForm::Csv && args.json {
        let text = "--json selects a JSON summary, but --summary=csv selects a CSV summary; omit one of them";
        return Err(WrongUsage(text.to_owned()));
    }
    if form == SummaryForm::Csv && args.by.len() > 1 {
        let text =
            "--summary=csv prints one table; select the table with --by, or use --summary=json";
        return Err(WrongUsage(text.to_owned()));
    }
    Ok(Some(if args.json { SummaryForm::Json } else { form }))
}

/// Returns the log parser that the arguments select.
pub(super) fn parser(args: &IdentifyArgs) -> Result<Parser, WrongUsage> {
    let names_field = args.field.is_some() || args.bytes_field.is_some();
    if names_field && args.format != LogFormat::Json {
        let text = "--field and --bytes-field specify fields of JSON lines; add --format json";
        return Err(WrongUsage(text.to_owned()));
    }
    if args.verify && args.format == LogFormat::UserAgents {
        let text = "--verify requires the client addresses in a log; add --format combined or --format json";
        return Err(WrongUsage(text.to_owned()));
    }
    if args.by.contains(&By::Verdict) && !args.verify {
        let text = "--by verdict requires verdicts; add --verify";
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

/// Prints hints to standard error if the log does not seem to be in the given format.
pub(super) fn hint(args: &IdentifyArgs, counts: &ReadCounts, is_summary: bool) {
    let readable = counts.lines - counts.unreadable;
    // Even a log in the right format contains some unreadable lines; if most are unreadable, the
    // format is wrong.
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
            LogFormat::Json => "specify the field with --field",
            _ => "the common format contains no User-Agent, but the combined format does",
        };
        output::note(&format!("no line has a User-Agent: {next}"));
    }
    if is_summary && counts.failed > 0 {
        output::note("the counts do not include unreadable inputs");
    }
}

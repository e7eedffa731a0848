//! Checks that arguments fit each other, and hints where the log does not fit them.

use crate::access_log::{FieldPath, Parser};
use crate::cli::output;
use crate::cli::output::WrongUsage;
use crate::cli::summary::SummaryForm;

use super::{
    args::{By, IdentifyArgs, LogFormat},
    input::ReadCounts,
};

/// Returns the form of the summary, if one is asked for.
pub(super) fn summary_form(args: &IdentifyArgs) -> Result<Option<SummaryForm>, WrongUsage> {
    let Some(form) = args.summary else {
        return Ok(None);
    };
    // Without a value `--summary` is a table, unless `--json` asks for JSON.
    if form == SummaryForm::Csv && args.json {
        let text = "--json asks for a JSON summary, --summary=csv for another; leave one out";
        return Err(WrongUsage(text.to_owned()));
    }
    if form == SummaryForm::Csv && args.by.len() > 1 {
        let text = "--summary=csv prints one table; name one with --by, or use --summary=json";
        return Err(WrongUsage(text.to_owned()));
    }
    Ok(Some(if args.json { SummaryForm::Json } else { form }))
}

/// Returns the parser that the arguments describe.
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

/// Prints hints on standard error where the log does not seem to be of the named form.
pub(super) fn hint(args: &IdentifyArgs, counts: &ReadCounts, is_summary: bool) {
    let readable = counts.lines - counts.unreadable;
    // A log of the right form has odd lines too; when most are odd it is the wrong form.
    if counts.unreadable > readable {
        output::note(&format!(
            "{} of {} lines cannot be read as --format {}: is it another?",
            counts.unreadable,
            counts.lines,
            args.format.as_str()
        ));
    } else if args.format != LogFormat::UserAgents
        && readable > 0
        && counts.without_user_agent == readable
    {
        let next = match args.format {
            LogFormat::Json => "name its field with --field",
            _ => "the common form has none, the combined form has",
        };
        output::note(&format!("no line has a User-Agent: {next}"));
    }
    if is_summary && counts.failed > 0 {
        output::note("the figures leave out what could not be read");
    }
}

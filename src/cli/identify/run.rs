//! From the arguments to answers or a summary.

use std::{
    io::{self, BufWriter, Write as _},
    process::ExitCode,
};

use crate::cli::{
    Cli,
    args::{By, IdentifyArgs, SummaryForm},
    context,
};
use crate::detect::Detector;

use super::{
    answer::Answers,
    csv,
    input::{Input, Seen, read_all},
    json, progress, table,
    tally::Tally,
    usage,
};

/// Bytes of answers that are written at once.
const OUTPUT_BYTES: usize = 64 * 1024;

pub(in crate::cli) fn run(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<ExitCode> {
    let form = usage::summary_form(args)?;
    let mut parser = usage::parser(args)?;
    let detector = detector(cli, args)?;
    let mut out = BufWriter::with_capacity(OUTPUT_BYTES, io::stdout().lock());
    if !args.user_agents.is_empty() {
        let mut answers = Answers::new(&detector, &mut out, args.json);
        for user_agent in &args.user_agents {
            answers.answer(user_agent.as_bytes())?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let inputs = Input::named(&args.input);
    let bar = progress::bar(&inputs, form.is_some());
    let seen = if let Some(form) = form {
        let mut tally = Tally::new(&detector);
        let seen = read_all(&inputs, &mut parser, &mut tally, &bar)?;
        bar.finish_and_clear();
        summarise(&tally, form, args, &mut out)?;
        seen
    } else {
        let mut answers = Answers::new(&detector, &mut out, args.json);
        let seen = read_all(&inputs, &mut parser, &mut answers, &bar)?;
        bar.finish_and_clear();
        seen
    };
    out.flush()?;
    usage::hint(args, &seen, form.is_some());
    Ok(exit_code(&seen))
}

fn detector(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<Detector> {
    if args.bundled {
        return context::bundled_detector(context::load(cli)?.settings().unlisted_robots);
    }
    let loaded = context::load(cli)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(context::detector(&loaded))
}

fn summarise(
    tally: &Tally<'_>,
    form: SummaryForm,
    args: &IdentifyArgs,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let groupings = match (form, args.by.as_slice()) {
        (SummaryForm::Csv, []) => [By::Robot].as_slice(),
        (SummaryForm::Table, []) => &[By::Robot, By::Operator, By::Purpose],
        (SummaryForm::Json, []) => &[By::Robot, By::Operator, By::Purpose, By::Source],
        (_, named) => named,
    };
    match form {
        SummaryForm::Table => table::write(tally, groupings, args.top.unwrap_or(20), out),
        SummaryForm::Csv => csv::write(tally, groupings, args.top.unwrap_or(0), out),
        SummaryForm::Json => json::write(tally, groupings, args.top.unwrap_or(0), out),
    }
}

fn exit_code(seen: &Seen) -> ExitCode {
    if seen.failed > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

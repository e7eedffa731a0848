//! Runs `identify`: reads the inputs and prints results or a summary.

use std::{
    io::{self, BufWriter, Write as _},
    process::ExitCode,
};

use indicatif::ProgressBar;

use crate::access_log::Parser;
use crate::app::ClaimProver;
use crate::cli::{
    Cli, context,
    summary::{self, SummaryForm},
};
use crate::detect::Detector;

use super::{
    answer_writer::AnswerWriter,
    args::{By, IdentifyArgs},
    input::{Input, ReadCounts, read_all},
    input::{ProofProgress, bar},
    proving_sink::{ProvingSink, VerdictSink},
    suspects,
    tally::Tally,
    usage,
};

/// The number of output bytes to write with one system call.
const OUTPUT_BYTES: usize = 64 * 1024;

pub(in crate::cli) fn run(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<ExitCode> {
    if args.suspects {
        return suspects::run(args, &detector(cli, args)?);
    }
    let form = usage::summary_form(args)?;
    let mut parser = usage::parser(args)?;
    let detector = detector(cli, args)?;
    let mut out = BufWriter::with_capacity(OUTPUT_BYTES, io::stdout().lock());
    if !args.user_agents.is_empty() {
        let mut answers = AnswerWriter::new(&detector, &mut out, args.json);
        for user_agent in &args.user_agents {
            answers.answer(user_agent.as_bytes())?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let inputs = Input::named(&args.input);
    let bar = bar(&inputs, form.is_some());
    let reader = LogReader {
        cli,
        args,
        detector: &detector,
        inputs: &inputs,
        bar: &bar,
    };
    let counts = if let Some(form) = form {
        let (counts, tally) = reader.read(&mut parser, Tally::new(&detector))?;
        summarise(&tally, form, args, &mut out)?;
        counts
    } else {
        let answers = AnswerWriter::new(&detector, &mut out, args.json);
        reader.read(&mut parser, answers)?.0
    };
    out.flush()?;
    // Printed after the output is flushed, so that hints do not appear among the results.
    usage::hint(args, &counts, form.is_some());
    Ok(exit_code(&counts))
}

/// A reader of the inputs given as arguments.
struct LogReader<'r> {
    cli: &'r Cli,
    args: &'r IdentifyArgs,
    detector: &'r Detector,
    inputs: &'r [Input],
    bar: &'r ProgressBar,
}

impl LogReader<'_> {
    /// Passes all lines to a sink; with `--verify`, verifies the claims first.
    fn read<S: VerdictSink>(
        &self,
        parser: &mut Parser,
        mut sink: S,
    ) -> anyhow::Result<(ReadCounts, S)> {
        let (inputs, bar) = (self.inputs, self.bar);
        let read = if self.args.verify {
            let loaded = context::load(self.cli)?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            let settings = ClaimProver::settings(&loaded.settings().verify, false);
            let prover = runtime.block_on(async {
                let store = context::store(&loaded).await?;
                anyhow::Ok(ClaimProver::new(settings, store).await?)
            })?;
            let mut sink = ProvingSink::new(
                self.detector,
                prover,
                &runtime,
                sink,
                ProofProgress::new(bar),
            );
            let counts = read_all(inputs, parser, &mut sink, bar)?;
            (counts, sink.into_inner())
        } else {
            let counts = read_all(inputs, parser, &mut sink, bar)?;
            (counts, sink)
        };
        bar.finish_and_clear();
        Ok(read)
    }
}

fn detector(cli: &Cli, args: &IdentifyArgs) -> anyhow::Result<Detector> {
    if args.bundled {
        return context::bundled_detector(context::load(cli)?.settings().general.unlisted_robots);
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
        (SummaryForm::Csv, []) if args.verify => [By::Verdict].as_slice(),
        (SummaryForm::Table, []) if args.verify => &[By::Verdict, By::Operator, By::Purpose],
        (SummaryForm::Json, []) if args.verify => &[
            By::Robot,
            By::Verdict,
            By::Operator,
            By::Purpose,
            By::Source,
        ],
        (SummaryForm::Csv, []) => &[By::Robot],
        (SummaryForm::Table, []) => &[By::Robot, By::Operator, By::Purpose],
        (SummaryForm::Json, []) => &[By::Robot, By::Operator, By::Purpose, By::Source],
        (_, named) => named,
    };
    summary::write(tally, form, groupings, args.top, out)
}

fn exit_code(counts: &ReadCounts) -> ExitCode {
    if counts.failed > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

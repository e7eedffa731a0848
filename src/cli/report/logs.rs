//! Runs `report`, and reads access logs.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use askama::Template as _;
use indicatif::HumanCount;
use serde_json::Value;

use crate::cli::log_input::{Input, bar};
use crate::cli::output::WrongUsage;
use crate::cli::{Cli, context, explain, output};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::detect::Detector;
use crate::log_report::{Counter, Finder, Findings, LineCounts, Logs, PeopleCounter, RequestSink};
use crate::robots_txt::RobotsTxt;
use crate::summary::Summary as _;
use crate::suspicion::{conduct_value, fleet_value, moment};
use crate::traffic::{Figures, KnownRobots};

use super::{
    ReportArgs, database,
    proofs::prove,
    section::{Cell, Report, Section},
    sections,
};

/// The default number of rows in each table.
pub(super) const TOP: usize = 20;

/// The minimum interval between two reports about followed logs.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);

pub(in crate::cli) async fn run(cli: &Cli, args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(text) = args.contradiction() {
        return Err(WrongUsage(text.to_owned()).into());
    }
    let loaded = context::load(cli)?;
    if args.files.is_empty() {
        return database::report(&loaded, args).await;
    }
    let detector = context::chosen_detector(&loaded, args.bundled).await?;
    let robots_txt = args
        .robots_txt
        .as_deref()
        .map(explain::read_robots_txt)
        .transpose()?;
    let stdin = args.files.iter().any(|file| file == Path::new("-"));
    let stdin = stdin.then(copy_stdin).transpose()?;
    let inputs: Vec<_> = (args.files.iter())
        .map(|file| match &stdin {
            Some(copy) if file == Path::new("-") => Input {
                path: copy.path().to_owned(),
                name: "standard input".to_owned(),
            },
            _ => Input::new(file),
        })
        .collect();
    let log_report = LogReport {
        loaded: &loaded,
        args,
        detector: &detector,
        robots_txt: robots_txt.as_ref(),
    };
    loop {
        let sizes = sizes(&inputs);
        let began_ms = Clock::system().now_ms();
        let code = Box::pin(log_report.print(&inputs)).await?;
        if !args.follow {
            return Ok(code);
        }
        // A long report must not keep a processor busy all the time.
        let took_ms = Clock::system().now_ms().saturating_sub(began_ms);
        let pause = Duration::from_millis(u64::try_from(took_ms).unwrap_or(0) * 4);
        let mut interval = tokio::time::interval(FOLLOW_EVERY.max(pause));
        interval.tick().await;
        loop {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => return Ok(code),
                _ = interval.tick() => {}
            }
            if self::sizes(&inputs) != sizes {
                break;
            }
        }
    }
}

/// A log that is read twice must be a file.
fn copy_stdin() -> anyhow::Result<tempfile::NamedTempFile> {
    let copy = tempfile::NamedTempFile::new();
    let copied = copy.and_then(|mut copy| {
        io::copy(&mut io::stdin().lock(), &mut copy)?;
        Ok(copy)
    });
    copied.context("cannot copy standard input to a temporary file")
}

fn sizes(inputs: &[Input]) -> Vec<Option<u64>> {
    inputs.iter().map(Input::size_bytes).collect()
}

/// A reporter about access logs.
struct LogReport<'r> {
    loaded: &'r Loaded,
    args: &'r ReportArgs,
    detector: &'r Detector,
    robots_txt: Option<&'r RobotsTxt>,
}

impl LogReport<'_> {
    async fn print(&self, inputs: &[Input]) -> anyhow::Result<ExitCode> {
        let (logs, inputs, refused) = self.logs(inputs);
        if inputs.is_empty() {
            return Ok(ExitCode::FAILURE);
        }
        let needs_findings = self.args.needs_findings();
        let bar = bar(&inputs, if needs_findings { 2 } else { 1 });
        let read = |sink: &mut dyn RequestSink| {
            let open = |number: usize| match inputs.get(number) {
                Some(input) => input.reader(&bar),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            logs.read(&open, sink)
        };
        let mut finder = Finder::new(self.detector, self.robots_txt, self.args.verify);
        if needs_findings {
            read(&mut finder);
        }
        let (mut findings, claims) = finder.finish();
        if self.args.verify {
            let prover = context::claim_prover(self.loaded).await?;
            findings.verdicts = prove(&prover, claims, &bar).await;
        }
        let (counts, report) = if self.args.people {
            let mut counter = PeopleCounter::new(self.detector, &findings, self.args.full);
            let counts = read(&mut counter);
            let report = Report {
                title: "Requests of people",
                facts: Vec::new(),
                numbers: Vec::new(),
                sections: sections::people(&counter, self.args.top.unwrap_or(TOP)),
                limits: sections::limits(&findings, self.args),
            };
            (counts, Some(report))
        } else {
            let mut counter =
                Counter::new(self.detector, &findings, self.robots_txt, self.args.full);
            let counts = read(&mut counter);
            counter.finish();
            (counts, Box::pin(self.whole(&counter, &findings)).await?)
        };
        bar.finish_and_clear();
        for (number, error) in &counts.failures {
            if let Some(input) = inputs.get(*number) {
                output::note(&format!("error: cannot read {input}: {error}"));
            }
        }
        if let Some(mut report) = report {
            report.facts.extend(facts(&inputs, &counts));
            report.numbers = vec![
                ("lines", counts.lines),
                ("unreadable", counts.unreadable),
                ("copies", counts.copies),
            ];
            print(&report, self.args)?;
        }
        let is_failed = refused > 0 || !counts.failures.is_empty();
        Ok(ExitCode::from(u8::from(is_failed)))
    }

    /// Recognises the formats of the logs, and sorts the logs by their first times; returns the
    /// number of rejected logs.
    fn logs(&self, inputs: &[Input]) -> (Logs, Vec<Input>, u64) {
        let mut files = Vec::new();
        let mut refused = 0;
        let mut formats = BTreeMap::<String, Vec<&Input>>::new();
        for input in inputs {
            let sample = input.sample(self.args.log.reader());
            let error = match &sample {
                Ok(sample) => sample
                    .refusal()
                    .map(|reason| format!("{reason}; recognised: {sample}")),
                Err(error) => Some(error.to_string()),
            };
            if let Some(error) = error {
                refused += 1;
                output::note(&format!("error: cannot read {input}: {error}"));
            } else if let Ok(sample) = sample {
                formats.entry(sample.to_string()).or_default().push(input);
                files.push((sample.first_s.unwrap_or(i64::MAX), input.clone()));
            }
        }
        for (format, inputs) in &formats {
            if let Some((first, more)) = inputs.split_first() {
                let more = match more.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                output::note(&format!("{first}{more}: {format}"));
            }
        }
        files.sort_by_key(|(first_s, _)| *first_s);
        let now = Clock::system().now_ms().div_euclid(60_000);
        let times = self.args.times();
        let seconds = |minute: i64| minute.saturating_mul(60);
        let since_s = seconds(times.since.minute(now, i64::MIN));
        let until_s = times
            .until
            .map_or(i64::MAX, |until| seconds(until.minute(now, i64::MAX)));
        let (first_s, inputs) = files.into_iter().unzip();
        let logs = Logs {
            first_s,
            reader: self.args.log.reader(),
            period_s: since_s..until_s,
        };
        (logs, inputs, refused)
    }

    /// Returns the whole report, or prints the tables that the arguments select.
    async fn whole(
        &self,
        counter: &Counter<'_>,
        findings: &Findings<'_>,
    ) -> anyhow::Result<Option<Report>> {
        let args = self.args;
        let figures = Figures::new(
            counter.sums(),
            &args.filter(),
            KnownRobots::new(self.detector),
        );
        let (first_s, last_s) = counter.times_s.unwrap_or_default();
        let minutes = first_s.div_euclid(60)..last_s.div_euclid(60) + 1;
        if args.selects_tables() {
            database::print_tables(&figures, args, &minutes)?;
            return Ok(None);
        }
        let top = args.top.unwrap_or(TOP);
        let mut all = sections::visitors(&figures, top);
        let unlisted_and_more = sections::from_log(counter, figures.all(), args, top);
        let fleets: Vec<_> = findings
            .flags
            .fleets()
            .into_iter()
            .map(fleet_value)
            .collect();
        let conduct: Vec<_> = findings
            .flags
            .conducts()
            .into_iter()
            .map(conduct_value)
            .collect();
        all.push(sections::fleets(fleets, top));
        all.push(sections::conduct(conduct, top, args.full));
        all.extend(unlisted_and_more);
        all.extend(sections::load(&counter.hours));
        let mut folders = sections::pages(&counter.folders, top, None);
        (folders.id, folders.title) = ("folders", "Most requested folders");
        all.push(folders);
        all.push(sections::parameters(&counter.parameters, top));
        all.push(sections::pages(&counter.pages, top, self.robots_txt));
        all.extend(self.robots_txt.map(|file| sections::robots_txt(file, top)));
        all.push(Box::pin(self.decisions(counter)).await?);
        Ok(Some(Report {
            title: "Visitors of the site",
            numbers: Vec::new(),
            facts: vec![format!("From {} to {}.", moment(first_s), moment(last_s))],
            sections: all,
            limits: sections::limits(findings, args),
        }))
    }

    /// Returns the decisions that a server with the current configuration makes for robots.
    async fn decisions(&self, counter: &Counter<'_>) -> anyhow::Result<Section> {
        let sample = &counter.sample;
        let explainer = explain::Explainer::new_offline(
            self.loaded,
            self.detector.clone(),
            self.robots_txt.cloned(),
        );
        let counts = Box::pin(explainer).await?.count_decisions(sample).await?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "shares are printed with one digit"
        )]
        let share = |count: u64| count as f64 / (sample.len().max(1)) as f64;
        let rows = counts.into_iter();
        let rows =
            rows.map(|(decision, count)| vec![Cell::text(&decision), Cell::Share(share(count))]);
        let about = format!(
            "Decisions with the current configuration, estimated from {} requests of robots.",
            HumanCount(sample.len() as u64)
        );
        Ok(
            Section::new("decisions", "Decisions of robot-detection", about)
                .with_columns(&["decision", "share of robots' requests"])
                .with_rows(rows),
        )
    }
}

fn facts(inputs: &[Input], counts: &LineCounts) -> Vec<String> {
    let number = |number: u64| HumanCount(number).to_string();
    let files = match inputs {
        [one] => one.to_string(),
        files => format!("{} files", files.len()),
    };
    let mut facts = vec![format!("{} lines in {files}.", number(counts.lines))];
    for (count, text) in [
        (
            counts.unreadable,
            "lines are in no known format and were left out.",
        ),
        (
            counts.copies,
            "lines occur in several files and were counted once.",
        ),
        (
            counts.failures.len() as u64,
            "files could not be read to the end.",
        ),
    ] {
        if count > 0 {
            facts.push(format!("{} {text}", number(count)));
        }
    }
    facts
}

/// Prints a report as text or JSON, or writes it as HTML.
pub(super) fn print(report: &Report, args: &ReportArgs) -> anyhow::Result<()> {
    if let Some(file) = &args.html {
        output::write_file(file, &report.render()?)?;
        output::note(&format!("wrote {}", file.display()));
        return Ok(());
    }
    if args.json {
        let tables = report.sections.iter();
        let mut all: serde_json::Map<_, _> = tables
            .map(|section| (section.id.to_owned(), section.to_json()))
            .collect();
        let numbers = report.numbers.iter();
        all.extend(numbers.map(|(name, number)| ((*name).to_owned(), (*number).into())));
        all.insert("facts".to_owned(), report.facts.clone().into());
        all.insert("limits".to_owned(), report.limits.clone().into());
        return Ok(output::json(&Value::Object(all))?);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", report.title)?;
    for fact in &report.facts {
        writeln!(out, "{fact}")?;
    }
    for section in &report.sections {
        section.write_text(&mut out)?;
    }
    if !report.limits.is_empty() {
        writeln!(out, "\nLimits of this report")?;
    }
    for limit in &report.limits {
        writeln!(out, "- {limit}")?;
    }
    out.flush()?;
    Ok(())
}

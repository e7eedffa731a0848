//! `registry refresh`: downloads and parses sources, one after another.

use std::{io::IsTerminal as _, path::Path, process::ExitCode, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use robot_detection_site_robot::spelling::unknown_word;
use serde_json::{Value, json};

use crate::app::RobotDetection;
use crate::cli::output::WrongUsage;
use crate::cli::{context, output};
use crate::refresh::{Progress, RefreshError, RefreshOptions, SourceSpec, Trigger};
use crate::registry::{Format, Source};
use crate::store::{RefreshOutcome, RefreshRecord};

use super::args::RefreshArgs;

/// Advice to print after the reason why a document is held for review.
const HELD_ADVICE: &str =
    "; the previous robots remain in use; to apply the document, use --accept";

pub(super) async fn refresh(
    robots: &RobotDetection,
    args: &RefreshArgs,
) -> anyhow::Result<ExitCode> {
    let specs = specs(robots, args)?;
    if specs.is_empty() {
        output::note("nothing to refresh: set web_robots_db or a [[source]], or use --from");
        return Ok(ExitCode::FAILURE);
    }
    let mut code = ExitCode::SUCCESS;
    let mut records = Vec::new();
    let event = if args.accept {
        "refresh-accepted"
    } else {
        "refresh-started"
    };
    for (spec, options) in with_options(robots, specs, args).await? {
        context::caller(robots.store())
            .record(event, spec.source.as_str(), "")
            .await;
        match refresh_one(robots, &spec, options).await {
            Ok(record) => {
                if !args.json {
                    print_record(&record)?;
                }
                records.push(record_object(&record));
            }
            Err(error) => {
                // Other sources are still refreshed, because sources are independent.
                code = ExitCode::FAILURE;
                let reason = output::clean(&error.to_string());
                let is_held = matches!(error, RefreshError::Held(_));
                let advice = if is_held { HELD_ADVICE } else { "" };
                output::note(&format!("error: {}: {reason}{advice}", spec.source));
                let outcome = if is_held { "held" } else { "failed" };
                records.push(json!({"source": spec.source.as_str(), "outcome": outcome, "error": error.to_string()}));
            }
        }
    }
    if args.json {
        output::json(&Value::Array(records))?;
    }
    Ok(code)
}

/// Returns the sources to refresh; with `--accept`, only sources with a document held for review.
async fn with_options(
    robots: &RobotDetection,
    specs: Vec<SourceSpec>,
    args: &RefreshArgs,
) -> anyhow::Result<Vec<(SourceSpec, RefreshOptions)>> {
    let mut refreshes = Vec::new();
    for spec in specs {
        let mut options = RefreshOptions {
            force: args.force,
            ..RefreshOptions::default()
        };
        if args.accept {
            let held = robots.refresher().held(&spec).await?;
            let Some(document) = held.and_then(|record| record.held_sha256) else {
                continue;
            };
            // Identified by digest, so a document that has changed since is not accepted.
            options.accept = Some(document);
        }
        refreshes.push((spec, options));
    }
    if refreshes.is_empty() {
        anyhow::bail!(
            "no document is held for review; to download the sources, run `registry refresh` without --accept"
        );
    }
    Ok(refreshes)
}

fn specs(robots: &RobotDetection, args: &RefreshArgs) -> anyhow::Result<Vec<SourceSpec>> {
    let configured = robots.refresher().sources();
    if let Some(from) = &args.from {
        return Ok(vec![spec_of_file(from, args)?]);
    }
    let Some(name) = &args.source else {
        return Ok(configured);
    };
    let names = configured
        .iter()
        .map(|spec| spec.source.to_string())
        .collect::<Vec<_>>();
    let found = configured
        .into_iter()
        .filter(|spec| spec.source.as_str() == name)
        .collect::<Vec<_>>();
    if found.is_empty() {
        let names = names.iter().map(String::as_str);
        anyhow::bail!(WrongUsage(unknown_word("configured source", name, names)));
    }
    Ok(found)
}

fn spec_of_file(from: &str, args: &RefreshArgs) -> anyhow::Result<SourceSpec> {
    let format = match &args.format {
        None => Format::WebRobotsDb,
        Some(word) => Format::from_word(word).ok_or_else(|| {
            let words = Format::ALL.iter().map(|format| format.as_str());
            WrongUsage(unknown_word("format", word, words))
        })?,
    };
    let source = args.source.as_deref().unwrap_or(format.as_str());
    let source: Source = source
        .parse()
        .map_err(|error| WrongUsage(format!("--source {source:?}: {error}")))?;
    if source == Source::manual() || source == Source::bundled() {
        anyhow::bail!(WrongUsage(format!(
            "--source {source}: this name is reserved"
        )));
    }
    // A source must be a URL, an absolute path, or a path that begins with `./`.
    let is_url = from.contains("://") || from.starts_with("file:");
    let url = if is_url || Path::new(from).is_absolute() {
        from.to_owned()
    } else {
        format!("./{from}")
    };
    Ok(SourceSpec {
        source,
        url,
        format,
        // The interval is not used, because the server schedules only configured sources.
        interval_days: 30,
    })
}

async fn refresh_one(
    robots: &RobotDetection,
    spec: &SourceSpec,
    options: RefreshOptions,
) -> Result<RefreshRecord, RefreshError> {
    let refresher = robots.refresher();
    let mut progress = refresher.progress();
    let work = refresher.refresh_from(spec, Trigger::Command, options);
    tokio::pin!(work);
    let bar = std::io::stderr().is_terminal().then(progress_bar);
    loop {
        tokio::select! {
            result = &mut work => {
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                return result;
            }
            // Once the sender is dropped, this branch is disabled, and only the refresh is awaited.
            Ok(()) = progress.changed() => {
                if let Some(bar) = &bar {
                    show_progress(bar, &progress.borrow_and_update());
                }
            }
        }
    }
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn show_progress(bar: &ProgressBar, progress: &Progress) {
    let message = match progress {
        Progress::Downloading {
            source,
            bytes,
            total: Some(total),
        } => {
            format!(
                "{source}: downloading, {} of {} KiB",
                bytes / 1024,
                total / 1024
            )
        }
        Progress::Downloading {
            source,
            bytes,
            total: None,
        } => {
            format!("{source}: downloading, {} KiB", bytes / 1024)
        }
        Progress::Parsing { source } => format!("{source}: parsing"),
        Progress::Testing { source, robots } => {
            format!("{source}: testing {robots} robots against browsers")
        }
        Progress::Storing { source, robots } => format!("{source}: storing {robots} robots"),
        _ => return,
    };
    bar.set_message(message);
}

fn print_record(record: &RefreshRecord) -> std::io::Result<()> {
    if record.outcome == RefreshOutcome::NotModified {
        return output::line(&format!(
            "{}: not modified since the last refresh",
            record.source
        ));
    }
    let active = record
        .records
        .saturating_sub(record.skipped + record.quarantined + record.unusable);
    output::line(&format!(
        "{}: {} records, {active} robots active, {} quarantined, {} unusable, {} skipped",
        record.source, record.records, record.quarantined, record.unusable, record.skipped
    ))?;
    output::line(&format!(
        "{}: {} added, {} changed, {} removed",
        record.source, record.added, record.changed, record.removed
    ))?;
    for problem in &record.problems {
        output::line(&format!("  {}", output::clean(problem)))?;
    }
    Ok(())
}

fn record_object(record: &RefreshRecord) -> Value {
    json!({
        "source": record.source.as_str(),
        "url": record.url,
        "outcome": match record.outcome {
            RefreshOutcome::NotModified => "not-modified",
            RefreshOutcome::Replaced => "replaced",
            _ => "failed",
        },
        "records": record.records,
        "added": record.added,
        "changed": record.changed,
        "removed": record.removed,
        "skipped": record.skipped,
        "quarantined": record.quarantined,
        "unusable": record.unusable,
        "problems": record.problems,
    })
}

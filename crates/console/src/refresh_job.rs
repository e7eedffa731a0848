//! The progress of refreshes started in the console, as a page and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Moment,
    jobs::{self, Job, JobStep, StepState},
    refreshes::RefreshView,
};
use robot_detection_layer::registry::Source;
use robot_detection_operations::robots::title;
use robot_detection_store::refresh::Progress;
use robot_detection_store::store::{RefreshOutcome, RefreshRecord};

/// The refresh job that is running, or the most recent job.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RefreshJob")]
pub(super) struct JobView {
    pub(super) running: bool,
    /// State of the refresh job, as one line of text.
    pub(super) text: String,
    pub(super) started: Option<Moment>,
    pub(super) finished: Option<Moment>,
    pub(super) sources: Vec<StepView>,
    pub(super) bytes: Option<u64>,
    pub(super) total_bytes: Option<u64>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RefreshStep")]
pub(super) struct StepView {
    pub(super) source: String,
    pub(super) source_title: String,
    /// State: "waiting", "running", "done", "held" or "failed".
    pub(super) state: &'static str,
    pub(super) text: String,
    pub(super) refresh: Option<RefreshView>,
}

impl JobView {
    pub(super) fn new(job: Option<Job>, progress: &Progress, now_ms: i64) -> Self {
        let moment = |at_ms| Moment::new(at_ms, now_ms);
        let is_ours = job.as_ref().is_some_and(Job::is_running);
        let is_busy = jobs::is_busy(progress);
        let (bytes, total_bytes) = match progress {
            Progress::Downloading { bytes, total, .. } => (Some(*bytes), *total),
            _ => (None, None),
        };
        Self {
            running: is_ours || is_busy,
            text: headline(job.as_ref(), progress),
            started: job.as_ref().map(|job| moment(job.started_ms)),
            finished: job.as_ref().and_then(|job| job.finished_ms).map(moment),
            sources: job
                .map(|job| job.steps)
                .unwrap_or_default()
                .into_iter()
                .map(|step| StepView::new(step, progress, now_ms))
                .collect(),
            bytes,
            total_bytes,
        }
    }
}

impl StepView {
    fn new(step: JobStep, progress: &Progress, now_ms: i64) -> Self {
        let viewed = |record: Box<RefreshRecord>| RefreshView::new(*record, now_ms);
        let (state, text, refresh) = match step.state {
            StepState::Waiting => ("waiting", "waiting".to_owned(), None),
            StepState::Running => ("running", step_text(&step.source, progress), None),
            StepState::Done(record) => ("done", done_text(&record), Some(viewed(record))),
            StepState::Held(record) => {
                let text = format!("held for review: {}", record.error);
                ("held", text, Some(viewed(record)))
            }
            StepState::Failed { reason, record } => ("failed", reason, record.map(viewed)),
        };
        Self {
            source: step.source.to_string(),
            source_title: title(&step.source),
            state,
            text,
            refresh,
        }
    }
}

fn headline(job: Option<&Job>, progress: &Progress) -> String {
    // A scheduled refresh that is running takes precedence over a job that has ended.
    let Some(job) = job.filter(|job| job.is_running() || !jobs::is_busy(progress)) else {
        return match of_progress(progress) {
            Some((source, text)) => format!("{}: {text}", title(source)),
            None => "No refresh is in progress.".to_owned(),
        };
    };
    if let Some(step) = job
        .steps
        .iter()
        .find(|step| matches!(step.state, StepState::Running))
    {
        return format!(
            "{}: {}",
            title(&step.source),
            step_text(&step.source, progress)
        );
    }
    let failed = job
        .steps
        .iter()
        .filter(|step| matches!(step.state, StepState::Failed { .. }))
        .count();
    let is_held = |step: &JobStep| matches!(step.state, StepState::Held(_));
    match (job.is_running(), failed, job.steps.len()) {
        (true, _, _) => "The refresh is starting.".to_owned(),
        (false, 0, _) if job.steps.iter().any(is_held) => {
            "The download is held for review.".to_owned()
        }
        (false, 0, _) => "The refresh has finished.".to_owned(),
        (false, failed, all) if failed == all => "The refresh failed.".to_owned(),
        (false, failed, all) => format!("The refresh failed for {failed} of {all} sources."),
    }
}

fn step_text(source: &Source, progress: &Progress) -> String {
    match of_progress(progress) {
        Some((under_way, text)) if under_way == source => text,
        _ => "starting".to_owned(),
    }
}

fn of_progress(progress: &Progress) -> Option<(&Source, String)> {
    match progress {
        Progress::Downloading {
            source,
            bytes,
            total,
        } => Some((source, downloading(*bytes, *total))),
        Progress::Parsing { source } => Some((source, "reading the records".to_owned())),
        Progress::Testing { source, robots } => Some((
            source,
            format!("testing the patterns of {robots} robots against browsers"),
        )),
        Progress::Storing { source, robots } => Some((source, format!("storing {robots} robots"))),
        _ => None,
    }
}

fn downloading(bytes: u64, total: Option<u64>) -> String {
    let kib = |bytes: u64| bytes.div_ceil(1_024);
    match total {
        Some(total) => format!("downloading, {} of {} KiB", kib(bytes), kib(total)),
        None => format!("downloading, {} KiB received", kib(bytes)),
    }
}

fn done_text(record: &RefreshRecord) -> String {
    match record.outcome {
        RefreshOutcome::NotModified => "unchanged since the last refresh".to_owned(),
        _ => format!(
            "{} added, {} changed, {} removed",
            record.added, record.changed, record.removed
        ),
    }
}

//! Fetches of address lists that were started from the page.

use std::fmt::Write as _;

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use tracing::info;

use crate::{Moment, problem::Problem, state::AdminState};
use robot_detection_store::verify::{RangesOutcome, RangesReport};

/// The fetch of address lists that is running, or the most recent one; only one can run at a time.
#[derive(Debug, Default)]
pub(crate) struct ListFetches {
    last: Mutex<Option<ListFetch>>,
}

/// The state of a fetch of address lists.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct ListFetch {
    lists: usize,
    done: usize,
    busy: usize,
    failed: Vec<FailedList>,
    /// Time at which the fetch ended; `None` while the fetch is in progress.
    finished_ms: Option<i64>,
}

/// An address list that could not be fetched.
#[derive(Clone, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "FailedRangesList")]
pub(super) struct FailedList {
    /// URL of the list, with the password removed.
    pub(super) url: String,
    pub(super) error: String,
}

/// The state of a fetch, for the page and for JSON.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "RangesRefresh")]
pub(crate) struct FetchView {
    pub(super) running: bool,
    /// State of the fetch, as one line of text.
    pub(super) text: String,
    /// Number of lists that were requested to be fetched.
    pub(super) lists: usize,
    /// Number of lists whose fetch has ended, successfully or not.
    pub(super) done: usize,
    /// Number of lists that another instance was already fetching.
    pub(super) busy: usize,
    /// Lists that could not be fetched, by URL.
    pub(super) failed: Vec<FailedList>,
    pub(super) finished: Option<Moment>,
}

/// A guard that marks the fetch as ended, even if its task panics or is dropped at shutdown.
struct FetchGuard(AdminState);

impl ListFetches {
    /// Returns this process's running or most recent fetch.
    pub(super) fn view(&self, now_ms: i64) -> Option<FetchView> {
        self.last.lock().as_ref().map(|fetch| fetch.view(now_ms))
    }

    fn begin(&self, lists: usize) -> bool {
        let mut last = self.last.lock();
        if last.as_ref().is_some_and(ListFetch::is_running) {
            return false;
        }
        *last = Some(ListFetch {
            lists,
            ..ListFetch::default()
        });
        true
    }

    fn note(&self, reports: Vec<RangesReport>) {
        if let Some(fetch) = &mut *self.last.lock() {
            for report in reports {
                fetch.note(report);
            }
        }
    }

    fn end(&self, now_ms: i64) {
        if let Some(fetch) = &mut *self.last.lock() {
            fetch.finished_ms = Some(now_ms);
        }
    }
}

impl ListFetch {
    fn is_running(&self) -> bool {
        self.finished_ms.is_none()
    }

    fn note(&mut self, report: RangesReport) {
        let RangesReport { url, outcome, .. } = report;
        self.done += 1;
        match outcome {
            RangesOutcome::New | RangesOutcome::Unchanged => {}
            RangesOutcome::Busy => self.busy += 1,
            RangesOutcome::Failed(error) => {
                // The four workers finish in any order, but the page must list failures in a fixed
                // order.
                let at = self.failed.partition_point(|failed| failed.url <= url);
                self.failed.insert(at, FailedList { url, error });
            }
        }
    }

    fn view(&self, now_ms: i64) -> FetchView {
        FetchView {
            running: self.is_running(),
            text: self.text(),
            lists: self.lists,
            done: self.done,
            busy: self.busy,
            failed: self.failed.clone(),
            finished: self.finished_ms.map(|at_ms| Moment::new(at_ms, now_ms)),
        }
    }

    fn text(&self) -> String {
        let (lists, done, failed) = (self.lists, self.done, self.failed.len());
        let mut text = if self.is_running() {
            format!("Fetching lists: {done} of {lists} done")
        } else if done < lists {
            format!("The fetch was aborted: {done} of {lists} lists done")
        } else {
            match (lists, failed) {
                (1, 0) => "The list was fetched".to_owned(),
                (_, 0) => format!("All {lists} lists were fetched"),
                (1, _) => "The list could not be fetched".to_owned(),
                _ => format!("{failed} of {lists} lists could not be fetched"),
            }
        };
        // Writing to a `String` never fails.
        if failed > 0 && (self.is_running() || done < lists) {
            let _ = write!(text, ", {failed} failed");
        }
        if self.busy > 0 {
            let _ = write!(text, ", {} left to another instance", self.busy);
        }
        text + "."
    }
}

impl FailedList {
    /// Returns the URL and the error; a URL at the start of the error is not repeated.
    pub(super) fn text(&self) -> String {
        let Self { url, error } = self;
        if error.starts_with(url.as_str()) {
            error.clone()
        } else {
            format!("{url}: {error}")
        }
    }
}

impl Drop for FetchGuard {
    fn drop(&mut self) {
        let state = &self.0;
        state.list_fetches().end(state.now_ms());
    }
}

/// Starts to fetch lists, regardless of whether they are due, and returns immediately.
pub(super) fn start(state: &AdminState, urls: Vec<String>) -> Result<(), Problem> {
    if state.operations().verifier.methods().ranges.is_none() {
        let message = "Address lists are not used; see verify.enabled and verify.methods.";
        return Err(Problem::conflict("off", message));
    }
    let lists = urls.len();
    if !state.list_fetches().begin(lists) {
        let message = "Lists are already being fetched; see GET api/v1/verification.";
        return Err(Problem::conflict("busy", message));
    }
    info!(
        lists,
        "an administrator started to fetch {lists} address lists"
    );
    let end = FetchGuard(state.clone());
    state.operations().tasks.spawn(run(end, urls));
    Ok(())
}

/// Fetches the lists, four at a time; the refresher logs each outcome.
async fn run(end: FetchGuard, urls: Vec<String>) {
    let queue = Mutex::new(urls.into_iter());
    let fetch_queued = || Box::pin(fetch_queued(&end.0, &queue));
    tokio::join!(
        fetch_queued(),
        fetch_queued(),
        fetch_queued(),
        fetch_queued()
    );
}

/// Fetches lists from the queue until the queue is empty or the process shuts down.
async fn fetch_queued(state: &AdminState, queue: &Mutex<impl Iterator<Item = String>>) {
    let operations = state.operations();
    let next = || queue.lock().next();
    // Checked between two lists, so that a shutdown waits for at most one download per worker.
    while let Some(url) = next().filter(|_| !operations.tasks.is_closed()) {
        let reports = operations.ranges.refresh(&[url], true).await;
        state.list_fetches().note(reports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fetches: &ListFetches) -> String {
        fetches.view(0).unwrap().text
    }

    fn fetch(done: usize, busy: usize, failed: usize, finished_ms: Option<i64>) -> String {
        let list = |number| FailedList {
            url: format!("https://lists.example/{number}"),
            error: "status 500".to_owned(),
        };
        let fetch = ListFetch {
            lists: 12,
            done,
            busy,
            failed: (0..failed).map(list).collect(),
            finished_ms,
        };
        fetch.text()
    }

    #[test]
    fn only_one_fetch_runs_at_a_time_and_the_last_is_remembered() {
        let fetches = ListFetches::default();
        let is_running = || fetches.view(0).is_some_and(|fetch| fetch.running);
        assert!(fetches.view(0).is_none());
        assert!(fetches.begin(1) && is_running());
        assert!(!fetches.begin(2));
        assert_eq!(told(&fetches), "Fetching lists: 0 of 1 done.");
        fetches.end(7);
        assert!(!is_running());
        let given_up = "The fetch was aborted: 0 of 1 lists done.";
        assert_eq!(told(&fetches), given_up);
        assert!(fetches.begin(3));
        assert_eq!(told(&fetches), "Fetching lists: 0 of 3 done.");
    }

    #[test]
    fn text_contains_the_number_of_failures() {
        for (told, text) in [
            (fetch(3, 0, 0, None), "Fetching lists: 3 of 12 done."),
            (
                fetch(3, 1, 2, None),
                "Fetching lists: 3 of 12 done, 2 failed, 1 left to another instance.",
            ),
            (fetch(12, 0, 0, Some(1)), "All 12 lists were fetched."),
            (
                fetch(12, 1, 2, Some(1)),
                "2 of 12 lists could not be fetched, 1 left to another instance.",
            ),
            (
                fetch(5, 0, 2, Some(1)),
                "The fetch was aborted: 5 of 12 lists done, 2 failed.",
            ),
        ] {
            assert_eq!(told, text);
        }
    }
}

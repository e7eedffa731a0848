//! Refreshes that the page started.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::state::AdminState;
use robot_detection_layer::registry::Source;
use robot_detection_store::refresh::{Progress, RefreshError, RefreshOptions, Trigger};
use robot_detection_store::store::RefreshRecord;

/// The last job that the page started; one runs at a time.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    last: Mutex<Option<Job>>,
}

/// Refreshes of one or more sources, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) started_ms: i64,
    pub(super) finished_ms: Option<i64>,
    pub(super) steps: Vec<JobStep>,
}

#[derive(Clone, Debug)]
pub(super) struct JobStep {
    pub(super) source: Source,
    pub(super) state: StepState,
}

#[derive(Clone, Debug)]
pub(super) enum StepState {
    Waiting,
    Running,
    Done(Box<RefreshRecord>),
    Held(Box<RefreshRecord>),
    Failed {
        reason: String,
        record: Option<Box<RefreshRecord>>,
    },
}

/// Error of a start while another job runs.
#[derive(Debug)]
pub(super) struct AlreadyRunning;

impl Job {
    pub(super) fn is_running(&self) -> bool {
        self.finished_ms.is_none()
    }
}

impl Jobs {
    pub(super) fn last(&self) -> Option<Job> {
        self.lock().clone()
    }

    fn begin(&self, job: Job) -> Result<(), AlreadyRunning> {
        let mut last = self.lock();
        // Looked at and replaced under one lock: of two buttons pressed at once one begins.
        if last.as_ref().is_some_and(Job::is_running) {
            return Err(AlreadyRunning);
        }
        *last = Some(job);
        Ok(())
    }

    fn set(&self, index: usize, state: StepState) {
        if let Some(step) = self
            .lock()
            .as_mut()
            .and_then(|job| job.steps.get_mut(index))
        {
            step.state = state;
        }
    }

    fn end(&self, now_ms: i64) {
        let mut last = self.lock();
        let Some(job) = last.as_mut() else { return };
        job.finished_ms = Some(now_ms);
        for step in &mut job.steps {
            if matches!(step.state, StepState::Waiting | StepState::Running) {
                step.state = StepState::Failed {
                    reason: "it was interrupted".to_owned(),
                    record: None,
                };
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Job>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts to refresh sources, and returns at once.
pub(super) fn start(
    state: &AdminState,
    sources: Vec<Source>,
    options: RefreshOptions,
) -> Result<(), AlreadyRunning> {
    // A refresh by schedule is none of our jobs, and no second one is begun beside it.
    if is_busy(&state.operations().refresher.progress().borrow()) {
        return Err(AlreadyRunning);
    }
    state.jobs().begin(Job {
        started_ms: state.now_ms(),
        finished_ms: None,
        steps: sources
            .iter()
            .cloned()
            .map(|source| JobStep {
                source,
                state: StepState::Waiting,
            })
            .collect(),
    })?;
    state
        .operations()
        .tasks
        .spawn(run(state.clone(), sources, options));
    Ok(())
}

/// Returns `true` if a refresh of this process is under way, whoever started it.
pub(super) fn is_busy(progress: &Progress) -> bool {
    !matches!(progress, Progress::Idle | Progress::Done { .. })
}

/// Guard that marks the job as ended, also where its task panics or is dropped at shutdown.
struct JobGuard(AdminState);

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.jobs().end(self.0.now_ms());
    }
}

async fn run(state: AdminState, sources: Vec<Source>, options: RefreshOptions) {
    // Bound to a name: `_` alone would drop it at once.
    let _end = JobGuard(state.clone());
    for (index, source) in sources.iter().enumerate() {
        state.jobs().set(index, StepState::Running);
        let result = state
            .operations()
            .refresher
            .refresh(source, Trigger::Admin, options.clone())
            .await;
        state.jobs().set(index, outcome(result));
    }
}

/// Returns the outcome as the page shows it; the refresher has logged it.
fn outcome(result: Result<RefreshRecord, RefreshError>) -> StepState {
    match result {
        Ok(record) => StepState::Done(Box::new(record)),
        Err(RefreshError::Held(record)) => StepState::Held(record),
        Err(failure) => {
            let reason = failure.to_string();
            let record = match failure {
                RefreshError::Failed(record) => Some(record),
                _ => None,
            };
            StepState::Failed { reason, record }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            started_ms: 1,
            finished_ms: None,
            steps: vec![JobStep {
                source: Source::bundled(),
                state: StepState::Waiting,
            }],
        }
    }

    #[test]
    fn one_job_runs_at_a_time() {
        let jobs = Jobs::default();
        jobs.begin(job()).unwrap();
        assert!(jobs.begin(job()).is_err());
        jobs.end(2);
        jobs.begin(job()).unwrap();
    }

    #[test]
    fn an_interrupted_step_does_not_stay_under_way() {
        let jobs = Jobs::default();
        jobs.begin(job()).unwrap();
        jobs.set(0, StepState::Running);
        jobs.end(2);
        let last = jobs.last().unwrap();
        assert!(!last.is_running());
        assert!(matches!(last.steps[0].state, StepState::Failed { .. }));
    }
}

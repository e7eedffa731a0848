//! Refreshes that were started in the console.

use std::sync::Arc;

use parking_lot::Mutex;
use robot_detection_layer::registry::Source;
use robot_detection_operations::Operations;
use robot_detection_store::refresh::{Progress, RefreshError, RefreshOptions, Trigger};
use robot_detection_store::store::RefreshRecord;

/// The state of the most recent job started in the console; only one job can run at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    last: Arc<Mutex<Option<Job>>>,
}

/// A refresh of one or more sources, one after the other.
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

/// The error for starting a job while another job is running.
#[derive(Debug)]
pub(super) struct AlreadyRunning;

impl Job {
    pub(super) fn is_running(&self) -> bool {
        self.finished_ms.is_none()
    }
}

impl Jobs {
    pub(super) fn last(&self) -> Option<Job> {
        self.last.lock().clone()
    }

    fn begin(&self, job: Job) -> Result<(), AlreadyRunning> {
        let mut last = self.last.lock();
        // Checked and replaced under a single lock, so that only one of two simultaneous requests
        // starts a job.
        if last.as_ref().is_some_and(Job::is_running) {
            return Err(AlreadyRunning);
        }
        *last = Some(job);
        Ok(())
    }

    fn set(&self, index: usize, state: StepState) {
        if let Some(step) = self
            .last
            .lock()
            .as_mut()
            .and_then(|job| job.steps.get_mut(index))
        {
            step.state = state;
        }
    }

    fn end(&self, now_ms: i64) {
        let mut last = self.last.lock();
        let Some(job) = last.as_mut() else { return };
        job.finished_ms = Some(now_ms);
        for step in &mut job.steps {
            if matches!(step.state, StepState::Waiting | StepState::Running) {
                step.state = StepState::Failed {
                    reason: "interrupted".to_owned(),
                    record: None,
                };
            }
        }
    }
}

/// Starts a refresh of the given sources, and returns immediately.
pub(super) fn start(
    jobs: &Jobs,
    operations: &Operations,
    sources: Vec<Source>,
    options: RefreshOptions,
) -> Result<(), AlreadyRunning> {
    // No second refresh is started while a scheduled refresh is running.
    if is_busy(&operations.refresher.progress().borrow()) {
        return Err(AlreadyRunning);
    }
    let steps = sources.iter().cloned().map(|source| JobStep {
        source,
        state: StepState::Waiting,
    });
    jobs.begin(Job {
        started_ms: operations.now_ms(),
        finished_ms: None,
        steps: steps.collect(),
    })?;
    let end = JobGuard {
        jobs: jobs.clone(),
        operations: operations.clone(),
    };
    operations.tasks.spawn(run(end, sources, options));
    Ok(())
}

/// Returns `true` if a refresh is running in this process.
pub(super) fn is_busy(progress: &Progress) -> bool {
    !matches!(progress, Progress::Idle | Progress::Done { .. })
}

/// A guard that marks the job as ended, even if its task panics or is dropped at shutdown.
struct JobGuard {
    jobs: Jobs,
    operations: Operations,
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.jobs.end(self.operations.now_ms());
    }
}

async fn run(end: JobGuard, sources: Vec<Source>, options: RefreshOptions) {
    for (index, source) in sources.iter().enumerate() {
        end.jobs.set(index, StepState::Running);
        let refresher = &end.operations.refresher;
        let result = refresher.refresh(source, Trigger::Admin, options.clone());
        end.jobs.set(index, outcome(result.await));
    }
}

/// Returns the outcome as shown on the page; the refresher has already logged the outcome.
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
    fn only_one_job_runs_at_a_time() {
        let jobs = Jobs::default();
        jobs.begin(job()).unwrap();
        assert!(jobs.begin(job()).is_err());
        jobs.end(2);
        jobs.begin(job()).unwrap();
    }

    #[test]
    fn interrupted_step_is_not_left_running() {
        let jobs = Jobs::default();
        jobs.begin(job()).unwrap();
        jobs.set(0, StepState::Running);
        jobs.end(2);
        let last = jobs.last().unwrap();
        assert!(!last.is_running());
        assert!(matches!(last.steps[0].state, StepState::Failed { .. }));
    }
}

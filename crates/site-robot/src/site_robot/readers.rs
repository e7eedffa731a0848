//! Threads on which large pages are processed.

use std::{
    collections::VecDeque,
    fmt,
    num::NonZero,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
};

use super::SiteRobotError;

type Work = Box<dyn FnOnce() + Send>;

/// Thread pool that processes large pages during a run; small pages are processed immediately.
///
/// The number of threads is one less than the number of processors, which leaves one processor for
/// requests and recording: more threads would not be faster, and each needs memory. Resources that
/// an external program converts or summarizes are processed elsewhere, because they wait for that
/// program.
#[derive(Debug)]
pub(super) struct Readers {
    waiting: Arc<WorkQueue>,
    /// Semaphore that limits the number of programs that run in parallel.
    converters: Semaphore,
}

/// Work queue for the threads; each piece of work wakes exactly one thread.
#[derive(Default)]
struct WorkQueue {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    has_ended: bool,
}

impl Readers {
    /// Starts the threads, which stop on drop.
    pub(super) fn new(converters: usize) -> Self {
        let waiting = Arc::new(WorkQueue::default());
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..processors.saturating_sub(1).max(1) {
            let waiting = Arc::clone(&waiting);
            spawn_blocking(move || {
                while let Some(work) = waiting.next() {
                    work();
                }
            });
        }
        Self {
            waiting,
            converters: Semaphore::new(converters),
        }
    }

    /// Runs CPU-bound work on the thread pool.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SiteRobotError> {
        let (done, result) = oneshot::channel();
        // The receiver no longer exists if the run was aborted.
        self.waiting.push(Box::new(move || drop(done.send(read()))));
        result.await.map_err(|error| SiteRobotError::Worker {
            reason: error.to_string(),
        })
    }

    /// Runs work that may wait for an external program.
    pub(super) async fn convert<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SiteRobotError> {
        // The semaphore is never closed, so the error is ignored.
        let _turn = self.converters.acquire().await;
        let done = spawn_blocking(read).await;
        done.map_err(|error| SiteRobotError::Worker {
            reason: error.to_string(),
        })
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.waiting.state().has_ended = true;
        self.waiting.came.notify_all();
    }
}

impl WorkQueue {
    fn push(&self, work: Work) {
        self.state().work.push_back(work);
        self.came.notify_one();
    }

    /// Waits for work; returns `None` after the run has ended.
    fn next(&self) -> Option<Work> {
        let is_idle = |state: &mut State| state.work.is_empty() && !state.has_ended;
        let waited = self.came.wait_while(self.state(), is_idle);
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .work
            .pop_front()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The guarded data is consistent at all times, so a poisoned lock is harmless.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for WorkQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn result_is_returned_and_panic_is_an_error() {
        let readers = Readers::new(1);
        for number in 0..100 {
            assert_eq!(readers.read(move || number).await.unwrap(), number);
            assert_eq!(readers.convert(move || number).await.unwrap(), number);
        }
        let panicked = readers.read(|| panic!("at the page")).await;
        assert!(matches!(panicked, Err(SiteRobotError::Worker { .. })));
    }

    #[tokio::test]
    async fn conversion_does_not_block_reading() {
        let readers = Readers::new(1);
        let (go, wait) = mpsc::channel::<()>();
        let converted = readers.convert(move || wait.recv().is_ok());
        let read = async {
            assert_eq!(readers.read(|| 7).await.unwrap(), 7);
            go.send(()).unwrap();
        };
        let (converted, ()) = tokio::join!(converted, read);
        assert!(converted.unwrap());
    }
}

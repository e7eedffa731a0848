//! Threads that read pages.

use std::{
    num::NonZero,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
};

use super::SiteRobotError;

type Work = Box<dyn FnOnce() + Send>;

/// Threads that read pages, for the time of a run.
///
/// There are as many as processors: more read nothing faster, and each takes
/// memory of its own. What a program converts or summarizes is read elsewhere,
/// since it waits for that program.
#[derive(Debug)]
pub(super) struct Readers {
    work: mpsc::Sender<Work>,
    /// So many programs run at once.
    converters: Semaphore,
}

impl Readers {
    /// Starts the threads, which end with this.
    pub(super) fn new(converters: usize) -> Self {
        let (work, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..processors {
            let waiting = Arc::clone(&waiting);
            spawn_blocking(move || {
                while let Some(work) = next(&waiting) {
                    work();
                }
            });
        }
        Self {
            work,
            converters: Semaphore::new(converters),
        }
    }

    /// Reads a page that is read at once.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SiteRobotError> {
        let (done, result) = oneshot::channel();
        // Nobody waits for it where the run was broken off.
        let work = Box::new(move || drop(done.send(read())));
        let ended = |reason: String| SiteRobotError::Worker { reason };
        let sent = self.work.send(work);
        sent.map_err(|error| ended(error.to_string()))?;
        result.await.map_err(|error| ended(error.to_string()))
    }

    /// Reads something that a program may have to help with.
    pub(super) async fn convert<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SiteRobotError> {
        let _turn = self.converters.acquire().await;
        let done = spawn_blocking(read).await;
        done.map_err(|error| SiteRobotError::Worker {
            reason: error.to_string(),
        })
    }
}

/// Waits for work; none comes any more once the run has ended.
fn next(waiting: &Mutex<mpsc::Receiver<Work>>) -> Option<Work> {
    // A receiver is whole at any moment.
    let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_read_comes_back_and_a_panic_is_an_error() {
        let readers = Readers::new(1);
        for number in 0..100 {
            assert_eq!(readers.read(move || number).await.unwrap(), number);
            assert_eq!(readers.convert(move || number).await.unwrap(), number);
        }
        let panicked = readers.read(|| panic!("at the page")).await;
        assert!(matches!(panicked, Err(SiteRobotError::Worker { .. })));
    }

    #[tokio::test]
    async fn who_is_converted_does_not_hold_up_who_is_read() {
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

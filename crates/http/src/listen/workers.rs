//! Worker threads that serve connections.

use std::{
    io,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use tokio::runtime::{self, Handle};
use tokio_util::sync::CancellationToken;
use tracing::error;

/// The connection count that is set for a thread that has ended, so that the thread gets no more
/// connections.
///
/// The count is half of the range, because the thread's remaining connections still decrement it.
const RETIRED: usize = usize::MAX / 2;

/// Threads that serve connections, each with its own runtime.
///
/// A connection stays on its thread, so its data is not passed between CPU cores. Listeners are
/// shared by all threads; a thread that has accepted more than its share of connections passes a
/// connection to another thread. The threads end when this value is dropped; all tasks that run on
/// them must end before that.
///
/// # Example
///
/// ```no_run
/// # use robot_detection_http::listen::{HttpService, Listener, Workers};
/// # async fn example<S: HttpService>(listener: Listener, service: S) -> std::io::Result<()> {
/// let workers = Workers::start(0)?;
/// let stop = tokio_util::sync::CancellationToken::new();
/// listener.serve_http(Some(&workers), service, stop).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Workers {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    handle: RuntimeHandle,
    stop: CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

/// The runtimes that serve one listener.
#[derive(Clone, Debug)]
pub(super) struct Runtimes {
    handles: Arc<[RuntimeHandle]>,
}

/// A handle of a runtime, with the number of its connections.
#[derive(Clone, Debug)]
pub(super) struct RuntimeHandle {
    pub(super) handle: Handle,
    connections: Arc<AtomicUsize>,
}

/// A slot for one connection on a worker thread.
#[derive(Debug)]
pub(super) struct RuntimeSlot(Arc<AtomicUsize>);

impl Workers {
    /// Starts the given number of threads; if the number is 0, starts one thread per processor.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot provide more threads or file descriptors.
    pub fn start(threads: usize) -> io::Result<Self> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let workers = (0..threads).map(Worker::start).collect::<Result<_, _>>()?;
        Ok(Self { workers })
    }

    /// Returns the number of threads that serve connections.
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    pub(super) fn runtimes(&self) -> Runtimes {
        Runtimes {
            handles: self
                .workers
                .iter()
                .map(|worker| worker.handle.clone())
                .collect(),
        }
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = RuntimeHandle::new(runtime.handle().clone());
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name(format!("worker-{number}"))
            .spawn(move || {
                runtime.block_on(stopped.cancelled());
                // Dropping the runtime would wait for blocking tasks, and a task that hangs would
                // delay the shutdown.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            handle,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.cancel();
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            error!("a worker thread panicked");
        }
    }
}

impl Runtimes {
    /// Returns a set of runtimes that contains only the current runtime.
    pub(super) fn current() -> Self {
        Self {
            handles: Arc::new([RuntimeHandle::new(Handle::current())]),
        }
    }

    pub(super) fn handles(&self) -> &[RuntimeHandle] {
        &self.handles
    }

    /// Assigns a connection to `runtime`, or to another runtime that has clearly fewer connections.
    ///
    /// Also returns the other runtime, if it was chosen.
    pub(super) fn assign(&self, runtime: &RuntimeHandle) -> (RuntimeSlot, Option<&RuntimeHandle>) {
        // Slightly outdated counts are good enough, because a wrong choice affects only the
        // balance.
        let here = runtime.connections.load(Relaxed);
        let least = self
            .handles
            .iter()
            .map(|runtime| (runtime.connections.load(Relaxed), runtime))
            .min_by_key(|(connections, _)| *connections);
        match least {
            // Moving a connection costs some system calls, so a difference of less than a quarter
            // is ignored.
            Some((connections, least)) if here > connections + connections / 4 => {
                (least.slot(), Some(least))
            }
            _ => (runtime.slot(), None),
        }
    }
}

impl RuntimeHandle {
    fn new(handle: Handle) -> Self {
        Self {
            handle,
            connections: Arc::default(),
        }
    }

    /// Takes the runtime out of service because its thread has ended.
    pub(super) fn retire(&self) {
        self.connections.store(RETIRED, Relaxed);
    }

    fn slot(&self) -> RuntimeSlot {
        self.connections.fetch_add(1, Relaxed);
        RuntimeSlot(Arc::clone(&self.connections))
    }
}

impl Drop for RuntimeSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_evenly_regardless_of_the_accepting_thread() {
        let workers = Workers::start(3).unwrap();
        assert_eq!(workers.threads(), 3);
        let runtimes = workers.runtimes();
        let greedy = &runtimes.handles()[0];
        let slots: Vec<_> = (0..12).map(|_| runtimes.assign(greedy).0).collect();
        let counts = || {
            let handles = runtimes.handles().iter();
            handles
                .map(|runtime| runtime.connections.load(Relaxed))
                .collect::<Vec<_>>()
        };
        assert!(
            counts().iter().all(|count| (3..=5).contains(count)),
            "{:?}",
            counts()
        );
        drop(slots);
        assert_eq!(counts(), [0, 0, 0]);
    }

    #[test]
    fn ended_thread_gets_no_connections() {
        let workers = Workers::start(2).unwrap();
        let runtimes = workers.runtimes();
        runtimes.handles()[1].retire();
        let mut slots = Vec::new();
        for _ in 0..3 {
            let (slot, other) = runtimes.assign(&runtimes.handles()[0]);
            assert!(other.is_none());
            slots.push(slot);
        }
    }

    #[test]
    fn single_runtime_keeps_its_connections() {
        let workers = Workers::start(1).unwrap();
        let runtimes = workers.runtimes();
        let slots = [(); 3].map(|()| runtimes.assign(&runtimes.handles()[0]));
        assert!(slots.iter().all(|(_, other)| other.is_none()));
    }
}

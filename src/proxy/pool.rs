use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::time::{self, Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::connect::Sender;

/// Connections kept for the next request.
const MAX_KEPT: usize = 512;
/// Time that a connection is kept; upstreams that close earlier say so by closing.
const KEPT_FOR: Duration = Duration::from_secs(55);
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// Pool of connections to one upstream that wait for a request.
#[derive(Debug)]
pub(super) struct Pool {
    state: Mutex<State>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Kept>,
    is_swept: bool,
}

#[derive(Debug)]
struct Kept {
    sender: Sender,
    since: Instant,
}

impl Kept {
    fn is_usable(&self, now: Instant) -> bool {
        !self.sender.is_closed() && now.duration_since(self.since) < KEPT_FOR
    }
}

impl Pool {
    pub(super) fn new(tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self {
            state: Mutex::default(),
            tasks,
            stop,
        }
    }

    /// Takes the connection that was used last, so that spare ones grow old.
    ///
    /// One that has not come to rest yet (its task has still to run, or the
    /// upstream answered before it had read everything) is left for later.
    pub(super) fn take(&self) -> Option<Sender> {
        let now = Instant::now();
        let kept = &mut self.lock().kept;
        let mut at = kept.len();
        while at > 0 {
            at -= 1;
            let candidate = kept.get(at)?;
            if !candidate.is_usable(now) {
                kept.remove(at);
            } else if candidate.sender.is_ready() {
                return Some(kept.remove(at).sender);
            }
        }
        None
    }

    /// Keeps a connection whose response has been read to its end.
    pub(super) fn keep(self: &Arc<Self>, sender: Sender) {
        if sender.is_closed() || self.stop.is_cancelled() {
            return;
        }
        let since = Instant::now();
        let mut state = self.lock();
        if state.kept.len() >= MAX_KEPT {
            return;
        }
        state.kept.push(Kept { sender, since });
        if !std::mem::replace(&mut state.is_swept, true) {
            let sweeping = sweep(Arc::downgrade(self), self.stop.clone());
            self.tasks.spawn(sweeping);
        }
    }

    /// Closes what waits.
    pub(super) fn clear(&self) {
        self.lock().kept.clear();
    }

    /// Closes what has waited for too long, and tells whether something is left.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let mut state = self.lock();
        state.kept.retain(|kept| kept.is_usable(now));
        state.is_swept = !state.kept.is_empty();
        state.is_swept
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that panics is done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs while connections wait.
async fn sweep(pool: Weak<Pool>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = time::sleep(SWEEP_EVERY) => {}
            () = stop.cancelled() => return,
        }
        if !pool.upgrade().is_some_and(|pool| pool.sweep()) {
            return;
        }
    }
}

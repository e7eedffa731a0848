//! Requests to reload the configuration, from pages and commands to the task that reloads it, and back.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time,
};

/// How long who requested a reload waits for it.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Reloads of the configuration: requests for one, and the outcome of the last.
///
/// The process that reads the configuration waits for
/// [`wanted`](Self::wanted) and reports the outcome by [`done`](Self::done).
/// Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reloads {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    is_served: AtomicBool,
    wanted: Notify,
    /// Who has asked last.
    asker: Mutex<&'static str>,
    last: watch::Sender<Option<Arc<ReloadOutcome>>>,
}

/// Outcome of a reload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReloadOutcome {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What it was set off by, such as "SIGHUP".
    pub by: String,
    /// What was changed, or why nothing was.
    pub result: Result<String, ReloadFailure>,
}

/// Reason of a reload that changed nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReloadFailure {
    /// The reload can be accepted.
    pub is_held_back: bool,
    /// The reason.
    pub text: String,
}

impl Reloads {
    /// Who asks on behalf of somebody who is logged in.
    pub const ADMIN_PAGE: &str = "the admin page";
    /// The same, of a reload that was held back.
    pub const ACCEPTED: &str = "the admin page, accepted";
    /// The command `reload`.
    pub const COMMAND: &str = "a command";
    /// The same, with `--accept`.
    pub const ACCEPTED_COMMAND: &str = "a command, accepted";
    /// Those that apply a reload that would be held back.
    pub const ACCEPTING: [&str; 2] = [Self::ACCEPTED, Self::ACCEPTED_COMMAND];
    /// Those whose pages record the reload themselves.
    pub const OF_ADMINISTRATORS: [&str; 2] = [Self::ADMIN_PAGE, Self::ACCEPTED];

    /// Waits until somebody asks for a reload, and returns who; from the first call on, pages offer it.
    pub async fn wanted(&self) -> &'static str {
        self.inner.is_served.store(true, Ordering::Relaxed);
        self.inner.wanted.notified().await;
        *self.inner.asker()
    }

    /// Reports the outcome of a reload, whoever requested it.
    pub fn done(&self, outcome: ReloadOutcome) {
        self.inner.last.send_replace(Some(Arc::new(outcome)));
    }

    /// Returns the outcome of the last one, if there was any.
    pub fn last(&self) -> Option<Arc<ReloadOutcome>> {
        self.inner.last.borrow().clone()
    }

    /// Returns `true` if a task waits for requests.
    pub fn is_served(&self) -> bool {
        self.inner.is_served.load(Ordering::Relaxed)
    }

    /// Asks for a reload and waits for its outcome; `None` if it does not come.
    pub async fn ask(&self, by: &'static str) -> Option<Arc<ReloadOutcome>> {
        let mut outcomes = self.inner.last.subscribe();
        // An earlier outcome, of a signal for instance, is not the answer to this request.
        outcomes.mark_unchanged();
        *self.inner.asker() = by;
        self.inner.wanted.notify_one();
        time::timeout(RELOAD_TIMEOUT, outcomes.changed())
            .await
            .ok()?
            .ok()?;
        outcomes.borrow_and_update().clone()
    }
}

impl Inner {
    fn asker(&self) -> MutexGuard<'_, &'static str> {
        self.asker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            is_served: AtomicBool::new(false),
            wanted: Notify::new(),
            asker: Mutex::new(Reloads::ADMIN_PAGE),
            last: watch::Sender::new(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_asks_gets_the_outcome_of_what_follows() {
        let reloads = Reloads::default();
        assert!(!reloads.is_served());
        let outcome = |at_ms| ReloadOutcome {
            at_ms,
            by: "a test".to_owned(),
            result: Ok(String::new()),
        };
        reloads.done(outcome(1));
        let server = async {
            assert_eq!(reloads.wanted().await, "a test");
            reloads.done(outcome(2));
        };
        let (answer, ()) = tokio::join!(reloads.ask("a test"), server);
        assert_eq!(answer.unwrap().at_ms, 2);
        assert!(reloads.is_served());
        assert_eq!(reloads.last().unwrap().at_ms, 2);
    }
}

//! Requests to reload the configuration, sent from pages and commands to the task that reloads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time,
};

/// Time limit for the outcome of a requested reload.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Reloads of the configuration: the requests, and the outcome of the most recent reload.
///
/// The process that reads the configuration waits for a request with [`wait_for_request`](Self::wait_for_request) and
/// reports the outcome with [`report_outcome`](Self::report_outcome). Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Reloads {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    is_served: AtomicBool,
    wanted: Notify,
    /// Trigger of the most recent reload request.
    asker: Mutex<&'static str>,
    last: watch::Sender<Option<Arc<ReloadOutcome>>>,
}

/// The outcome of a configuration reload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReloadOutcome {
    /// Time of the reload in milliseconds since 1970.
    pub at_ms: i64,
    /// Trigger of the reload, such as "SIGHUP".
    pub by: String,
    /// The changes that were applied, or the reason why nothing was changed.
    pub result: Result<String, ReloadFailure>,
}

/// The reason why a reload changed nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReloadFailure {
    /// Whether the reload is held for review and can still be accepted.
    pub is_held_back: bool,
    /// Reason why the reload failed.
    pub text: String,
}

impl Reloads {
    /// Trigger of a reload that a logged-in administrator requested.
    pub const ADMIN_PAGE: &str = "the admin page";
    /// Trigger of a reload that was held for review and that a logged-in administrator accepted.
    pub const ACCEPTED: &str = "the admin page, accepted";
    /// Trigger of a reload by the command `reload`.
    pub const COMMAND: &str = "a command";
    /// Trigger of a reload by the command `reload --accept`.
    pub const ACCEPTED_COMMAND: &str = "a command, accepted";
    /// Triggers for which a reload is applied even if it would be held for review.
    pub const ACCEPTING: [&str; 2] = [Self::ACCEPTED, Self::ACCEPTED_COMMAND];
    /// Triggers for which the console records the reload in the audit log.
    pub const OF_ADMINISTRATORS: [&str; 2] = [Self::ADMIN_PAGE, Self::ACCEPTED];

    /// Waits for a reload request and returns its trigger; from the first call on, pages offer
    /// reloads.
    pub async fn wait_for_request(&self) -> &'static str {
        self.inner.is_served.store(true, Ordering::Relaxed);
        self.inner.wanted.notified().await;
        *self.inner.asker.lock()
    }

    /// Reports the outcome of a reload, regardless of its trigger.
    pub fn report_outcome(&self, outcome: ReloadOutcome) {
        self.inner.last.send_replace(Some(Arc::new(outcome)));
    }

    /// Returns the outcome of the most recent reload, if any.
    pub fn last(&self) -> Option<Arc<ReloadOutcome>> {
        self.inner.last.borrow().clone()
    }

    /// Returns `true` if a task handles reload requests.
    pub fn is_served(&self) -> bool {
        self.inner.is_served.load(Ordering::Relaxed)
    }

    /// Requests a reload and waits for its outcome; returns `None` if the wait times out.
    pub async fn request_reload(&self, by: &'static str) -> Option<Arc<ReloadOutcome>> {
        let mut outcomes = self.inner.last.subscribe();
        // An earlier outcome, such as the outcome of a reload by a signal, does not answer this
        // request.
        outcomes.mark_unchanged();
        *self.inner.asker.lock() = by;
        self.inner.wanted.notify_one();
        time::timeout(RELOAD_TIMEOUT, outcomes.changed())
            .await
            .ok()?
            .ok()?;
        outcomes.borrow_and_update().clone()
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
    async fn requester_gets_the_outcome_of_the_next_reload() {
        let reloads = Reloads::default();
        assert!(!reloads.is_served());
        let outcome = |at_ms| ReloadOutcome {
            at_ms,
            by: "a test".to_owned(),
            result: Ok(String::new()),
        };
        reloads.report_outcome(outcome(1));
        let server = async {
            assert_eq!(reloads.wait_for_request().await, "a test");
            reloads.report_outcome(outcome(2));
        };
        let (answer, ()) = tokio::join!(reloads.request_reload("a test"), server);
        assert_eq!(answer.unwrap().at_ms, 2);
        assert!(reloads.is_served());
        assert_eq!(reloads.last().unwrap().at_ms, 2);
    }
}

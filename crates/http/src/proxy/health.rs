//! The health of a server, determined by its responses and health checks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

/// The number of consecutive failures after which a server is excluded; a single failure may be
/// caused by the request.
const MAX_FAILURES: u32 = 3;
/// The number of consecutive failed health checks after which a server is excluded.
const MAX_FAILED_CHECKS: u32 = 2;
/// The duration of a server's first exclusion, which doubles with each failed trial.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The health of one upstream server.
#[derive(Debug)]
pub(super) struct Health {
    name: Arc<str>,
    /// Whether the upstream has other servers; only then can this server be excluded.
    has_others: bool,
    since: Instant,
    /// The number of consecutive failed requests to the server.
    failures: AtomicU32,
    /// The end of the server's exclusion, in milliseconds after `since`; 0 if the server is not
    /// excluded.
    out_until_ms: AtomicU64,
    /// The number of consecutive failed health checks.
    failed_checks: AtomicU32,
    last_error: Mutex<Option<Arc<str>>>,
}

/// The availability of a server for requests.
// Healthy → Out after consecutive failures → Due when the exclusion is over → Healthy, or Out for
// twice as long, after the trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Healthy,
    /// The server is excluded because of failures.
    Out,
    /// The exclusion has ended, and one request may try the server.
    Due,
}

impl Health {
    pub(super) fn new(name: Arc<str>, has_others: bool) -> Self {
        Self {
            name,
            has_others,
            since: Instant::now(),
            failures: AtomicU32::new(0),
            out_until_ms: AtomicU64::new(0),
            failed_checks: AtomicU32::new(0),
            last_error: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> State {
        if self.failed_checks.load(Ordering::Relaxed) >= MAX_FAILED_CHECKS {
            return State::Out;
        }
        match self.out_until_ms.load(Ordering::Relaxed) {
            0 => State::Healthy,
            until if self.now_ms() < until => State::Out,
            _ => State::Due,
        }
    }

    /// Claims a trial that is due; returns `true` on only one of several threads.
    pub(super) fn claim_trial(&self) -> bool {
        let until = self.out_until_ms.load(Ordering::Relaxed);
        if until == 0 || self.state() != State::Due {
            return false;
        }
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        let next = self.now_ms() + pause_ms(failures);
        // The exchange claims the trial, and also starts the next exclusion, in case the trial
        // never ends.
        let claimed = self
            .out_until_ms
            .compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if claimed {
            self.failures.store(failures, Ordering::Relaxed);
        }
        claimed
    }

    /// Records a response from the server.
    pub(super) fn record_success(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.recover();
        }
    }

    /// Records a failed request to the server.
    pub(super) fn fail(&self, reason: &str) {
        self.set_error(reason);
        // Earlier requests and the trial may end during the exclusion, and must not extend it.
        if self.out_until_ms.load(Ordering::Relaxed) != 0 {
            return;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= MAX_FAILURES && self.has_others {
            let until = self.now_ms() + pause_ms(failures);
            if self.out_until_ms.swap(until, Ordering::Relaxed) == 0 {
                warn!(
                    upstream = %self.name,
                    "upstream {} is excluded after {failures} consecutive failures: {reason}", self.name
                );
            }
        }
    }

    /// Records the result of a health check; a successful check also ends an exclusion.
    pub(super) fn record_check(&self, result: Result<(), String>) {
        match result {
            Ok(()) => {
                let failed = self.failed_checks.swap(0, Ordering::Relaxed);
                if failed >= MAX_FAILED_CHECKS && self.has_others {
                    info!(upstream = %self.name, "upstream {} is available again: its health check succeeded", self.name);
                }
                if self.failures.load(Ordering::Relaxed) != 0 {
                    self.recover();
                }
            }
            Err(reason) => {
                self.set_error(&reason);
                // No atomic addition is needed, because only the task that checks this server
                // writes the count.
                let failed = self.failed_checks.load(Ordering::Relaxed).saturating_add(1);
                self.failed_checks.store(failed, Ordering::Relaxed);
                if failed == MAX_FAILED_CHECKS {
                    warn!(
                        upstream = %self.name,
                        "the health check of upstream {} failed: {reason}", self.name
                    );
                }
            }
        }
    }

    /// Returns the number of consecutive failures of requests or health checks.
    pub(super) fn failures(&self) -> u32 {
        let failed_checks = self.failed_checks.load(Ordering::Relaxed);
        self.failures.load(Ordering::Relaxed).max(failed_checks)
    }

    /// Returns `true` if the server is healthy, so that requests are sent to it normally.
    pub(super) fn is_healthy(&self) -> bool {
        self.state() == State::Healthy && self.failures.load(Ordering::Relaxed) < MAX_FAILURES
    }

    pub(super) fn last_error(&self) -> Option<Arc<str>> {
        self.last_error.lock().clone()
    }

    fn recover(&self) {
        self.failures.store(0, Ordering::Relaxed);
        if self.out_until_ms.swap(0, Ordering::Relaxed) != 0 {
            info!(upstream = %self.name, "upstream {} is available again: it responded", self.name);
        }
    }

    fn set_error(&self, reason: &str) {
        let mut last = self.last_error.lock();
        *last = Some(reason.into());
    }

    /// Returns the milliseconds since the proxy's start, but never 0, which means "not excluded".
    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }
}

fn pause_ms(failures: u32) -> u64 {
    // Doubling 16 times exceeds the longest exclusion by far and does not overflow.
    let doublings = failures.saturating_sub(MAX_FAILURES).min(16);
    let pause = FIRST_PAUSE
        .saturating_mul(1 << doublings)
        .min(LONGEST_PAUSE);
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn health() -> Health {
        Health::new("http://a/".into(), true)
    }

    fn failing() -> Health {
        let health = health();
        (0..MAX_FAILURES).for_each(|_| health.fail("refused"));
        health
    }

    #[tokio::test(start_paused = true)]
    async fn three_consecutive_failures_exclude_a_server() {
        let health = health();
        health.fail("refused");
        health.fail("refused");
        health.record_success();
        health.fail("refused");
        health.fail("refused");
        assert_eq!(health.state(), State::Healthy);
        health.fail("refused");
        assert_eq!(health.state(), State::Out);
        assert!(!health.claim_trial());
        assert_eq!(health.last_error().as_deref(), Some("refused"));
    }

    #[tokio::test(start_paused = true)]
    async fn one_trial_request_ends_the_exclusion() {
        let health = failing();
        advance(FIRST_PAUSE).await;
        assert_eq!(health.state(), State::Due);
        assert!(health.claim_trial());
        assert!(!health.claim_trial());
        health.record_success();
        assert_eq!((health.state(), health.failures()), (State::Healthy, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn exclusions_double_up_to_a_minute_and_a_burst_counts_once() {
        let health = failing();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            (0..100).for_each(|_| health.fail("refused"));
            let start = Instant::now();
            while !health.claim_trial() {
                advance(Duration::from_millis(100)).await;
            }
            pauses.push(start.elapsed().as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_server_is_never_excluded() {
        let health = Health::new("http://a/".into(), false);
        (0..10).for_each(|_| health.fail("refused"));
        assert_eq!(health.state(), State::Healthy);
        assert!(!health.is_healthy());
    }

    #[tokio::test(start_paused = true)]
    async fn checks_exclude_and_restore_a_server() {
        let health = failing();
        health.record_check(Ok(()));
        assert_eq!(health.state(), State::Healthy);
        health.record_check(Err("status 503".to_owned()));
        assert_eq!(health.state(), State::Healthy);
        health.record_check(Err("status 503".to_owned()));
        advance(LONGEST_PAUSE * 2).await;
        assert_eq!(health.state(), State::Out);
        health.record_check(Ok(()));
        assert_eq!(health.state(), State::Healthy);
    }
}

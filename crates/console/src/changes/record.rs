//! Records changes that somebody makes on the pages.

use std::sync::{Mutex, PoisonError};

/// Time in which failed logins become one entry: guesses must not push all others out of the log.
const FAILURES_MS: i64 = 10 * 60_000;

/// Failed logins that are not in the log of changes yet.
#[derive(Debug, Default)]
pub(crate) struct LoginFailureLog {
    pending: Mutex<Pending>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    failures: u64,
    recorded_ms: Option<i64>,
}

impl LoginFailureLog {
    /// Counts a failed login; returns how many to record now, if it is time.
    pub(crate) fn failed(&self, now_ms: i64) -> Option<u64> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.failures += 1;
        let is_time = pending
            .recorded_ms
            .is_none_or(|recorded_ms| now_ms.saturating_sub(recorded_ms) >= FAILURES_MS);
        is_time.then(|| pending.take(now_ms))
    }

    /// Returns how many failed logins are to be recorded before one that succeeds.
    pub(crate) fn succeeded(&self, now_ms: i64) -> u64 {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.failures == 0 {
            return 0;
        }
        pending.take(now_ms)
    }
}

impl Pending {
    fn take(&mut self, now_ms: i64) -> u64 {
        self.recorded_ms = Some(now_ms);
        std::mem::take(&mut self.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_become_one_entry_in_ten_minutes() {
        let log = LoginFailureLog::default();
        assert_eq!(log.failed(0), Some(1));
        for at_ms in 1..1_000 {
            assert_eq!(log.failed(at_ms), None);
        }
        assert_eq!(log.failed(FAILURES_MS), Some(1_000));
        assert_eq!(log.failed(FAILURES_MS + 1), None);
        assert_eq!(log.succeeded(FAILURES_MS + 2), 1);
        assert_eq!(log.succeeded(FAILURES_MS + 3), 0);
    }
}

//! How often a password may be tried.

use std::sync::{Mutex, PoisonError};

/// Wrong passwords in a row that cost no waiting.
const FREE_FAILURES: u32 = 5;
/// Longest wait; short enough that nobody is locked out by another's guesses.
const LONGEST_WAIT_MS: i64 = 30_000;
/// After this time without a wrong password all is forgotten.
const FORGET_MS: i64 = 15 * 60 * 1_000;

/// Throttle of failed logins, for the process as a whole.
///
/// There is one account, so there is nothing finer to count by.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    failures: Mutex<Failures>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    last_ms: i64,
}

impl Throttle {
    /// Returns the milliseconds to wait before the next try, or 0.
    pub(super) fn wait_ms(&self, now_ms: i64) -> i64 {
        let failures = *self.lock();
        if failures.count < FREE_FAILURES {
            return 0;
        }
        let doublings = (failures.count - FREE_FAILURES).min(16);
        let wait_ms = (1_000_i64 << doublings).min(LONGEST_WAIT_MS);
        // A clock that went back must not lock anybody out.
        (failures.last_ms + wait_ms - now_ms).clamp(0, wait_ms)
    }

    /// Counts a wrong password.
    pub(super) fn failed(&self, now_ms: i64) {
        let mut failures = self.lock();
        if now_ms - failures.last_ms > FORGET_MS {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last_ms = now_ms;
    }

    /// Forgets the failures.
    pub(super) fn succeeded(&self) {
        *self.lock() = Failures::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(times: u32, at_ms: i64) -> Throttle {
        let throttle = Throttle::default();
        for _ in 0..times {
            throttle.failed(at_ms);
        }
        throttle
    }

    #[test]
    fn four_slips_cost_nothing() {
        assert_eq!(failed(4, 1_000).wait_ms(1_000), 0);
    }

    #[test]
    fn waits_double_up_to_a_cap() {
        assert_eq!(failed(5, 0).wait_ms(0), 1_000);
        assert_eq!(failed(6, 0).wait_ms(500), 1_500);
        assert_eq!(failed(60, 0).wait_ms(0), LONGEST_WAIT_MS);
        assert_eq!(failed(60, 0).wait_ms(LONGEST_WAIT_MS), 0);
    }

    #[test]
    fn success_and_time_forgive() {
        let throttle = failed(9, 0);
        throttle.succeeded();
        assert_eq!(throttle.wait_ms(0), 0);
        let throttle = failed(9, 0);
        throttle.failed(FORGET_MS + 1);
        assert_eq!(throttle.wait_ms(FORGET_MS + 1), 0);
    }

    #[test]
    fn a_clock_that_goes_back_locks_nobody_out() {
        assert_eq!(failed(5, 1_000_000).wait_ms(0), 1_000);
    }
}

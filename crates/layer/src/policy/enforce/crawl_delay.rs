//! Rate limits by the `Crawl-delay` that a robot was asked to keep.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use crate::policy::{
    bucket::{Bucket, Rate},
    buckets::TooSoon,
};

/// Longest delay that is held against a robot.
const MAX_DELAY: Duration = Duration::from_hours(24);

/// Requests that may come at once: after a pause two are no violation, nor is a
/// little unevenness.
const AT_ONCE: u32 = 2;

/// Rate limiter of one robot by its `Crawl-delay`, kept without a lock.
#[derive(Debug)]
pub(super) struct DelayLimiter {
    bucket: Bucket,
    /// When the robot came last, refused or not.
    last_ms: AtomicI64,
}

impl DelayLimiter {
    /// Counts a request; one that is too soon does not put off the next.
    pub(super) fn check(&self, now_ms: i64, delay: Duration) -> Result<(), TooSoon> {
        // The gap is that between two requests, whatever became of the first.
        let before_ms = self.last_ms.swap(now_ms, Ordering::Relaxed);
        self.bucket.take(now_ms, rate(delay)).map_err(|wait| {
            let gap_ms = now_ms.saturating_sub(before_ms);
            let gap = Duration::from_millis(u64::try_from(gap_ms).unwrap_or_default());
            TooSoon { gap, wait }
        })
    }
}

/// Returns the rate of requests that a delay allows.
pub(super) fn rate(delay: Duration) -> Rate {
    Rate::new(1, delay.min(MAX_DELAY), AT_ONCE)
}

impl Default for DelayLimiter {
    fn default() -> Self {
        Self {
            bucket: Bucket::default(),
            last_ms: AtomicI64::new(i64::MIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(10);

    /// Returns for each arrival whether it was in time.
    fn in_time(arrivals_ms: &[i64]) -> Vec<bool> {
        let limiter = DelayLimiter::default();
        let check = |&now_ms: &i64| limiter.check(now_ms, DELAY).is_ok();
        arrivals_ms.iter().map(check).collect()
    }

    #[test]
    fn who_keeps_the_delay_is_in_time() {
        let arrivals: Vec<_> = (0..1_000).map(|number| number * 10_000).collect();
        assert!(in_time(&arrivals).iter().all(|&is_in_time| is_in_time));
    }

    #[test]
    fn two_at_once_after_a_pause_are_no_violation_and_three_are() {
        assert_eq!(in_time(&[0, 0, 0]), [true, true, false]);
        assert_eq!(in_time(&[0, 99_000, 99_001]), [true; 3]);
        assert_eq!(
            in_time(&[5_000, 5_000, 15_000, 15_001]),
            [true, true, true, false]
        );
    }

    #[test]
    fn unevenness_is_forgiven_and_haste_is_not() {
        assert_eq!(in_time(&[0, 9_000, 20_500, 29_600, 40_000]), [true; 5]);
        let hasty: Vec<_> = (0..20).map(|number| number * 5_000).collect();
        let kept = in_time(&hasty).iter().filter(|&&ok| ok).count();
        assert!((10..=12).contains(&kept), "{kept}");
    }

    #[test]
    fn what_comes_too_soon_is_told_how_long_to_wait() {
        let limiter = DelayLimiter::default();
        for now_ms in [0, 1_000] {
            limiter.check(now_ms, DELAY).unwrap();
        }
        let soon = limiter.check(3_000, DELAY).unwrap_err();
        assert_eq!(soon.gap, Duration::from_secs(2));
        assert_eq!(soon.wait, Duration::from_secs(7));
        assert!(limiter.check(10_000, DELAY).is_ok());
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        assert_eq!(in_time(&[1_000_000_000, 0, 10_000]), [true; 3]);
        assert_eq!(in_time(&[i64::MAX, i64::MAX, i64::MIN]).len(), 3);
    }

    #[test]
    fn a_delay_beyond_all_measure_is_cut() {
        let limiter = DelayLimiter::default();
        for _ in 0..2 {
            limiter.check(0, Duration::MAX).unwrap();
        }
        assert_eq!(limiter.check(0, Duration::MAX).unwrap_err().wait, MAX_DELAY);
    }
}

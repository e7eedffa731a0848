//! A token bucket and its rate.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// A rate of requests: one request per interval, and a burst after a pause.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Rate {
    /// Microseconds until the bucket gains a token.
    interval_us: i64,
    /// Microseconds until an empty bucket is full.
    depth_us: i64,
    /// The refill time that a token costs, in microseconds.
    price_micros: i64,
}

/// A lock-free token bucket, initially full.
///
/// The bucket uses the generic cell rate algorithm (ITU-T I.371): its only state is the time at
/// which the bucket will be full.
#[derive(Debug)]
pub(super) struct Bucket {
    full_us: AtomicI64,
}

impl Rate {
    /// Creates a rate of `requests` per `per`, with up to `burst` requests at once.
    ///
    /// The fastest rate is one request per microsecond; a rate of 0 requests is treated as one
    /// request.
    pub(super) fn new(requests: u32, per: Duration, burst: u32) -> Self {
        let per_us = i64::try_from(per.as_micros()).unwrap_or(i64::MAX);
        let interval_us = (per_us / i64::from(requests.max(1))).max(1);
        Self {
            interval_us,
            depth_us: interval_us.saturating_mul(i64::from(burst.max(1))),
            price_micros: interval_us,
        }
    }

    /// Returns the rate for one of several instances that share a bucket.
    ///
    /// Until the instances exchange their counts, each instance takes tokens for all instances.
    /// Together, the instances never serve more requests than one bucket allows, plus one per
    /// additional instance, because several instances may take the last token.
    pub(super) fn shared_by(self, sharers: u32) -> Self {
        let price_micros = self.interval_us.saturating_mul(i64::from(sharers.max(1)));
        Self {
            price_micros,
            ..self
        }
    }

    /// Returns the microseconds until the bucket gains a token.
    pub(super) fn interval_us(self) -> i64 {
        self.interval_us
    }

    /// Returns the microseconds that a token costs.
    pub(super) fn price_micros(self) -> i64 {
        self.price_micros
    }

    /// Returns `true` if other instances take tokens from the same bucket.
    pub(super) fn is_shared(self) -> bool {
        self.price_micros > self.interval_us
    }

    /// Returns the maximum time until a bucket is full, provided that the clock is not set back.
    pub(super) fn max_debt_us(self) -> i64 {
        if !self.is_shared() {
            return self.depth_us;
        }
        // Tokens taken by all instances, plus tokens taken before the other instances were known.
        let taken_us = self.depth_us.saturating_add(self.price_micros);
        taken_us.saturating_mul(2)
    }
}

impl Bucket {
    /// Takes a token. If the bucket is empty, returns the time until the next token.
    ///
    /// A request that arrives too early does not delay the next request.
    pub(super) fn take(&self, now_ms: i64, rate: Rate) -> Result<(), Duration> {
        let now_us = micros(now_ms);
        let refill = |full_us| take_token(full_us, now_us, rate).ok();
        // The bucket is a single number, and no other memory depends on it.
        let order = Ordering::Relaxed;
        match self.full_us.fetch_update(order, order, refill) {
            Ok(_) => Ok(()),
            Err(full_us) => take_token(full_us, now_us, rate).map(|_| ()),
        }
    }

    /// Returns the result of [`take`](Self::take) without taking a token.
    pub(super) fn peek(&self, now_ms: i64, rate: Rate) -> Result<(), Duration> {
        let full_us = self.full_us.load(Ordering::Relaxed);
        take_token(full_us, micros(now_ms), rate).map(|_| ())
    }

    /// Returns `true` if the bucket is full and thus equal to a new bucket.
    pub(super) fn is_full(&self, now_ms: i64) -> bool {
        self.full_us.load(Ordering::Relaxed) <= micros(now_ms)
    }
}

impl Default for Bucket {
    fn default() -> Self {
        Self {
            // A new bucket is full at any time.
            full_us: AtomicI64::new(i64::MIN),
        }
    }
}

/// Converts milliseconds to microseconds.
pub(super) fn micros(ms: i64) -> i64 {
    ms.saturating_mul(1_000)
}

/// Takes a token and returns the time at which the bucket will be full, or the wait until the next
/// token.
pub(super) fn take_token(full_us: i64, now_us: i64, rate: Rate) -> Result<i64, Duration> {
    let full_us = if full_us > now_us.saturating_add(rate.max_debt_us()) {
        now_us
    } else {
        full_us.max(now_us)
    };
    let early_us = full_us
        .saturating_add(rate.interval_us)
        .saturating_sub(rate.depth_us)
        .saturating_sub(now_us);
    if early_us <= 0 {
        return Ok(full_us.saturating_add(rate.price_micros));
    }
    Err(Duration::from_micros(early_us.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a rate of ten requests per minute, up to three at once.
    fn rate() -> Rate {
        Rate::new(10, Duration::from_mins(1), 3)
    }

    /// Returns the required wait in milliseconds for each arrival, or 0 if no wait is required.
    fn waits(rate: Rate, arrivals_ms: &[i64]) -> Vec<u128> {
        let bucket = Bucket::default();
        let wait = |&now_ms: &i64| match bucket.take(now_ms, rate) {
            Ok(()) => 0,
            Err(wait) => wait.as_millis(),
        };
        arrivals_ms.iter().map(wait).collect()
    }

    #[test]
    fn a_burst_passes_at_once_and_then_one_per_interval() {
        assert_eq!(waits(rate(), &[0, 0, 0, 0]), [0, 0, 0, 6_000]);
        assert_eq!(
            waits(rate(), &[0, 0, 0, 5_999, 6_000, 6_001]),
            [0, 0, 0, 1, 0, 5_999]
        );
    }

    #[test]
    fn a_pause_fills_the_bucket_and_no_more() {
        let arrivals = [0, 0, 0, 1_000_000, 1_000_000, 1_000_000, 1_000_000];
        assert_eq!(waits(rate(), &arrivals), [0, 0, 0, 0, 0, 0, 6_000]);
    }

    #[test]
    fn requests_within_the_rate_never_wait() {
        let arrivals: Vec<_> = (0..1_000).map(|number| number * 6_000).collect();
        assert!(waits(rate(), &arrivals).iter().all(|&wait| wait == 0));
        let one = Rate::new(1, Duration::from_secs(1), 1);
        assert_eq!(waits(one, &[0, 1_000, 1_999, 2_000]), [0, 0, 1, 0]);
    }

    #[test]
    fn refused_requests_do_not_delay_the_next() {
        let mut arrivals = vec![0; 3];
        arrivals.extend(1..6_000);
        arrivals.push(6_000);
        let waits = waits(rate(), &arrivals);
        assert_eq!(waits.iter().filter(|&&wait| wait == 0).count(), 4);
        assert_eq!(waits.last(), Some(&0));
    }

    #[test]
    fn a_clock_set_back_blocks_no_request() {
        assert_eq!(waits(rate(), &[1_000_000_000, 0, 0, 0]), [0, 0, 0, 0]);
        assert_eq!(waits(rate(), &[i64::MAX, i64::MAX, i64::MIN, 0]).len(), 4);
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        for (requests, per, burst) in [
            (0, Duration::ZERO, 0),
            (u32::MAX, Duration::from_millis(1), u32::MAX),
            (1, Duration::MAX, u32::MAX),
        ] {
            let waits = waits(Rate::new(requests, per, burst), &[0, i64::MAX, i64::MIN]);
            assert_eq!(waits.len(), 3);
        }
        let often = Rate::new(u32::MAX, Duration::from_secs(1), 1);
        assert_eq!(waits(often, &[0, 1, 2]), [0, 0, 0]);
    }

    #[test]
    fn a_full_bucket_equals_a_new_one() {
        let bucket = Bucket::default();
        assert!(bucket.is_full(0));
        bucket.take(0, rate()).unwrap();
        assert!(!bucket.is_full(5_999));
        assert!(bucket.is_full(6_000));
    }

    proptest! {
        #[test]
        fn no_more_than_rate_and_burst_pass_and_waiting_helps(
            requests in 1..100_u32,
            per_ms in 100..100_000_u64,
            burst in 1..20_u32,
            gaps in proptest::collection::vec(0..5_000_i64, 1..200),
        ) {
            let per = Duration::from_millis(per_ms);
            let rate = Rate::new(requests, per, burst);
            let bucket = Bucket::default();
            let (mut now_ms, mut passed) = (0_i64, 0_u64);
            for gap in gaps {
                now_ms += gap;
                match bucket.take(now_ms, rate) {
                    Ok(()) => passed += 1,
                    Err(wait) => {
                        let wait_ms = i64::try_from(wait.as_micros().div_ceil(1_000)).unwrap();
                        let later = Bucket { full_us: AtomicI64::new(bucket.full_us.load(Ordering::Relaxed)) };
                        prop_assert!(later.take(now_ms + wait_ms, rate).is_ok());
                    }
                }
            }
            let elapsed_us = u64::try_from(now_ms).unwrap() * 1_000;
            let interval_us = (per_ms * 1_000 / u64::from(requests)).max(1);
            prop_assert!(passed <= u64::from(burst) + elapsed_us / interval_us);
        }
    }
}

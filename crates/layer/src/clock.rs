//! A clock that follows the system time or that a test controls.
//!
//! All types that compare dates accept a [`Clock`], so that a test can advance the time by thirty
//! days without waiting.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use robot_detection_layer::clock::Clock;
//!
//! let clock = Clock::manual(0);
//! clock.advance(Duration::from_secs(60));
//! assert_eq!(clock.now_ms(), 60_000);
//! ```

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A clock that returns the time in milliseconds since 1970, UTC.
///
/// Clones share the time: advancing one clone advances all clones.
#[derive(Clone)]
pub struct Clock {
    time: Time,
}

#[derive(Clone)]
enum Time {
    /// Milliseconds by which the system clock is ahead of the correct time.
    System(Arc<AtomicI64>),
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Creates a clock that follows the system clock.
    #[must_use]
    pub fn system() -> Self {
        Self {
            time: Time::System(Arc::default()),
        }
    }

    /// Creates a clock that advances only when [`Clock::advance`] is called.
    #[must_use]
    pub fn manual(now_ms: i64) -> Self {
        Self {
            time: Time::Manual(Arc::new(AtomicI64::new(now_ms))),
        }
    }

    /// Returns the current time in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        // No other memory depends on the time, so relaxed ordering is enough.
        match &self.time {
            Time::System(ahead_ms) => {
                system_now_ms().saturating_sub(ahead_ms.load(Ordering::Relaxed))
            }
            Time::Manual(now_ms) => now_ms.load(Ordering::Relaxed),
        }
    }

    /// Returns the time without the correction set by [`Clock::correct`].
    #[must_use]
    pub fn uncorrected_ms(&self) -> i64 {
        match &self.time {
            Time::System(_) => system_now_ms(),
            Time::Manual(_) => self.now_ms(),
        }
    }

    /// Sets the number of milliseconds by which the system clock is ahead (negative if it is
    /// behind). Has no effect on a manual clock.
    pub fn correct(&self, ahead_ms: i64) {
        if let Time::System(ahead) = &self.time {
            ahead.store(ahead_ms, Ordering::Relaxed);
        }
    }

    /// Advances a manual clock. Has no effect on a system clock.
    pub fn advance(&self, by: Duration) {
        if let Time::Manual(now_ms) = &self.time {
            now_ms.fetch_add(duration_ms(by), Ordering::Relaxed);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("manual", &matches!(self.time, Time::Manual(_)))
            .field("now_ms", &self.now_ms())
            .finish()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the only place that reads the system clock"
)]
fn system_now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        // A system clock that shows a time before 1970 was never set.
        .map_or(0, duration_ms)
}

fn duration_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_still_until_moved() {
        let clock = Clock::manual(1_000);
        let clone = clock.clone();
        assert_eq!(clock.now_ms(), 1_000);
        clone.advance(Duration::from_secs(2));
        assert_eq!(clock.now_ms(), 3_000);
    }

    #[test]
    fn a_clock_that_is_ahead_is_corrected_for_all_clones() {
        let (clock, hour_ms) = (Clock::system(), 3_600_000);
        let clone = clock.clone();
        clock.correct(hour_ms);
        let behind_ms = clone.uncorrected_ms() - clone.now_ms();
        assert!(
            (hour_ms - 1_000..=hour_ms).contains(&behind_ms),
            "{behind_ms}"
        );
        let manual = Clock::manual(1_000);
        manual.correct(hour_ms);
        assert_eq!(manual.now_ms(), 1_000);
    }

    #[test]
    fn the_system_clock_is_past_2026() {
        assert!(Clock::system().now_ms() > 1_767_225_600_000);
    }
}

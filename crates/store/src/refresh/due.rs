//! Due times of sources, as pure functions without clock or database.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Trigger;
use robot_detection_layer::registry::Source;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
// The schedule runs every five minutes: a shorter delay would have no effect.
const FIRST_RETRY_MS: i64 = 5 * MINUTE_MS;
const LAST_RETRY_MS: i64 = 6 * 60 * MINUTE_MS;

/// History of a source that determines when it is due.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct RefreshHistory {
    /// Time of the last success, including "not modified".
    pub(super) succeeded_ms: Option<i64>,
    /// Number of failures since the last success.
    pub(super) failures: u32,
    /// End of the last failure.
    pub(super) failed_ms: Option<i64>,
    /// Whether the rows are missing, or were made by other rules or from another URL.
    pub(super) is_outdated: bool,
}

/// Returns the time from which a source is due, in milliseconds.
///
/// A source without a success, or with outdated rows, is due immediately; otherwise `interval_days`
/// (`RefreshIntervalDays`, at least 1) after the last success. After failures, it is not due before
/// [`retry_delay_ms`] has passed. At program start, only the first retry delay applies, so that a
/// restart helps after a repair. A success more than a day in the future means that the clock was
/// set back, and is ignored.
pub(super) fn due_from_ms(
    history: &RefreshHistory,
    interval_days: u32,
    trigger: Trigger,
    now_ms: i64,
    jitter: f64,
) -> i64 {
    let wanted_ms = match history.succeeded_ms {
        Some(succeeded_ms) if !history.is_outdated && succeeded_ms <= now_ms + DAY_MS => {
            succeeded_ms.saturating_add(i64::from(interval_days.max(1)) * DAY_MS)
        }
        _ => 0,
    };
    let failures = match trigger {
        // At least one: a program that crashes and restarts in a loop must not flood the source
        // with requests.
        Trigger::Start => history.failures.min(1),
        _ => history.failures,
    };
    match history.failed_ms {
        Some(failed_ms) if failures > 0 && failed_ms <= now_ms + DAY_MS => {
            wanted_ms.max(failed_ms.saturating_add(retry_delay_ms(failures, jitter)))
        }
        _ => wanted_ms,
    }
}

/// Returns the delay after the last of a number of failures.
///
/// Five minutes, doubled with each failure, up to six hours; `jitter`, from 0 to 1, shortens or
/// extends the delay by up to a fifth.
pub(super) fn retry_delay_ms(failures: u32, jitter: f64) -> i64 {
    // More doublings would overflow; the maximum is reached long before.
    let doublings = failures.saturating_sub(1).min(16);
    let delay_ms = (FIRST_RETRY_MS << doublings).min(LAST_RETRY_MS);
    let fifth_ms = delay_ms / 5;
    delay_ms - fifth_ms + scaled(2 * fifth_ms, jitter)
}

/// Returns a number from 0 to 1 that is constant for a failure.
///
/// With a new random number in each call, the shortest delay would win.
pub(super) fn jitter(seed: u64, source: &Source, history: &RefreshHistory) -> f64 {
    let mut hasher = DefaultHasher::new();
    (seed, source.as_str(), history.failed_ms).hash(&mut hasher);
    fastrand::Rng::with_seed(hasher.finish()).f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a fraction of a few hours in milliseconds"
)]
fn scaled(ms: i64, part: f64) -> i64 {
    (ms as f64 * part.clamp(0.0, 1.0)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000 * DAY_MS;

    fn is_due(history: &RefreshHistory, interval_days: u32, trigger: Trigger) -> bool {
        due_from_ms(history, interval_days, trigger, NOW, 0.5) <= NOW
    }

    fn succeeded(ago_ms: i64) -> RefreshHistory {
        RefreshHistory {
            succeeded_ms: Some(NOW - ago_ms),
            ..RefreshHistory::default()
        }
    }

    fn failed(failures: u32, ago_ms: i64) -> RefreshHistory {
        RefreshHistory {
            failures,
            failed_ms: Some(NOW - ago_ms),
            ..RefreshHistory::default()
        }
    }

    #[test]
    fn source_is_due_after_its_interval() {
        for (history, interval_days, due) in [
            (RefreshHistory::default(), 30, true),
            (succeeded(0), 30, false),
            (succeeded(30 * DAY_MS - 1), 30, false),
            (succeeded(30 * DAY_MS), 30, true),
            (succeeded(DAY_MS - 1), 0, false),
            (succeeded(DAY_MS), 0, true),
            (succeeded(900 * DAY_MS), u32::MAX, false),
            // A clock that was slightly fast, and a clock that was set back.
            (succeeded(-MINUTE_MS), 30, false),
            (succeeded(-2 * DAY_MS), 30, true),
        ] {
            assert_eq!(
                is_due(&history, interval_days, Trigger::Schedule),
                due,
                "{history:?}"
            );
        }
    }

    #[test]
    fn outdated_rows_are_due_immediately() {
        let history = RefreshHistory {
            is_outdated: true,
            ..succeeded(0)
        };
        assert!(is_due(&history, 30, Trigger::Schedule));
    }

    #[test]
    fn retry_delay_grows_with_each_failure() {
        for (failures, minutes) in [
            (1, 5),
            (2, 10),
            (3, 20),
            (7, 320),
            (8, 360),
            (u32::MAX, 360),
        ] {
            assert_eq!(retry_delay_ms(failures, 0.5), minutes * MINUTE_MS);
            let early = failed(failures, minutes * MINUTE_MS - 1);
            assert!(!is_due(&early, 30, Trigger::Schedule), "{failures}");
            let late = failed(failures, minutes * MINUTE_MS);
            assert!(is_due(&late, 30, Trigger::Schedule), "{failures}");
        }
    }

    #[test]
    fn program_start_waits_for_the_first_delay_only() {
        assert!(!is_due(&failed(9, 4 * MINUTE_MS), 30, Trigger::Start));
        assert!(is_due(&failed(9, 5 * MINUTE_MS), 30, Trigger::Start));
    }

    #[test]
    fn failure_in_the_future_is_ignored() {
        assert!(is_due(&failed(1, -2 * DAY_MS), 30, Trigger::Schedule));
    }

    #[test]
    fn failure_does_not_shorten_the_interval() {
        let history = RefreshHistory {
            succeeded_ms: Some(NOW - DAY_MS),
            ..failed(1, 60 * MINUTE_MS)
        };
        assert!(!is_due(&history, 30, Trigger::Schedule));
    }

    #[test]
    fn jitter_is_up_to_a_fifth_and_constant_for_a_failure() {
        assert_eq!(retry_delay_ms(1, 0.0), 4 * MINUTE_MS);
        assert_eq!(retry_delay_ms(1, 1.0), 6 * MINUTE_MS);
        let source = Source::web_robots_db();
        let draw = |seed, ago_ms| jitter(seed, &source, &failed(1, ago_ms));
        assert!((draw(7, 1) - draw(7, 1)).abs() < f64::EPSILON);
        assert!((draw(7, 1) - draw(8, 1)).abs() > f64::EPSILON);
        assert!((draw(7, 1) - draw(7, 2)).abs() > f64::EPSILON);
    }
}

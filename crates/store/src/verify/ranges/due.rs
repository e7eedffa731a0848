//! When a list is due, as plain functions without a clock or a database.

use std::time::Duration;

use super::listing::{Listing, RULES};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const FIRST_RETRY_MS: i64 = 5 * 60 * 1_000;
const LAST_RETRY_MS: i64 = 6 * 60 * 60 * 1_000;
const SHORTEST_INTERVAL: Duration = Duration::from_mins(1);

/// Returns `true` if a server is to be asked now.
///
/// That is at once where there is no copy, or one read by other rules, else
/// `interval` after the last success; but after failures not before five
/// minutes, doubled with each failure, six hours at most. What is more than a
/// day in the future is from a clock set back, and counts as never.
pub(super) fn is_due(listing: &Listing, interval: Duration, now_ms: i64) -> bool {
    let believed = |instant: &i64| *instant <= now_ms.saturating_add(DAY_MS);
    let is_current = listing.published.is_some() && listing.rules == RULES;
    let checked_ms = listing.checked_ms.filter(|_| is_current).filter(believed);
    if checked_ms.is_some_and(|checked_ms| now_ms < later(checked_ms, interval)) {
        return false;
    }
    let failed_ms = listing.tried_ms.filter(|_| listing.failures > 0);
    failed_ms
        .filter(believed)
        .is_none_or(|failed_ms| now_ms >= failed_ms.saturating_add(delay_ms(listing.failures)))
}

fn later(instant_ms: i64, interval: Duration) -> i64 {
    let ms = interval.max(SHORTEST_INTERVAL).as_millis();
    instant_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
}

fn delay_ms(failures: u64) -> i64 {
    // More would overflow the shift; the longest delay is reached long before.
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_RETRY_MS << doublings).min(LAST_RETRY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Conditions;
    use crate::verify::PublishedRanges;

    const NOW: i64 = 1_000 * DAY_MS;
    const DAY: Duration = Duration::from_hours(24);
    const MINUTE_MS: i64 = 60_000;

    fn fetched(ago_ms: i64) -> Listing {
        let one = "192.0.2.0/24".parse().unwrap();
        Listing::fetched(
            PublishedRanges::new([one]),
            Conditions::default(),
            NOW - ago_ms,
        )
    }

    fn failed(listing: Listing, times: u64, ago_ms: i64) -> Listing {
        Listing {
            failures: times - 1,
            ..listing
        }
        .failed("no answer".to_owned(), NOW - ago_ms)
    }

    #[test]
    fn age_decides() {
        for (listing, due) in [
            (Listing::default(), true),
            (fetched(0), false),
            (fetched(DAY_MS - 1), false),
            (fetched(DAY_MS), true),
            // A clock that ran ahead a little, and one that was set back.
            (fetched(-MINUTE_MS), false),
            (fetched(-2 * DAY_MS), true),
        ] {
            assert_eq!(is_due(&listing, DAY, NOW), due, "{listing:?}");
        }
        assert!(!is_due(&fetched(MINUTE_MS - 1), Duration::ZERO, NOW));
        assert!(is_due(&fetched(MINUTE_MS), Duration::ZERO, NOW));
        assert!(!is_due(&fetched(900 * DAY_MS), Duration::MAX, NOW));
    }

    #[test]
    fn a_copy_read_by_other_rules_is_read_again() {
        let old = Listing {
            rules: RULES - 1,
            ..fetched(0)
        };
        assert!(is_due(&old, DAY, NOW));
    }

    #[test]
    fn failures_are_retried_after_longer_and_longer() {
        for (times, minutes) in [
            (1, 5),
            (2, 10),
            (3, 20),
            (7, 320),
            (8, 360),
            (u64::MAX, 360),
        ] {
            for copy in [Listing::default(), fetched(40 * DAY_MS)] {
                let early = failed(copy.clone(), times, minutes * MINUTE_MS - 1);
                assert!(!is_due(&early, DAY, NOW), "{times}");
                let late = failed(copy, times, minutes * MINUTE_MS);
                assert!(is_due(&late, DAY, NOW), "{times}");
            }
        }
        assert!(is_due(
            &failed(Listing::default(), 1, -2 * DAY_MS),
            DAY,
            NOW
        ));
    }

    #[test]
    fn a_failure_never_brings_the_interval_forward() {
        let listing = failed(fetched(DAY_MS / 2), 1, DAY_MS / 4);
        assert!(!is_due(&listing, DAY, NOW));
    }
}

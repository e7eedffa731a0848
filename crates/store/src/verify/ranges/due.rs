//! When a list is due, as plain functions without a clock or a database.

use std::time::Duration;

use super::{
    PublishedRanges,
    listing::{Listing, RULES},
};

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

/// Time after which a copy is taken that was held back until then.
const HELD: Duration = Duration::from_hours(3 * 24);

/// Fewest ranges of a list that can lose too many: of a short one, people take many away.
const FEWEST: usize = 10;

/// Refuses a copy with less than half of the ranges of the one before.
///
/// For three days: what is gone as long as that was taken out, and not cut off.
pub(super) fn check_loss(
    before: &Listing,
    new: &PublishedRanges,
    now_ms: i64,
) -> Result<(), String> {
    let (had, has) = (before.prefixes(), new.set.len());
    let is_long_ago = before.age(now_ms).is_none_or(|age| age >= HELD);
    if had < FEWEST || has.saturating_mul(2) >= had || is_long_ago {
        return Ok(());
    }
    Err(format!(
        "it lists {has} address ranges and had {had}: it may be cut off, and is taken if it is still so in three days"
    ))
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

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    fn list(count: u8) -> PublishedRanges {
        PublishedRanges::new((0..count).map(|number| {
            let address = std::net::IpAddr::from([192, 0, 2, number]);
            ipnet::IpNet::from(address)
        }))
    }

    #[test]
    fn a_copy_that_lost_more_than_half_waits_three_days() {
        for (had, has, days, is_taken) in [
            (10, 5, 0, true),
            (10, 4, 0, false),
            (100, 1, 2, false),
            (100, 1, 3, true),
            (9, 1, 0, true),
            (20, 200, 0, true),
        ] {
            let before = Listing::fetched(list(had), Conditions::default(), 1_000 * DAY_MS);
            let now_ms = (1_000 + days) * DAY_MS;
            let checked = check_loss(&before, &list(has), now_ms);
            assert_eq!(checked.is_ok(), is_taken, "{had} {has} {days}");
        }
        assert!(check_loss(&Listing::default(), &list(1), 0).is_ok());
    }
}

//! Due times of address lists, computed by pure functions without a clock or a database.

use std::time::Duration;

use super::{
    PublishedRanges,
    listing::{Listing, RULES},
};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const FIRST_RETRY_MS: i64 = 5 * 60 * 1_000;
const LAST_RETRY_MS: i64 = 6 * 60 * 60 * 1_000;
const SHORTEST_INTERVAL: Duration = Duration::from_mins(1);

/// Returns `true` if an address list is due to be fetched.
///
/// A list is due immediately if there is no copy, or if the copy was parsed by different rules;
/// otherwise, it is due `interval` after the last success. After a failure, a list is not due for
/// five minutes; the delay doubles with each further failure, up to six hours. Times more than a
/// day in the future are ignored, as the clock must have been set back.
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
    // More doublings would overflow; the maximum is reached long before.
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_RETRY_MS << doublings).min(LAST_RETRY_MS)
}

/// The time after which a copy that was held for review is accepted.
const HELD: Duration = Duration::from_hours(3 * 24);

/// The minimum size of a list for the loss check; short lists may well lose many ranges.
const FEWEST: usize = 10;

/// Rejects a copy that contains fewer than half of the ranges in the previous copy.
///
/// The check applies for three days; ranges that are missing for longer are assumed to have been
/// removed intentionally.
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
        "the list has {has} address ranges, down from {had}; it may be truncated and will be \
         accepted after three days"
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
    fn list_is_due_after_its_interval() {
        for (listing, due) in [
            (Listing::default(), true),
            (fetched(0), false),
            (fetched(DAY_MS - 1), false),
            (fetched(DAY_MS), true),
            // A clock that was slightly fast, and a clock that was set back.
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
    fn copy_parsed_by_other_rules_is_due() {
        let old = Listing {
            rules: RULES - 1,
            ..fetched(0)
        };
        assert!(is_due(&old, DAY, NOW));
    }

    #[test]
    fn retry_delay_grows_with_each_failure() {
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
    fn failure_does_not_shorten_the_interval() {
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
    fn copy_that_lost_more_than_half_waits_three_days() {
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

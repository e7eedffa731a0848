//! Copies that have lost so much that something is wrong with them.

use std::time::Duration;

use super::{PublishedRanges, listing::Listing};

/// Time after which a copy is taken that was held back until then.
const HELD: Duration = Duration::from_hours(3 * 24);

/// Fewest ranges of a list that can lose too many: of a short one, people take many away.
const FEWEST: usize = 10;

/// Refuses a copy with less than half of the ranges of the one before.
///
/// For three days: what is gone as long as that was taken out, and not cut off.
pub(super) fn check(before: &Listing, new: &PublishedRanges, now_ms: i64) -> Result<(), String> {
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
            let checked = check(&before, &list(has), now_ms);
            assert_eq!(checked.is_ok(), is_taken, "{had} {has} {days}");
        }
        assert!(check(&Listing::default(), &list(1), 0).is_ok());
    }
}
